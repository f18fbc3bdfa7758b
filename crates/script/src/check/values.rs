//! What kind of value an expression has, where the tree shows it, and attributes that such a value
//! does not have.

use super::flow::Flows;
use super::mentions::FirstMentions;
use super::predeclared::Predeclared;
use super::scope::{NameOrigin, Scopes, Variable};
use super::tree::{at, each_expr, each_stmt};
use starlark::syntax::ast::{AssignP, AstExpr, AstLiteral, AstStmt, ExprP, StmtP};
use std::collections::{HashMap, HashSet};

/// The attributes of a dict.
const OF_DICTS: &[&str] = &[
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

/// The attributes of a list.
const OF_LISTS: &[&str] = &[
    "append", "clear", "extend", "index", "insert", "pop", "remove",
];

/// The attributes of a text.
const OF_TEXTS: &[&str] = &[
    "capitalize",
    "codepoints",
    "count",
    "elems",
    "endswith",
    "find",
    "format",
    "index",
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
    "rindex",
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

/// Built-ins whose result is a dict.
const GIVE_DICTS: &[&str] = &["exec.run", "http.get", "http.post", "http.request"];

/// Built-ins whose result is a list.
const GIVE_LISTS: &[&str] = &["fs.list", "fs.glob", "fs.find", "fs.read_lines"];

/// Built-ins whose result is a text.
const GIVE_TEXTS: &[&str] = &["fs.read", "json.encode"];

/// How many names a value is followed through.
const MAX_STEPS: usize = 8;

/// A value whose kind is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value<'m> {
    /// The arguments of a tool.
    Args,
    /// The result of this built-in, a dict.
    DictOf(&'m str),
    /// The result of this built-in, a list.
    ListOf(&'m str),
    /// A dict that the script wrote.
    Dict,
    /// A list that the script wrote.
    List,
    /// A text.
    Text,
}

impl Value<'_> {
    fn has(self, attribute: &str) -> bool {
        match self {
            Self::Args | Self::DictOf(_) | Self::Dict => OF_DICTS.contains(&attribute),
            Self::ListOf(_) | Self::List => OF_LISTS.contains(&attribute),
            Self::Text => OF_TEXTS.contains(&attribute),
        }
    }

    fn word(self) -> String {
        match self {
            Self::Args => "args".to_owned(),
            Self::DictOf(name) | Self::ListOf(name) => name.to_owned(),
            Self::Dict => "dict".to_owned(),
            Self::List => "list".to_owned(),
            Self::Text => "text".to_owned(),
        }
    }
}

/// What a value is, and an attribute that it does not have, as `exec.run.strip`, `args.path` or
/// `list.sort`.
pub(super) fn wrong_attributes(
    script: &AstStmt,
    scopes: &Scopes,
    flows: &Flows<'_>,
    predeclared: &Predeclared<'_>,
    args: &HashSet<Variable>,
) -> FirstMentions {
    let known = Known {
        scopes,
        flows,
        predeclared,
        args,
        plain: plainly_assigned(script, scopes),
    };
    let mut found = FirstMentions::default();
    each_expr(script, &mut |expr| {
        if let ExprP::Dot(base, attribute) = &expr.node
            && let Some(value) = known.value(base, MAX_STEPS)
            && !value.has(&attribute.node)
        {
            found.note(
                format!("{}.{}", value.word(), attribute.node),
                at(attribute),
            );
        }
    });
    found
}

struct Known<'s, 'a, 'm> {
    scopes: &'s Scopes,
    flows: &'s Flows<'a>,
    predeclared: &'s Predeclared<'m>,
    args: &'s HashSet<Variable>,
    /// Variables that only plain assignments bind.
    plain: HashSet<Variable>,
}

impl Known<'_, '_, '_> {
    fn value(&self, expr: &AstExpr, steps: usize) -> Option<Value<'static>> {
        match &expr.node {
            ExprP::Dict(_) | ExprP::DictComprehension(..) => Some(Value::Dict),
            ExprP::List(_) | ExprP::ListComprehension(..) => Some(Value::List),
            ExprP::Literal(AstLiteral::String(_)) | ExprP::FString(_) => Some(Value::Text),
            ExprP::Call(callee, _) => self.result(callee),
            ExprP::Identifier(ident) => match self.scopes.origin(ident) {
                NameOrigin::Bound(variable) => self.variable(variable, steps.checked_sub(1)?),
                NameOrigin::Free(_) => None,
            },
            _ => None,
        }
    }

    /// The kind of a variable, if everything that is ever assigned to it is of one kind.
    fn variable(&self, variable: Variable, steps: usize) -> Option<Value<'static>> {
        if self.args.contains(&variable) && !self.plain.contains(&variable) {
            return (self.flows.values(variable).next().is_none()).then_some(Value::Args);
        }
        if !self.plain.contains(&variable) {
            return None;
        }
        let mut values = self
            .flows
            .values(variable)
            .map(|value| self.value(value, steps));
        let first = values.next()??;
        values.all(|value| value == Some(first)).then_some(first)
    }

    fn result(&self, callee: &AstExpr) -> Option<Value<'static>> {
        let ExprP::Dot(base, call) = &callee.node else {
            return None;
        };
        let Some(NameOrigin::Free(module)) = self.scopes.origin_of(base) else {
            return None;
        };
        self.predeclared.namespace(module)?;
        let is = |name: &&&'static str| {
            name.split_once('.')
                .is_some_and(|(of, name)| of == module && name == call.node)
        };
        let dict = GIVE_DICTS.iter().find(is).map(|name| Value::DictOf(name));
        if GIVE_TEXTS.iter().any(|name| is(&name)) {
            return Some(Value::Text);
        }
        dict.or_else(|| GIVE_LISTS.iter().find(is).map(|name| Value::ListOf(name)))
    }
}

/// The variables that are bound by `name = value` and in no other way.
fn plainly_assigned(script: &AstStmt, scopes: &Scopes) -> HashSet<Variable> {
    let mut plain: HashMap<Variable, usize> = HashMap::new();
    each_stmt(script, &mut |stmt| {
        if let StmtP::Assign(AssignP { lhs, .. }) = &stmt.node
            && let Some(variable) = scopes.target(lhs)
        {
            *plain.entry(variable).or_default() += 1;
        }
    });
    for variable in scopes.bindings() {
        if let Some(count) = plain.get_mut(&variable) {
            *count = count.wrapping_sub(1);
        }
    }
    plain
        .into_iter()
        .filter(|&(_, left)| left == 0)
        .map(|(variable, _)| variable)
        .collect()
}

/// Lists and dicts of the script's top level that its functions change, as `SEEN.append`. They are
/// frozen when the script has loaded.
pub(super) fn changed_globals(
    script: &AstStmt,
    scopes: &Scopes,
    flows: &Flows<'_>,
) -> FirstMentions {
    const CHANGE: [&str; 10] = [
        "append",
        "clear",
        "extend",
        "insert",
        "pop",
        "popitem",
        "remove",
        "setdefault",
        "update",
        "add",
    ];
    let mut found = FirstMentions::default();
    let mut globals: HashMap<Variable, &str> = HashMap::new();
    let plain = plainly_assigned(script, scopes);
    let statements = starlark_syntax::syntax::top_level_stmts::top_level_stmts(script);
    // A function that the top level calls may change them while they are not frozen yet.
    let calls_at_load = statements.iter().any(|stmt| {
        let mut calls = false;
        if !matches!(stmt.node, StmtP::Def(_)) {
            each_expr(stmt, &mut |expr| {
                calls |= matches!(&expr.node, ExprP::Call(callee, _)
                    if matches!(scopes.origin_of(callee), Some(NameOrigin::Bound(_))));
            });
        }
        calls
    });
    if calls_at_load {
        return found;
    }
    for stmt in &statements {
        if let StmtP::Assign(AssignP { lhs, .. }) = &stmt.node
            && let starlark::syntax::ast::AssignTargetP::Identifier(name) = &lhs.node
            && let Some(variable) = scopes.bound(name).filter(|it| plain.contains(it))
            && flows.values(variable).all(|value| {
                matches!(
                    value.node,
                    ExprP::List(_)
                        | ExprP::Dict(_)
                        | ExprP::ListComprehension(..)
                        | ExprP::DictComprehension(..)
                )
            })
        {
            globals.insert(variable, &name.node.ident);
        }
    }
    let global = |expr: &AstExpr| match scopes.origin_of(expr)? {
        NameOrigin::Bound(variable) => globals.get(&variable).copied(),
        NameOrigin::Free(_) => None,
    };
    for stmt in statements {
        if !matches!(stmt.node, StmtP::Def(_)) {
            continue;
        }
        each_expr(stmt, &mut |expr| {
            if let ExprP::Call(callee, _) = &expr.node
                && let ExprP::Dot(base, method) = &callee.node
                && CHANGE.contains(&method.node.as_str())
                && let Some(name) = global(base)
            {
                found.note(name, at(base));
            }
        });
        each_stmt(stmt, &mut |stmt| {
            if let StmtP::Assign(AssignP { lhs, .. }) | StmtP::AssignModify(lhs, ..) = &stmt.node
                && let starlark::syntax::ast::AssignTargetP::Index(parts) = &lhs.node
                && let Some(name) = global(&parts.0)
            {
                found.note(name, at(&parts.0));
            }
        });
    }
    found
}

/// The value of a number that is written out, also as a product.
pub(super) fn whole_number(expr: &AstExpr) -> Option<u64> {
    use starlark_syntax::lexer::TokenInt;
    match &expr.node {
        ExprP::Literal(AstLiteral::Int(int)) => match &int.node {
            TokenInt::I32(value) => u64::try_from(*value).ok(),
            TokenInt::BigInt(value) => u64::try_from(value).ok().or(Some(u64::MAX)),
        },
        ExprP::Literal(AstLiteral::Float(float)) => {
            let value = float.node;
            (value.fract() == 0.0 && (0.0..1e15).contains(&value))
                .then(|| format!("{value:.0}").parse().ok())
                .flatten()
        }
        ExprP::Op(left, starlark::syntax::ast::BinOp::Multiply, right) => {
            whole_number(left)?.checked_mul(whole_number(right)?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{OF_DICTS, OF_LISTS, OF_TEXTS};
    use crate::check::dialect::dialect;
    use starlark::environment::{Globals, Module};
    use starlark::eval::Evaluator;
    use starlark::syntax::AstModule;

    #[test]
    fn the_attributes_match_the_interpreter() {
        for (value, known) in [("{}", OF_DICTS), ("[]", OF_LISTS), ("\"\"", OF_TEXTS)] {
            let source = format!("\" \".join(sorted(dir({value})))");
            let tree = AstModule::parse("script", source, &dialect()).expect("it parses");
            let names = Module::with_temp_heap(|module| {
                let mut evaluator = Evaluator::new(&module);
                let names = evaluator
                    .eval_module(tree, &Globals::standard())
                    .expect("it runs");
                names.unpack_str().expect("a text").to_owned()
            });
            assert_eq!(names, known.join(" "), "{value}");
        }
    }
}
