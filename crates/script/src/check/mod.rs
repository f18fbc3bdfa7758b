//! The static facts of a script, read from its syntax tree.
//!
//! One file per finding; `scope` and `flow` are what they share. Nothing is evaluated: parsing and walking alone. It runs in a worker all the same,
//! for the parser recurses.

mod demanded;
pub(crate) mod dialect;
mod flow;
mod functions;
mod handle;
mod known;
mod mentions;
pub(crate) mod nesting;
mod payload;
mod pure;
mod reach;
mod recursion;
mod scope;
#[cfg(test)]
mod tests;
mod tree;

use dialect::dialect;
use flow::Flows;
use handle::Handle;
use known::Known;
use mentions::named;
use payload::{Given, payload};
use scope::Scopes;
use starlark::syntax::AstModule;
use starlark::syntax::ast::AstStmt;
use tool_harness::builtin::Module;
use tool_harness::facts::{Facts, Named, ScriptKind};
use tool_harness::span::Source;

/// The longest script that is looked at, in bytes.
pub const SOURCE_LIMIT: usize = 1 << 20;

/// What can be said about a script without running it, when it may call these modules.
#[must_use]
pub fn facts(kind: ScriptKind, source: &str, modules: &[&Module]) -> Facts {
    match parse(source) {
        Ok(module) => read(
            kind,
            module.statement(),
            &Source::new("script", source),
            &Known::new(kind, modules),
        ),
        Err(problem) => Facts {
            syntax: Some(problem),
            ..Facts::default()
        },
    }
}

fn read(kind: ScriptKind, script: &AstStmt, source: &Source, known: &Known) -> Facts {
    let scopes = Scopes::of(script);
    let flows = Flows::of(script, &scopes);
    let reach = reach::reach(script, &scopes, &flows, known);
    let mut facts = Facts {
        functions: functions::functions(script, source),
        reaches: reach.reaches.into_named(source),
        unknown_names: reach.unknown_names.into_named(source),
        unknown_members: reach.unknown_members.into_named(source),
        recursion: recursion::recursion(script, &scopes).into_named(source),
        ..Facts::default()
    };
    let given = match kind {
        ScriptKind::Tool => {
            facts.demanded = demanded::demanded(script).into_named(source);
            return facts;
        }
        ScriptKind::Hook => Given::Hook(Handle::of(script)),
        ScriptKind::When => Given::When,
    };
    let read = payload(script, &scopes, &flows, &given);
    facts.payload_keys = read.keys.into_named(source);
    facts.compared_names = read.compared.into_named(source);
    match given {
        Given::Hook(handle) => {
            facts.odd_returns = handle
                .map(|handle| handle.odd_returns(&scopes, source).into_named(source))
                .unwrap_or_default();
        }
        Given::When => facts.impure = pure::impure(script, &scopes, known, &facts.reaches, source),
    }
    facts
}

/// The syntax tree, or why there is none.
fn parse(source: &str) -> Result<AstModule, Named> {
    if source.len() > SOURCE_LIMIT {
        return Err(Named {
            name: format!("longer than {SOURCE_LIMIT} bytes"),
            line: 1,
            column: 1,
        });
    }
    if let Some(at) = nesting::too_deep(source) {
        return Err(named(
            &Source::new("script", source),
            "nested too deeply",
            at,
        ));
    }
    AstModule::parse("script", source.to_owned(), &dialect()).map_err(|error| {
        let at = error
            .span()
            .map_or(0, |span| span.span.begin().get() as usize);
        let message = error.without_diagnostic().to_string();
        let message = message.lines().next().unwrap_or_default();
        named(
            &Source::new("script", source),
            message.strip_prefix("Parse error: ").unwrap_or(message),
            at,
        )
    })
}
