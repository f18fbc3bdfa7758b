//! Which variable each name in a script refers to.
//!
//! These are the interpreter's rules. A name assigned anywhere in a function is local to all of it.
//! A comprehension has its own names, except in the first iterable. Defaults belong to the
//! enclosing function. A name that no scope binds is free, and is resolved before the script runs.

use starlark::codemap::Spanned;
use starlark::syntax::ast::{
    AssignIdentP, AssignP, AssignTargetP, AstAssignIdent, AstAssignTarget, AstExpr, AstIdent,
    AstNoPayload, AstParameter, AstStmt, ClauseP, DefP, ExprP, ForClause, ForP, IdentP, LambdaP,
    StmtP,
};
use starlark_syntax::syntax::uniplate::Visit;
use std::collections::HashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Variable(usize);

/// The variable of every bound name. Names are identified by their address in the tree, which must
/// not move.
#[derive(Default)]
pub(super) struct Scopes {
    count: usize,
    uses: HashMap<*const Spanned<IdentP<AstNoPayload>>, Variable>,
    targets: HashMap<*const Spanned<AssignIdentP<AstNoPayload>>, Variable>,
}

/// What an identifier refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameOrigin<'a> {
    /// A variable of the script.
    Bound(Variable),
    /// A name that the script does not bind: predeclared, or unknown.
    Free(&'a str),
}

impl Scopes {
    /// Resolves a whole script.
    pub(super) fn of(script: &AstStmt) -> Self {
        let mut resolver = Resolver {
            scopes: Self::default(),
            frames: Vec::new(),
        };
        let mut module = Frame::new();
        resolver.collect(script, &mut module);
        resolver.frames.push(module);
        resolver.stmt(script);
        resolver.scopes
    }

    /// What an identifier that is read refers to.
    pub(super) fn origin<'a>(&self, ident: &'a AstIdent) -> NameOrigin<'a> {
        match self.uses.get(&std::ptr::from_ref(ident)) {
            Some(&variable) => NameOrigin::Bound(variable),
            None => NameOrigin::Free(&ident.node.ident),
        }
    }

    /// The origin of an expression that is only an identifier.
    pub(super) fn origin_of<'a>(&self, expr: &'a AstExpr) -> Option<NameOrigin<'a>> {
        match &expr.node {
            ExprP::Identifier(ident) => Some(self.origin(ident)),
            _ => None,
        }
    }

    /// The variable that an assigned name, a parameter or a function name binds.
    pub(super) fn bound(&self, target: &AstAssignIdent) -> Option<Variable> {
        self.targets.get(&std::ptr::from_ref(target)).copied()
    }

    /// The variable of every place that binds one: assignments, parameters, loops, functions.
    pub(super) fn bindings(&self) -> impl Iterator<Item = Variable> {
        self.targets.values().copied()
    }

    /// The variable that an assignment to a plain name binds.
    pub(super) fn target(&self, target: &AstAssignTarget) -> Option<Variable> {
        match &target.node {
            AssignTargetP::Identifier(ident) => self.bound(ident),
            _ => None,
        }
    }
}

/// The names of one scope.
type Frame<'a> = HashMap<&'a str, Variable>;

struct Resolver<'a> {
    scopes: Scopes,
    frames: Vec<Frame<'a>>,
}

impl<'a> Resolver<'a> {
    fn stmt(&mut self, stmt: &'a AstStmt) {
        match &stmt.node {
            StmtP::Def(DefP { params, body, .. }) => {
                let mut frame = self.parameters(params);
                self.collect(body, &mut frame);
                self.within(frame, |resolver| resolver.stmt(body));
            }
            other => other.visit_children(|child| match child {
                Visit::Stmt(stmt) => self.stmt(stmt),
                Visit::Expr(expr) => self.expr(expr),
            }),
        }
    }

    fn expr(&mut self, expr: &'a AstExpr) {
        match &expr.node {
            ExprP::Identifier(ident) => {
                if let Some(&variable) = self
                    .frames
                    .iter()
                    .rev()
                    .find_map(|frame| frame.get(ident.node.ident.as_str()))
                {
                    self.scopes.uses.insert(std::ptr::from_ref(ident), variable);
                }
            }
            ExprP::Lambda(LambdaP { params, body, .. }) => {
                let frame = self.parameters(params);
                self.within(frame, |resolver| resolver.expr(body));
            }
            ExprP::ListComprehension(item, first, clauses) => {
                self.comprehension(&[&**item], first, clauses)
            }
            ExprP::DictComprehension(item, first, clauses) => {
                self.comprehension(&[&item.0, &item.1], first, clauses)
            }
            other => other.visit_expr(|child| self.expr(child)),
        }
    }

    fn comprehension(
        &mut self,
        items: &[&'a AstExpr],
        first: &'a ForClause,
        clauses: &'a [ClauseP<AstNoPayload>],
    ) {
        first.visit_expr(|expr| self.expr(expr));
        let mut frame = Frame::new();
        self.bind(&first.var, &mut frame);
        for clause in clauses {
            if let ClauseP::For(clause) = clause {
                self.bind(&clause.var, &mut frame);
            }
        }
        self.within(frame, |resolver| {
            for clause in clauses {
                clause.visit_expr(|expr| resolver.expr(expr));
            }
            for item in items {
                resolver.expr(item);
            }
        });
    }

    /// Resolves the defaults in the enclosing scope, and starts a frame with the parameters.
    fn parameters(&mut self, params: &'a [AstParameter]) -> Frame<'a> {
        let mut frame = Frame::new();
        for param in params {
            param.node.visit_expr(|expr| self.expr(expr));
            if let Some(ident) = param.node.ident() {
                self.bind_name(ident, &mut frame);
            }
        }
        frame
    }

    /// Binds every name that a block assigns, except inside the functions it defines.
    fn collect(&mut self, stmt: &'a AstStmt, frame: &mut Frame<'a>) {
        match &stmt.node {
            StmtP::Assign(AssignP { lhs, .. }) | StmtP::AssignModify(lhs, _, _) => {
                self.bind(lhs, frame)
            }
            StmtP::For(ForP { var, body, .. }) => {
                self.bind(var, frame);
                self.collect(body, frame);
            }
            StmtP::Def(DefP { name, .. }) => self.bind_name(name, frame),
            other => other.visit_stmt(|child| self.collect(child, frame)),
        }
    }

    fn bind(&mut self, target: &'a AstAssignTarget, frame: &mut Frame<'a>) {
        target
            .node
            .visit_lvalue(|ident| self.bind_name(ident, frame));
    }

    fn bind_name(&mut self, ident: &'a AstAssignIdent, frame: &mut Frame<'a>) {
        let count = &mut self.scopes.count;
        let variable = *frame.entry(&ident.node.ident).or_insert_with(|| {
            *count += 1;
            Variable(*count - 1)
        });
        self.scopes
            .targets
            .insert(std::ptr::from_ref(ident), variable);
    }

    fn within(&mut self, frame: Frame<'a>, walk: impl FnOnce(&mut Self)) {
        self.frames.push(frame);
        walk(self);
        self.frames.pop();
    }
}
