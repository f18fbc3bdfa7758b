//! Which values plain assignments carry from name to name.
//!
//! The order of statements does not count: a variable may hold whatever is assigned to it anywhere.
//! That makes it safe to follow an alias.

use super::scope::{NameOrigin, Scopes, Variable};
use starlark::syntax::ast::{AssignP, AstExpr, AstStmt, ExprP, StmtP};
use std::collections::{HashMap, HashSet};

/// Every assignment to a plain name. A conditional expression is one flow per branch.
pub(super) struct Flows<'a> {
    flows: Vec<(Variable, &'a AstExpr)>,
    aliases: HashMap<Variable, Vec<Variable>>,
}

impl<'a> Flows<'a> {
    /// The flows of a whole script.
    pub(super) fn of(script: &'a AstStmt, scopes: &Scopes) -> Self {
        let mut all = Self {
            flows: Vec::new(),
            aliases: HashMap::new(),
        };
        all.stmt(script, scopes);
        for &(target, value) in &all.flows {
            if let Some(NameOrigin::Bound(from)) = scopes.origin_of(value) {
                all.aliases.entry(from).or_default().push(target);
            }
        }
        all
    }

    /// Every variable that may hold a value for which `is_source` holds, directly or through other
    /// variables.
    pub(super) fn carriers(&self, is_source: impl Fn(&AstExpr) -> bool) -> HashSet<Variable> {
        let from = self
            .flows
            .iter()
            .filter(|(_, value)| is_source(value))
            .map(|&(target, _)| target);
        self.closure(from.collect())
    }

    /// Every variable to which the script assigns only values for which `is_source` holds.
    pub(super) fn holders(&self, is_source: impl Fn(&AstExpr) -> bool) -> HashSet<Variable> {
        let targets: HashSet<Variable> = self.flows.iter().map(|&(target, _)| target).collect();
        targets
            .into_iter()
            .filter(|&target| self.values(target).all(&is_source))
            .collect()
    }

    /// A variable and every variable its value may reach.
    pub(super) fn aliases(&self, variable: Variable) -> HashSet<Variable> {
        self.closure(vec![variable])
    }

    /// The values assigned to a variable.
    pub(super) fn values(&self, variable: Variable) -> impl Iterator<Item = &'a AstExpr> {
        self.flows
            .iter()
            .filter(move |&&(target, _)| target == variable)
            .map(|&(_, value)| value)
    }

    fn closure(&self, mut open: Vec<Variable>) -> HashSet<Variable> {
        let mut found = HashSet::new();
        while let Some(variable) = open.pop() {
            if found.insert(variable) {
                open.extend(self.aliases.get(&variable).into_iter().flatten());
            }
        }
        found
    }

    fn stmt(&mut self, stmt: &'a AstStmt, scopes: &Scopes) {
        if let StmtP::Assign(AssignP { lhs, rhs, .. }) = &stmt.node
            && let Some(target) = scopes.target(lhs)
        {
            branches(rhs, &mut |value| self.flows.push((target, value)));
        }
        stmt.node.visit_stmt(|child| self.stmt(child, scopes));
    }
}

/// The values a conditional expression chooses from. Any other expression is its own only value.
pub(super) fn branches<'a>(expr: &'a AstExpr, each: &mut dyn FnMut(&'a AstExpr)) {
    match &expr.node {
        ExprP::If(parts) => {
            branches(&parts.1, each);
            branches(&parts.2, each);
        }
        _ => each(expr),
    }
}
