//! Where a hook looks for a name only to block it.
//!
//! Such a hook may name a tool that does not exist, because it says that there must be none.

use super::flow::branches;
use super::handle::HandleBody;
use super::scope::{NameOrigin, Scopes};
use super::tree::{at, text};
use starlark::syntax::ast::{AstExpr, AstStmt, BinOp, ExprP, StmtP};
use std::collections::HashSet;

/// What the conditions of a `handle` lead to.
#[derive(Default)]
pub(super) struct Forbidden {
    /// The comparisons that decide nothing but a block: where each begins and ends.
    comparisons: HashSet<(usize, usize)>,
    /// Whether every return of the hook is a block.
    pub(super) is_everything: bool,
}

impl Forbidden {
    pub(super) fn of(body: HandleBody<'_>, scopes: &Scopes) -> Self {
        let mut found = Self::default();
        match body {
            HandleBody::Block(block) => {
                found.is_everything = always_blocks(std::slice::from_ref(block), scopes);
                found.statements(std::slice::from_ref(block), scopes);
            }
            HandleBody::Value(value) => {
                found.is_everything = blocks(value, scopes);
                found.value(value, scopes);
            }
        }
        found
    }

    /// Whether a comparison leads to a block and to nothing else.
    pub(super) fn has(&self, comparison: &AstExpr) -> bool {
        self.comparisons.contains(&place(comparison))
    }

    fn statements(&mut self, block: &[AstStmt], scopes: &Scopes) {
        for (index, stmt) in block.iter().enumerate() {
            let rest = block.get(index + 1..).unwrap_or_default();
            match &stmt.node {
                StmtP::Statements(inner) => self.statements(inner, scopes),
                StmtP::If(condition, then) => {
                    let then = std::slice::from_ref(&**then);
                    self.condition(
                        condition,
                        always_blocks(then, scopes),
                        always_blocks(rest, scopes),
                        scopes,
                    );
                    self.statements(then, scopes);
                }
                StmtP::IfElse(condition, parts) => {
                    let (then, otherwise) = (
                        std::slice::from_ref(&parts.0),
                        std::slice::from_ref(&parts.1),
                    );
                    self.condition(
                        condition,
                        always_blocks(then, scopes),
                        always_blocks(otherwise, scopes),
                        scopes,
                    );
                    self.statements(then, scopes);
                    self.statements(otherwise, scopes);
                }
                StmtP::Return(Some(value)) => self.value(value, scopes),
                StmtP::For(inner) => {
                    self.statements(std::slice::from_ref(&*inner.body), scopes);
                }
                _ => {}
            }
        }
    }

    /// `return block(...) if name == "x" else allow()`.
    fn value(&mut self, value: &AstExpr, scopes: &Scopes) {
        if let ExprP::If(parts) = &value.node {
            let (condition, then, otherwise) = (&parts.0, &parts.1, &parts.2);
            self.condition(
                condition,
                blocks(then, scopes),
                blocks(otherwise, scopes),
                scopes,
            );
            self.value(then, scopes);
            self.value(otherwise, scopes);
        }
    }

    /// Takes the comparisons of a condition: those that hold where it leads to a block, and those
    /// that fail where its opposite does.
    ///
    /// A condition that also looks at the arguments does not forbid the name: it waits for a tool.
    fn condition(&mut self, condition: &AstExpr, if_true: bool, if_false: bool, scopes: &Scopes) {
        match &condition.node {
            ExprP::Op(left, operator @ (BinOp::And | BinOp::Or), right) => {
                let alone =
                    |other: &AstExpr| *operator == BinOp::Or || looks_at_nothing(other, scopes);
                let (left_alone, right_alone) = (alone(right), alone(left));
                self.condition(left, if_true && left_alone, if_false, scopes);
                self.condition(right, if_true && right_alone, if_false, scopes);
            }
            ExprP::Not(inner) => self.condition(inner, if_false, if_true, scopes),
            ExprP::Op(_, BinOp::Equal | BinOp::In, _) if if_true => {
                self.comparisons.insert(place(condition));
            }
            ExprP::Op(_, BinOp::NotEqual | BinOp::NotIn, _) if if_false => {
                self.comparisons.insert(place(condition));
            }
            _ => {}
        }
    }
}

/// Whether an expression looks at nothing of the call: it has no variables, only built-ins and
/// literals, as `ctx.get("strict")`.
fn looks_at_nothing(expr: &AstExpr, scopes: &Scopes) -> bool {
    let mut all = !matches!(scopes.origin_of(expr), Some(NameOrigin::Bound(_)));
    expr.node
        .visit_expr(|child| all &= looks_at_nothing(child, scopes));
    all
}

fn place(expr: &AstExpr) -> (usize, usize) {
    (at(expr), expr.span.end().get() as usize)
}

/// Whether a block of statements returns on every way through it, and only blocks.
fn always_blocks(block: &[AstStmt], scopes: &Scopes) -> bool {
    only_blocks(block, scopes) && block.last().is_some_and(returns)
}

fn returns(stmt: &AstStmt) -> bool {
    match &stmt.node {
        StmtP::Return(_) => true,
        StmtP::Statements(block) => block.last().is_some_and(returns),
        StmtP::IfElse(_, parts) => returns(&parts.0) && returns(&parts.1),
        _ => false,
    }
}

fn only_blocks(block: &[AstStmt], scopes: &Scopes) -> bool {
    block.iter().all(|stmt| match &stmt.node {
        StmtP::Return(value) => value.as_ref().is_some_and(|value| blocks(value, scopes)),
        StmtP::Statements(inner) => only_blocks(inner, scopes),
        StmtP::If(_, then) => only_blocks(std::slice::from_ref(&**then), scopes),
        StmtP::IfElse(_, parts) => {
            only_blocks(std::slice::from_ref(&parts.0), scopes)
                && only_blocks(std::slice::from_ref(&parts.1), scopes)
        }
        StmtP::For(inner) => only_blocks(std::slice::from_ref(&*inner.body), scopes),
        _ => true,
    })
}

/// Whether a returned value is `block(...)`, or a dict that says the same, whatever its conditions.
fn blocks(value: &AstExpr, scopes: &Scopes) -> bool {
    let mut all = true;
    branches(value, &mut |value| {
        all &= match &value.node {
            ExprP::Call(callee, _) => {
                matches!(scopes.origin_of(callee), Some(NameOrigin::Free("block")))
            }
            ExprP::Dict(entries) => entries.iter().any(|(key, value)| {
                text(key).is_some_and(|key| key.node == "action")
                    && text(value).is_some_and(|action| action.node == "block")
            }),
            _ => false,
        };
    });
    all
}
