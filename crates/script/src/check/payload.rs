//! How a hook reads its payload: by which keys, as what, and which texts it compares with the tool's
//! name.

use super::flow::Flows;
use super::forbidden::Forbidden;
use super::mentions::FirstMentions;
use super::predeclared::Predeclared;
use super::scope::{NameOrigin, Scopes, Variable};
use super::tree::{at, each_expr, key_read, text};
use starlark::codemap::Spanned;
use starlark::syntax::ast::{ArgumentP, AstArgument, AstExpr, AstStmt, BinOp, ExprP};
use std::collections::HashSet;

/// The keys that hold the called tool's name.
const NAMES: [&str; 2] = ["name", "tool_name"];
/// The keys that hold a dict in every payload that has them.
const DICTS: [&str; 3] = ["args", "arguments", "tool"];
/// What a dict has after a dot.
const DICT_METHODS: [&str; 9] = [
    "clear",
    "get",
    "items",
    "keys",
    "pop",
    "popitem",
    "setdefault",
    "update",
    "values",
];
/// What a text has after a dot, and neither a dict nor a list has.
const TEXT_METHODS: [&str; 30] = [
    "capitalize",
    "codepoints",
    "elems",
    "endswith",
    "find",
    "format",
    "isalnum",
    "isalpha",
    "isdigit",
    "islower",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "title",
    "upper",
];

/// What a text has after a dot, and a list has as well.
const SHARED_METHODS: [&str; 2] = ["count", "index"];

/// Why a hook compares a name.
#[derive(Clone, Copy)]
enum Purpose {
    /// To block it, and for nothing else.
    Block,
    /// To do something else, or to look further.
    Other,
}

/// The findings.
#[derive(Default)]
pub(super) struct Payload {
    /// Literal keys, and `tool.name` for `payload["tool"]["name"]`, that raise if they are absent.
    pub(super) keys: FirstMentions,
    /// Keys whose absence the hook handles, by `get` or because it tests them.
    pub(super) optional_keys: FirstMentions,
    /// Fields: `agent` for `payload.agent`, `args.path` for `payload["args"].path`.
    pub(super) fields: FirstMentions,
    /// Uses of `result` that only text has, such as `lower`.
    pub(super) text_uses: FirstMentions,
    /// Uses of `result` that only a dict has, such as `get`.
    pub(super) dict_results: FirstMentions,
    /// Uses of `error` that only a dict has, such as `code` for `payload["error"]["code"]`, and
    /// comparisons of it with `None`.
    pub(super) dict_uses: FirstMentions,
    /// Texts compared with the tool's name.
    pub(super) compared: FirstMentions,
    /// Texts compared with the tool's name in order to block it.
    pub(super) forbidden: FirstMentions,
}

/// The names that stand for the payload.
pub(super) enum PayloadNames {
    /// Variables, for the second parameter of `handle`.
    Variables(HashSet<Variable>),
    /// A predeclared name, in a `when`.
    Free(&'static str),
}

impl PayloadNames {
    /// Whether an expression is the payload itself.
    pub(super) fn has(&self, scopes: &Scopes, expr: &AstExpr) -> bool {
        match (scopes.origin_of(expr), self) {
            (Some(NameOrigin::Bound(variable)), Self::Variables(all)) => all.contains(&variable),
            (Some(NameOrigin::Free(name)), Self::Free(payload)) => name == *payload,
            _ => false,
        }
    }
}

pub(super) fn payload<'a>(
    script: &'a AstStmt,
    scopes: &Scopes,
    flows: &Flows<'a>,
    predeclared: &Predeclared,
    payloads: &PayloadNames,
    forbidden: &Forbidden,
) -> Payload {
    let mut reader = PayloadReader {
        scopes,
        flows,
        predeclared,
        payloads,
        forbidden,
        tools: HashSet::new(),
        names: HashSet::new(),
        results: HashSet::new(),
        errors: HashSet::new(),
        tested: HashSet::new(),
        is_typed: false,
        found: Payload::default(),
    };
    reader.tools = flows.carriers(|value| reader.is_tool(value));
    reader.names = flows.carriers(|value| reader.is_name(value));
    reader.results = flows.holders(|value| reader.is_result(value));
    reader.errors = flows.holders(|value| reader.is_error(value));
    each_expr(script, &mut |expr| reader.test(expr));
    each_expr(script, &mut |expr| reader.expr(expr));
    reader.found
}

struct PayloadReader<'s, 'a, 'm> {
    scopes: &'s Scopes,
    flows: &'s Flows<'a>,
    predeclared: &'s Predeclared<'m>,
    payloads: &'s PayloadNames,
    forbidden: &'s Forbidden,
    /// Variables that may hold `payload["tool"]`.
    tools: HashSet<Variable>,
    /// Variables that may hold the tool's name.
    names: HashSet<Variable>,
    /// Variables that only ever hold `payload["result"]`.
    results: HashSet<Variable>,
    /// Variables that only ever hold `payload["error"]`.
    errors: HashSet<Variable>,
    /// Keys that the hook looks for with `in`.
    tested: HashSet<&'a str>,
    /// Whether the hook asks for the type of the result or of the error.
    is_typed: bool,
    found: Payload,
}

impl<'a> PayloadReader<'_, 'a, '_> {
    /// Collects what the hook tests before it uses it.
    fn test(&mut self, expr: &'a AstExpr) {
        match &expr.node {
            ExprP::Op(key, BinOp::In | BinOp::NotIn, of) if self.is_payload(of) => {
                self.tested.extend(text(key).map(|key| key.node.as_str()));
            }
            ExprP::Call(callee, arguments) => {
                let asks = matches!(
                    self.scopes.origin_of(callee),
                    Some(NameOrigin::Free("type" | "hasattr" | "getattr"))
                );
                self.is_typed |= asks
                    && arguments
                        .args
                        .iter()
                        .map(|argument| argument.node.expr())
                        .any(|value| self.is_result(value) || self.is_error(value));
            }
            _ => {}
        }
    }

    fn expr(&mut self, expr: &'a AstExpr) {
        let raises = matches!(expr.node, ExprP::Index(_));
        if let Some(key) = self.payload_key(expr) {
            let keys = match raises && !self.tested.contains(key.node.as_str()) {
                true => &mut self.found.keys,
                false => &mut self.found.optional_keys,
            };
            keys.note(&key.node, at(key));
        } else if let Some(key) = self.tool_key(expr) {
            let keys = match raises {
                true => &mut self.found.keys,
                false => &mut self.found.optional_keys,
            };
            keys.note("tool.name", at(key));
        } else if let Some((_, part)) = key_read(expr).filter(|(base, _)| self.is_result(base)) {
            if !self.is_typed {
                self.found.dict_results.note(&part.node, at(part));
            }
        } else if let Some((_, part)) = key_read(expr).filter(|(base, _)| self.is_error(base))
            && !self.is_typed
        {
            self.found.dict_uses.note(&part.node, at(part));
        }
        match &expr.node {
            ExprP::Dot(base, field) if !DICT_METHODS.contains(&field.node.as_str()) => {
                self.field(base, field);
            }
            ExprP::Call(callee, arguments) => self.passed(callee, &arguments.args),
            _ => {}
        }
        if let ExprP::Op(left, operator, right) = &expr.node {
            let purpose = match self.forbidden.has(expr) {
                true => Purpose::Block,
                false => Purpose::Other,
            };
            match operator {
                BinOp::Equal | BinOp::NotEqual if self.is_name(left) => {
                    self.compared(right, purpose)
                }
                BinOp::Equal | BinOp::NotEqual if self.is_name(right) => {
                    self.compared(left, purpose)
                }
                BinOp::In | BinOp::NotIn if self.is_name(left) => {
                    self.compared_with_elements(right, purpose)
                }
                BinOp::Equal | BinOp::NotEqual
                    if self.is_error(left) && self.is_none(right)
                        || self.is_error(right) && self.is_none(left) =>
                {
                    self.found.dict_uses.note("None", at(expr));
                }
                _ => {}
            }
        }
    }

    fn is_none(&self, expr: &AstExpr) -> bool {
        matches!(self.scopes.origin_of(expr), Some(NameOrigin::Free("None")))
    }

    /// Handles `base.field`, where a dict has no such method.
    fn field(&mut self, base: &AstExpr, field: &Spanned<String>) {
        if self.is_payload(base) {
            self.found.fields.note(&field.node, at(field));
        } else if let Some(part) = self
            .payload_key(base)
            .filter(|key| DICTS.contains(&key.node.as_str()))
        {
            self.found
                .fields
                .note(format!("{}.{}", part.node, field.node), at(field));
        } else if self.is_result(base) && !self.is_typed && TEXT_METHODS.contains(&&*field.node) {
            self.found.text_uses.note(&field.node, at(field));
        } else if self.is_error(base)
            && !self.is_typed
            && !TEXT_METHODS.contains(&&*field.node)
            && !SHARED_METHODS.contains(&&*field.node)
        {
            self.found.dict_uses.note(&field.node, at(field));
        }
    }

    /// Handles a result that is passed to a built-in that takes text.
    fn passed(&mut self, callee: &AstExpr, arguments: &[AstArgument]) {
        let ExprP::Dot(base, member) = &callee.node else {
            return;
        };
        let Some(NameOrigin::Free(module)) = self.scopes.origin_of(base) else {
            return;
        };
        for (index, argument) in arguments.iter().enumerate() {
            if let ArgumentP::Positional(value) = &argument.node
                && !self.is_typed
                && self.is_result(value)
                && self.predeclared.takes_text(module, &member.node, index)
            {
                self.found
                    .text_uses
                    .note(format!("{module}.{}", member.node), at(value));
            }
        }
    }

    fn compared(&mut self, with: &AstExpr, purpose: Purpose) {
        if let Some(text) = text(with) {
            let names = match purpose {
                Purpose::Block => &mut self.found.forbidden,
                Purpose::Other => &mut self.found.compared,
            };
            names.note(&text.node, at(with));
        }
    }

    /// Handles a list, tuple or dict literal, or a variable that only ever holds one such literal.
    fn compared_with_elements(&mut self, with: &'a AstExpr, purpose: Purpose) {
        match &with.node {
            ExprP::List(elements) | ExprP::Tuple(elements) => elements
                .iter()
                .for_each(|element| self.compared(element, purpose)),
            ExprP::Dict(entries) => entries
                .iter()
                .for_each(|(key, _)| self.compared(key, purpose)),
            ExprP::Identifier(ident) => {
                if let NameOrigin::Bound(variable) = self.scopes.origin(ident) {
                    let mut values = self.flows.values(variable);
                    if let (Some(value), None) = (values.next(), values.next())
                        && !matches!(value.node, ExprP::Identifier(_))
                    {
                        self.compared_with_elements(value, purpose);
                    }
                }
            }
            _ => {}
        }
    }

    fn payload_key<'e>(&self, expr: &'e AstExpr) -> Option<&'e Spanned<String>> {
        key_read(expr)
            .filter(|(base, _)| self.is_payload(base))
            .map(|(_, key)| key)
    }

    fn is_payload(&self, expr: &AstExpr) -> bool {
        self.payloads.has(self.scopes, expr)
    }

    fn is_result(&self, expr: &AstExpr) -> bool {
        self.payload_key(expr)
            .is_some_and(|key| key.node == "result")
            || self.is_among(expr, &self.results)
    }

    fn is_error(&self, expr: &AstExpr) -> bool {
        self.payload_key(expr)
            .is_some_and(|key| key.node == "error")
            || self.is_among(expr, &self.errors)
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
