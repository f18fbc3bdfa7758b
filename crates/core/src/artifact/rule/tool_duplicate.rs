//! `TOOL_DUPLICATE`.

use super::READ_NOTE;
use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "TOOL_DUPLICATE",
    severity: Severity::Error,
    why: "With two definitions of one name it is unclear which one a call would run, so neither \
          is offered. Only a bundle in `.harness/overrides/` may replace a tool.",
    bad: &[
        READ_NOTE,
        (
            ".harness/plugins/notes.md",
            "---\ntools:\n  - name: read_note\n    description: Reads the note of the plugin.\n    script: |\n      def run(args):\n          return fs.read(\"plugin.txt\")\n---\n",
        ),
    ],
    good: &[
        READ_NOTE,
        (
            ".harness/plugins/notes.md",
            "---\ntools:\n  - name: read_plugin_note\n    description: Reads the note of the plugin.\n    script: |\n      def run(args):\n          return fs.read(\"plugin.txt\")\n---\n",
        ),
    ],
    check: (),
};
