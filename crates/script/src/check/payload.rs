//! The keys a hook reads from its payload, and the texts it compares with the tool's name.

use super::flow::Flows;
use super::handle::HandleFunction;
use super::mentions::Mentions;
use super::scope::{Origin, Scopes, Variable};
use super::tree::{at, each_expr, key_read, text};
use starlark::codemap::Spanned;
use starlark::syntax::ast::{AstExpr, AstStmt, BinOp, ExprP};
use std::collections::HashSet;

/// The payload's name in a `when`.
const PAYLOAD: &str = "payload";
/// The keys that hold the called tool's name.
const NAMES: [&str; 2] = ["name", "tool_name"];

/// The findings.
#[derive(Default)]
pub(super) struct Payload {
    /// Literal keys, and `tool.name` for `payload["tool"]["name"]`.
    pub(super) keys: Mentions,
    /// Texts compared with the tool's name.
    pub(super) compared: Mentions,
}

/// How the script gets its payload.
pub(super) enum PayloadSource<'a> {
    /// As the second parameter of `handle`.
    Hook(Option<HandleFunction<'a>>),
    /// As the variable `payload` of a `when`.
    When,
}

pub(super) fn payload<'a>(
    script: &'a AstStmt,
    scopes: &Scopes,
    flows: &Flows<'a>,
    origin: &PayloadSource,
) -> Payload {
    let payloads = match origin {
        PayloadSource::Hook(handle) => match handle
            .as_ref()
            .and_then(|handle| handle.parameter(1))
            .and_then(|name| scopes.bound(name))
        {
            Some(variable) => PayloadNames {
                free: None,
                variables: flows.aliases(variable),
            },
            None => return Payload::default(),
        },
        PayloadSource::When => PayloadNames {
            free: Some(PAYLOAD),
            variables: HashSet::new(),
        },
    };
    let mut reading = PayloadReader {
        scopes,
        flows,
        payloads,
        tools: HashSet::new(),
        names: HashSet::new(),
        found: Payload::default(),
    };
    reading.tools = flows.carriers(|value| reading.is_tool(value));
    reading.names = flows.carriers(|value| reading.is_name(value));
    each_expr(script, &mut |expr| reading.expr(expr));
    reading.found
}

/// The names that stand for the payload.
struct PayloadNames {
    free: Option<&'static str>,
    variables: HashSet<Variable>,
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
                if let Origin::Bound(variable) = self.scopes.origin(ident) {
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
        let is_payload = match self.scopes.origin_of(base)? {
            Origin::Bound(variable) => self.payloads.variables.contains(&variable),
            Origin::Free(name) => self.payloads.free == Some(name),
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
        matches!(self.scopes.origin_of(expr), Some(Origin::Bound(variable)) if variables.contains(&variable))
    }
}
