//! A hook's `handle` function, and what it returns.

use super::flow::branches;
use super::mentions::FirstMentions;
use super::scope::{NameOrigin, Scopes};
use super::tree::{at, text};
use starlark::syntax::ast::{
    AssignP, AssignTargetP, AstAssignIdent, AstExpr, AstParameter, AstStmt, DefP, ExprP, StmtP,
};
use starlark_syntax::syntax::top_level_stmts::top_level_stmts;
use tool_harness::span::Source;

const HANDLE: &str = "handle";
/// The actions of a decision.
const ACTIONS: [&str; 6] = ["allow", "continue", "block", "modify", "ask", "delegate"];

/// `handle`, as a `def` or as a lambda assigned to that name.
#[derive(Clone, Copy)]
pub(super) struct HandleFunction<'a> {
    params: &'a [AstParameter],
    pub(super) body: HandleBody<'a>,
}

/// What a `handle` does.
#[derive(Clone, Copy)]
pub(super) enum HandleBody<'a> {
    /// The statements of a `def`.
    Block(&'a AstStmt),
    /// The value of a lambda.
    Value(&'a AstExpr),
}

impl<'a> HandleFunction<'a> {
    /// The first `handle` of a script.
    pub(super) fn of(script: &'a AstStmt) -> Option<Self> {
        top_level_stmts(script)
            .into_iter()
            .find_map(|stmt| match &stmt.node {
                StmtP::Def(DefP {
                    name, params, body, ..
                }) if name.node.ident == HANDLE => Some(Self {
                    params,
                    body: HandleBody::Block(body),
                }),
                StmtP::Assign(AssignP { lhs, rhs, .. }) => match (&lhs.node, &rhs.node) {
                    (AssignTargetP::Identifier(name), ExprP::Lambda(lambda))
                        if name.node.ident == HANDLE =>
                    {
                        Some(Self {
                            params: &lambda.params,
                            body: HandleBody::Value(&lambda.body),
                        })
                    }
                    _ => None,
                },
                _ => None,
            })
    }

    /// The name of a parameter, counting from zero.
    pub(super) fn parameter(&self, index: usize) -> Option<&'a AstAssignIdent> {
        self.params
            .iter()
            .filter_map(|param| param.node.ident())
            .nth(index)
    }

    /// The literals it returns that are not decisions.
    pub(super) fn odd_returns(&self, scopes: &Scopes, source: &Source) -> FirstMentions {
        let mut check = ReturnCheck {
            scopes,
            source,
            odd: FirstMentions::default(),
        };
        match self.body {
            HandleBody::Block(block) => check.stmt(block),
            HandleBody::Value(value) => check.value(value),
        }
        check.odd
    }
}

struct ReturnCheck<'s> {
    scopes: &'s Scopes,
    source: &'s Source,
    odd: FirstMentions,
}

impl ReturnCheck<'_> {
    fn stmt(&mut self, stmt: &AstStmt) {
        match &stmt.node {
            StmtP::Return(Some(value)) => self.value(value),
            StmtP::Return(None) => self.odd.note("None", at(stmt)),
            StmtP::Def(_) => {}
            other => other.visit_stmt(|child| self.stmt(child)),
        }
    }

    fn value(&mut self, value: &AstExpr) {
        branches(value, &mut |value| match &value.node {
            ExprP::Dict(entries) => self.dict(value, entries),
            _ if self.is_literal(value) => self.odd.note(self.source_line(value), at(value)),
            _ => {}
        });
    }

    fn dict(&mut self, dict: &AstExpr, entries: &[(AstExpr, AstExpr)]) {
        let action = entries
            .iter()
            .find(|(key, _)| text(key).is_some_and(|key| key.node == "action"));
        match (action, entries.first()) {
            (Some((_, value)), _) => branches(value, &mut |value| self.action(value)),
            (None, None) => self.odd.note("{}", at(dict)),
            // A computed key may evaluate to `action`.
            (None, Some((first, _))) if entries.iter().all(|(key, _)| self.is_literal(key)) => {
                let name =
                    text(first).map_or_else(|| self.source_line(first), |text| text.node.clone());
                self.odd.note(name, at(first));
            }
            (None, Some(_)) => {}
        }
    }

    fn action(&mut self, value: &AstExpr) {
        match text(value) {
            Some(action) if ACTIONS.contains(&action.node.as_str()) => {}
            Some(action) => self.odd.note(format!("action: {}", action.node), at(value)),
            None if self.is_literal(value) => self
                .odd
                .note(format!("action: {}", self.source_line(value)), at(value)),
            None => {}
        }
    }

    fn is_literal(&self, value: &AstExpr) -> bool {
        match &value.node {
            ExprP::Literal(_) | ExprP::FString(_) => true,
            ExprP::Minus(inner) | ExprP::Plus(inner) => matches!(inner.node, ExprP::Literal(_)),
            ExprP::Identifier(ident) => matches!(
                self.scopes.origin(ident),
                NameOrigin::Free("True" | "False" | "None")
            ),
            _ => false,
        }
    }

    /// The first line of the expression's source.
    fn source_line(&self, value: &AstExpr) -> String {
        let text = self
            .source
            .text
            .get(at(value)..value.span.end().get() as usize)
            .unwrap_or_default();
        text.lines().next().unwrap_or_default().to_owned()
    }
}
