//! `HOOK_DUPLICATE`.

use super::Check;
use crate::check::subject::{Findings, Owner, Project, hook_place};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "HOOK_DUPLICATE",
    severity: Severity::Error,
    why: "With two hooks of one name it is unclear which one should judge, so both block their \
          events until one is renamed. Only a bundle in `.harness/overrides/` may replace a hook.",
    bad: &[
        (
            ".harness/hooks/watch_calls.md",
            "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      return allow()\n---\nWatches.\n",
        ),
        (
            ".harness/plugins/watching.md",
            "---\nhooks:\n  - name: watch_calls\n    event: tool.post\n    script: |\n      def handle(event, payload):\n          return allow()\n---\n",
        ),
    ],
    good: &[
        (
            ".harness/hooks/watch_calls.md",
            "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      return allow()\n---\nWatches.\n",
        ),
        (
            ".harness/plugins/watching.md",
            "---\nhooks:\n  - name: watch_plugin_calls\n    event: tool.post\n    script: |\n      def handle(event, payload):\n          return allow()\n---\n",
        ),
    ],
    check: Check::Project(check),
};

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    for clash in &project.resolution.hook_clashes {
        let Some(hook) = project.hooks.get(clash.index) else {
            continue;
        };
        let other = clash.other.as_ref().map_or_else(
            || "in another file".to_owned(),
            |place| format!("at {place}"),
        );
        findings.add_for(
            Owner::Hook(clash.index),
            RULE.finding(format!("hook \"{}\" is defined more than once", hook.name))
                .at(hook_place(hook))
                .help(format!("it is also defined {other}; rename one, or move the one that should win to `.harness/overrides/`")),
        );
    }
}
