//! Timeouts that are written out in calls of built-ins, by the names of their parameters.

use super::flow::Flows;
use super::mentions::named;
use super::predeclared::Predeclared;
use super::scope::{NameOrigin, Scopes};
use super::tree::{at, each_expr, text};
use super::values::whole_number;
use starlark::syntax::ast::{ArgumentP, AstArgument, AstExpr, AstStmt, ExprP};
use tool_harness::facts::{Given, TimeoutLiteral};
use tool_harness::span::Source;

/// How the parameters end that hold a time.
const TIMES: [&str; 2] = ["timeout_ms", "timeout_seconds"];

pub(super) fn timeouts(
    script: &AstStmt,
    scopes: &Scopes,
    flows: &Flows<'_>,
    predeclared: &Predeclared<'_>,
    source: &Source,
) -> Vec<TimeoutLiteral> {
    let mut found = Vec::new();
    each_expr(script, &mut |expr| {
        let ExprP::Call(callee, arguments) = &expr.node else {
            return;
        };
        let ExprP::Dot(base, call) = &callee.node else {
            return;
        };
        let Some(NameOrigin::Free(module)) = scopes.origin_of(base) else {
            return;
        };
        let Some(builtin) = predeclared
            .namespace(module)
            .and_then(|namespace| namespace.call(&call.node))
        else {
            return;
        };
        let mut add = |parameter: &str, given: Given, argument: &AstArgument| {
            if TIMES.contains(&parameter)
                && let Some(number) = number(argument.node.expr(), scopes, flows)
            {
                let start = at(argument);
                let end = argument.span.end().get() as usize;
                found.push(TimeoutLiteral {
                    at: named(source, format!("{module}.{}", call.node), start),
                    length: u32::try_from(end.saturating_sub(start)).unwrap_or(0),
                    written: written(argument.node.expr(), source),
                    parameter: parameter.to_owned(),
                    given,
                    value: number,
                });
            }
        };
        for (index, argument) in arguments.args.iter().enumerate() {
            match &argument.node {
                ArgumentP::Positional(_) => {
                    if let Some(param) = builtin.params.get(index) {
                        add(param.name, Given::Position, argument);
                    }
                }
                ArgumentP::Named(name, _) => add(&name.node, Given::Name, argument),
                ArgumentP::Args(_) | ArgumentP::KwArgs(_) => break,
            }
        }
    });
    found
}

/// The number that is given: written out, or in a variable that holds one number or the default of
/// an argument, as `args.get("timeout_ms", 10000)`.
fn number(value: &AstExpr, scopes: &Scopes, flows: &Flows<'_>) -> Option<u64> {
    if let Some(NameOrigin::Bound(variable)) = scopes.origin_of(value) {
        let mut values = flows.values(variable);
        let (Some(only), None) = (values.next(), values.next()) else {
            return None;
        };
        return whole_number(only).or_else(|| default_number(only));
    }
    whole_number(value).or_else(|| default_number(value))
}

fn default_number(value: &AstExpr) -> Option<u64> {
    let ExprP::Call(callee, arguments) = &value.node else {
        return None;
    };
    let is_get = matches!(&callee.node, ExprP::Dot(_, method) if method.node == "get");
    match &*arguments.args {
        [key, default] if is_get && text(key.node.expr()).is_some() => {
            whole_number(default.node.expr())
        }
        _ => None,
    }
}

fn written(value: &AstExpr, source: &Source) -> String {
    if let Some(number) = whole_number(value) {
        return number.to_string();
    }
    let span = at(value)..value.span.end().get() as usize;
    let text = source.text.get(span).unwrap_or_default();
    match text.len() <= 60 && !text.contains('\n') {
        true => text.to_owned(),
        false => "...".to_owned(),
    }
}
