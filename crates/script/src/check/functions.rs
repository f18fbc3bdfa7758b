//! The functions a script defines at its top level.

use super::mentions::named;
use super::tree::at;
use starlark::syntax::ast::{
    AssignP, AssignTargetP, AstAssignIdent, AstParameter, AstStmt, DefP, ExprP, ParameterP, StmtP,
};
use starlark_syntax::syntax::top_level_stmts::top_level_stmts;
use tool_harness::facts::{Function, Named};
use tool_harness::span::Source;

/// Every `def`, every lambda assigned to a name, and every alias of one. Of two with one name the
/// later counts, as in the interpreter.
pub(super) fn functions(script: &AstStmt, source: &Source) -> Vec<Function> {
    let place = |name: &AstAssignIdent| named(source, &name.node.ident, at(name));
    let mut found: Vec<Function> = Vec::new();
    for stmt in top_level_stmts(script) {
        let function = match &stmt.node {
            StmtP::Def(DefP { name, params, .. }) => Some(function(place(name), params)),
            StmtP::Assign(AssignP { lhs, rhs, .. }) => match (&lhs.node, &rhs.node) {
                (AssignTargetP::Identifier(name), ExprP::Lambda(lambda)) => {
                    Some(function(place(name), &lambda.params))
                }
                (AssignTargetP::Identifier(name), ExprP::Identifier(of)) => found
                    .iter()
                    .find(|function| function.at.name == of.node.ident)
                    .map(|function| Function {
                        at: place(name),
                        ..function.clone()
                    }),
                _ => None,
            },
            _ => None,
        };
        if let Some(function) = function {
            found.retain(|other| other.at.name != function.at.name);
            found.push(function);
        }
    }
    found
}

/// Counts positional arguments. A keyword-only parameter without a default counts as required but
/// not as accepted: no call with positional arguments alone can satisfy it.
fn function(at: Named, params: &[AstParameter]) -> Function {
    let mut function = Function {
        at,
        required: 0,
        accepted: Some(0),
        parameters: Vec::new(),
    };
    let mut positional = true;
    for param in params {
        match &param.node {
            ParameterP::Normal(name, _, default) => {
                function.required += usize::from(default.is_none());
                if positional {
                    function.accepted = function.accepted.map(|count| count + 1);
                    function.parameters.push(name.node.ident.clone());
                }
            }
            ParameterP::NoArgs => positional = false,
            ParameterP::Args(..) => {
                positional = false;
                function.accepted = None;
            }
            ParameterP::Slash | ParameterP::KwArgs(..) => {}
        }
    }
    function
}
