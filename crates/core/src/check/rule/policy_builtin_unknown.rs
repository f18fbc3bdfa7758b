//! `POLICY_BUILTIN_UNKNOWN`.

use super::Check;
use crate::artifact::Root;
use crate::artifact::rule::READ_NOTE;
use crate::builtin::{self, full_name};
use crate::check::subject::{Findings, Project};
use crate::diagnostic::{Rule, Severity};
use crate::nearest::{did_you_mean, nearest};
use crate::rule::{builtin_pattern, names_builtins};
use crate::span::{Place, Spanned};

pub(super) const RULE: Rule<Check> = Rule {
    code: "POLICY_BUILTIN_UNKNOWN",
    severity: Severity::Warning,
    why: "A pattern that matches no built-in closes and opens nothing. In a deny list, what it \
          was meant to close stays open.",
    bad: &[
        READ_NOTE,
        (
            "harness.md",
            "---\ntools_policy: {deny: [fs.wirte]}\n---\nYou help.\n",
        ),
    ],
    good: &[
        READ_NOTE,
        (
            "harness.md",
            "---\ntools_policy: {deny: [fs.write]}\n---\nYou help.\n",
        ),
    ],
    check: Check::Report(check),
};

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    for root in project.roots() {
        let Some(source) = &root.source else { continue };
        let entries: Vec<_> = entries(root).collect();
        if entries.is_empty() {
            continue;
        }
        let names: Vec<String> = builtin::all()
            .map(|(_, module, builtin)| full_name(module, builtin))
            .collect();
        for (field, entry) in entries {
            let Some(pattern) = builtin_pattern(&entry.value) else {
                continue;
            };
            if names.iter().any(|name| pattern.is_match(name)) {
                continue;
            }
            let mut finding = RULE.finding(format!("`{}` matches no built-in", entry.value));
            let module = entry.value.split('.').next().unwrap_or_default();
            if names_builtins(&entry.value) && !builtin::is_module(module) {
                // Written for a program with other built-ins, it does no harm here.
                finding.severity = Severity::Note;
            }
            let close = nearest(&entry.value, names.iter().map(String::as_str));
            findings.add(
                finding
                    .at(Place::new(source, entry.span))
                    .field(field)
                    .help(did_you_mean(
                        close,
                        "fix or remove it; `docs/reference/builtins.md` lists the built-ins",
                    )),
            );
        }
    }
}

/// Every entry that is about built-ins and means something, with its field.
fn entries(root: &Root) -> impl Iterator<Item = (&'static str, &Spanned<String>)> {
    let policy = &root.tools_policy;
    let denied = policy
        .deny
        .iter()
        .filter(|entry| names_builtins(&entry.value));
    let allowed = policy.builtins.allow.iter().flat_map(|list| &list.value);
    denied
        .map(|entry| ("tools_policy.deny", entry))
        .chain(allowed.map(|entry| ("tools_policy.builtins.allow", entry)))
        .chain(
            policy
                .builtins
                .deny
                .iter()
                .map(|entry| ("tools_policy.builtins.deny", entry)),
        )
}
