//! Static facts about a script, read from its syntax tree.
//!
//! One file per kind of fact; they share `scope`, `flow` and `tree`. Nothing is evaluated. It still
//! runs in a worker, because the parser recurses.

mod arguments;
pub(crate) mod changes;
pub(crate) mod dialect;
mod flow;
mod forbidden;
mod functions;
mod handle;
mod literals;
mod matches;
mod mentions;
mod nesting;
mod payload;
mod payload_change;
pub(crate) mod predeclared;
mod pure;
mod reach;
mod recursion;
mod required_arguments;
mod scope;
mod syntax;
#[cfg(test)]
mod tests;
mod timeouts;
mod tree;
mod values;

use dialect::dialect;
use flow::Flows;
use forbidden::Forbidden;
use handle::HandleFunction;
use mentions::named;
use payload::{PayloadNames, payload};
use predeclared::Predeclared;
use scope::Scopes;
use starlark::syntax::AstModule;
use starlark::syntax::ast::AstStmt;
use std::collections::HashSet;
use tool_harness::builtin::Module;
use tool_harness::facts::{Facts, Named, ScriptKind};
use tool_harness::span::Source;

/// The longest script that is accepted, in bytes.
pub const SOURCE_LIMIT: usize = 1 << 20;

/// Collects what can be said about a script without running it. `modules` are the built-ins it may
/// call.
#[must_use]
pub fn facts(kind: ScriptKind, source: &str, modules: &[&Module]) -> Facts {
    match parse(source) {
        Ok(module) => read(
            kind,
            module.statement(),
            &Source::new("script", source),
            &Predeclared::new(kind, modules),
        ),
        Err(problem) => Facts {
            syntax: Some(problem),
            ..Facts::default()
        },
    }
}

fn read(kind: ScriptKind, script: &AstStmt, source: &Source, predeclared: &Predeclared) -> Facts {
    let scopes = Scopes::of(script);
    let flows = Flows::of(script, &scopes);
    let reach = reach::reach(script, &scopes, &flows, predeclared);
    let literals = literals::literals(script, &scopes);
    let args = match kind {
        ScriptKind::Tool => arguments::arguments_of_run(script, &scopes, &flows),
        _ => HashSet::new(),
    };
    let mut facts = Facts {
        wrong_attributes: values::wrong_attributes(script, &scopes, &flows, predeclared, &args)
            .into_named(source),
        changed_globals: values::changed_globals(script, &scopes, &flows).into_named(source),
        timeouts: timeouts::timeouts(script, &scopes, &flows, predeclared, source),
        functions: functions::functions(script, source),
        reaches: reach.reaches.into_named(source),
        unknown_names: reach.unknown_names.into_named(source),
        unknown_members: reach.unknown_members.into_named(source),
        recursion: recursion::recursion(script, &scopes).into_named(source),
        untested_matches: matches::untested_matches(script, &scopes, &flows).into_named(source),
        variables: literals.variables.into_named(source),
        number_formats: literals.number_formats.into_named(source),
        ..Facts::default()
    };
    let mut forbidden = Forbidden::default();
    let payloads = match kind {
        ScriptKind::Tool => {
            facts.required_arguments =
                required_arguments::required_arguments(script).into_named(source);
            let arguments = arguments::arguments(script, &scopes, &flows);
            facts.indexed_arguments = arguments.indexed.into_named(source);
            facts.tested_arguments = arguments.tested.into_named(source);
            return facts;
        }
        ScriptKind::Hook => {
            let Some(handle) = HandleFunction::of(script) else {
                return facts;
            };
            forbidden = Forbidden::of(handle.body, &scopes);
            facts.always_blocks = forbidden.is_everything;
            facts.odd_returns = handle.odd_returns(&scopes, source).into_named(source);
            let parameter = handle.parameter(1).and_then(|name| scopes.bound(name));
            PayloadNames::Variables(parameter.map_or_else(HashSet::new, |it| flows.aliases(it)))
        }
        ScriptKind::When => {
            facts.impure = pure::impure(script, &scopes, predeclared, &facts.reaches, source);
            PayloadNames::Free("payload")
        }
        ScriptKind::Condition => {
            facts.impure = pure::impure(script, &scopes, predeclared, &facts.reaches, source);
            return facts;
        }
    };
    let changes = payload_change::payload_changes(script, &scopes, &flows, &payloads, source);
    facts.payload_changes = changes.into_named(source);
    let payload = payload(script, &scopes, &flows, predeclared, &payloads, &forbidden);
    facts.payload_keys = payload.keys.into_named(source);
    facts.optional_payload_keys = payload.optional_keys.into_named(source);
    facts.payload_fields = payload.fields.into_named(source);
    facts.text_results = payload.text_uses.into_named(source);
    facts.dict_results = payload.dict_results.into_named(source);
    facts.dict_errors = payload.dict_uses.into_named(source);
    facts.forbidden_names = payload
        .forbidden
        .without(&payload.compared)
        .into_named(source);
    facts.compared_names = payload.compared.into_named(source);
    facts
}

/// Refuses a source that is too long, or that nests too deeply for the recursive parser.
pub(crate) fn bounds(source: &str) -> Result<(), Named> {
    let refuse = |why: String, offset| Err(named(&Source::new("script", source), why, offset));
    if source.len() > SOURCE_LIMIT {
        return refuse(format!("longer than {SOURCE_LIMIT} bytes"), 0);
    }
    match nesting::too_deep(source) {
        Some(offset) => refuse("nested too deeply".to_owned(), offset),
        None => Ok(()),
    }
}

/// The syntax tree, or the parser's message and its place.
fn parse(source: &str) -> Result<AstModule, Named> {
    bounds(source)?;
    AstModule::parse("script", source.to_owned(), &dialect()).map_err(|error| {
        let offset = error
            .span()
            .map_or(0, |span| span.span.begin().get() as usize);
        let message = error.without_diagnostic().to_string();
        syntax::mistake(source, &message, offset)
    })
}
