//! `re`: regular expressions in linear time.

use super::bound::Bounded;
use super::{Args, Body, Builtin, Example, Module, PLAIN, Param, Shape};
use regex::{Captures, Regex, RegexBuilder};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::collections::HashMap;

/// Bytes of a pattern.
const MAX_PATTERN: usize = 10_240;
/// Bytes of a compiled pattern.
pub(super) const MAX_COMPILED: usize = 4 << 20;
/// Compiled patterns that a thread remembers.
const KEPT: usize = 64;
/// Matches or pieces per call.
const MAX_ITEMS: usize = 1_000_000;

const PATTERN_TEXT: &[Param] = &[Param::text("pattern"), Param::text("text").also(&["s"])];

const MATCH: &str = "None, or a match. As a dict it has `matched`, `text`, `start` and `end` in characters, `groups` (a list) and `named` (a dict), \
    also as fields; as a list it has the whole match and then its groups, so `m[1]` is the first group";

const FIND_ALL: Builtin = Builtin {
    name: "find_all",
    params: PATTERN_TEXT,
    doc: "The text of every match, left to right, without overlap. A pattern with one group gives that group's text, with several a \
        list of their texts; a group that took no part is an empty string. `re.match_all` gives whole matches.",
    returns: "a list of strings, or of lists of strings",
    body: Body::Pure(find_all),
    examples: &[
        Example::new(r#"re.find_all("[0-9]+", "a1b22")"#, r#"["1", "22"]"#),
        Example::new(
            r#"re.find_all("([a-z])([0-9])", "a1b2")"#,
            r#"[["a", "1"], ["b", "2"]]"#,
        ),
    ],
    ..PLAIN
};

pub(super) const MODULE: Module = Module {
    name: "re",
    doc: "Regular expressions. Matching takes time linear in the text; look-around and back-references in patterns are not accepted.",
    constants: &[],
    calls: &[
        Builtin {
            name: "match",
            params: PATTERN_TEXT,
            doc: "The match that begins at the start of the text.",
            returns: MATCH,
            body: Body::Pure(matches),
            shape: Shape::Match,
            examples: &[
                Example::new(r#"re.match("b", "abc")"#, "null"),
                Example::new(r#"re.match("([a-z]+)@", "ann@x")[1]"#, r#""ann""#),
                Example::new(
                    r#"re.match("(?P<user>[a-z]+)@", "ann@x")"#,
                    r#"{"matched": true, "text": "ann@", "start": 0, "end": 4, "groups": ["ann"], "named": {"user": "ann"}}"#,
                ),
            ],
            ..PLAIN
        },
        Builtin {
            name: "search",
            params: PATTERN_TEXT,
            doc: "The first match anywhere in the text.",
            returns: "None, or a match like that of `re.match`",
            body: Body::Pure(search),
            shape: Shape::Match,
            examples: &[
                Example::new(r#"re.search("b+", "äbb")["start"]"#, "1"),
                Example::new(r#""yes" if re.search("x", "abc") else "no""#, r#""no""#),
            ],
            ..PLAIN
        },
        Builtin {
            name: "match_all",
            params: PATTERN_TEXT,
            doc: "Every match, left to right, without overlap, each with its groups and its place.",
            returns: "a list of matches like those of `re.match`",
            body: Body::Pure(match_all),
            shape: Shape::Matches,
            examples: &[Example::new(
                r#"[m[0] + " at " + str(m["start"]) for m in re.match_all("[a-z]([0-9])", "a1 b2")]"#,
                r#"["a1 at 0", "b2 at 3"]"#,
            )],
            ..PLAIN
        },
        FIND_ALL,
        Builtin {
            name: "findall",
            doc: "The same as `re.find_all`.",
            examples: &[Example::new(
                r#"re.findall("a.", "abac")"#,
                r#"["ab", "ac"]"#,
            )],
            ..FIND_ALL
        },
        Builtin {
            name: "replace",
            params: &[
                Param::text("pattern"),
                Param::text("repl"),
                Param::text("text").also(&["s"]),
                Param::int("count").or("0"),
            ],
            doc: "The text with matches replaced: all of them, or the first `count`. In `repl`, `\\1` or `$1` is a group, \
                `\\g<name>` or `${name}` a named group, `\\\\` a backslash and `$$` a dollar sign.",
            returns: "a string",
            body: Body::Pure(replace),
            examples: &[
                Example::new(
                    r#"re.replace("([a-z])([0-9])", "\\2\\1", "a1 b2")"#,
                    r#""1a 2b""#,
                ),
                Example::new(r#"re.replace("a", "$$", "aaa", count=2)"#, r#""$$a""#),
                Example::new(r#"re.replace("a", "$5", "a")"#, "error: group `5`"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "split",
            params: &[
                Param::text("pattern"),
                Param::text("text").also(&["s"]),
                Param::int("max").or("0"),
            ],
            doc: "The pieces between matches; with `max`, at most that many splits. Groups are not included.",
            returns: "a list of strings",
            body: Body::Pure(split),
            examples: &[
                Example::new(r#"re.split(" *, *", "a , b,c")"#, r#"["a", "b", "c"]"#),
                Example::new(r#"re.split(",", "a,b,c", max=1)"#, r#"["a", "b,c"]"#),
            ],
            ..PLAIN
        },
        Builtin {
            name: "escape",
            params: &[Param::text("text")],
            doc: "A pattern that matches exactly this text.",
            returns: "a string",
            body: Body::Pure(|args| Ok(json!(regex::escape(args.text(0))))),
            examples: &[Example::new(r#"re.escape("a.b")"#, r#""a\\.b""#)],
            ..PLAIN
        },
    ],
};

thread_local! {
    static COMPILED: RefCell<HashMap<String, Regex>> = RefCell::default();
}

/// A compiled pattern, remembered for the next call of this thread.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > MAX_PATTERN {
        return Err(format!(
            "the pattern has {} bytes, at most {MAX_PATTERN} are accepted",
            pattern.len()
        ));
    }
    compile_any_length(pattern)
}

/// As [`compile`], for patterns made of escaped texts only.
pub(super) fn compile_any_length(pattern: &str) -> Result<Regex, String> {
    COMPILED.with_borrow_mut(|compiled| {
        if let Some(regex) = compiled.get(pattern) {
            return Ok(regex.clone());
        }
        let built = RegexBuilder::new(pattern)
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_COMPILED)
            .build();
        let regex = built.map_err(|error| {
            format!(
                "`{pattern}` is not a regular expression: {}",
                reason(&error)
            )
        })?;
        if compiled.len() >= KEPT {
            compiled.clear();
        }
        compiled.insert(pattern.to_owned(), regex.clone());
        Ok(regex)
    })
}

/// The last line of the message of the crate; those before it draw the pattern.
fn reason(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "it needs too much memory".to_owned(),
        _ => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
    }
}

fn matches(args: &Args) -> Result<Value, String> {
    let regex = compile(args.text(0))?;
    // If any match begins at the start, the leftmost does.
    let found = regex
        .captures(args.text(1))
        .filter(|found| found.get_match().start() == 0);
    Ok(found.map_or(Value::Null, |found| describe(&regex, args.text(1), &found)))
}

fn search(args: &Args) -> Result<Value, String> {
    let regex = compile(args.text(0))?;
    Ok(regex
        .captures(args.text(1))
        .map_or(Value::Null, |found| describe(&regex, args.text(1), &found)))
}

fn match_all(args: &Args) -> Result<Value, String> {
    let regex = compile(args.text(0))?;
    let mut items = Vec::new();
    // Counting characters from the last match on keeps it linear.
    let (mut bytes, mut characters) = (0, 0);
    for found in regex.captures_iter(args.text(1)) {
        few(items.len())?;
        let start = found.get_match().start();
        characters += args.text(1)[bytes..start].chars().count();
        bytes = start;
        items.push(describe_at(&regex, characters, &found));
    }
    Ok(Value::Array(items))
}

fn describe(regex: &Regex, text: &str, found: &Captures<'_>) -> Value {
    let start = text[..found.get_match().start()].chars().count();
    describe_at(regex, start, found)
}

fn describe_at(regex: &Regex, start: usize, found: &Captures<'_>) -> Value {
    let whole = found.get_match();
    let group =
        |group: Option<regex::Match<'_>>| group.map_or(Value::Null, |group| json!(group.as_str()));
    let groups: Vec<Value> = found.iter().skip(1).map(group).collect();
    let named: Map<String, Value> = regex
        .capture_names()
        .flatten()
        .map(|name| (name.to_owned(), group(found.name(name))))
        .collect();
    json!({
        "matched": true,
        "text": whole.as_str(),
        "start": start,
        "end": start + whole.as_str().chars().count(),
        "groups": groups,
        "named": named,
    })
}

fn find_all(args: &Args) -> Result<Value, String> {
    let regex = compile(args.text(0))?;
    let group =
        |found: &Captures<'_>, at: usize| json!(found.get(at).map_or("", |group| group.as_str()));
    let mut items = Vec::new();
    for found in regex.captures_iter(args.text(1)) {
        few(items.len())?;
        items.push(match found.len() {
            1 => group(&found, 0),
            2 => group(&found, 1),
            groups => (1..groups).map(|at| group(&found, at)).collect(),
        });
    }
    Ok(Value::Array(items))
}

fn few(items: usize) -> Result<(), String> {
    if items < MAX_ITEMS {
        Ok(())
    } else {
        Err(format!("more than {MAX_ITEMS} matches"))
    }
}

fn split(args: &Args) -> Result<Value, String> {
    let regex = compile(args.text(0))?;
    let max = match args.count(2, "max", MAX_ITEMS)? {
        0 => MAX_ITEMS,
        max => max,
    };
    let mut items = Vec::new();
    for piece in regex.splitn(args.text(1), max.saturating_add(1)) {
        few(items.len())?;
        items.push(json!(piece));
    }
    Ok(Value::Array(items))
}

fn replace(args: &Args) -> Result<Value, String> {
    let regex = compile(args.text(0))?;
    let parts = replacement(&regex, args.text(1))?;
    let text = args.text(2);
    let count = match args.count(3, "count", usize::MAX)? {
        0 => usize::MAX,
        count => count,
    };
    let mut made = Bounded::default();
    let mut copied = 0;
    for found in regex.captures_iter(text).take(count) {
        let whole = found.get_match();
        made.push(&text[copied..whole.start()])?;
        for part in &parts {
            match part {
                Part::Text(text) => made.push(text)?,
                Part::Group(group) => {
                    made.push(found.get(*group).map_or("", |group| group.as_str()))?
                }
            }
        }
        copied = whole.end();
    }
    made.push(&text[copied..])?;
    Ok(json!(made.into_text()))
}

enum Part {
    Text(String),
    Group(usize),
}

/// Parses the replacement once for all matches.
fn replacement(regex: &Regex, repl: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut rest = repl;
    while let Some(at) = rest.find(['\\', '$']) {
        text.push_str(&rest[..at]);
        let (sign, after) = rest[at..].split_at(1);
        let (name, used) = match (sign, after.chars().next()) {
            ("\\", Some('g')) if after.starts_with("g<") => {
                enclosed(&after[1..], '>').map(|(name, used)| (name, used + 1))?
            }
            ("$", Some('{')) => enclosed(after, '}')?,
            (_, Some('0'..='9')) => {
                let digits = after.len()
                    - after
                        .trim_start_matches(|char: char| char.is_ascii_digit())
                        .len();
                (&after[..digits], digits)
            }
            ("\\", Some('n')) | ("\\", Some('t')) => {
                text.push(if after.starts_with('n') { '\n' } else { '\t' });
                ("", 1)
            }
            (_, Some(doubled)) if sign.starts_with(doubled) => {
                text.push(doubled);
                ("", 1)
            }
            _ => {
                text.push_str(sign);
                ("", 0)
            }
        };
        if !name.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut text)));
            parts.push(Part::Group(group(regex, name)?));
        }
        rest = &after[used..];
    }
    text.push_str(rest);
    parts.push(Part::Text(text));
    Ok(parts)
}

/// The text between the bracket that `text` begins with and `close`, and the bytes of it all.
fn enclosed(text: &str, close: char) -> Result<(&str, usize), String> {
    match text.find(close) {
        Some(end) if end > 1 => Ok((&text[1..end], end + 1)),
        _ => Err(format!(
            "`repl` has a group name that is not closed with `{close}`"
        )),
    }
}

fn group(regex: &Regex, name: &str) -> Result<usize, String> {
    let by_number = name
        .parse()
        .ok()
        .filter(|&at: &usize| at < regex.captures_len());
    by_number
        .or_else(|| regex.capture_names().position(|known| known == Some(name)))
        .ok_or_else(|| format!("`repl` names group `{name}`, which the pattern does not have; `$$` is a dollar sign, `\\\\` a backslash"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{call, refused};
    use serde_json::json;
    use std::time::{Duration, Instant};

    #[test]
    fn no_match_is_none_and_match_is_anchored() {
        assert_eq!(call("re.match", json!(["b", "ab"])), json!(null));
        assert_eq!(call("re.match", json!(["a|ab", "ab"]))["text"], json!("a"));
        assert_eq!(call("re.search", json!(["b", "äab"]))["start"], json!(2));
        assert_eq!(
            call("re.search", json!(["(a)|(b)", "b"]))["groups"],
            json!([null, "b"])
        );
    }

    #[test]
    fn every_match_has_its_groups_and_its_place() {
        let found = call("re.match_all", json!(["([äa])(?P<n>[0-9])?", "xä1 a"]));
        assert_eq!(
            found,
            json!([
                {"matched": true, "text": "ä1", "start": 1, "end": 3, "groups": ["ä", "1"], "named": {"n": "1"}},
                {"matched": true, "text": "a", "start": 4, "end": 5, "groups": ["a", null], "named": {"n": null}},
            ])
        );
        assert_eq!(call("re.match_all", json!(["b", "a"])), json!([]));
    }

    #[test]
    fn replacements_understand_both_spellings_of_groups() {
        for (repl, expected) in [
            (r"\1-", "a-"),
            ("$1-", "a-"),
            (r"\g<x>.", "a."),
            ("${x}.", "a."),
            (r"\g<1>0", "a0"),
            (r"\\", r"\"),
            ("$$1", "$1"),
            ("cost $", "cost $"),
            (r"\n", "\n"),
        ] {
            assert_eq!(
                call("re.replace", json!(["(?P<x>a)", repl, "a"])),
                json!(expected),
                "{repl}"
            );
        }
        for bad in ["$7", "${y}", r"\g<y>", r"\g<1", "${"] {
            assert!(
                refused("re.replace", json!(["(?P<x>a)", bad, "a"])).starts_with("`repl`"),
                "{bad}"
            );
        }
    }

    #[test]
    fn empty_matches_and_splits_end() {
        assert_eq!(
            call("re.replace", json!(["x*", "-", "abc"])),
            json!("-a-b-c-")
        );
        assert_eq!(
            call("re.split", json!(["", "ab"])),
            json!(["", "a", "b", ""])
        );
        assert_eq!(
            call("re.find_all", json!(["b?", "abc"])),
            json!(["", "b", ""])
        );
    }

    #[test]
    fn patterns_that_cannot_be_linear_or_small_are_refused() {
        assert!(refused("re.search", json!(["(?=a)", "a"])).contains("look-around"));
        assert!(
            refused("re.search", json!([r"(a)\1", "a"]))
                .contains("backreferences are not supported")
        );
        assert!(
            refused("re.search", json!(["(?:(?:a{1000}){1000}){1000}", "a"]))
                .contains("too much memory")
        );
        assert!(refused("re.search", json!(["a".repeat(10_241), "a"])).contains("at most 10240"));
        assert!(!refused("re.search", json!(["(", "a"])).contains('\n'));
    }

    #[test]
    fn nested_repetition_is_quick() {
        let started = Instant::now();
        assert_eq!(
            call(
                "re.match",
                json!(["(a+)+$", format!("{}b", "a".repeat(20_000))])
            ),
            json!(null)
        );
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_replacement_cannot_fill_the_memory() {
        let text = "a".repeat(1_000_000);
        assert!(refused("re.replace", json!(["a", text, text])).contains("larger than 64 MiB"));
    }
}
