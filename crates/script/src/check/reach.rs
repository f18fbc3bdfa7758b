//! Which built-ins a script can reach, and which names mean nothing.
//!
//! A script can get hold of a namespace only by evaluating its name, so it is enough to look at
//! each place that does: `fs.read` reaches one built-in, `x = fs` is followed to every use of `x`,
//! and anything else (an argument, an element, a return value, a default) reaches every built-in of
//! `fs`. This is sound as long as built-ins are globals of the interpreter, there is no `load`, and
//! no built-in returns a namespace.

use super::flow::Flows;
use super::mentions::FirstMentions;
use super::predeclared::{Predeclared, is_standard};
use super::scope::{NameOrigin, Scopes, Variable};
use super::tree::at;
use starlark::syntax::ast::{AssignP, AstExpr, AstStmt, ExprP, StmtP};
use starlark_syntax::syntax::uniplate::Visit;
use std::collections::HashMap;

/// The findings.
#[derive(Default)]
pub(super) struct Reach {
    /// Built-ins, such as `fs.read` or `env`.
    pub(super) reaches: FirstMentions,
    /// Names that are neither bound nor predeclared.
    pub(super) unknown_names: FirstMentions,
    /// Members that a namespace does not have, such as `fs.raed`.
    pub(super) unknown_members: FirstMentions,
}

pub(super) fn reach(
    script: &AstStmt,
    scopes: &Scopes,
    flows: &Flows,
    predeclared: &Predeclared,
) -> Reach {
    let mut holders: HashMap<Variable, Vec<&str>> = HashMap::new();
    for name in predeclared.namespaces() {
        for variable in
            flows.carriers(|value| scopes.origin_of(value) == Some(NameOrigin::Free(name)))
        {
            holders.entry(variable).or_default().push(name);
        }
    }
    let mut walk = ReachWalk {
        scopes,
        predeclared,
        holders,
        found: Reach::default(),
    };
    walk.stmt(script);
    walk.found
}

struct ReachWalk<'s, 'm> {
    scopes: &'s Scopes,
    predeclared: &'s Predeclared<'m>,
    /// The namespaces each variable may hold.
    holders: HashMap<Variable, Vec<&'m str>>,
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
    Assigned,
    /// Any other way.
    Value,
}

impl ReachWalk<'_, '_> {
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

    /// Handles a value assigned to a plain name. It must pass over exactly what [`Flows`] follows.
    fn assigned(&mut self, value: &AstExpr) {
        match &value.node {
            ExprP::If(parts) => {
                self.expr(&parts.0);
                self.assigned(&parts.1);
                self.assigned(&parts.2);
            }
            ExprP::Identifier(ident) => {
                self.used(self.scopes.origin(ident), Use::Assigned, at(ident))
            }
            _ => self.expr(value),
        }
    }

    fn expr(&mut self, expr: &AstExpr) {
        match &expr.node {
            ExprP::Identifier(ident) => self.used(self.scopes.origin(ident), Use::Value, at(ident)),
            ExprP::Dot(base, member) => self.name_used(base, Use::Member(&member.node)),
            ExprP::Call(callee, arguments) => {
                self.name_used(callee, Use::Call);
                for argument in &arguments.args {
                    self.expr(argument.node.expr());
                }
            }
            other => other.visit_expr(|child| self.expr(child)),
        }
    }

    /// Handles an expression that is used in this way if it is only a name.
    fn name_used(&mut self, expr: &AstExpr, how: Use) {
        match self.scopes.origin_of(expr) {
            Some(origin) => self.used(origin, how, at(expr)),
            None => self.expr(expr),
        }
    }

    fn used(&mut self, origin: NameOrigin, how: Use, offset: usize) {
        match origin {
            NameOrigin::Free(name) => self.free(name, how, offset),
            NameOrigin::Bound(variable) => {
                for namespace in self.holders.get(&variable).cloned().unwrap_or_default() {
                    self.namespace(namespace, how, offset);
                }
            }
        }
    }

    fn free(&mut self, name: &str, how: Use, offset: usize) {
        let Some(namespace) = self.predeclared.namespace(name) else {
            if self.predeclared.is_global(name) {
                self.found.reaches.note(name, offset);
            } else if !self.predeclared.has(name) {
                self.found.unknown_names.note(name, offset);
            }
            return;
        };
        if let Use::Member(member) = how
            && !namespace.has(member)
        {
            self.found
                .unknown_members
                .note(format!("{name}.{member}"), offset);
        }
        self.namespace(name, how, offset);
    }

    /// Handles a use of a namespace, by its name or through a variable that may hold it.
    fn namespace(&mut self, name: &str, how: Use, offset: usize) {
        let Some(namespace) = self.predeclared.namespace(name) else {
            return;
        };
        let callable = self.predeclared.is_global(name);
        match how {
            Use::Member(member) => {
                if namespace.has_call(member) {
                    self.found.reaches.note(format!("{name}.{member}"), offset);
                }
            }
            // An assigned callable counts at once: the harness calls `run` in `run = log`.
            Use::Call | Use::Assigned if callable => self.found.reaches.note(name, offset),
            Use::Assigned => {}
            // `hash("x")` calls Starlark's own function, not the built-in module.
            Use::Call if is_standard(name) => {}
            Use::Call | Use::Value => {
                for call in namespace.calls() {
                    self.found.reaches.note(format!("{name}.{call}"), offset);
                }
                if callable {
                    self.found.reaches.note(name, offset);
                }
            }
        }
    }
}
