//! The functions a script defines at its top level.

use super::mentions::named;
use super::tree::at;
use starlark::syntax::ast::{
    AssignP, AssignTargetP, AstExpr, AstParameter, AstStmt, DefP, ExprP, ParameterP, StmtP,
};
use starlark_syntax::syntax::top_level_stmts::top_level_stmts;
use tool_harness::facts::Function;
use tool_harness::span::Source;

/// Every `def`, name of a lambda, and other name of one of these; of two with one name the later, as the interpreter has it.
pub(super) fn functions(script: &AstStmt, source: &Source) -> Vec<Function> {
    let mut found: Vec<Function> = Vec::new();
    for stmt in top_level_stmts(script) {
        let (name, at, signature) = match &stmt.node {
            StmtP::Def(DefP { name, params, .. }) => {
                (&name.node.ident, at(name), Signature::of(params))
            }
            StmtP::Assign(AssignP { lhs, rhs, .. }) => {
                match (&lhs.node, Signature::of_value(rhs, &found)) {
                    (AssignTargetP::Identifier(name), Some(signature)) => {
                        (&name.node.ident, at(name), signature)
                    }
                    _ => continue,
                }
            }
            _ => continue,
        };
        let Signature {
            required,
            accepted,
            parameters,
        } = signature;
        found.retain(|other| other.at.name != *name);
        found.push(Function {
            at: named(source, name, at),
            required,
            accepted,
            parameters,
        });
    }
    found
}

/// What a function can be called with.
struct Signature {
    required: usize,
    accepted: Option<usize>,
    parameters: Vec<String>,
}

impl Signature {
    fn of_value(value: &AstExpr, known: &[Function]) -> Option<Self> {
        match &value.node {
            ExprP::Lambda(lambda) => Some(Self::of(&lambda.params)),
            ExprP::Identifier(ident) => {
                let Function {
                    required,
                    accepted,
                    parameters,
                    ..
                } = known
                    .iter()
                    .find(|function| function.at.name == ident.node.ident)?
                    .clone();
                Some(Self {
                    required,
                    accepted,
                    parameters,
                })
            }
            _ => None,
        }
    }

    /// Required and accepted positional arguments. A keyword-only parameter without a default counts as required and not as accepted: no call with
    /// positional arguments alone can satisfy it.
    fn of(params: &[AstParameter]) -> Self {
        let mut signature = Self {
            required: 0,
            accepted: Some(0),
            parameters: Vec::new(),
        };
        let mut positional = true;
        for param in params {
            match &param.node {
                ParameterP::Normal(name, _, default) => {
                    signature.required += usize::from(default.is_none());
                    if positional {
                        signature.accepted = signature.accepted.map(|count| count + 1);
                        signature.parameters.push(name.node.ident.clone());
                    }
                }
                ParameterP::NoArgs => positional = false,
                ParameterP::Args(..) => {
                    positional = false;
                    signature.accepted = None;
                }
                ParameterP::Slash | ParameterP::KwArgs(..) => {}
            }
        }
        signature
    }
}
