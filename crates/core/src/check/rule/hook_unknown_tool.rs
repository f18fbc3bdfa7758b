//! `HOOK_UNKNOWN_TOOL`.

use super::Check;
use crate::builtin;
use crate::check::reach::builtin_named;
use crate::check::subject::{Findings, HookSubject};
use crate::client;
use crate::diagnostic::{Rule, Severity};
use crate::hook_event::{NameMeans, find};
use crate::nearest::{did_you_mean, nearest};
use std::collections::HashSet;

pub(super) const RULE: Rule<Check> = Rule {
    code: "HOOK_UNKNOWN_TOOL",
    severity: Severity::Warning,
    why: "A hook that waits for a tool that does not exist never acts. Most often the tool was \
          renamed and its guard was forgotten.",
    bad: &[
        (
            ".harness/tools/send_mail.md",
            "---\nscript: |\n  def run(args):\n      return \"sent\"\n---\nSends the mail.\n",
        ),
        (
            ".harness/hooks/guard_mail.md",
            "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      if payload[\"name\"] == \"sent_mail\":\n          return block(\"no mail today\")\n      return allow()\n---\nStops mail.\n",
        ),
    ],
    good: &[
        (
            ".harness/tools/send_mail.md",
            "---\nscript: |\n  def run(args):\n      return \"sent\"\n---\nSends the mail.\n",
        ),
        (
            ".harness/hooks/guard_mail.md",
            "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      if payload[\"name\"] == \"send_mail\":\n          return block(\"no mail today\")\n      return allow()\n---\nStops mail.\n",
        ),
    ],
    check: Check::Hook(check),
};

fn check(subject: &HookSubject<'_>, findings: &mut Findings<'_>) {
    let Some(event) = subject
        .hook
        .event
        .as_ref()
        .and_then(|event| find(&event.value))
    else {
        return;
    };
    let names = &subject.project.tool_names;
    let mut seen = HashSet::new();
    for (script, facts) in &subject.scripts {
        for compared in &facts.compared_names {
            let name = compared.name.as_str();
            if !seen.insert(name) {
                continue;
            }
            let (known, what, close) = match event.name_means {
                NameMeans::Tool => (
                    names.contains(name) || client::knows(name),
                    "tool",
                    nearest(name, names.iter().copied()).map(str::to_owned),
                ),
                NameMeans::Builtin => (
                    builtin_named(name).is_some(),
                    "built-in",
                    nearest_builtin(name),
                ),
                NameMeans::Other => continue,
            };
            if known {
                continue;
            }
            let otherwise = format!("no {what} of this project has that name");
            findings.add(
                RULE.finding(format!("there is no {what} `{name}`"))
                    .at(script.place_of(compared.position()))
                    .help(did_you_mean(close.as_deref(), &otherwise)),
            );
        }
    }
}

fn nearest_builtin(name: &str) -> Option<String> {
    let all: Vec<String> = builtin::all()
        .map(|(_, module, builtin)| builtin::full_name(module, builtin))
        .collect();
    nearest(name, all.iter().map(String::as_str)).map(str::to_owned)
}
