//! Whether a `when` or a `condition` is one pure expression.

use super::mentions::named;
use super::predeclared::Predeclared;
use super::scope::{NameOrigin, Scopes};
use super::tree::{at, each_expr};
use starlark::syntax::ast::{AstStmt, StmtP};
use starlark_syntax::syntax::top_level_stmts::top_level_stmts;
use tool_harness::facts::Named;
use tool_harness::span::Source;

/// Globals that reach no built-in and still have an effect.
const IMPURE_GLOBALS: [&str; 2] = ["print", "fail"];

/// The first reason why it is not, with its place.
pub(super) fn impure(
    script: &AstStmt,
    scopes: &Scopes,
    predeclared: &Predeclared,
    reaches: &[Named],
    source: &Source,
) -> Option<Named> {
    let stmts = top_level_stmts(script);
    let Some(first) = stmts.first() else {
        return Some(named(source, "it has no expression", 0));
    };
    let shape = match &first.node {
        StmtP::Expression(_) => None,
        StmtP::Assign(_) | StmtP::AssignModify(..) => Some("it is an assignment"),
        StmtP::Def(_) => Some("it is a `def`"),
        _ => Some("it is a statement"),
    };
    if let Some(reason) = shape {
        return Some(named(source, reason, at(first)));
    }
    if let Some(second) = stmts.get(1) {
        return Some(named(source, "it has more than one statement", at(second)));
    }
    let reached = reaches
        .iter()
        .filter(|reached| !predeclared.is_pure(&reached.name))
        .cloned();
    let mut reasons: Vec<Named> = reached.collect();
    each_expr(script, &mut |expr| {
        if let Some(NameOrigin::Free(name)) = scopes.origin_of(expr)
            && IMPURE_GLOBALS.contains(&name)
        {
            reasons.push(named(source, name, at(expr)));
        }
    });
    let mut reason = reasons.into_iter().min_by_key(Named::position)?;
    reason.name = format!("it uses `{}`, which is not pure", reason.name);
    Some(reason)
}
