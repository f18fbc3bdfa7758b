//! `TOOL_SURFACE_PROMPT_TOOL_NOT_IN_POLICY`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Findings, Subject, ToolStatus};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_PROMPT_TOOL_NOT_IN_POLICY",
    severity: Severity::Warning,
    why: "The text tells a model to use a tool that it is not offered: the tool is declared, but \
          policy or an error withholds it.",
    bad: &[
        READ_NOTE,
        (
            ".harness/tools/list_notes.md",
            "---\nscript: |\n  def run(args):\n      return fs.list(\".\")\n---\nLists the notes.\n",
        ),
        (
            "harness.md",
            "---\ntools_policy: {deny: [\"read_*\"]}\n---\nCall read_note() before you answer.\n",
        ),
    ],
    good: &[
        READ_NOTE,
        (
            "harness.md",
            "---\nformat: 1\n---\nCall read_note() before you answer.\n",
        ),
    ],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for said in &subject.mentions.inactive {
        let why = said.tool.map(|tool| &tool.status);
        let why = if let Some(ToolStatus::Denied(why) | ToolStatus::Broken(why)) = why {
            format!(": {why}")
        } else {
            String::new()
        };
        let finding = said.finding(&RULE, &format!("is not active{why}"));
        findings.add(finding.help("let the policy offer the tool, or remove it from the text"));
    }
}
