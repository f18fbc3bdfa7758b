//! The globals: `env`, `emit`, results, decisions.

use super::crypto;
use super::{Args, Body, Builtin, BuiltinHost, Example, Module, PLAIN, Param, Scope};
use crate::effect::Effects;
use crate::surface;
use serde_json::{Value, json};
use std::time::Duration;

/// The longest `sleep`, in seconds.
const MAX_SLEEP: f64 = 3600.0;
/// Bytes of an event's name.
const MAX_NAME: usize = 200;

/// Why a tool cannot `delegate` yet, for [`absent`](super::absent). In a hook it is a decision; the
/// worker chooses by the kind of script.
pub const DELEGATE_IN_TOOLS: &str =
    "delegation comes with agents; in a hook `delegate(request)` is a decision";

pub(super) const MODULE: Module = Module {
    name: "",
    doc: "Names without a module.",
    constants: &[],
    calls: &[
        Builtin {
            name: "env",
            params: &[
                Param::text("name").also(&["key"]),
                Param::any("default").or("\"\""),
            ],
            doc: "An environment variable that `sandbox.env` lists. Any other name raises, and so does one that only the project lists while it is not trusted.",
            returns: "a string, or `default` if the variable is listed and not set",
            effects: Effects::READ,
            body: Body::Host(env),
            examples: &[Example::new(
                r#"env("NOT_LISTED_ANYWHERE")"#,
                "error: NOT_LISTED_ANYWHERE",
            )],
            ..PLAIN
        },
        Builtin {
            name: "emit",
            params: &[Param::text("name"), Param::dict("payload").or("{}")],
            doc: "Raises the event `custom.<name>`, for hooks and the record. The name has lower-case letters, digits, `_` and `.`, \
                and may be given with or without `custom.`.",
            body: Body::Host(emit),
            examples: &[
                Example::new(r#"emit("build.done", {"ok": True})"#, "null"),
                Example::new(r#"emit("Build Done")"#, "error: lower-case letters"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "sleep",
            params: &[Param::number("seconds")],
            doc: "Waits. The time counts towards the call's own limit.",
            body: Body::Host(sleep),
            examples: &[
                Example::new("sleep(0.01)", "null"),
                Example::new("sleep(-1)", "error: `seconds` must be from 0 to 3600"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "random",
            params: &[Param::int("min"), Param::int("max")],
            doc: "A random integer from `min` to `max`, both included, from the operating system. Each call and each run of \
                `harness test` gives another one, so an example's `result` cannot name it.",
            returns: "an integer",
            body: Body::Pure(random),
            examples: &[
                Example::new("random(1, 6) in range(1, 7)", "true"),
                Example::new("random(min=3, max=3)", "3"),
                Example::new("random(2, 1)", "error: `min` must not be more than `max`"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "progress",
            params: &[Param::number("fraction"), Param::text("message").or("\"\"")],
            doc: "Reports how far the call is, from 0 to 1.",
            scope: Scope::Tools,
            body: Body::Host(progress),
            examples: &[
                Example::new(r#"progress(0.5, "half")"#, "null"),
                Example::new("progress(50)", "error: `fraction` must be from 0 to 1"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "print",
            params: &[Param::rest("args")],
            doc: "Writes its arguments to the log, separated by spaces.",
            body: Body::Worker,
            examples: &[Example::new(r#"print("a", 1)"#, "null")],
            ..PLAIN
        },
        Builtin {
            name: "result",
            params: &[
                Param::any("content").or("null"),
                Param::any("data").or("null"),
                Param::list("refs").or("[]"),
                Param::dict("metadata").or("{}"),
                Param::bool("is_error").or("false"),
            ],
            doc: "A full result, to be returned from `run`: what the model reads, the value, the files it refers to, and more. `content` is a string, or a list of blocks such as `{\"type\": \"image\", \"data\": BASE64, \"media_type\": \"image/png\"}`; also `text`, `audio`, `resource_link` (`uri`, `name`) and `resource` (`uri`, `text` or `data`).",
            returns: "a result",
            scope: Scope::Tools,
            body: Body::Worker,
            examples: &[Example::new(
                r#"result(content="done", data={"n": 1})"#,
                r#"{"content": "done", "data": {"n": 1}, "refs": [], "metadata": {}, "is_error": false}"#,
            )],
            ..PLAIN
        },
        Builtin {
            name: "error",
            params: &[
                Param::text("code"),
                Param::text("message"),
                Param::dict("metadata").or("{}"),
            ],
            doc: "An error result, to be returned from `run`.",
            returns: "a result",
            scope: Scope::Tools,
            body: Body::Worker,
            examples: &[Example::new(
                r#"error("not_found", "no such page")"#,
                r#"{"code": "not_found", "message": "no such page", "metadata": {}}"#,
            )],
            ..PLAIN
        },
        Builtin {
            name: "allow",
            doc: "Allows it.",
            returns: "a decision",
            scope: Scope::Hooks,
            body: Body::Worker,
            examples: &[Example::new("allow()", r#"{"action": "allow"}"#)],
            ..PLAIN
        },
        Builtin {
            name: "block",
            params: &[Param::text("reason")],
            doc: "Blocks it; the model reads the reason.",
            returns: "a decision",
            scope: Scope::Hooks,
            body: Body::Worker,
            examples: &[Example::new(
                r#"block("not on Fridays")"#,
                r#"{"action": "block", "reason": "not on Fridays"}"#,
            )],
            ..PLAIN
        },
        Builtin {
            name: "modify",
            params: &[Param::dict("payload")],
            doc: "Allows it with other arguments or another result.",
            returns: "a decision",
            scope: Scope::Hooks,
            body: Body::Worker,
            examples: &[Example::new(
                r#"modify({"args": {"n": 1}})"#,
                r#"{"action": "modify", "payload": {"args": {"n": 1}}}"#,
            )],
            ..PLAIN
        },
        Builtin {
            name: "ask",
            params: &[Param::text("reason")],
            doc: "Requires that a person agrees first.",
            returns: "a decision",
            scope: Scope::Hooks,
            body: Body::Worker,
            examples: &[Example::new(
                r#"ask("costs money")"#,
                r#"{"action": "ask", "reason": "costs money"}"#,
            )],
            ..PLAIN
        },
        Builtin {
            name: "delegate",
            params: &[Param::any("request")],
            doc: "In a hook, hands the work to another agent. Not available in tools yet.",
            returns: "a decision",
            body: Body::Worker,
            examples: &[Example::new(
                r#"delegate({"agent": "reviewer"})"#,
                "error: not available yet: delegation comes with agents",
            )],
            ..PLAIN
        },
        Builtin {
            name: "tool_surface_validate",
            params: &[Param::any("surface"), Param::dict("options").or("{}")],
            doc: "The faults of a surface: a dict with `tools`, `native_tools`, `policy`, `approval_policy`, `system`, `prompt`, `prompts` and \
                `tool_search`, or a list of tools. The same check as `harness surface check`. `options` adds what the surface leaves out, \
                such as `scan_fences` and `context_tokens`.",
            returns: "a dict with `valid` and `diagnostics`, a list of dicts with `code`, `severity`, `message` and more",
            body: Body::Pure(tool_surface_validate),
            examples: &[
                Example::new(r#"tool_surface_validate([])["valid"]"#, "true"),
                Example::new(
                    r#"tool_surface_validate([])["diagnostics"][0]["code"]"#,
                    r#""TOOL_SURFACE_NO_ACTIVE_TOOLS""#,
                ),
                Example::new(r#"tool_surface_validate({"tools": 7})["valid"]"#, "false"),
            ],
            ..PLAIN
        },
    ],
};

fn tool_surface_validate(args: &Args) -> Result<Value, String> {
    Ok(surface::check(&surface::read(args.get(0), Some(args.get(1)))).to_json())
}

fn env(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    Ok(host
        .env(args.text(0))?
        .map_or_else(|| args.get(1).clone(), Value::String))
}

fn emit(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let given = args.text(0);
    let name = given.strip_prefix("custom.").unwrap_or(given);
    let fits = |char: char| {
        char.is_ascii_lowercase() || char.is_ascii_digit() || matches!(char, '_' | '.')
    };
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(fits) {
        return Err(format!(
            "`{given}` is not an event name: expected 1 to {MAX_NAME} lower-case letters, digits, `_` and `.`"
        ));
    }
    host.emit(name, args.get(1))?;
    Ok(Value::Null)
}

fn random(args: &Args) -> Result<Value, String> {
    let bound = |index: usize, name: &str| {
        let given = args.int(index);
        given.ok_or_else(|| format!("`{name}` must fit 64 bits, got {}", args.get(index)))
    };
    let (min, max) = (bound(0, "min")?, bound(1, "max")?);
    if min > max {
        return Err(format!(
            "`min` must not be more than `max`, got {min} and {max}"
        ));
    }
    // 128 random bits make the bias of the remainder too small to matter.
    let span = u128::try_from(i128::from(max) - i128::from(min) + 1).unwrap_or(1);
    let offset = u128::from_le_bytes(crypto::random()?) % span;
    let number = i128::from(min) + i128::try_from(offset).unwrap_or(0);
    Ok(json!(i64::try_from(number).unwrap_or(min)))
}

fn sleep(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let seconds = args
        .number(0)
        .filter(|seconds| (0.0..=MAX_SLEEP).contains(seconds));
    let seconds = seconds.ok_or_else(|| {
        format!(
            "`seconds` must be from 0 to {MAX_SLEEP}, got {}",
            args.get(0)
        )
    })?;
    host.sleep(Duration::from_secs_f64(seconds))?;
    Ok(Value::Null)
}

fn progress(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let fraction = args
        .number(0)
        .filter(|fraction| (0.0..=1.0).contains(fraction));
    let fraction =
        fraction.ok_or_else(|| format!("`fraction` must be from 0 to 1, got {}", args.get(0)))?;
    host.progress(fraction, args.text(1));
    Ok(json!(null))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{TestHost, call, call_on, refused, refused_on};
    use serde_json::json;

    #[test]
    fn events_have_one_name_however_they_are_written() {
        let host = TestHost::default();
        call_on(&host, "emit", json!(["a.b_2"]));
        call_on(&host, "emit", json!(["custom.a.b_2", {"k": 1}]));
        assert_eq!(
            *host.emitted.lock().expect("a lock"),
            [
                ("a.b_2".to_owned(), json!({})),
                ("a.b_2".to_owned(), json!({"k": 1}))
            ]
        );
        for bad in ["", "custom.", "A", "a b", "meta/x", "tool-pre"] {
            refused_on(&host, "emit", json!([bad]));
        }
    }

    #[test]
    fn only_listed_variables_are_told() {
        let host = TestHost::default();
        assert_eq!(call_on(&host, "env", json!(["LISTED"])), json!("value"));
        assert_eq!(
            call_on(&host, "env", json!(["LISTED_UNSET", "d"])),
            json!("d")
        );
        assert_eq!(call_on(&host, "env", json!(["LISTED_UNSET"])), json!(""));
        assert!(refused_on(&host, "env", json!(["SECRET", "d"])).contains("SECRET"));
    }

    #[test]
    fn random_numbers_stay_within_their_bounds() {
        let mut seen = [false; 3];
        for _ in 0..1000 {
            let number = call("random", json!([-1, 1])).as_i64().expect("an integer");
            seen[usize::try_from(number + 1).expect("in range")] = true;
        }
        assert_eq!(
            seen, [true; 3],
            "a thousand throws of a coin with three sides"
        );
        assert!(call("random", json!([i64::MIN, i64::MAX])).is_i64());
        assert!(refused("random", json!([1, 0])).contains("`min`"));
    }

    #[test]
    fn waiting_and_progress_have_bounds() {
        let host = TestHost::default();
        call_on(&host, "sleep", json!([0]));
        call_on(&host, "progress", json!([1, "done"]));
        for seconds in [json!(-0.1), json!(3601), json!(1e300)] {
            refused_on(&host, "sleep", json!([seconds]));
        }
        refused_on(&host, "progress", json!([1.1]));
    }
}
