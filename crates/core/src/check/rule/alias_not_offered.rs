//! `ALIAS_NOT_OFFERED`.

use super::Check;
use crate::artifact::tool::is_offerable;
use crate::check::subject::{Findings, ToolSubject};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "ALIAS_NOT_OFFERED",
    severity: Severity::Error,
    why: "An alias is the name that a provider gets. Providers refuse a whole request when one \
          tool name has a character they do not accept.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\naliases: { openai: read note }\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\naliases: { openai: readNote }\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    check: Check::Tool(check),
};

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    for (provider, alias) in subject
        .tool
        .aliases
        .iter()
        .filter(|(_, alias)| !is_offerable(&alias.value))
    {
        findings.add(
            RULE.finding(format!(
                "the alias `{}` cannot be offered to a model",
                alias.value
            ))
            .at(subject.tool.place(alias.span))
            .field(format!("aliases.{provider}"))
            .help("use at most 64 of `A-Z a-z 0-9 _ -`, not starting with a digit or `-`"),
        );
    }
}
