//! Functions that call themselves, directly or in a cycle.
//!
//! Only calls by name are followed. Recursion through a function value hits the call stack limit at
//! run time.

use super::mentions::FirstMentions;
use super::scope::{NameOrigin, Scopes, Variable};
use super::tree::at;
use starlark::syntax::ast::{
    AssignP, AssignTargetP, AstAssignIdent, AstExpr, AstParameter, AstStmt, DefP, ExprP, StmtP,
};
use starlark_syntax::syntax::uniplate::Visit;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

/// Cycles of calls, each from its first function in the source. Every function that can call itself
/// is in at least one.
pub(super) fn recursion(script: &AstStmt, scopes: &Scopes) -> FirstMentions {
    let mut graph = Graph {
        scopes,
        functions: HashMap::new(),
        calls: BTreeSet::new(),
        within: None,
    };
    graph.stmt(script);
    let mut found = FirstMentions::default();
    for cycle in graph.cycles() {
        if let Some(&(start, first)) = cycle.first() {
            let mut text: Vec<&str> = cycle.iter().map(|&(_, name)| name).collect();
            text.push(first);
            found.note(text.join(" -> "), start);
        }
    }
    found
}

/// A function: the byte offset of its name, and the name. Nodes sort in source order.
type FunctionNode<'a> = (usize, &'a str);

struct Graph<'a> {
    scopes: &'a Scopes,
    functions: HashMap<Variable, FunctionNode<'a>>,
    calls: BTreeSet<(Variable, Variable)>,
    /// The innermost named function. Calls in an anonymous lambda count as its own.
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
            && let (Some(NameOrigin::Bound(callee)), Some(caller)) =
                (self.scopes.origin_of(callee), self.within)
        {
            self.calls.insert((caller, callee));
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

    /// Every function that calls itself, and enough longer cycles to name each function on one.
    fn cycles(&self) -> BTreeSet<Vec<FunctionNode<'a>>> {
        let mut edges: BTreeMap<FunctionNode, BTreeSet<FunctionNode>> = BTreeMap::new();
        let mut cycles = BTreeSet::new();
        for (caller, callee) in &self.calls {
            let (Some(&caller), Some(&callee)) =
                (self.functions.get(caller), self.functions.get(callee))
            else {
                continue;
            };
            if caller == callee {
                cycles.insert(vec![caller]);
            } else {
                edges.entry(caller).or_default().insert(callee);
            }
        }
        trim(&mut edges);
        let mut covered = HashSet::new();
        for &start in edges.keys() {
            if !covered.contains(&start)
                && let Some(mut cycle) = shortest(start, &edges)
            {
                covered.extend(cycle.iter().copied());
                let first = cycle
                    .iter()
                    .enumerate()
                    .min_by_key(|&(_, node)| node)
                    .map_or(0, |(index, _)| index);
                cycle.rotate_left(first);
                cycles.insert(cycle);
            }
        }
        cycles
    }
}

/// Removes functions that lead to no cycle, so that a large script without recursion costs one pass
/// over its calls.
fn trim<'a>(edges: &mut BTreeMap<FunctionNode<'a>, BTreeSet<FunctionNode<'a>>>) {
    let mut callers: HashMap<FunctionNode, Vec<FunctionNode>> = HashMap::new();
    for (&caller, callees) in &*edges {
        callees
            .iter()
            .for_each(|&callee| callers.entry(callee).or_default().push(caller));
    }
    let mut ends: Vec<FunctionNode> = callers
        .keys()
        .filter(|&node| !edges.contains_key(node))
        .copied()
        .collect();
    while let Some(end) = ends.pop() {
        for caller in callers.remove(&end).unwrap_or_default() {
            if let Some(callees) = edges.get_mut(&caller) {
                callees.remove(&end);
                if callees.is_empty() {
                    edges.remove(&caller);
                    ends.push(caller);
                }
            }
        }
    }
}

/// The shortest path from a function back to itself; of several, the earliest in the source.
fn shortest<'a>(
    start: FunctionNode<'a>,
    edges: &BTreeMap<FunctionNode<'a>, BTreeSet<FunctionNode<'a>>>,
) -> Option<Vec<FunctionNode<'a>>> {
    let mut came_from: HashMap<FunctionNode, FunctionNode> = HashMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(node) = open.pop_front() {
        for &next in edges.get(&node).into_iter().flatten() {
            if next == start {
                let mut cycle = vec![node];
                while let Some(&before) = cycle.last().and_then(|last| came_from.get(last)) {
                    cycle.push(before);
                }
                cycle.reverse();
                return Some(cycle);
            }
            if let Entry::Vacant(entry) = came_from.entry(next) {
                entry.insert(node);
                open.push_back(next);
            }
        }
    }
    None
}
