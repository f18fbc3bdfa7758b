//! Literals whose meaning can be judged before the script runs: the variables it reads with `env`,
//! and formats of numbers that Starlark does not have.

use super::mentions::FirstMentions;
use super::scope::{NameOrigin, Scopes};
use super::tree::{at, each_expr, text};
use starlark::syntax::ast::{ArgumentP, AstArgument, AstExpr, AstStmt, BinOp, ExprP};

/// The findings.
#[derive(Default)]
pub(super) struct Literals {
    /// Names of variables passed to `env`.
    pub(super) variables: FirstMentions,
    /// Formats such as `%.2f` and `{:.2f}`.
    pub(super) number_formats: FirstMentions,
}

pub(super) fn literals(script: &AstStmt, scopes: &Scopes) -> Literals {
    let mut found = Literals::default();
    each_expr(script, &mut |expr| match &expr.node {
        ExprP::Op(left, BinOp::Percent, _) => {
            if let Some(format) = text(left).and_then(|text| percent(&text.node)) {
                found.number_formats.note(format, at(left));
            }
        }
        ExprP::Call(callee, arguments) => match &callee.node {
            ExprP::Dot(base, method) if method.node == "format" => {
                if let Some(format) = text(base).and_then(|text| braces(&text.node)) {
                    found.number_formats.note(format, at(base));
                }
            }
            _ if scopes.origin_of(callee) == Some(NameOrigin::Free("env")) => {
                let name = arguments.args.first().and_then(variable);
                if let Some((name, offset)) = name {
                    found.variables.note(name, offset);
                }
            }
            _ => {}
        },
        _ => {}
    });
    found
}

/// The literal name of a variable, by position or by keyword.
fn variable(argument: &AstArgument) -> Option<(&str, usize)> {
    let value: &AstExpr = match &argument.node {
        ArgumentP::Positional(value) => value,
        ArgumentP::Named(name, value) if matches!(name.node.as_str(), "name" | "key") => value,
        _ => return None,
    };
    text(value).map(|name| (name.node.as_str(), at(value)))
}

/// The first `%` format with a width, a precision or a flag, as in `%.2f` and `%5d`.
fn percent(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(sign) = rest.find('%') {
        let format = &rest[sign..];
        let after = &format[1..];
        if let Some(after) = after.strip_prefix('%') {
            rest = after;
            continue;
        }
        let letters = after.trim_start_matches(|char: char| "0123456789.+-# ".contains(char));
        let length = format.len() - letters.len();
        let conversion = letters.chars().next();
        if length > 1
            && let Some(letter @ ('d' | 'i' | 'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 's')) = conversion
        {
            return Some(format!("{}{letter}", &format[..length]));
        }
        rest = after;
    }
    None
}

/// The first replacement field with a format, as in `{:.2f}` and `{x:>8}`.
fn braces(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let field = &rest[open..];
        if let Some(after) = field.strip_prefix("{{") {
            rest = after;
            continue;
        }
        let end = field.find('}')?;
        if field[..end].contains(':') {
            return Some(field[..=end].to_owned());
        }
        rest = &field[end..];
    }
    None
}
