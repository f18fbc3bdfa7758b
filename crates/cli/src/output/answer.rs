//! The result of a call for people.

use super::{indented, paint, plain, quoted, style, value_text};
use serde_json::Value;
use tool_harness::ToolResult;
use tool_harness::{Code, Refusal};

/// The result of a successful call.
pub(crate) fn result(result: &ToolResult) -> String {
    let mut parts = Vec::new();
    let text = result.text();
    match &result.value {
        Some(value) if says_the_same(&text, value) => parts.push(value_for_people(value)),
        // A hook that changes the text alone leaves no value.
        None | Some(Value::Null) => parts.push(plain(&text).into_owned()),
        Some(value) => {
            parts.push(plain(&text).into_owned());
            parts.push(value_for_people(value));
        }
    }
    for reference in &result.refs {
        let line = format!("ref {}", plain(&reference.to_string()));
        parts.push(paint(style::QUIET, &line));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// Whether the text only repeats the value.
fn says_the_same(text: &str, value: &Value) -> bool {
    text.is_empty()
        || value.as_str() == Some(text)
        || serde_json::from_str::<Value>(text).is_ok_and(|said| said == *value)
}

/// A value in readable form: text as it is, an object as one line or block for each key.
fn value_for_people(value: &Value) -> String {
    match value {
        Value::Null => paint(style::QUIET, "nothing"),
        Value::String(text) => plain(text).into_owned(),
        Value::Object(map) if !map.is_empty() => map
            .iter()
            .map(|(key, value)| entry(key, value))
            .collect::<Vec<_>>()
            .join("\n"),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            items
                .iter()
                .map(|item| format!("- {}", plain(&item.to_string())))
                .collect::<Vec<_>>()
                .join("\n")
        }
        other => plain(&other.to_string()).into_owned(),
    }
}

fn entry(key: &str, value: &Value) -> String {
    let key = paint(style::NAME, &plain(key));
    match value {
        Value::String(text) if text.trim_end_matches('\n').contains('\n') => {
            format!("{key}:\n{}", indented(2, &plain(text)))
        }
        Value::String(text) => format!("{key}: {}", plain(text.trim_end_matches('\n'))),
        Value::Array(items) if items.len() > 1 || items.iter().any(Value::is_object) => {
            let lines: Vec<String> = items
                .iter()
                .map(|item| format!("  - {}", scalar(item)))
                .collect();
            format!("{key}:\n{}", lines.join("\n"))
        }
        other => format!("{key}: {}", scalar(other)),
    }
}

fn scalar(value: &Value) -> String {
    plain(&value_text(value)).replace('\n', "\\n")
}

/// A call as the user typed it.
pub(crate) struct TypedCall {
    /// The tool.
    pub(crate) tool: String,
    /// Its arguments, quoted for a shell.
    pub(crate) arguments: String,
}

/// Why a call was refused or failed: what, where, help, the next command, who can act.
pub(crate) fn refusal(refusal: &Refusal, call: &TypedCall) -> String {
    let word = match refusal.code {
        Code::Failed
        | Code::OutputInvalid
        | Code::ScriptResult
        | Code::ScriptCrashed
        | Code::Internal => "failed",
        Code::Timeout
        | Code::Cancelled
        | Code::ScriptMemory
        | Code::ScriptSteps
        | Code::ScriptRecursion => "stopped",
        _ => "refused",
    };
    let mut lines = vec![title(word, refusal), row("what", &refusal.message)];
    lines.extend(own_code(refusal).map(|code| row("code", code)));
    lines.extend(place(refusal).map(|place| row("where", &place)));
    lines.extend(refusal.help.as_ref().map(|help| row("help", help)));
    lines.push(row("next", &next_command(refusal, call)));
    lines.push(row("who", &who(refusal)));
    lines.join("\n")
}

/// The refusal at the end of an explanation, without what its stages said.
pub(crate) fn verdict(refusal: &Refusal) -> String {
    let mut lines = vec![title("would be refused", refusal)];
    lines.extend(place(refusal).map(|place| row("where", &place)));
    lines.push(row("who", &who(refusal)));
    lines.join("\n")
}

fn title(word: &str, refusal: &Refusal) -> String {
    let (code, class) = (refusal.code, refusal.class);
    format!("{}: {code} ({class})", paint(style::BAD, word))
}

/// A label and its text; further lines are indented.
fn row(label: &str, text: &str) -> String {
    let label = paint(style::QUIET, &format!("{label:5}"));
    let text = plain(text);
    let lines: Vec<&str> = text.lines().collect();
    format!("  {label} {}", lines.join("\n        "))
}

/// The arguments that are wrong, and the line of the rule, hook or script.
fn place(refusal: &Refusal) -> Option<String> {
    let number = |key: &str| refusal.details.get(key).and_then(Value::as_u64);
    match (refusal.code, number("line"), number("column")) {
        (Code::ToolUnknown, ..) => return Some("the tool's name".to_owned()),
        (Code::ArgsMalformed, Some(line), Some(column)) => {
            return Some(format!("the arguments, line {line}, column {column}"));
        }
        (Code::ArgsMalformed, ..) => return Some("the arguments".to_owned()),
        _ => {}
    }
    let of_errors = refusal
        .details
        .get("errors")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|error| error.get("path"));
    let mut paths: Vec<&str> = refusal
        .details
        .get("path")
        .into_iter()
        .chain(of_errors)
        .filter_map(Value::as_str)
        .collect();
    paths.retain(|path| !path.is_empty());
    let line = refusal.place.as_ref().map(ToString::to_string);
    match (paths.is_empty(), line) {
        (true, line) => line,
        (false, None) => Some(format!("argument {}", paths.join(", "))),
        (false, Some(line)) => Some(format!("argument {}; {line}", paths.join(", "))),
    }
}

/// The next command to run.
fn next_command(refusal: &Refusal, call: &TypedCall) -> String {
    let TypedCall { tool, arguments } = call;
    match refusal.code {
        Code::HookFailed if refusal.details.contains_key("file") => "harness validate".to_owned(),
        Code::Failed if refusal.details.contains_key("fault") => "harness validate".to_owned(),
        Code::ToolUnknown => "harness list tools".to_owned(),
        Code::ToolNotAdvertised | Code::NoBody | Code::Unsupported => "harness validate".to_owned(),
        Code::Denied => "harness inspect --policy".to_owned(),
        Code::ArgsMalformed | Code::ArgsInvalid | Code::Failed => {
            format!("harness inspect {}", quoted(tool))
        }
        Code::HookBlocked
        | Code::HookFailed
        | Code::ApprovalDenied
        | Code::ApprovalTimeout
        | Code::SandboxDenied => match arguments_to_repeat(refusal, arguments) {
            Some(arguments) => format!("harness explain {} {arguments}", quoted(tool))
                .trim_end()
                .to_owned(),
            None => format!("harness explain {}, with the same arguments", quoted(tool)),
        },
        other => format!("harness explain {other}"),
    }
}

/// How long arguments may be that are worth repeating.
const MOST_ARGUMENTS: usize = 200;
/// Words in the reason of a refusal after which the arguments may hold what must not be shown.
const SECRETS: [&str; 8] = [
    "secret",
    "credential",
    "password",
    "passphrase",
    "token",
    "api key",
    "api_key",
    "private key",
];

/// The arguments, unless they are long or were refused for what they hold.
fn arguments_to_repeat<'a>(refusal: &Refusal, arguments: &'a str) -> Option<&'a str> {
    let said = format!(
        "{} {}",
        refusal.message,
        refusal.help.as_deref().unwrap_or_default()
    )
    .to_lowercase();
    let is_secret = SECRETS.iter().any(|word| said.contains(word));
    let is_short = arguments.chars().count() <= MOST_ARGUMENTS && !arguments.contains('\n');
    (arguments.is_empty() || is_short && !is_secret).then_some(arguments)
}

/// The code that the tool gave with `error(code, ...)`.
fn own_code(refusal: &Refusal) -> Option<&str> {
    let code = refusal.details.get("code").and_then(Value::as_str)?;
    (refusal.code == Code::Failed && !code.is_empty()).then_some(code)
}

/// Who can act on this refusal. A bug in a script is its author's, whatever the call was.
fn who(refusal: &Refusal) -> String {
    let is_bug = refusal.details.get("fault").and_then(Value::as_str) == Some("script");
    match &refusal.place {
        Some(place) if is_bug => format!("the author of the tool: fix the script at {place}"),
        _ if is_bug => "the author of the tool: fix the script".to_owned(),
        _ => who_can_act(refusal.code).to_owned(),
    }
}

/// Who can change the decision.
pub(crate) fn who_can_act(code: Code) -> &'static str {
    match code {
        Code::ToolUnknown | Code::ArgsMalformed | Code::ArgsInvalid => {
            "the caller: change the call"
        }
        Code::Limit | Code::Timeout | Code::ScriptCrashed => {
            "the caller: try again, or ask for less"
        }
        Code::SandboxDenied => {
            "the caller: change the call; or the owner of the project: change what the tool may touch"
        }
        Code::SandboxUnavailable => "the caller: try again; or the administrator of this machine",
        Code::Cancelled => "the person or program that cancelled the call",
        Code::Interrupted => "the host program: its own code ended or halted the run",
        Code::Denied => "the caller: change the call; or the owner of the policy in the root file",
        Code::HookBlocked => "the caller: change the call; or the owner of the hook",
        Code::HookFailed => "the owner of the hook: it fails closed until it is fixed",
        Code::ApprovalDenied | Code::ApprovalTimeout => "a person who may approve the call",
        Code::ToolNotAdvertised | Code::Unsupported | Code::NoBody => {
            "the author of the tool or its settings"
        }
        Code::SecretMissing | Code::StoreFailed | Code::ScriptNoWorker => {
            "the administrator of this machine"
        }
        Code::Internal => "the developers of harness: please report it",
        _ => "the caller: change the call; or the author of the tool's script",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, json};
    use std::time::Duration;
    use tool_harness::Enforced;
    use tool_harness::content::ContentBlock;
    use tool_harness::span::{Place, Source, Span};

    fn shown(text: &str, value: Option<Value>) -> String {
        let answer = ToolResult {
            call_id: "call_1".into(),
            name: "x".into(),
            is_error: false,
            content: vec![ContentBlock::text(text)],
            value,
            artifacts: Vec::new(),
            refs: Vec::new(),
            metadata: Map::new(),
            provider: Map::new(),
            error: None,
            enforced: Enforced::Nothing,
            elapsed: Duration::ZERO,
        };
        anstream::adapter::strip_str(&result(&answer)).to_string()
    }

    fn typed(tool: &str) -> TypedCall {
        TypedCall {
            tool: tool.to_owned(),
            arguments: "path=a".to_owned(),
        }
    }

    #[test]
    fn values_are_readable_for_people() {
        for (value, expected) in [
            (json!("two\nlines"), "two\nlines"),
            (json!(null), "nothing"),
            (
                json!({"exit_code": 0, "stdout": "a\nb\n", "one": "c\n"}),
                "exit_code: 0\nstdout:\n  a\n  b\none: c",
            ),
            (
                json!({"files": ["a", "b"], "none": []}),
                "files:\n  - a\n  - b\nnone: []",
            ),
            (json!([1, 2]), "[1,2]"),
            (json!({"bell": "\u{7}"}), "bell: \\u{7}"),
        ] {
            assert_eq!(shown(&value_text(&value), Some(value)), expected);
        }
    }

    #[test]
    fn text_that_differs_from_the_value_comes_first() {
        assert_eq!(
            shown("wrote report.md", Some(json!({"bytes": 12}))),
            "wrote report.md\nbytes: 12"
        );
        assert_eq!(shown("only text", None), "only text");
    }

    #[test]
    fn a_refusal_shows_what_where_help_next_and_who() {
        let place = Place::new(&Source::new("harness.md", "---\nx: 1\n"), Span::new(4, 5));
        let denied = Refusal::new(Code::Denied, "`fetch_page` is denied")
            .help("a tool without the network")
            .at(place);
        let wrong = Refusal::new(Code::ArgsInvalid, "`ten` is not an integer")
            .detail("path", "/limit")
            .help("an integer of at least 1");
        let both = format!(
            "{}\n\n{}",
            refusal(&denied, &typed("fetch_page")),
            refusal(&wrong, &typed("read_file"))
        );
        insta::assert_snapshot!(anstream::adapter::strip_str(&both).to_string(), @r"
        refused: tool.denied (repairable)
          what  `fetch_page` is denied
          where harness.md:2:1
          help  a tool without the network
          next  harness inspect --policy
          who   the caller: change the call; or the owner of the policy in the root file

        refused: tool.args.invalid_schema (repairable)
          what  `ten` is not an integer
          where argument /limit
          help  an integer of at least 1
          next  harness inspect read_file
          who   the caller: change the call
        ");
    }

    #[test]
    fn a_bug_is_the_authors_and_a_tools_own_code_is_shown() {
        let place = Place::new(&Source::new("x.md", "---\nx: 1\n"), Span::new(4, 5));
        let bug = Refusal::new(Code::Failed, "`x` failed: key not found")
            .detail("fault", "script")
            .at(place);
        let own =
            Refusal::new(Code::Failed, "`x` failed: no such order").detail("code", "NO_ORDER");
        let both = format!(
            "{}\n\n{}",
            refusal(&bug, &typed("x")),
            refusal(&own, &typed("x"))
        );
        insta::assert_snapshot!(anstream::adapter::strip_str(&both).to_string(), @r"
        failed: tool.failed (repairable)
          what  `x` failed: key not found
          where x.md:2:1
          next  harness validate
          who   the author of the tool: fix the script at x.md:2:1

        failed: tool.failed (repairable)
          what  `x` failed: no such order
          code  NO_ORDER
          next  harness inspect x
          who   the caller: change the call; or the author of the tool's script
        ");
    }

    #[test]
    fn every_code_has_a_next_step_and_someone_who_can_act() {
        for &code in Code::ALL {
            let text = refusal(&Refusal::new(code, "no"), &typed("x"));
            assert!(
                text.contains("harness ") && text.lines().count() >= 4,
                "{text}"
            );
        }
    }

    #[test]
    fn a_blocked_call_suggests_explain_with_the_same_arguments() {
        let text = refusal(&Refusal::new(Code::HookBlocked, "no"), &typed("read_file"));
        assert!(text.contains("harness explain read_file path=a"), "{text}");
    }

    #[test]
    fn arguments_that_are_long_or_were_blocked_as_secrets_are_not_repeated() {
        let next = |message: &str, arguments: &str| {
            let call = TypedCall {
                tool: "write_file".to_owned(),
                arguments: arguments.to_owned(),
            };
            let text = refusal(&Refusal::new(Code::HookBlocked, message), &call);
            let text = anstream::adapter::strip_str(&text).to_string();
            let line = text.lines().find_map(|line| line.strip_prefix("  next  "));
            line.unwrap_or_default().to_owned()
        };
        let short = "harness explain write_file path=a";
        let without = "harness explain write_file, with the same arguments";
        assert_eq!(next("outside the workspace", "path=a"), short);
        assert_eq!(
            next("`keep_secrets` blocked it: a token", "path=a"),
            without
        );
        assert_eq!(next("no", &format!("text={}", "x".repeat(300))), without);
        assert_eq!(next("no", "text='a\nb'"), without);
        assert_eq!(
            next("a secret", ""),
            "harness explain write_file",
            "there is nothing to hide"
        );
    }

    #[test]
    fn each_wrong_argument_is_named() {
        let errors = json!([{"path": "/a", "message": "x"}, {"path": "", "message": "y"}, {"path": "/b/0", "message": "z"}]);
        let text = refusal(
            &Refusal::new(Code::ArgsInvalid, "no").detail("errors", errors),
            &typed("x"),
        );
        assert!(text.contains("argument /a, /b/0"), "{text}");
    }
}
