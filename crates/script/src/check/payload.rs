//! The keys a hook reads from its payload, and the texts it compares with the tool's name.

use super::flow::Flows;
use super::mentions::FirstMentions;
use super::scope::{NameOrigin, Scopes, Variable};
use super::tree::{at, each_expr, key_read, text};
use starlark::codemap::Spanned;
use starlark::syntax::ast::{AstExpr, AstStmt, BinOp, ExprP};
use std::collections::HashSet;

/// The keys that hold the called tool's name.
const NAMES: [&str; 2] = ["name", "tool_name"];

/// The findings.
#[derive(Default)]
pub(super) struct Payload {
    /// Literal keys, and `tool.name` for `payload["tool"]["name"]`.
    pub(super) keys: FirstMentions,
    /// Texts compared with the tool's name.
    pub(super) compared: FirstMentions,
}

/// The names that stand for the payload.
pub(super) enum PayloadNames {
    /// Variables, for the second parameter of `handle`.
    Variables(HashSet<Variable>),
    /// A predeclared name, in a `when`.
    Free(&'static str),
}

pub(super) fn payload<'a>(
    script: &'a AstStmt,
    scopes: &Scopes,
    flows: &Flows<'a>,
    payloads: PayloadNames,
) -> Payload {
    let mut reader = PayloadReader {
        scopes,
        flows,
        payloads,
        tools: HashSet::new(),
        names: HashSet::new(),
        found: Payload::default(),
    };
    reader.tools = flows.carriers(|value| reader.is_tool(value));
    reader.names = flows.carriers(|value| reader.is_name(value));
    each_expr(script, &mut |expr| reader.expr(expr));
    reader.found
}

struct PayloadReader<'s, 'a> {
    scopes: &'s Scopes,
    flows: &'s Flows<'a>,
    payloads: PayloadNames,
    /// Variables that may hold `payload["tool"]`.
    tools: HashSet<Variable>,
    /// Variables that may hold the tool's name.
    names: HashSet<Variable>,
    found: Payload,
}

impl<'a> PayloadReader<'_, 'a> {
    fn expr(&mut self, expr: &'a AstExpr) {
        if let Some(key) = self.payload_key(expr) {
            self.found.keys.note(&key.node, at(key));
        } else if let Some(key) = self.tool_key(expr) {
            self.found.keys.note("tool.name", at(key));
        }
        if let ExprP::Op(left, operator, right) = &expr.node {
            match operator {
                BinOp::Equal | BinOp::NotEqual if self.is_name(left) => self.compared(right),
                BinOp::Equal | BinOp::NotEqual if self.is_name(right) => self.compared(left),
                BinOp::In | BinOp::NotIn if self.is_name(left) => {
                    self.compared_with_elements(right)
                }
                _ => {}
            }
        }
    }

    fn compared(&mut self, with: &AstExpr) {
        if let Some(text) = text(with) {
            self.found.compared.note(&text.node, at(with));
        }
    }

    /// Handles a list, tuple or dict literal, or a variable that only ever holds one such literal.
    fn compared_with_elements(&mut self, with: &'a AstExpr) {
        match &with.node {
            ExprP::List(elements) | ExprP::Tuple(elements) => {
                elements.iter().for_each(|element| self.compared(element))
            }
            ExprP::Dict(entries) => entries.iter().for_each(|(key, _)| self.compared(key)),
            ExprP::Identifier(ident) => {
                if let NameOrigin::Bound(variable) = self.scopes.origin(ident) {
                    let mut values = self.flows.values(variable);
                    if let (Some(value), None) = (values.next(), values.next())
                        && !matches!(value.node, ExprP::Identifier(_))
                    {
                        self.compared_with_elements(value);
                    }
                }
            }
            _ => {}
        }
    }

    fn payload_key<'e>(&self, expr: &'e AstExpr) -> Option<&'e Spanned<String>> {
        let (base, key) = key_read(expr)?;
        let is_payload = match (self.scopes.origin_of(base)?, &self.payloads) {
            (NameOrigin::Bound(variable), PayloadNames::Variables(all)) => all.contains(&variable),
            (NameOrigin::Free(name), PayloadNames::Free(payload)) => name == *payload,
            _ => false,
        };
        is_payload.then_some(key)
    }

    /// The key of `payload["tool"]["name"]`.
    fn tool_key<'e>(&self, expr: &'e AstExpr) -> Option<&'e Spanned<String>> {
        key_read(expr)
            .filter(|(base, key)| key.node == "name" && self.is_tool(base))
            .map(|(_, key)| key)
    }

    fn is_tool(&self, expr: &AstExpr) -> bool {
        self.payload_key(expr).is_some_and(|key| key.node == "tool")
            || self.is_among(expr, &self.tools)
    }

    fn is_name(&self, expr: &AstExpr) -> bool {
        self.payload_key(expr)
            .is_some_and(|key| NAMES.contains(&key.node.as_str()))
            || self.tool_key(expr).is_some()
            || self.is_among(expr, &self.names)
    }

    fn is_among(&self, expr: &AstExpr, variables: &HashSet<Variable>) -> bool {
        matches!(self.scopes.origin_of(expr), Some(NameOrigin::Bound(variable)) if variables.contains(&variable))
    }
}
