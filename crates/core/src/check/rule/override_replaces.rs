//! `OVERRIDE_REPLACES`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::check::subject::{Findings, Owner, Project, hook_place, tool_place};
use crate::diagnostic::{Diagnostic, Rule, Severity};
use crate::span::Place;

pub(super) const RULE: Rule<Check> = Rule {
    code: "OVERRIDE_REPLACES",
    severity: Severity::Note,
    why: "An override replaces a tool or hook that others wrote and reviewed. That is allowed, \
          but it should be easy to see.",
    bad: &[
        READ_NOTE,
        (
            ".harness/overrides/local.md",
            "---\ntools:\n  - name: read_note\n    description: Reads the draft.\n    script: |\n      def run(args):\n          return fs.read(\"draft.txt\")\n---\n",
        ),
    ],
    good: &[
        READ_NOTE,
        (
            ".harness/overrides/local.md",
            "---\ntools:\n  - name: read_draft\n    description: Reads the draft.\n    script: |\n      def run(args):\n          return fs.read(\"draft.txt\")\n---\n",
        ),
    ],
    check: Check::Project(check),
};

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    for replacement in &project.resolution.replaced_tools {
        let Some(tool) = project.tools.get(replacement.by) else {
            continue;
        };
        findings.add_for(
            Owner::Tool(replacement.by),
            note("tool", &tool.name, tool_place(tool), &replacement.gone),
        );
    }
    for replacement in &project.resolution.replaced_hooks {
        let Some(hook) = project.hooks.get(replacement.by) else {
            continue;
        };
        findings.add_for(
            Owner::Hook(replacement.by),
            note("hook", &hook.name, hook_place(hook), &replacement.gone),
        );
    }
}

fn note(what: &str, name: &str, place: Place, gone: &Place) -> Diagnostic {
    RULE.finding(format!("{what} \"{name}\" replaces the one at {gone}"))
        .at(place)
        .help("remove the override to get the other one back")
}
