//! `HOOK_PAYLOAD_FIELD`.

use super::Check;
use crate::check::subject::{Findings, ScriptSubject};
use crate::diagnostic::{Rule, Severity};
use crate::facts::ScriptKind;

pub(super) const RULE: Rule<Check> = Rule {
    code: "HOOK_PAYLOAD_FIELD",
    severity: Severity::Error,
    why: "A payload is a dict, and a dict has no fields: `payload.name` raises. In `handle` the \
          hook then fails; in `when`, a warning, the hook runs every time.",
    bad: &[(
        ".harness/hooks/guard_paths.md",
        "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      if payload.tags == [\"tables\"]:\n          return block(\"tables stay\")\n      return allow()\n---\nKeeps tables.\n",
    )],
    good: &[(
        ".harness/hooks/guard_paths.md",
        "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      if payload[\"tags\"] == [\"tables\"]:\n          return block(\"tables stay\")\n      return allow()\n---\nKeeps tables.\n",
    )],
    check: Check::Script(check),
};

fn check(subject: &ScriptSubject<'_>, findings: &mut Findings<'_>) {
    let Ok(facts) = subject.facts else { return };
    let severity = match subject.kind {
        ScriptKind::When => Severity::Warning,
        ScriptKind::Hook | ScriptKind::Tool | ScriptKind::Condition => Severity::Error,
    };
    for read in &facts.payload_fields {
        let steps: Vec<&str> = read.name.split('.').collect();
        let indexed: String = steps.iter().map(|step| format!("[\"{step}\"]")).collect();
        let (last, before) = steps.split_last().unwrap_or((&"", &[]));
        let of: String = before.iter().map(|step| format!("[\"{step}\"]")).collect();
        findings.add(
            RULE.finding(format!("`payload{of}` is a dict, so it has no `.{last}`"))
                .severity(severity)
                .at(subject.script.place_of(read.position()))
                .field(subject.field)
                .help(format!("write `payload{indexed}`")),
        );
    }
}
