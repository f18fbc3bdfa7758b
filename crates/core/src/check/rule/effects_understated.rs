//! `EFFECTS_UNDERSTATED`.

use super::Check;
use crate::artifact::rule::effects_contradict::contradictions;
use crate::artifact::tool::DeclaredBounds;
use crate::check::reach::reached;
use crate::check::subject::{Findings, ToolSubject};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "EFFECTS_UNDERSTATED",
    severity: Severity::Error,
    why: "The script mentions a built-in that does more than the tool declares. Policy and people \
          judge by what is declared, and at run time the built-in would not be there.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nrisk: read\nscript: |\n  def run(args):\n      fs.write(\"seen.txt\", \"yes\")\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\nrisk: write\nscript: |\n  def run(args):\n      fs.write(\"seen.txt\", \"yes\")\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    check: Check::Tool(check),
};

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    let (Some(script), Some(facts)) = (&subject.tool.script, subject.facts) else {
        return;
    };
    // The declarations contradict each other, which another rule reports.
    if contradictions(&subject.tool.declared_effects)
        .next()
        .is_some()
    {
        return;
    }
    let bound = DeclaredBounds::of(&subject.tool.declared_effects).bound();
    for (named, builtin) in reached(facts) {
        let beyond = builtin.needs().unflagged().without(bound);
        if beyond.is_empty() {
            continue;
        }
        let spellings: Vec<String> = subject
            .tool
            .declared_effects
            .iter()
            .map(|declared| format!("`{}`", declared.spelling))
            .collect();
        findings.add(
            RULE.finding(format!("`{}` needs the effect {beyond}, which {} does not allow", named.name, spellings.join(" with ")))
                .at(script.place_of(named.position()))
                .help("declare what the script does, declare nothing and let it be inferred, or remove the call"),
        );
    }
}
