//! `TIMEOUT_UNIT`.

use super::Check;
use crate::check::subject::{Findings, ScriptSubject};
use crate::diagnostic::{Rule, Severity};
use crate::facts::{Given, TimeoutLiteral};

pub(super) const RULE: Rule<Check> = Rule {
    code: "TIMEOUT_UNIT",
    severity: Severity::Warning,
    why: "`http.get` and `http.post` count in seconds where `exec.run` counts in milliseconds. A \
          number in the wrong unit waits a thousand times too long, or ends every call at once.",
    bad: &[(
        ".harness/tools/list_files.md",
        "---\nparameters: {}\ntimeout_ms: 60000\nscript: |\n  def run(args):\n      return exec.run(\"ls\", [], 30)[\"stdout\"]\n---\nLists the files.\n",
    )],
    good: &[(
        ".harness/tools/list_files.md",
        "---\nparameters: {}\ntimeout_ms: 60000\nscript: |\n  def run(args):\n      return exec.run(\"ls\", [], timeout_seconds = 30)[\"stdout\"]\n---\nLists the files.\n",
    )],
    check: Check::Script(check),
};

/// More seconds than any request should take.
const LONG_REQUEST: u64 = 600;
/// More seconds than any command should take.
const DAY: u64 = 24 * 60 * 60;
/// Fewer milliseconds than any command needs that is given a limit.
const SHORT_COMMAND: u64 = 120;

fn check(subject: &ScriptSubject<'_>, findings: &mut Findings<'_>) {
    let Ok(facts) = subject.facts else { return };
    for timeout in &facts.timeouts {
        let Some((unit, other)) = doubtful(timeout) else {
            continue;
        };
        let (call, value, written) = (&timeout.at.name, timeout.value, &timeout.written);
        findings.add(
            RULE.finding(format!("`{call}` would wait {value} {unit} here"))
                .at(subject
                    .script
                    .place_of_length(timeout.at.position(), timeout.length))
                .field(subject.field)
                .help(match timeout.given {
                    Given::Position => format!(
                        "write `{other} = {written}`, or `{} = {written}` if that is meant",
                        timeout.parameter
                    ),
                    Given::Name => format!("write `{other} = {written}`"),
                }),
        );
    }
}

/// The unit that counts, and the parameter that was probably meant.
fn doubtful(timeout: &TimeoutLiteral) -> Option<(&'static str, &'static str)> {
    let (call, value) = (timeout.at.name.as_str(), timeout.value);
    match timeout.parameter.as_str() {
        "timeout_seconds" => {
            let is_long = if call == "exec.run" || call == "task.wait" {
                value > DAY || value > LONG_REQUEST && value.is_multiple_of(1000)
            } else {
                value > LONG_REQUEST
            };
            is_long.then_some(("s", "timeout_ms"))
        }
        // By name, milliseconds are meant. By position, few of them, or whole minutes in seconds,
        // are not.
        "timeout_ms" if timeout.given == Given::Position && call == "exec.run" => {
            let is_short =
                (1..=SHORT_COMMAND).contains(&value) || [180, 240, 300, 600, 900].contains(&value);
            is_short.then_some(("ms", "timeout_seconds"))
        }
        _ => None,
    }
}
