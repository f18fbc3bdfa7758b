//! `POLICY_NAME_IS_BUILTIN`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::builtin;
use crate::check::subject::{Findings, Project};
use crate::diagnostic::{Rule, Severity};
use crate::pattern::{Pattern, Separator};
use crate::rule::builtin_meant;
use crate::span::{Place, Spanned};

pub(super) const RULE: Rule<Check> = Rule {
    code: "POLICY_NAME_IS_BUILTIN",
    severity: Severity::Warning,
    why: "In `tools_policy`, a name without a dot is the name of a tool. Denying `exec` denies a \
          tool of that name, and leaves `exec.run` to the scripts of other tools. In an allow list \
          it does no harm, and is a note.",
    bad: &[
        READ_NOTE,
        (
            "harness.md",
            "---\ntools_policy: {deny: [exec]}\n---\nYou help.\n",
        ),
    ],
    good: &[
        READ_NOTE,
        (
            "harness.md",
            "---\ntools_policy: {deny: [\"exec.*\"]}\n---\nYou help.\n",
        ),
    ],
    check: Check::Report(check),
};

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    let is_tool = |entry: &str| {
        project.tool_names.contains(entry)
            || Pattern::new(entry, Separator::Ordinary)
                .is_ok_and(|glob| project.tool_names.iter().any(|name| glob.is_match(name)))
    };
    for root in project.roots() {
        let Some(source) = &root.source else { continue };
        let policy = &root.tools_policy;
        let meant = |entry: &&Spanned<String>| {
            builtin_meant(&entry.value).is_some() && !is_tool(&entry.value)
        };
        for entry in policy.allow.iter().filter(meant) {
            findings.add(
                RULE.finding(format!("`{}` allows tools, and matches none", entry.value))
                    .severity(Severity::Note)
                    .at(Place::new(source, entry.span))
                    .field("tools_policy.allow")
                    .help("remove it: built-ins need no entry here, because this list closes none"),
            );
        }
        for entry in policy.deny.iter().filter(meant) {
            let name = builtin_meant(&entry.value).unwrap_or_default();
            let close = match builtin::is_module(name) {
                true => format!("write `\"{name}.*\"`"),
                false => format!("write `builtins: {{deny: [{name}]}}` below `tools_policy`"),
            };
            findings.add(
                RULE.finding(format!(
                    "`{}` denies tools, and matches none: the built-ins of this name stay open",
                    entry.value
                ))
                .at(Place::new(source, entry.span))
                .field("tools_policy.deny")
                .help(format!("to close them in the scripts of tools, {close}")),
            );
        }
    }
}
