//! `SCRIPT_UNKNOWN_ATTRIBUTE`.

use super::Check;
use crate::check::subject::{Findings, ScriptSubject};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "SCRIPT_UNKNOWN_ATTRIBUTE",
    severity: Severity::Warning,
    why: "The value is a dict or a list, and has no such attribute: the script fails where it \
          reads it. Results of `exec.run` and `http.get` are dicts whose text is under a key.",
    bad: &[(
        ".harness/tools/list_files.md",
        "---\nparameters: {}\ntimeout_ms: 60000\nscript: |\n  def run(args):\n      return exec.run(\"ls\").strip()\n---\nLists the files.\n",
    )],
    good: &[(
        ".harness/tools/list_files.md",
        "---\nparameters: {}\ntimeout_ms: 60000\nscript: |\n  def run(args):\n      return exec.run(\"ls\")[\"stdout\"].strip()\n---\nLists the files.\n",
    )],
    check: Check::Script(check),
};

/// What other systems call the parts of results, and the key here.
const KEYS: &[(&str, &str)] = &[
    ("returncode", "exit_code"),
    ("code", "exit_code"),
    ("exitcode", "exit_code"),
    ("output", "stdout"),
    ("status_code", "status"),
    ("text", "body"),
    ("content", "body"),
    ("data", "body"),
];

/// The keys of a result of a process, and of a response.
const OF_PROCESS: &[&str] = &[
    "ok",
    "stdout",
    "stderr",
    "exit_code",
    "timed_out",
    "duration_ms",
    "truncated",
];
const OF_RESPONSE: &[&str] = &["ok", "status", "headers", "body", "url", "truncated"];

fn check(subject: &ScriptSubject<'_>, findings: &mut Findings<'_>) {
    let Ok(facts) = subject.facts else { return };
    for found in &facts.wrong_attributes {
        let Some((of, attribute)) = found.name.rsplit_once('.') else {
            continue;
        };
        let kind = if matches!(of, "list") || of.starts_with("fs.") {
            "list"
        } else {
            "dict"
        };
        let message = match of {
            "args" => format!("`args` is a dict: it has no `.{attribute}`"),
            "text" => format!("a string has no `.{attribute}`"),
            "list" | "dict" => format!("a {of} has no `.{attribute}`"),
            call => format!("`{call}` returns a {kind}: it has no `.{attribute}`"),
        };
        findings.add(
            RULE.finding(message)
                .at(subject.script.place_of(found.position()))
                .field(subject.field)
                .help(help_for(of, attribute)),
        );
    }
}

fn help_for(of: &str, attribute: &str) -> String {
    match (of, attribute) {
        ("args", _) => format!("write `args[\"{attribute}\"]`, or `args.get(\"{attribute}\")`"),
        ("exec.run", _) => of_result(attribute, OF_PROCESS, "stdout"),
        ("http.get" | "http.post" | "http.request", "json") => {
            "write `json.decode(response[\"body\"])`, where `response` is what the call returned".to_owned()
        }
        ("http.get" | "http.post" | "http.request", _) => {
            of_result(attribute, OF_RESPONSE, "body")
        }
        ("list", "sort") => "write `items = sorted(items)`".to_owned(),
        ("list", "reverse") => "write `items = items[::-1]`".to_owned(),
        ("list", "copy") => "write `list(items)`".to_owned(),
        ("list", "count") => "write `len([x for x in items if x == value])`".to_owned(),
        ("list", "push") => "write `items.append(value)`".to_owned(),
        ("list" | "dict", "length" | "size") => "write `len(x)`".to_owned(),
        ("list", "join") => "write `\", \".join(items)`".to_owned(),
        ("text", "encode" | "decode" | "read") => {
            format!("it is a string already: leave out `.{attribute}()`")
        }
        ("text", "trim") => "write `.strip()`".to_owned(),
        ("text", "includes" | "contains") => "write `part in text`".to_owned(),
        ("text", "isnumeric" | "isdecimal") => "write `.isdigit()`".to_owned(),
        ("text", "zfill" | "rjust" | "padStart") => {
            "write `string.pad_left(text, width, \"0\")`".to_owned()
        }
        ("text", "ljust" | "padEnd") => "write `string.pad_right(text, width)`".to_owned(),
        ("text", "length" | "size") => "write `len(text)`".to_owned(),
        ("text", "toLowerCase" | "casefold") => "write `.lower()`".to_owned(),
        ("text", "toUpperCase") => "write `.upper()`".to_owned(),
        ("text", "startsWith") => "write `.startswith(part)`".to_owned(),
        ("text", "endsWith") => "write `.endswith(part)`".to_owned(),
        ("text", _) => {
            "strings have `split`, `strip`, `replace`, `lower`, `startswith`, `find`, `format`, `join` and others; see also the module `string`".to_owned()
        }
        ("dict", "copy") => "write `dict(d)`".to_owned(),
        ("dict", "iteritems") => "write `d.items()`".to_owned(),
        ("dict", "has_key" | "has") => "write `\"key\" in d`".to_owned(),
        ("dict", _) => {
            format!("write `[\"{attribute}\"]` or `.get(\"{attribute}\")` instead of `.{attribute}`")
        }
        ("fs.list", _) => {
            "it is a list of dicts: the names are `[entry[\"name\"] for entry in fs.list(path)]`"
                .to_owned()
        }
        (call, _) if call.starts_with("fs.") => {
            format!("take one item first, as in `for item in {call}(...):`")
        }
        _ => "take one item first, as in `for item in items:`".to_owned(),
    }
}

/// Help for a result with these keys, whose text is under one of them.
fn of_result(attribute: &str, keys: &[&str], text: &str) -> String {
    let known = KEYS
        .iter()
        .find(|(elsewhere, key)| *elsewhere == attribute && keys.contains(key))
        .map(|(_, key)| *key)
        .or_else(|| keys.iter().copied().find(|key| *key == attribute));
    match known {
        Some(key) => format!("write `[\"{key}\"]` instead of `.{attribute}`"),
        None => format!(
            "its text is under `{text}`: write `[\"{text}\"].{attribute}` instead of `.{attribute}`"
        ),
    }
}
