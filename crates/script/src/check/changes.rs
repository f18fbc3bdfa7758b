//! Whether a script can change a value in place.

use super::tree::each_expr;
use starlark::syntax::ast::{AssignP, AssignTargetP, AstAssignTarget, AstStmt, ExprP, StmtP};

/// The methods of dicts, lists and sets that change them.
const METHODS: [&str; 11] = [
    "add",
    "append",
    "clear",
    "discard",
    "extend",
    "insert",
    "pop",
    "popitem",
    "remove",
    "setdefault",
    "update",
];

/// What a script can change of the values it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changes {
    /// Nothing: it can be given frozen values and does not notice.
    Nothing,
    /// Perhaps something.
    Values,
}

/// Whether a method of this name changes the value it is called on.
pub(super) fn is_changing(method: &str) -> bool {
    METHODS.contains(&method)
}

/// Reads it from the whole script: whoever assigns to no element and names no method that changes
/// something, changes nothing. `getattr` can name any method; a `+=` extends a list.
pub(crate) fn changes(script: &AstStmt) -> Changes {
    let mut found = assigns(script);
    each_expr(script, &mut |expr| match &expr.node {
        ExprP::Dot(_, method) => found |= is_changing(&method.node),
        ExprP::Identifier(name) => found |= name.node.ident == "getattr",
        _ => {}
    });
    if found {
        Changes::Values
    } else {
        Changes::Nothing
    }
}

fn assigns(stmt: &AstStmt) -> bool {
    let mut found = match &stmt.node {
        StmtP::Assign(AssignP { lhs, .. }) => has_element(lhs),
        StmtP::AssignModify(..) => true,
        StmtP::For(each) => has_element(&each.var),
        _ => false,
    };
    stmt.node
        .visit_stmt(|child| found = found || assigns(child));
    found
}

/// Whether an assignment goes to an element or a field.
fn has_element(target: &AstAssignTarget) -> bool {
    match &target.node {
        AssignTargetP::Identifier(_) => false,
        AssignTargetP::Tuple(parts) => parts.iter().any(has_element),
        AssignTargetP::Index(_) | AssignTargetP::Dot(..) => true,
    }
}
