//! `POLICY_ALLOW_BUILTIN`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::check::subject::{Findings, Project};
use crate::diagnostic::{Rule, Severity};
use crate::rule::names_builtins;
use crate::span::Place;

pub(super) const RULE: Rule<Check> = Rule {
    code: "POLICY_ALLOW_BUILTIN",
    severity: Severity::Note,
    why: "`tools_policy.allow` lists the tools that may be called. An entry with a dot names \
          built-ins, and every script may use those without being on this list.",
    bad: &[
        READ_NOTE,
        (
            "harness.md",
            "---\ntools_policy: {allow: [read_note, fs.read]}\n---\nYou help.\n",
        ),
    ],
    good: &[
        READ_NOTE,
        (
            "harness.md",
            "---\ntools_policy: {allow: [read_note], builtins: {allow: [fs.read]}}\n---\nYou help.\n",
        ),
    ],
    check: Check::Report(check),
};

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    for root in project.roots() {
        let Some(source) = &root.source else { continue };
        let listed = root.tools_policy.allow.iter();
        let builtins: Vec<_> = listed
            .filter(|entry| names_builtins(&entry.value))
            .collect();
        if builtins.is_empty() {
            continue;
        }
        let names: Vec<_> = builtins
            .iter()
            .map(|entry| format!("`{}`", entry.value))
            .collect();
        let verb = if names.len() == 1 {
            "restricts"
        } else {
            "restrict"
        };
        findings.add(
            RULE.finding(format!(
                "{} {verb} nothing: this list is about tools, and closes no built-in",
                names.join(", ")
            ))
            .at_any(builtins.iter().map(|entry| Place::new(source, entry.span)))
            .field("tools_policy.allow")
            .help("to restrict what the scripts of tools may use, list it under `tools_policy.builtins.allow`"),
        );
    }
}
