//! Helpers over the syntax tree.

use starlark::codemap::Spanned;
use starlark::syntax::ast::{ArgumentP, AstExpr, AstLiteral, AstStmt, ExprP};

/// The byte offset at which a node starts.
pub(super) fn at<T>(node: &Spanned<T>) -> usize {
    node.span.begin().get() as usize
}

/// Visits every expression of a block, outer before inner, nested functions included.
pub(super) fn each_expr<'a>(stmt: &'a AstStmt, each: &mut dyn FnMut(&'a AstExpr)) {
    stmt.node.visit_expr(|expr| each_within(expr, each));
}

/// Visits every statement of a block, outer before inner, nested functions included.
pub(super) fn each_stmt<'a>(stmt: &'a AstStmt, each: &mut dyn FnMut(&'a AstStmt)) {
    each(stmt);
    stmt.node.visit_stmt(|child| each_stmt(child, each));
}

fn each_within<'a>(expr: &'a AstExpr, each: &mut dyn FnMut(&'a AstExpr)) {
    each(expr);
    expr.node.visit_expr(|child| each_within(child, each));
}

/// The value of a string literal.
pub(super) fn text(expr: &AstExpr) -> Option<&Spanned<String>> {
    match &expr.node {
        ExprP::Literal(AstLiteral::String(text)) => Some(text),
        _ => None,
    }
}

/// The base and the key of `base["key"]` or `base.get("key", ...)`.
pub(super) fn key_read(expr: &AstExpr) -> Option<(&AstExpr, &Spanned<String>)> {
    match &expr.node {
        ExprP::Index(parts) => Some((&parts.0, text(&parts.1)?)),
        ExprP::Call(callee, arguments) => match (
            &callee.node,
            arguments.args.first().map(|argument| &argument.node),
        ) {
            (ExprP::Dot(base, method), Some(ArgumentP::Positional(key)))
                if method.node == "get" =>
            {
                Some((base, text(key)?))
            }
            _ => None,
        },
        _ => None,
    }
}
