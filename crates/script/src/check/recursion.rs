//! Functions that call themselves, directly or in a circle.
//!
//! Only calls by name are followed; a function passed as a value is stopped at run time by the frame limit.

use super::mentions::Mentions;
use super::scope::{Origin, Scopes, Variable};
use super::tree::at;
use starlark::syntax::ast::{
    AssignP, AssignTargetP, AstAssignIdent, AstExpr, AstParameter, AstStmt, DefP, ExprP, StmtP,
};
use starlark_syntax::syntax::uniplate::Visit;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

/// Each function that can come back to itself is in at least one circle; circles start at their first function in the source.
pub(super) fn recursion(script: &AstStmt, scopes: &Scopes) -> Mentions {
    let mut graph = Graph {
        scopes,
        functions: HashMap::new(),
        calls: BTreeSet::new(),
        within: None,
    };
    graph.stmt(script);
    let mut found = Mentions::default();
    for circle in graph.circles() {
        if let Some(&(start, first)) = circle.first() {
            let mut text: Vec<&str> = circle.iter().map(|&(_, name)| name).collect();
            text.push(first);
            found.note(text.join(" -> "), start);
        }
    }
    found
}

/// A function as where its name first stands, and the name: the order of these is the order of the source.
type Node<'a> = (usize, &'a str);

struct Graph<'a> {
    scopes: &'a Scopes,
    functions: HashMap<Variable, Node<'a>>,
    calls: BTreeSet<(Variable, Variable)>,
    /// The innermost function that has a name; a call in a lambda without one is its.
    within: Option<Variable>,
}

impl<'a> Graph<'a> {
    fn stmt(&mut self, stmt: &'a AstStmt) {
        match &stmt.node {
            StmtP::Def(DefP {
                name, params, body, ..
            }) => {
                self.defaults(params);
                self.function(name, |graph| graph.stmt(body));
            }
            StmtP::Assign(AssignP { lhs, rhs, .. }) => match (&lhs.node, &rhs.node) {
                (AssignTargetP::Identifier(name), ExprP::Lambda(lambda)) => {
                    self.defaults(&lambda.params);
                    self.function(name, |graph| graph.expr(&lambda.body));
                }
                _ => stmt.node.visit_expr(|expr| self.expr(expr)),
            },
            other => other.visit_children(|child| match child {
                Visit::Stmt(stmt) => self.stmt(stmt),
                Visit::Expr(expr) => self.expr(expr),
            }),
        }
    }

    fn expr(&mut self, expr: &'a AstExpr) {
        if let ExprP::Call(callee, _) = &expr.node
            && let (Some(Origin::Bound(called)), Some(caller)) =
                (self.scopes.origin_of(callee), self.within)
        {
            self.calls.insert((caller, called));
        }
        expr.node.visit_expr(|child| self.expr(child));
    }

    fn defaults(&mut self, params: &'a [AstParameter]) {
        params
            .iter()
            .for_each(|param| param.node.visit_expr(|expr| self.expr(expr)));
    }

    fn function(&mut self, name: &'a AstAssignIdent, body: impl FnOnce(&mut Self)) {
        let Some(variable) = self.scopes.bound(name) else {
            return;
        };
        self.functions
            .entry(variable)
            .or_insert((at(name), &name.node.ident));
        let outer = self.within.replace(variable);
        body(self);
        self.within = outer;
    }

    /// Every function that calls itself, and then circles of several until each function on one is named.
    fn circles(&self) -> BTreeSet<Vec<Node<'a>>> {
        let mut edges: BTreeMap<Node, BTreeSet<Node>> = BTreeMap::new();
        let mut circles = BTreeSet::new();
        for (caller, called) in &self.calls {
            let (Some(&caller), Some(&called)) =
                (self.functions.get(caller), self.functions.get(called))
            else {
                continue;
            };
            if caller == called {
                circles.insert(vec![caller]);
            } else {
                edges.entry(caller).or_default().insert(called);
            }
        }
        trim(&mut edges);
        let mut covered = HashSet::new();
        for &start in edges.keys() {
            if !covered.contains(&start)
                && let Some(mut circle) = shortest(start, &edges)
            {
                covered.extend(circle.iter().copied());
                let first = circle
                    .iter()
                    .enumerate()
                    .min_by_key(|&(_, node)| node)
                    .map_or(0, |(index, _)| index);
                circle.rotate_left(first);
                circles.insert(circle);
            }
        }
        circles
    }
}

/// Takes away functions that lead to no circle, so that a large script without recursion costs one pass over its calls.
fn trim<'a>(edges: &mut BTreeMap<Node<'a>, BTreeSet<Node<'a>>>) {
    let mut callers: HashMap<Node, Vec<Node>> = HashMap::new();
    for (&caller, called) in &*edges {
        called
            .iter()
            .for_each(|&called| callers.entry(called).or_default().push(caller));
    }
    let mut ends: Vec<Node> = callers
        .keys()
        .filter(|&node| !edges.contains_key(node))
        .copied()
        .collect();
    while let Some(end) = ends.pop() {
        for caller in callers.remove(&end).unwrap_or_default() {
            if let Some(called) = edges.get_mut(&caller) {
                called.remove(&end);
                if called.is_empty() {
                    edges.remove(&caller);
                    ends.push(caller);
                }
            }
        }
    }
}

/// The shortest way from a function back to itself; of several, the one earliest in the source.
fn shortest<'a>(
    start: Node<'a>,
    edges: &BTreeMap<Node<'a>, BTreeSet<Node<'a>>>,
) -> Option<Vec<Node<'a>>> {
    let mut came_from: HashMap<Node, Node> = HashMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(node) = open.pop_front() {
        for &next in edges.get(&node).into_iter().flatten() {
            if next == start {
                let mut circle = vec![node];
                while let Some(&before) = circle.last().and_then(|last| came_from.get(last)) {
                    circle.push(before);
                }
                circle.reverse();
                return Some(circle);
            }
            if let Entry::Vacant(entry) = came_from.entry(next) {
                entry.insert(node);
                open.push_back(next);
            }
        }
    }
    None
}
