//! Places where a hook changes its payload in place and never returns it.

use super::changes::is_changing;
use super::flow::Flows;
use super::mentions::FirstMentions;
use super::payload::PayloadNames;
use super::scope::{NameOrigin, Scopes, Variable};
use super::tree::{at, each_expr, key_read, text};
use starlark::codemap::Spanned;
use starlark::syntax::ast::{
    AssignP, AssignTargetP, AstAssignTarget, AstExpr, AstStmt, ExprP, StmtP,
};
use std::collections::HashSet;
use tool_harness::span::Source;

/// The changes; none if the script mentions `modify` anywhere, since it may return them.
pub(super) fn payload_changes<'a>(
    script: &'a AstStmt,
    scopes: &Scopes,
    flows: &Flows<'a>,
    payloads: &PayloadNames,
    source: &Source,
) -> FirstMentions {
    let mut reader = ChangeReader {
        scopes,
        payloads,
        source,
        parts: HashSet::new(),
        found: FirstMentions::default(),
    };
    if mentions_modify(script, scopes) {
        return reader.found;
    }
    // A part of a part is a part, so look until there is no more.
    loop {
        let parts = flows.holders(|value| reader.is_part(value));
        if parts == reader.parts {
            break;
        }
        reader.parts = parts;
    }
    reader.stmt(script);
    each_expr(script, &mut |expr| reader.expr(expr));
    reader.found
}

fn mentions_modify(script: &AstStmt, scopes: &Scopes) -> bool {
    let mut found = false;
    each_expr(script, &mut |expr| {
        found |= scopes.origin_of(expr) == Some(NameOrigin::Free("modify"))
            || text(expr).is_some_and(|text| text.node == "modify");
    });
    found
}

struct ChangeReader<'s> {
    scopes: &'s Scopes,
    payloads: &'s PayloadNames,
    source: &'s Source,
    /// Variables that only ever hold the payload or a part of it.
    parts: HashSet<Variable>,
    found: FirstMentions,
}

impl ChangeReader<'_> {
    fn stmt(&mut self, stmt: &AstStmt) {
        match &stmt.node {
            StmtP::Assign(AssignP { lhs, .. }) | StmtP::AssignModify(lhs, _, _) => {
                self.target(lhs);
            }
            _ => {}
        }
        stmt.node.visit_stmt(|child| self.stmt(child));
    }

    fn target(&mut self, target: &AstAssignTarget) {
        match &target.node {
            AssignTargetP::Tuple(parts) => parts.iter().for_each(|part| self.target(part)),
            AssignTargetP::Index(parts) if self.is_part(&parts.0) => self.note(target),
            _ => {}
        }
    }

    fn expr(&mut self, expr: &AstExpr) {
        if let ExprP::Call(callee, _) = &expr.node
            && let ExprP::Dot(base, method) = &callee.node
            && is_changing(&method.node)
            && self.is_part(base)
        {
            self.note(callee);
        }
    }

    /// Whether an expression is the payload, or a dict or list inside it.
    fn is_part(&self, expr: &AstExpr) -> bool {
        if self.payloads.has(self.scopes, expr) {
            return true;
        }
        match &expr.node {
            ExprP::Identifier(_) => {
                matches!(self.scopes.origin_of(expr), Some(NameOrigin::Bound(variable)) if self.parts.contains(&variable))
            }
            ExprP::Index(parts) => self.is_part(&parts.0),
            _ => key_read(expr).is_some_and(|(base, _)| self.is_part(base)),
        }
    }

    fn note<T>(&mut self, node: &Spanned<T>) {
        let text = self
            .source
            .text
            .get(at(node)..node.span.end().get() as usize)
            .unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        self.found.note(line, at(node));
    }
}
