//! `HOOK_UNKNOWN_TOOL`.

use super::Check;
use crate::artifact::Layer;
use crate::artifact::tool::Script;
use crate::builtin;
use crate::check::reach::builtin_named;
use crate::check::subject::{Findings, HookSubject};
use crate::client;
use crate::diagnostic::{Rule, Severity};
use crate::facts::Named;
use crate::hook_event::{NameMeans, find};
use crate::nearest::{backticked, nearest};
use crate::span::Place;
use std::collections::HashSet;

pub(super) const RULE: Rule<Check> = Rule {
    code: "HOOK_UNKNOWN_TOOL",
    severity: Severity::Warning,
    why: "A hook that waits for a tool that does not exist never acts. Most often the tool was \
          renamed and its guard was forgotten. A hook that only blocks a name may name what does \
          not exist, unless the name looks like a misspelled one. For a hook of a bundle, which \
          other projects use as well, this is a note.",
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
    // A hook of a bundle is written for many projects, not all of which have the tool.
    let severity = match subject.hook.origin.layer {
        Layer::Project => Severity::Warning,
        Layer::Builtin | Layer::Plugin | Layer::Override => Severity::Note,
    };
    let always_blocks = subject.scripts.iter().any(|(_, facts)| facts.always_blocks);
    let mut seen = HashSet::new();
    // Names that are written on one line and have the same help are one finding.
    let mut unknown: Vec<Unknown<'_>> = Vec::new();
    for (script, compared, purpose) in compared(subject, always_blocks) {
        let name = compared.name.as_str();
        if !seen.insert(name) {
            continue;
        }
        let (known, close) = match event.name_means {
            NameMeans::Tool => (
                names.contains(name) || client::knows(name),
                nearest(name, names.iter().copied()).map(str::to_owned),
            ),
            NameMeans::Builtin => (builtin_named(name).is_some(), nearest_builtin(name)),
            NameMeans::Other => continue,
        };
        // A guard may forbid what nobody has, but not misspell what somebody has.
        if known || (purpose == Purpose::Block && close.is_none()) {
            continue;
        }
        let reason = match close {
            Some(close) => Reason::Misspelled(close),
            None if event.name_means == NameMeans::Tool && builtin_named(name).is_some() => {
                Reason::Builtin
            }
            None => Reason::Unknown,
        };
        let place = script.place_of(compared.position());
        match unknown.last_mut() {
            Some(last)
                if reason == last.reason
                    && !matches!(reason, Reason::Misspelled(_))
                    && place.position().line == last.place.position().line =>
            {
                last.names.push(name);
            }
            _ => unknown.push(Unknown {
                names: vec![name],
                place,
                reason,
            }),
        }
    }
    let what = match event.name_means {
        NameMeans::Builtin => "built-in",
        NameMeans::Tool | NameMeans::Other => "tool",
    };
    for Unknown {
        names,
        place,
        reason,
    } in unknown
    {
        let message = match &*names {
            [name] => format!("there is no {what} `{name}`"),
            names => format!("there are no {what}s {}", backticked(names.iter().copied())),
        };
        let help = match reason {
            Reason::Misspelled(close) => format!("did you mean `{close}`?"),
            Reason::Builtin => "scripts call it as a built-in: a hook with `event: builtin.pre` \
                                sees that"
                .to_owned(),
            Reason::Unknown => format!("no {what} of this project has that name"),
        };
        findings.add(
            RULE.finding(message)
                .severity(severity)
                .at(place)
                .help(help),
        );
    }
}

/// Names that a hook waits for in vain.
struct Unknown<'a> {
    names: Vec<&'a str>,
    place: Place,
    reason: Reason,
}

/// Why a name is not a tool's.
#[derive(PartialEq, Eq)]
enum Reason {
    /// It is close to this one.
    Misspelled(String),
    /// It is a built-in's.
    Builtin,
    /// It is nobody's.
    Unknown,
}

/// Why a hook compares a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Only to block it.
    Block,
    /// To do something with the call.
    Other,
}

/// Every name that a hook compares with the called one.
fn compared<'a>(
    subject: &'a HookSubject<'_>,
    always_blocks: bool,
) -> impl Iterator<Item = (&'a Script, &'a Named, Purpose)> {
    // A `when` chooses what the script is shown.
    let otherwise = match always_blocks {
        true => Purpose::Block,
        false => Purpose::Other,
    };
    subject.scripts.iter().flat_map(move |(script, facts)| {
        let compared = facts
            .compared_names
            .iter()
            .map(move |name| (name, otherwise));
        let forbidden = facts.forbidden_names.iter();
        compared
            .chain(forbidden.map(|name| (name, Purpose::Block)))
            .map(move |(name, purpose)| (*script, name, purpose))
    })
}

fn nearest_builtin(name: &str) -> Option<String> {
    let all: Vec<String> = builtin::all()
        .map(|(_, module, builtin)| builtin::full_name(module, builtin))
        .collect();
    nearest(name, all.iter().map(String::as_str)).map(str::to_owned)
}
