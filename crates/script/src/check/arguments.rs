//! The arguments a tool reads by name, for comparison with what it declares.
//!
//! It reports only what must come from the caller: not a key that the script itself sets, and
//! nothing at all where the script may set keys it computes.

use super::flow::Flows;
use super::mentions::FirstMentions;
use super::scope::{NameOrigin, Scopes, Variable};
use super::tree::{at, each_expr, each_stmt, key_read, text};
use starlark::syntax::ast::{
    ArgumentP, AssignP, AssignTargetP, AstAssignTarget, AstExpr, AstParameter, AstStmt, BinOp,
    DefP, ExprP, StmtP,
};
use starlark_syntax::syntax::top_level_stmts::top_level_stmts;
use std::collections::HashSet;

/// The findings.
#[derive(Default)]
pub(super) struct Arguments {
    /// Keys read as `args["x"]` whose presence the script does not test.
    pub(super) indexed: FirstMentions,
    /// Keys read as `args.get("x")`, or tested with `in`.
    pub(super) tested: FirstMentions,
}

pub(super) fn arguments(script: &AstStmt, scopes: &Scopes, flows: &Flows<'_>) -> Arguments {
    let mut found = Arguments::default();
    let variables = arguments_of_run(script, scopes, flows);
    let Some(set) = keys_set(script) else {
        return found;
    };
    let is_args = |expr: &AstExpr| matches!(scopes.origin_of(expr), Some(NameOrigin::Bound(variable)) if variables.contains(&variable));
    let mut tested = Vec::new();
    each_expr(script, &mut |expr| match &expr.node {
        ExprP::Op(key, BinOp::In | BinOp::NotIn, of) if is_args(of) => tested.extend(text(key)),
        ExprP::Call(..) => tested.extend(
            key_read(expr)
                .filter(|(of, _)| is_args(of))
                .map(|(_, key)| key),
        ),
        _ => {}
    });
    for key in &tested {
        if !set.contains(key.node.as_str()) {
            found.tested.note(&key.node, at(key));
        }
    }
    each_expr(script, &mut |expr| {
        if matches!(expr.node, ExprP::Index(_))
            && let Some((_, key)) = key_read(expr).filter(|(of, _)| is_args(of))
            && !set.contains(key.node.as_str())
            && !tested.iter().any(|tested| tested.node == key.node)
        {
            found.indexed.note(&key.node, at(key));
        }
    });
    found
}

/// The variables that may hold the arguments; none with several functions called `run`.
pub(super) fn arguments_of_run(
    script: &AstStmt,
    scopes: &Scopes,
    flows: &Flows<'_>,
) -> HashSet<Variable> {
    let runs = top_level_stmts(script)
        .into_iter()
        .filter_map(|stmt| match &stmt.node {
            StmtP::Def(DefP { name, params, .. }) if name.node.ident == "run" => Some(&params[..]),
            StmtP::Assign(AssignP { lhs, rhs, .. }) => match (&lhs.node, &rhs.node) {
                (AssignTargetP::Identifier(name), ExprP::Lambda(lambda))
                    if name.node.ident == "run" =>
                {
                    Some(&lambda.params[..])
                }
                _ => None,
            },
            _ => None,
        });
    let first = |params: &[AstParameter]| scopes.bound(params.first()?.node.ident()?);
    match runs.collect::<Vec<_>>()[..] {
        [params] => first(params).map_or_else(HashSet::new, |variable| flows.aliases(variable)),
        _ => HashSet::new(),
    }
}

/// Every key that the script sets in any dict by a literal; `None` if it also sets computed ones.
fn keys_set(script: &AstStmt) -> Option<HashSet<&str>> {
    let (mut keys, mut computed) = (HashSet::new(), false);
    each_stmt(script, &mut |stmt| {
        if let StmtP::Assign(AssignP { lhs, .. }) | StmtP::AssignModify(lhs, ..) = &stmt.node {
            each_index(lhs, &mut |key| match text(key) {
                Some(key) => {
                    keys.insert(key.node.as_str());
                }
                None => computed = true,
            });
        }
    });
    each_expr(script, &mut |expr| {
        let ExprP::Call(callee, arguments) = &expr.node else {
            return;
        };
        let ExprP::Dot(_, method) = &callee.node else {
            return;
        };
        match method.node.as_str() {
            "setdefault" => match arguments.args.first().map(|argument| &argument.node) {
                Some(ArgumentP::Positional(key)) if text(key).is_some() => {
                    keys.extend(text(key).map(|key| key.node.as_str()));
                }
                _ => computed = true,
            },
            "update" => computed = true,
            _ => {}
        }
    });
    (!computed).then_some(keys)
}

fn each_index<'a>(target: &'a AstAssignTarget, each: &mut dyn FnMut(&'a AstExpr)) {
    match &target.node {
        AssignTargetP::Index(parts) => each(&parts.1),
        AssignTargetP::Tuple(targets) => {
            targets.iter().for_each(|target| each_index(target, each));
        }
        AssignTargetP::Dot(..) | AssignTargetP::Identifier(_) => {}
    }
}
