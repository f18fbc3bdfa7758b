//! `SCRIPT_NO_RUN`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::check::subject::{Findings, ToolSubject};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "SCRIPT_NO_RUN",
    severity: Severity::Error,
    why: "Calling a tool calls the function `run` of its script. Without that function there is \
          nothing to call.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nscript: |\n  def main(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    good: &[READ_NOTE],
    check: Check::Tool(check),
};

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    let (Some(script), Some(facts)) = (&subject.tool.script, subject.facts) else {
        return;
    };
    if facts
        .functions
        .iter()
        .any(|function| function.at.name == "run")
    {
        return;
    }
    let (place, help) = match &facts.functions[..] {
        [only] => (
            script.place_of(only.at.position()),
            format!("rename `{}` to `run`", only.at.name),
        ),
        _ => (
            script.place.clone(),
            "add `def run(args):`, which returns the result".to_owned(),
        ),
    };
    findings.add(
        RULE.finding("the script does not define `run(args)`")
            .at(place)
            .field("script")
            .help(help),
    );
}
