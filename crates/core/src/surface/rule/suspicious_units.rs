//! `TOOL_SURFACE_SUSPICIOUS_UNITS`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Findings, Subject};
use serde_json::Value;

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_SUSPICIOUS_UNITS",
    severity: Severity::Warning,
    why: "If a name and a description use different units, calls are wrong by a factor of a \
          thousand.",
    bad: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
      "parameters": {
        "type": "object",
        "properties": {"timeout_ms": {"type": "integer", "description": "How long to wait, in seconds"}}
      },
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    }
  ]
}
"#,
    )],
    good: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
      "parameters": {
        "type": "object",
        "properties": {"timeout_ms": {"type": "integer", "description": "How long to wait, in milliseconds"}}
      },
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    }
  ]
}
"#,
    )],
    check,
};

/// Suffixes of names, the unit they mean, and other units of the same quantity. `_min` is not among
/// them: it often means minimum.
const UNITS: &[(&[&str], &str, &[&str])] = &[
    (
        &[
            "_ms",
            "_millis",
            "_milliseconds",
            "Ms",
            "Millis",
            "Milliseconds",
        ],
        "milliseconds",
        &["seconds", "minutes", "hours"],
    ),
    (
        &["_s", "_sec", "_secs", "_seconds", "Sec", "Secs", "Seconds"],
        "seconds",
        &["milliseconds", "minutes", "hours"],
    ),
    (
        &["_minutes", "Minutes"],
        "minutes",
        &["milliseconds", "seconds", "hours"],
    ),
    (
        &["_bytes", "Bytes"],
        "bytes",
        &["kilobytes", "megabytes", "characters", "lines", "tokens"],
    ),
    (&["_kb", "Kb", "KB"], "kilobytes", &["bytes", "megabytes"]),
    (&["_mb", "Mb", "MB"], "megabytes", &["bytes", "kilobytes"]),
];

/// Units as descriptions shorten them.
const SHORT: &[(&str, &[&str])] = &[
    ("milliseconds", &["ms", "millis", "msec"]),
    ("seconds", &["sec", "secs"]),
    ("kilobytes", &["kb", "kib"]),
    ("megabytes", &["mb", "mib"]),
];

/// A cap below this is hardly meant in milliseconds.
const SHORTEST_MS: u64 = 50;

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in subject.active_tools() {
        for (name, schema) in entry.parameters() {
            let Some(words) = schema.get("description").and_then(Value::as_str) else {
                continue;
            };
            let Some((unit, other)) = contradicts(name, words) else {
                continue;
            };
            let message = format!(
                "`{name}` of tool \"{}\" sounds like {unit}, but its description says {other}",
                entry.name
            );
            let finding = entry.finding_at("parameters", &RULE, message);
            findings.add(
                finding
                    .field(format!("parameters.{name}"))
                    .help("use one unit in both"),
            );
        }
        if let Some(cap @ 1..SHORTEST_MS) = entry.timeout_ms {
            let message = format!(
                "`timeout_ms: {cap}` of tool \"{}\" is {cap} milliseconds",
                entry.name
            );
            let finding = entry.finding(&RULE, message).field("timeout_ms");
            findings.add(finding.help(format!("if seconds are meant, write {cap}000")));
        }
    }
}

/// The unit of a name and the different one in its description, unless that mentions both.
fn contradicts(name: &str, words: &str) -> Option<(&'static str, &'static str)> {
    let (_, unit, others) = UNITS
        .iter()
        .find(|(ends, ..)| ends.iter().any(|end| name.ends_with(end)))?;
    let said: Vec<String> = words
        .split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .collect();
    let short = |unit: &str| {
        SHORT
            .iter()
            .find(|(long, _)| *long == unit)
            .map_or(&[][..], |(_, short)| short)
    };
    let is = |word: &str, unit: &str| {
        word == unit || word == unit.trim_end_matches('s') || short(unit).contains(&word)
    };
    let says = |unit: &str| said.iter().any(|word| is(word, unit));
    if says(unit) {
        return None;
    }
    others
        .iter()
        .find(|other| says(other))
        .map(|other| (*unit, *other))
}

#[cfg(test)]
mod tests {
    use super::contradicts;

    #[test]
    fn units_contradict_only_when_the_own_one_is_not_said() {
        for (name, words, expected) in [
            (
                "timeout_ms",
                "in seconds",
                Some(("milliseconds", "seconds")),
            ),
            ("timeout_ms", "milliseconds, so 1000 is one second", None),
            ("timeout_ms", "how long to wait", None),
            (
                "wait_seconds",
                "Milliseconds to wait",
                Some(("seconds", "milliseconds")),
            ),
            (
                "max_bytes",
                "at most this many lines",
                Some(("bytes", "lines")),
            ),
            ("items", "in seconds", None),
            ("timeout_ms", "in ms; 1000 is one second", None),
            ("timeoutMs", "in seconds", Some(("milliseconds", "seconds"))),
            ("wait_seconds", "in ms", Some(("seconds", "milliseconds"))),
            ("delay_min", "the least delay, in seconds", None),
            ("maxItems", "how many hours", None),
        ] {
            assert_eq!(contradicts(name, words), expected, "{name}: {words}");
        }
    }
}
