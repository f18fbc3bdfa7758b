//! `TOOL_SURFACE_NO_TIMEOUT`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::effect::Effects;
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_NO_TIMEOUT",
    severity: Severity::Note,
    why: "Without a cap of its own, a tool that waits for processes or the network can wait as \
          long as the whole run.",
    bad: &[(
        ".harness/tools/fetch_news.md",
        "---\nparameters:\n  url: {type: string, required: true}\nscript: |\n  def run(args):\n      return http.get(args[\"url\"])\n---\nFetches the news.\n",
    )],
    good: &[(
        ".harness/tools/fetch_news.md",
        "---\nparameters:\n  url: {type: string, required: true}\ntimeout_ms: 10000\nscript: |\n  def run(args):\n      return http.get(args[\"url\"])\n---\nFetches the news.\n",
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let waits = |effects: Effects| {
        [Effects::EXEC, Effects::NET_READ, Effects::NET_WRITE]
            .into_iter()
            .any(|one| effects.contains(one))
    };
    for entry in subject.active_tools() {
        if entry.timeout_ms != Some(0) || !entry.effects.is_some_and(waits) {
            continue;
        }
        let message = format!(
            "tool \"{}\" waits for processes or the network and has no `timeout_ms`",
            entry.name
        );
        let finding = entry.finding(&RULE, message).field("timeout_ms");
        findings.add(finding.help("write `timeout_ms`, in milliseconds"));
    }
}
