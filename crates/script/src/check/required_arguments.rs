//! Arguments that every run of a tool reads as `args["x"]`.
//!
//! It reports only what is certain: a script that uses `args` in any other way, or tests whether an
//! argument is present, may handle its absence.

use super::mentions::FirstMentions;
use super::tree::{at, each_expr, key_read, text};
use starlark::syntax::ast::{AssignP, AstExpr, AstStmt, BinOp, DefP, ExprP, StmtP};
use starlark_syntax::syntax::top_level_stmts::top_level_stmts;
use std::collections::HashSet;

pub(super) fn required_arguments(script: &AstStmt) -> FirstMentions {
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
    let mut found = FirstMentions::default();
    // The interpreter uses the last `run`; a script with several is not judged.
    if let [(args, body)] = runs.collect::<Vec<_>>()[..]
        && let Some(tested) = tested_keys(body, args)
    {
        ArgumentReader {
            args,
            tested,
            found: &mut found,
        }
        .block(body);
    }
    found
}

/// The keys whose presence the script tests; `None` when it uses `args` in a way that could change
/// or hide its content.
fn tested_keys<'a>(body: &'a AstStmt, args: &str) -> Option<HashSet<&'a str>> {
    let (mut tested, mut uses, mut explained) = (HashSet::new(), 0_usize, 0_usize);
    each_expr(body, &mut |expr| {
        uses += usize::from(is(expr, args));
        match &expr.node {
            ExprP::Op(key, BinOp::In | BinOp::NotIn, of) if is(of, args) => {
                explained += usize::from(text(key).is_some());
                tested.extend(text(key).map(|key| key.node.as_str()));
            }
            other => {
                if let Some((_, key)) = key_read(expr).filter(|(of, _)| is(of, args)) {
                    explained += 1;
                    let is_get = matches!(other, ExprP::Call(..));
                    tested.extend(is_get.then_some(key.node.as_str()));
                }
            }
        }
    });
    (uses == explained && !assigns(body, args)).then_some(tested)
}

/// Whether a block rebinds the name `args`. Assigning to one of its elements counts as an
/// unexplained use instead.
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

/// Whether the run continues after a statement.
#[derive(PartialEq, Eq)]
enum Continuation {
    Always,
    Maybe,
}

struct ArgumentReader<'s, 'a> {
    args: &'s str,
    tested: HashSet<&'a str>,
    found: &'s mut FirstMentions,
}

impl ArgumentReader<'_, '_> {
    fn block(&mut self, stmt: &AstStmt) -> Continuation {
        match &stmt.node {
            StmtP::Statements(parts) => {
                for part in parts {
                    if self.block(part) == Continuation::Maybe {
                        return Continuation::Maybe;
                    }
                }
                return Continuation::Always;
            }
            StmtP::Expression(expr) => self.expr(expr),
            StmtP::Assign(AssignP { rhs, .. }) => self.expr(rhs),
            StmtP::AssignModify(_, _, rhs) => self.expr(rhs),
            StmtP::Return(value) => value.iter().for_each(|value| self.expr(value)),
            StmtP::If(condition, _) | StmtP::IfElse(condition, _) => self.expr(condition),
            StmtP::For(each) => self.expr(&each.over),
            _ => {}
        }
        let leaves =
            |stmt: &AstStmt| matches!(stmt.node, StmtP::Return(_) | StmtP::Break | StmtP::Continue);
        if any(stmt, &leaves) {
            Continuation::Maybe
        } else {
            Continuation::Always
        }
    }

    /// Records what is read whenever the expression is evaluated.
    fn expr(&mut self, expr: &AstExpr) {
        match &expr.node {
            ExprP::Index(parts) if is(&parts.0, self.args) => {
                if let Some(key) =
                    text(&parts.1).filter(|key| !self.tested.contains(key.node.as_str()))
                {
                    self.found.note(&key.node, at(key));
                }
            }
            ExprP::Op(left, BinOp::And | BinOp::Or, _) => self.expr(left),
            ExprP::If(parts) => self.expr(&parts.0),
            ExprP::Lambda(_) | ExprP::ListComprehension(..) | ExprP::DictComprehension(..) => {}
            other => other.visit_expr(|child| self.expr(child)),
        }
    }
}
