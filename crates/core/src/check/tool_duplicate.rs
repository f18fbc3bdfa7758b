//! `TOOL_DUPLICATE`.

use super::subject::{Findings, Owner, Project, tool_place};
use super::{Check, Rule};
use crate::diagnostic::Severity;

pub(crate) const RULE: Rule = Rule {
    code: "TOOL_DUPLICATE",
    severity: Severity::Error,
    why: "With two definitions of one name nobody can tell which one a call would run, so neither is offered. Only a bundle in \
          `.harness/overrides/` may replace a tool.",
    bad: &[
        (
            ".harness/tools/read_note.md",
            "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
        ),
        (
            ".harness/plugins/notes.md",
            "---\ntools:\n  - name: read_note\n    description: Reads the note of the plugin.\n    script: |\n      def run(args):\n          return fs.read(\"plugin.txt\")\n---\n",
        ),
    ],
    good: &[
        (
            ".harness/tools/read_note.md",
            "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
        ),
        (
            ".harness/plugins/notes.md",
            "---\ntools:\n  - name: read_plugin_note\n    description: Reads the note of the plugin.\n    script: |\n      def run(args):\n          return fs.read(\"plugin.txt\")\n---\n",
        ),
    ],
    check: Check::Project(check),
};

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    for clash in &project.resolution.tool_clashes {
        let Some(tool) = project.tools.get(clash.index) else {
            continue;
        };
        let other = clash.other.as_ref().map_or_else(
            || "in another file".to_owned(),
            |place| format!("at {place}"),
        );
        findings.add_for(
            Owner::Tool(clash.index),
            RULE.finding(format!("tool \"{}\" is defined more than once", tool.name))
                .at(tool_place(tool))
                .help(format!("it is also defined {other}; rename one, or move the one that should win to `.harness/overrides/`")),
        );
    }
}
