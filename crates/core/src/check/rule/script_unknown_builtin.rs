//! `SCRIPT_UNKNOWN_BUILTIN`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::builtin::MODULES;
use crate::check::python::instead_of;
use crate::check::subject::{Findings, ScriptSubject};
use crate::diagnostic::{Rule, Severity};
use crate::nearest::suggest;

pub(super) const RULE: Rule<Check> = Rule {
    code: "SCRIPT_UNKNOWN_BUILTIN",
    severity: Severity::Error,
    why: "The module exists, but it has no such call: the script would fail in the middle of a \
          run, after part of the work is done.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nscript: |\n  def run(args):\n      return fs.raed(\"note.txt\")\n---\nReads the note.\n",
    )],
    good: &[READ_NOTE],
    check: Check::Script(check),
};

fn check(subject: &ScriptSubject<'_>, findings: &mut Findings<'_>) {
    let Ok(facts) = subject.facts else { return };
    for unknown in &facts.unknown_members {
        let (module_name, member) = unknown.name.split_once('.').unwrap_or(("", &unknown.name));
        let members = MODULES
            .iter()
            .filter(|module| module.name == module_name)
            .flat_map(|module| {
                module
                    .calls
                    .iter()
                    .map(|call| call.name)
                    .chain(module.constants.iter().map(|&(name, _)| name))
            })
            // A call without a name is what calling the module itself does.
            .filter(|name| !name.is_empty());
        findings.add(
            RULE.finding(format!("`{module_name}` has no `{member}`"))
                .at(subject.script.place_of(unknown.position()))
                .field(subject.field)
                .help(instead_of(&unknown.name).map_or_else(
                    || suggest(member, members, &format!("`{module_name}` has")),
                    str::to_owned,
                )),
        );
    }
}
