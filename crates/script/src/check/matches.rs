//! Reads of `m["matched"]` where nothing says that `re.match` found something: without a match `m`
//! is None, and the read raises.

use super::flow::Flows;
use super::mentions::FirstMentions;
use super::scope::{NameOrigin, Scopes, Variable};
use super::tree::{at, each_expr, key_read};
use starlark::syntax::ast::{AstExpr, AstStmt, ExprP};
use std::collections::HashSet;

pub(super) fn untested_matches<'a>(
    script: &'a AstStmt,
    scopes: &Scopes,
    flows: &Flows<'a>,
) -> FirstMentions {
    let holders = flows.holders(|value| is_call(scopes, value));
    let variable = |expr: &AstExpr| match scopes.origin_of(expr) {
        Some(NameOrigin::Bound(variable)) if holders.contains(&variable) => Some(variable),
        _ => None,
    };
    let (mut bases, mut tested) = (HashSet::new(), HashSet::<Variable>::new());
    each_expr(script, &mut |expr| {
        let base = match &expr.node {
            ExprP::Index(parts) => &parts.0,
            ExprP::Dot(base, _) => &**base,
            _ => return,
        };
        bases.insert(std::ptr::from_ref(base));
    });
    // Whoever uses the match in any other way may test it.
    each_expr(script, &mut |expr| {
        if !bases.contains(&std::ptr::from_ref(expr)) {
            tested.extend(variable(expr));
        }
    });
    let mut found = FirstMentions::default();
    each_expr(script, &mut |expr| {
        let Some((base, key)) = key_read(expr).filter(|(_, key)| key.node == "matched") else {
            return;
        };
        let is_untested = variable(base).is_some_and(|variable| !tested.contains(&variable));
        if is_untested || is_call(scopes, base) {
            found.note(&key.node, at(key));
        }
    });
    found
}

/// Whether an expression calls `re.match` or `re.search`.
fn is_call(scopes: &Scopes, expr: &AstExpr) -> bool {
    let ExprP::Call(callee, _) = &expr.node else {
        return false;
    };
    let ExprP::Dot(base, member) = &callee.node else {
        return false;
    };
    matches!(member.node.as_str(), "match" | "search")
        && scopes.origin_of(base) == Some(NameOrigin::Free("re"))
}
