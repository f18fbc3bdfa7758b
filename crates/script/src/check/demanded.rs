//! Arguments that every run of a tool reads as `args["x"]`.
//!
//! Only what is certain: a script that does anything else with `args`, or looks whether an argument is there, may well know better.

use super::mentions::Mentions;
use super::tree::{at, each_expr, text};
use starlark::syntax::ast::{ArgumentP, AssignP, AstExpr, AstStmt, BinOp, DefP, ExprP, StmtP};
use starlark_syntax::syntax::top_level_stmts::top_level_stmts;
use std::collections::HashSet;

/// Reads a whole script.
pub(super) fn demanded(script: &AstStmt) -> Mentions {
    let runs = top_level_stmts(script)
        .into_iter()
        .filter_map(|stmt| match &stmt.node {
            StmtP::Def(DefP {
                name, params, body, ..
            }) if name.node.ident == "run" => {
                Some((params.first()?.node.ident()?.node.ident.as_str(), &**body))
            }
            _ => None,
        });
    let mut found = Mentions::default();
    // Of several the last counts, and whoever writes several is not judged.
    if let [(args, body)] = runs.collect::<Vec<_>>()[..]
        && let Some(asked) = asked(body, args)
    {
        Reading {
            args,
            asked,
            found: &mut found,
        }
        .block(body);
    }
    found
}

/// The keys whose absence is looked for; nothing when `args` is used in a way that could change or hide what is in it.
fn asked<'a>(body: &'a AstStmt, args: &str) -> Option<HashSet<&'a str>> {
    let (mut asked, mut uses, mut explained) = (HashSet::new(), 0_usize, 0_usize);
    each_expr(body, &mut |expr| {
        uses += usize::from(is(expr, args));
        match &expr.node {
            ExprP::Index(parts) if is(&parts.0, args) && text(&parts.1).is_some() => explained += 1,
            ExprP::Op(key, BinOp::In | BinOp::NotIn, of) if is(of, args) => {
                explained += usize::from(text(key).is_some());
                asked.extend(text(key).map(|key| key.node.as_str()));
            }
            ExprP::Call(callee, arguments) => {
                if let (ExprP::Dot(of, method), Some(ArgumentP::Positional(key))) = (
                    &callee.node,
                    arguments.args.first().map(|argument| &argument.node),
                ) && is(of, args)
                    && method.node == "get"
                    && let Some(key) = text(key)
                {
                    explained += 1;
                    asked.insert(key.node.as_str());
                }
            }
            _ => {}
        }
    });
    (uses == explained && !assigns(body, args)).then_some(asked)
}

/// Whether a block gives the name `args` to something else. What is given to a part of it shows as a use that no reading explains.
fn assigns(stmt: &AstStmt, args: &str) -> bool {
    any(stmt, &|stmt| {
        let mut found = false;
        match &stmt.node {
            StmtP::Assign(AssignP { lhs, .. }) | StmtP::AssignModify(lhs, ..) => {
                lhs.visit_lvalue(|name| found |= name.node.ident == args)
            }
            StmtP::For(each) => each
                .var
                .visit_lvalue(|name| found |= name.node.ident == args),
            _ => {}
        }
        found
    })
}

fn any(stmt: &AstStmt, holds: &dyn Fn(&AstStmt) -> bool) -> bool {
    let mut found = holds(stmt);
    stmt.node
        .visit_stmt(|child| found = found || any(child, holds));
    found
}

fn is(expr: &AstExpr, name: &str) -> bool {
    matches!(&expr.node, ExprP::Identifier(ident) if ident.node.ident == name)
}

/// Whether a run goes on after a statement.
#[derive(PartialEq, Eq)]
enum Goes {
    On,
    PerhapsNot,
}

struct Reading<'s, 'a> {
    args: &'s str,
    asked: HashSet<&'a str>,
    found: &'s mut Mentions,
}

impl Reading<'_, '_> {
    fn block(&mut self, stmt: &AstStmt) -> Goes {
        match &stmt.node {
            StmtP::Statements(parts) => {
                for part in parts {
                    if self.block(part) == Goes::PerhapsNot {
                        return Goes::PerhapsNot;
                    }
                }
                return Goes::On;
            }
            StmtP::Expression(expr) => self.value(expr),
            StmtP::Assign(AssignP { rhs, .. }) => self.value(rhs),
            StmtP::AssignModify(_, _, rhs) => self.value(rhs),
            StmtP::Return(value) => value.iter().for_each(|value| self.value(value)),
            StmtP::If(condition, _) | StmtP::IfElse(condition, _) => self.value(condition),
            StmtP::For(each) => self.value(&each.over),
            _ => {}
        }
        let leaves =
            |stmt: &AstStmt| matches!(stmt.node, StmtP::Return(_) | StmtP::Break | StmtP::Continue);
        if any(stmt, &leaves) {
            Goes::PerhapsNot
        } else {
            Goes::On
        }
    }

    /// What is evaluated whenever the expression is.
    fn value(&mut self, expr: &AstExpr) {
        match &expr.node {
            ExprP::Index(parts) if is(&parts.0, self.args) => {
                if let Some(key) =
                    text(&parts.1).filter(|key| !self.asked.contains(key.node.as_str()))
                {
                    self.found.note(&key.node, at(key));
                }
            }
            ExprP::Op(left, BinOp::And | BinOp::Or, _) => self.value(left),
            ExprP::If(parts) => self.value(&parts.0),
            ExprP::Lambda(_) | ExprP::ListComprehension(..) | ExprP::DictComprehension(..) => {}
            other => other.visit_expr(|child| self.value(child)),
        }
    }
}
