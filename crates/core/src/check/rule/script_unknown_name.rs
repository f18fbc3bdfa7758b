//! `SCRIPT_UNKNOWN_NAME`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::builtin::MODULES;
use crate::check::python::instead_of;
use crate::check::subject::{Findings, ScriptSubject};
use crate::diagnostic::{Rule, Severity};
use crate::nearest::{backticked, did_you_mean, nearest};

pub(super) const RULE: Rule<Check> = Rule {
    code: "SCRIPT_UNKNOWN_NAME",
    severity: Severity::Error,
    why: "A name that is neither defined in the script nor built in stops the script before its \
          first line.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nscript: |\n  def run(args):\n      return read(\"note.txt\")\n---\nReads the note.\n",
    )],
    good: &[READ_NOTE],
    check: Check::Script(check),
};

/// What Starlark itself has.
#[rustfmt::skip]
const LANGUAGE: &[&str] = &[
    "None", "True", "False", "abs", "all", "any", "bool", "chr", "dict", "dir", "enumerate", "fail", "filter", "float", "getattr",
    "hasattr", "hash", "int", "len", "list", "map", "max", "min", "ord", "range", "repr", "reversed", "sorted", "str", "struct", "tuple",
    "type", "zip",
];

fn check(subject: &ScriptSubject<'_>, findings: &mut Findings<'_>) {
    let Ok(facts) = subject.facts else { return };
    for unknown in &facts.unknown_names {
        let own = facts
            .functions
            .iter()
            .map(|function| function.at.name.as_str());
        findings.add(
            RULE.finding(format!("`{}` is not defined", unknown.name))
                .at(subject.script.place_of(unknown.position()))
                .field(subject.field)
                .help(help_for(&unknown.name, own)),
        );
    }
}

fn help_for<'a>(name: &str, own: impl Iterator<Item = &'a str>) -> String {
    if let Some(instead) = instead_of(name) {
        return instead.to_owned();
    }
    // Authors often write the call without its module.
    let inside = MODULES.iter().filter(|module| {
        !module.name.is_empty() && module.calls.iter().any(|call| call.name == name)
    });
    let inside: Vec<String> = inside
        .map(|module| format!("`{}.{name}`", module.name))
        .collect();
    if !inside.is_empty() && inside.len() <= 3 {
        return format!("did you mean {}?", inside.join(" or "));
    }
    let globals = MODULES
        .iter()
        .filter(|module| module.name.is_empty())
        .flat_map(|module| module.calls.iter().map(|call| call.name));
    let modules = MODULES
        .iter()
        .map(|module| module.name)
        .filter(|name| !name.is_empty());
    let known = own
        .chain(globals)
        .chain(modules.clone())
        .chain(LANGUAGE.iter().copied());
    let all = backticked(modules);
    did_you_mean(
        nearest(name, known),
        &format!("define it, or use one of the built-in modules: {all}"),
    )
}
