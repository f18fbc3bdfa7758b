//! The functions a script defines at its top level.

use super::mentions::named;
use super::tree::at;
use starlark::syntax::ast::{AssignP, AssignTargetP, AstExpr, AstParameter, AstStmt, DefP, ExprP, ParameterP, StmtP};
use starlark_syntax::syntax::top_level_stmts::top_level_stmts;
use tool_harness::check::facts::Function;
use tool_harness::span::Source;

/// Every `def`, name of a lambda, and other name of one of these; of two with one name the later, as the interpreter has it.
pub(super) fn functions(script: &AstStmt, source: &Source) -> Vec<Function> {
    let mut found: Vec<Function> = Vec::new();
    for stmt in top_level_stmts(script) {
        let (name, at, (required, accepted)) = match &stmt.node {
            StmtP::Def(DefP { name, params, .. }) => (&name.node.ident, at(name), arity(params)),
            StmtP::Assign(AssignP { lhs, rhs, .. }) => match (&lhs.node, arity_of(rhs, &found)) {
                (AssignTargetP::Identifier(name), Some(arity)) => (&name.node.ident, at(name), arity),
                _ => continue,
            },
            _ => continue,
        };
        found.retain(|other| other.at.name != *name);
        found.push(Function { at: named(source, name, at), required, accepted });
    }
    found
}

fn arity_of(value: &AstExpr, known: &[Function]) -> Option<(usize, Option<usize>)> {
    match &value.node {
        ExprP::Lambda(lambda) => Some(arity(&lambda.params)),
        ExprP::Identifier(ident) => {
            known.iter().find(|function| function.at.name == ident.node.ident).map(|function| (function.required, function.accepted))
        }
        _ => None,
    }
}

/// Required and accepted positional arguments. A keyword-only parameter without a default counts as required and not as accepted: no call with
/// positional arguments alone can satisfy it.
fn arity(params: &[AstParameter]) -> (usize, Option<usize>) {
    let mut required = 0;
    let mut accepted = Some(0);
    let mut positional = true;
    for param in params {
        match &param.node {
            ParameterP::Normal(_, _, default) => {
                required += usize::from(default.is_none());
                accepted = accepted.map(|count| count + usize::from(positional));
            }
            ParameterP::NoArgs => positional = false,
            ParameterP::Args(..) => {
                positional = false;
                accepted = None;
            }
            ParameterP::Slash | ParameterP::KwArgs(..) => {}
        }
    }
    (required, accepted)
}
