//! Which built-ins a script can reach, and which names lead nowhere.
//!
//! A namespace is only ever obtained by evaluating its name, so it is enough to look at each place that does: `fs.read` reaches one call, `x = fs`
//! is followed to wherever `x` is used, and anything else (an argument, an element, a return value, a default) reaches every call of `fs`.
//! This holds while built-ins are globals of the interpreter, there is no `load`, and no built-in returns a namespace.

use super::flow::Flows;
use super::known::{Known, is_standard};
use super::mentions::Mentions;
use super::scope::{Origin, Scopes, Variable};
use super::tree::at;
use starlark::syntax::ast::{AssignP, AstExpr, AstStmt, ExprP, StmtP};
use starlark_syntax::syntax::uniplate::Visit;
use std::collections::HashMap;

/// What was found.
#[derive(Default)]
pub(super) struct Reach {
    /// Built-ins, as `fs.read` or `env`.
    pub(super) reaches: Mentions,
    /// Free names that stand for nothing.
    pub(super) unknown_names: Mentions,
    /// Members that a namespace does not have.
    pub(super) unknown_members: Mentions,
}

/// Reads a whole script.
pub(super) fn reach(script: &AstStmt, scopes: &Scopes, flows: &Flows, known: &Known) -> Reach {
    let mut held: HashMap<Variable, Vec<&str>> = HashMap::new();
    for name in known.spaces() {
        for variable in flows.carriers(|value| scopes.origin_of(value) == Some(Origin::Free(name)))
        {
            held.entry(variable).or_default().push(name);
        }
    }
    let mut walk = Walk {
        scopes,
        known,
        held,
        found: Reach::default(),
    };
    walk.stmt(script);
    walk.found
}

struct Walk<'s, 'm> {
    scopes: &'s Scopes,
    known: &'s Known<'m>,
    /// The namespaces each variable may hold.
    held: HashMap<Variable, Vec<&'m str>>,
    found: Reach,
}

/// How a name is used.
#[derive(Clone, Copy)]
enum Use<'a> {
    /// `name.member`.
    Member(&'a str),
    /// `name(...)`.
    Call,
    /// `other = name`, which [`Flows`] follows.
    Carried,
    /// Any other way.
    Value,
}

impl Walk<'_, '_> {
    fn stmt(&mut self, stmt: &AstStmt) {
        match &stmt.node {
            StmtP::Assign(AssignP { lhs, rhs, .. }) if self.scopes.target(lhs).is_some() => {
                self.assigned(rhs)
            }
            other => other.visit_children(|child| match child {
                Visit::Stmt(stmt) => self.stmt(stmt),
                Visit::Expr(expr) => self.expr(expr),
            }),
        }
    }

    /// A value given to a plain name. It must let through exactly what [`Flows`] follows.
    fn assigned(&mut self, value: &AstExpr) {
        match &value.node {
            ExprP::If(parts) => {
                self.expr(&parts.0);
                self.assigned(&parts.1);
                self.assigned(&parts.2);
            }
            ExprP::Identifier(ident) => {
                self.used(self.scopes.origin(ident), Use::Carried, at(ident))
            }
            _ => self.expr(value),
        }
    }

    fn expr(&mut self, expr: &AstExpr) {
        match &expr.node {
            ExprP::Identifier(ident) => self.used(self.scopes.origin(ident), Use::Value, at(ident)),
            ExprP::Dot(base, member) if self.scopes.origin_of(base).is_some() => {
                self.origin_used(base, Use::Member(&member.node));
            }
            ExprP::Call(callee, arguments) if self.scopes.origin_of(callee).is_some() => {
                self.origin_used(callee, Use::Call);
                arguments
                    .args
                    .iter()
                    .for_each(|argument| self.expr(argument.node.expr()));
            }
            other => other.visit_expr(|child| self.expr(child)),
        }
    }

    fn origin_used(&mut self, name: &AstExpr, how: Use) {
        if let Some(origin) = self.scopes.origin_of(name) {
            self.used(origin, how, at(name));
        }
    }

    fn used(&mut self, origin: Origin, how: Use, at: usize) {
        match origin {
            Origin::Free(name) => self.free(name, how, at),
            Origin::Bound(variable) => {
                for space in self.held.get(&variable).cloned().unwrap_or_default() {
                    self.space(space, how, at);
                }
            }
        }
    }

    fn free(&mut self, name: &str, how: Use, at: usize) {
        let Some(space) = self.known.space(name) else {
            if self.known.is_global(name) {
                self.found.reaches.note(name, at);
            } else if !self.known.has(name) {
                self.found.unknown_names.note(name, at);
            }
            return;
        };
        if let Use::Member(member) = how
            && !space.has(member)
        {
            self.found
                .unknown_members
                .note(format!("{name}.{member}"), at);
        }
        self.space(name, how, at);
    }

    /// A use of a namespace, by its own name or through a variable that may hold it.
    fn space(&mut self, name: &str, how: Use, at: usize) {
        let Some(space) = self.known.space(name) else {
            return;
        };
        let callable = self.known.is_global(name);
        match how {
            Use::Member(member) => {
                if space.has_call(member) {
                    self.found.reaches.note(format!("{name}.{member}"), at);
                }
            }
            // A carried callable counts at once: `run = log` is called by the harness, where no use of `run` is seen.
            Use::Call | Use::Carried if callable => self.found.reaches.note(name, at),
            Use::Carried => {}
            // `hash("x")` is Starlark's own function, of which `hash.sha256` is no part.
            Use::Call if is_standard(name) => {}
            Use::Call | Use::Value => {
                for call in space.calls() {
                    self.found.reaches.note(format!("{name}.{call}"), at);
                }
                if callable {
                    self.found.reaches.note(name, at);
                }
            }
        }
    }
}
