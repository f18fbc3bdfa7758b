//! Timeouts that are written out in calls of built-ins, by the names of their parameters.

use super::mentions::named;
use super::predeclared::Predeclared;
use super::scope::{NameOrigin, Scopes};
use super::tree::{at, each_expr};
use super::values::whole_number;
use starlark::syntax::ast::{ArgumentP, AstArgument, AstStmt, ExprP};
use tool_harness::facts::{Given, TimeoutLiteral};
use tool_harness::span::Source;

/// How the parameters end that hold a time.
const TIMES: [&str; 2] = ["timeout_ms", "timeout_seconds"];

pub(super) fn timeouts(
    script: &AstStmt,
    scopes: &Scopes,
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
                && let Some(number) = whole_number(argument.node.expr())
            {
                let start = at(argument);
                let end = argument.span.end().get() as usize;
                found.push(TimeoutLiteral {
                    at: named(source, format!("{module}.{}", call.node), start),
                    length: u32::try_from(end.saturating_sub(start)).unwrap_or(0),
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
