//! Findings in one file, and how they are shown.

use super::{READ_NOTE, WATCH, expect, facts_of, found, judge, project, tool};
use std::time::{Duration, Instant};
use tool_harness::artifact::read;
use tool_harness::check::{check, scripts};
use tool_harness::facts::{ScriptKind, Unread};

#[test]
fn a_default_that_does_not_match_its_own_schema_disables_its_tool() {
    let plan = tool(
        "parameters:\n  day: { type: object, properties: { n: { type: integer, default: one } } }\n",
        "1",
    );
    let checked = expect(
        &[(".harness/tools/read_plan.md", &plan)],
        &["SCHEMA_DEFAULT_UNFIT .harness/tools/read_plan.md:3:67"],
    );
    assert!(!checked.tools[0].usable());
    let fits = tool(
        "parameters:\n  day: { type: object, properties: { n: { type: integer, default: 1 } } }\n",
        "1",
    );
    expect(&[(".harness/tools/read_plan.md", &fits)], &[]);
}

#[test]
fn a_hook_with_parameters_in_the_wrong_order_gets_a_warning() {
    let hook = |parameters: &str| {
        format!(
            "---\nevent: tool.post\nscript: |\n  def handle({parameters}):\n      return allow()\n---\nWatches.\n"
        )
    };
    for (parameters, swapped) in [
        ("payload, event", true),
        ("payload, e", true),
        ("_, event", true),
        ("payload = None, event = None", true),
        ("event, payload", false),
        ("e, p", false),
        ("*args", false),
        ("name, *, event = None, payload = None", false),
    ] {
        let found = found(&judge(&[(".harness/hooks/watch.md", &hook(parameters))]));
        let found: Vec<&String> = found
            .iter()
            .filter(|finding| finding.starts_with("HOOK_PARAMETERS_SWAPPED"))
            .collect();
        assert_eq!(!found.is_empty(), swapped, "{parameters}: {found:?}");
    }
}

#[test]
fn a_hook_with_an_error_found_by_the_reader_or_by_a_rule_is_broken() {
    let misspelled = WATCH.replace("event: tool.post\n", "event: tool.post\nprioritee: 3\n");
    let unknown = WATCH.replace("allow()", "alow()");
    let unable = WATCH.replace(
        "event: tool.post\n",
        "event: tool.post\npermissions: [{kind: shell}]\n",
    );
    for (text, code) in [
        (&misspelled, "KEY_UNKNOWN"),
        (&unknown, "SCRIPT_UNKNOWN_NAME"),
        (&unable, "FIELD_WRONG_TYPE"),
    ] {
        let checked = judge(&[(".harness/hooks/watch_calls.md", text)]);
        assert_eq!(
            checked.hooks[0].broken.as_ref().map(|broken| broken.code),
            Some(code),
            "{:?}",
            found(&checked)
        );
        assert!(
            checked.broken_hooks.is_empty(),
            "an existing hook is not listed twice"
        );
    }
    assert!(
        judge(&[(".harness/hooks/watch_calls.md", WATCH)]).hooks[0]
            .broken
            .is_none()
    );
}

#[test]
fn a_tool_with_an_error_found_by_the_reader_is_not_usable() {
    let negative = READ_NOTE.replace("---\nscript", "---\ntimeout_ms: -1\nscript");
    let checked = expect(
        &[(".harness/tools/read_note.md", &negative)],
        &["TIMEOUT_NEGATIVE .harness/tools/read_note.md:2:13"],
    );
    assert!(!checked.tools[0].usable());
    assert!(checked.broken_tools.is_empty());
}

#[test]
fn a_script_that_kills_its_worker_is_an_error_at_the_script() {
    let artifacts = project(&[(".harness/tools/read_note.md", READ_NOTE)]);
    let died = scripts(&artifacts)
        .into_iter()
        .map(|source| {
            (
                source,
                Err(Unread::Crashed("the worker ran out of memory".to_owned())),
            )
        })
        .collect();
    let checked = check(artifacts, &died);
    assert_eq!(
        found(&checked),
        ["SCRIPT_CRASHED .harness/tools/read_note.md:3:3"]
    );
    assert_eq!(
        checked.diagnostics[0].message,
        "`script` could not be read: the worker ran out of memory"
    );
    assert!(!checked.tools[0].usable());
    assert_eq!(
        checked.tools[0].effects.to_string(),
        "read, write, exec, net_read, net_write, desktop",
        "its effects are unknown"
    );
}

#[test]
fn scripts_are_listed_once_however_often_they_are_used() {
    let hook = WATCH.replace("script", "when: payload[\"is_error\"]\nscript");
    let files = [
        (".harness/tools/read_note.md", READ_NOTE),
        (".harness/tools/read_mail.md", READ_NOTE),
        (".harness/hooks/watch_calls.md", hook.as_str()),
    ];
    let kinds: Vec<_> = scripts(&project(&files))
        .into_iter()
        .map(|(kind, _)| kind)
        .collect();
    assert_eq!(
        kinds,
        [ScriptKind::Tool, ScriptKind::When, ScriptKind::Hook]
    );
}

#[test]
fn effects_are_declared_or_inferred() {
    for (frontmatter, script, effects, codes) in [
        ("", "1", "none", &[][..]),
        ("", "fs.read(\"a\")", "read", &[]),
        (
            "risk: write\n",
            "fs.write(\"a\", \"b\")",
            "read, write",
            &[],
        ),
        (
            "risk: destructive\n",
            "fs.write(\"a\", \"b\")",
            "read, write, destructive",
            &["TOOL_ASKS_NOBODY"],
        ),
        (
            "safety: {spend: true}\n",
            "fs.read(\"a\")",
            "read, spend",
            &["TOOL_ASKS_NOBODY"],
        ),
        (
            "risk: read\nsafety: {spend: true}\n",
            "fs.read(\"a\")",
            "read, spend",
            &["TOOL_ASKS_NOBODY"],
        ),
        ("safety: {read_only: true}\n", "fs.read(\"a\")", "read", &[]),
        (
            "safety: {read_only: true}\n",
            "fs.write(\"a\", \"b\")",
            "read, write",
            &["EFFECTS_UNDERSTATED"],
        ),
        (
            "safety: {filesystem: read}\n",
            "exec.run(\"ls\")",
            "read, exec",
            &[],
        ),
        (
            "safety: {process: false}\n",
            "exec.run(\"ls\")",
            "read, write, exec",
            &["EFFECTS_UNDERSTATED"],
        ),
        (
            "risk: safe\n",
            "fs.read(\"a\")",
            "none",
            &["EFFECTS_UNDERSTATED"],
        ),
        (
            "risk: write\n",
            "fs.read(\"a\")",
            "read, write",
            &["EFFECTS_OVERSTATED"],
        ),
        (
            "risk: read\nannotations: {side_effect_level: workspace_write}\n",
            "fs.read(\"a\")",
            "read, write",
            &["EFFECTS_CONTRADICT"],
        ),
    ] {
        let text = tool(frontmatter, script);
        let checked = judge(&[(".harness/tools/do_it.md", &text)]);
        let mut seen: Vec<_> = checked.diagnostics.iter().map(|found| found.code).collect();
        seen.sort_unstable();
        assert_eq!(seen, codes, "{text}\n{:#?}", checked.diagnostics);
        assert_eq!(checked.tools[0].effects.to_string(), effects, "{text}");
    }
}

#[test]
fn findings_are_sorted_by_file_and_line() {
    let text = "---\nrisk: read\ntimeout: 3\nscript: |\n  def run(args):\n      fs.wrte(\"a\")\n      return fs.write(\"a\", \"b\")\n---\n";
    expect(
        &[
            (".harness/tools/read_note.md", text),
            (
                "harness.md",
                "---\npolicy: {side_effect_level: network}\n---\n",
            ),
        ],
        &[
            "BODY_EMPTY .harness/tools/read_note.md:1:1",
            "KEY_UNKNOWN .harness/tools/read_note.md:3:1",
            "SCRIPT_UNKNOWN_BUILTIN .harness/tools/read_note.md:6:7",
            "EFFECTS_UNDERSTATED .harness/tools/read_note.md:7:14",
            "CEILING_ADMITS_PROCESSES harness.md:2:29",
        ],
    );
}

#[test]
fn a_finding_in_a_schema_points_at_the_part_that_is_wrong() {
    let deep = "---\ninput_schema:\n  type: object\n  properties:\n    a:\n      type: array\n      items: {type: strng}\n    b: {enums: [x]}\noutput_schema: {type: object, requierd: [a]}\nscript: |\n  def run(args):\n      return 1\n---\nReads.\n";
    expect(
        &[(".harness/tools/read_note.md", deep)],
        &[
            "SCHEMA_INVALID .harness/tools/read_note.md:7:21",
            "SCHEMA_KEYWORD_UNKNOWN .harness/tools/read_note.md:8:9",
            "SCHEMA_KEYWORD_UNKNOWN .harness/tools/read_note.md:9:31",
        ],
    );
    let parameters = "---\nparameters:\n  requierd: {type: string, minlength: 3}\n  list:\n    type: array\n    items: {type: strng}\nscript: |\n  def run(args):\n      return 1\n---\nReads.\n";
    expect(
        &[(".harness/tools/read_note.md", parameters)],
        &[
            "SCHEMA_KEYWORD_UNKNOWN .harness/tools/read_note.md:3:28",
            "SCHEMA_INVALID .harness/tools/read_note.md:6:19",
        ],
    );
}

#[test]
fn an_unusable_schema_names_the_part_and_the_reason() {
    for (schema, message) in [
        (
            "{properties: {a: {pattern: '(?=a)b'}}}",
            "at `/properties/a/pattern`: \"(?=a)b\" is not a pattern that can be matched in linear time",
        ),
        (
            "{properties: {a: {type: object, required: true}}}",
            "at `/properties/a/required`: true is not a list of names",
        ),
        (
            "{properties: {a: {$ref: 'https://example.com/a.json'}}}",
            "https://example.com/a.json",
        ),
        ("{properties: {a: {$ref: '#/$defs/none'}}}", "/$defs/none"),
        (
            "{properties: {a: {minLength: -1}}}",
            "at `/properties/a/minLength`",
        ),
    ] {
        let text = tool(&format!("input_schema: {schema}\n"), "1");
        let checked = judge(&[(".harness/tools/read_note.md", &text)]);
        let codes: Vec<_> = checked.diagnostics.iter().map(|found| found.code).collect();
        assert_eq!(codes, ["SCHEMA_INVALID"], "{schema}");
        assert!(
            checked.diagnostics[0].message.contains(message),
            "{}",
            checked.diagnostics[0].message
        );
    }
}

#[test]
fn the_spellings_of_other_harnesses_are_explained() {
    for (event, expected) in [
        ("PreToolUse", "tool.pre"),
        ("onPostToolUse", "tool.post"),
        ("tool.prr", "tool.pre"),
        ("Stop", "agent.stop"),
    ] {
        let text = WATCH.replace("tool.post", event);
        let checked = judge(&[(".harness/hooks/watch_calls.md", &text)]);
        let help = checked.diagnostics[0].help.clone();
        assert_eq!(
            help,
            Some(format!("did you mean `{expected}`?")),
            "{event}: {:?}",
            found(&checked)
        );
    }
}

#[test]
fn an_observing_hook_may_return_nothing_and_a_gating_hook_may_not() {
    let silent = WATCH.replace("allow()", "None");
    expect(&[(".harness/hooks/watch_calls.md", &silent)], &[]);
    let guard = silent.replace("tool.post", "tool.pre");
    expect(
        &[(".harness/hooks/watch_calls.md", &guard)],
        &["HOOK_RETURN_SHAPE .harness/hooks/watch_calls.md:5:14"],
    );
}

#[test]
fn hooks_on_builtin_events_compare_with_builtin_names() {
    let hook = |name: &str| {
        WATCH.replace("tool.post", "builtin.pre").replace(
            "return allow()",
            &format!("return block(\"no\") if payload[\"name\"] == \"{name}\" else allow()"),
        )
    };
    expect(&[(".harness/hooks/watch_calls.md", &hook("fs.write"))], &[]);
    expect(
        &[(".harness/hooks/watch_calls.md", &hook("fs.wrte"))],
        &["HOOK_UNKNOWN_TOOL .harness/hooks/watch_calls.md:5:48"],
    );
}

#[test]
fn a_guard_may_forbid_a_tool_that_nobody_has_and_may_not_misspell_one() {
    let note = tool("parameters: {}\n", "1");
    let guard = |when: &str, body: &str| {
        format!(
            "---\nevent: tool.pre\n{when}script: |\n  def handle(event, payload):\n{body}---\nGuards.\n"
        )
    };
    let told = |path: &str, hook: &str| {
        let checked = judge(&[(".harness/tools/read_note.md", &note), (path, hook)]);
        let codes = checked.diagnostics.iter();
        codes
            .map(|found| format!("{} {}", found.severity, found.code))
            .collect::<Vec<_>>()
    };
    const GUARD: &str = ".harness/hooks/guard_calls.md";
    let block = "      return block(\"use read_note\")\n";
    for (when, body) in [
        ("when: payload[\"name\"] == \"exec\"\n", block.to_owned()),
        (
            "when: payload[\"name\"] in [\"exec\", \"shell\"]\n",
            format!("      metrics.incr(\"denied\")\n{block}"),
        ),
        (
            "",
            "      if payload.get(\"tool_name\") == \"exec\" and ctx.get(\"strict\"):\n          return block(\"no\")\n      return allow()\n".to_owned(),
        ),
        (
            "",
            "      bad = [\"exec\", \"shell\"]\n      if payload[\"name\"] in bad:\n          return {\"action\": \"block\", \"reason\": \"no\"}\n      return allow()\n".to_owned(),
        ),
        (
            "",
            format!("      if payload[\"name\"] != \"exec\":\n          return allow()\n{block}"),
        ),
        (
            "",
            "      return block(\"no\") if payload[\"name\"] == \"exec\" else allow()\n".to_owned(),
        ),
    ] {
        let hook = guard(when, &body);
        assert_eq!(told(GUARD, &hook), [""; 0], "{hook}");
        // One letter away from a tool: a guard that was meant for it.
        let typo = hook.replace("\"exec\"", "\"read_nte\"");
        assert_eq!(told(GUARD, &typo), ["warning HOOK_UNKNOWN_TOOL"], "{typo}");
    }
    // A guard that looks at the arguments waits for a tool.
    let looks = "      if payload[\"name\"] == \"deploy_app\" and \"prod\" in payload[\"args\"][\"to\"]:\n          return block(\"no\")\n      return allow()\n";
    let looks = guard("", looks);
    assert_eq!(told(GUARD, &looks), ["warning HOOK_UNKNOWN_TOOL"]);
    let bundle = "---\ntype: plugin\nhooks:\n  - event: tool.pre\n    handler: guard_deploys\n    script: |\n      def handle(event, payload):\n          if payload[\"name\"] == \"deploy_app\":\n              log(\"deployed\")\n          return allow()\n---\nGuards.\n";
    assert_eq!(
        told(".harness/plugins/guards.md", bundle),
        ["note HOOK_UNKNOWN_TOOL"],
        "a bundle is for many projects"
    );
}

#[test]
fn the_error_of_a_call_is_a_string_and_not_a_dict() {
    for (used, help) in [
        (
            "payload[\"error\"][\"code\"]",
            Some("write `payload[\"error_code\"]`"),
        ),
        (
            "payload.get(\"error\", {}).get(\"message\")",
            Some("write `payload[\"error\"]`; it is the message"),
        ),
        (
            "payload[\"error\"].details",
            Some("write `payload[\"error_details\"]`"),
        ),
        (
            "payload[\"error\"] != None",
            Some("test `payload[\"is_error\"]`"),
        ),
        ("\"failed: \" + payload[\"error\"].lower()", None),
        ("payload[\"error_code\"]", None),
        ("payload[\"error\"] != \"\"", None),
        (
            "payload[\"error\"][\"code\"] if type(payload[\"error\"]) == \"dict\" else 1",
            None,
        ),
    ] {
        let hook = WATCH.replace(
            "return allow()",
            &format!("log({used})\n      return allow()"),
        );
        let checked = judge(&[(".harness/hooks/watch_calls.md", &hook)]);
        let helps: Vec<_> = checked
            .diagnostics
            .iter()
            .map(|found| (found.code, found.help.as_deref().unwrap_or_default()))
            .collect();
        let expected: Vec<_> = help
            .map(|help| ("HOOK_ERROR_IS_TEXT", help))
            .into_iter()
            .collect();
        assert_eq!(helps, expected, "{used}");
    }
    // Other events have errors of their own.
    let other = WATCH.replace("tool.post", "builtin.post").replace(
        "return allow()",
        "log(payload.get(\"error\") == None)\n      return allow()",
    );
    expect(&[(".harness/hooks/watch_calls.md", &other)], &[]);
}

#[test]
fn a_hook_that_takes_the_result_for_a_dict_asks_first_whether_the_call_failed() {
    let told = |event: &str, body: &str| {
        let hook = WATCH
            .replace("tool.post", event)
            .replace("return allow()", &format!("{body}\n      return allow()"));
        let checked = judge(&[(".harness/hooks/watch_calls.md", &hook)]);
        let codes = checked.diagnostics.iter().map(|found| found.code);
        codes.collect::<Vec<_>>()
    };
    for body in [
        "log(payload[\"result\"][\"words\"])",
        "r = payload.get(\"result\", {})\n      log(r.get(\"words\", 0), r.get(\"lines\", 0))",
    ] {
        assert_eq!(told("tool.post", body), ["HOOK_RESULT_NOT_DICT"], "{body}");
        for asked in [
            format!("if payload[\"is_error\"]:\n          return allow()\n      {body}"),
            format!("if payload.get(\"error\"):\n          return allow()\n      {body}"),
            format!(
                "if type(payload[\"result\"]) != \"dict\":\n          return allow()\n      {body}"
            ),
        ] {
            assert_eq!(told("tool.post", &asked), [""; 0], "{asked}");
        }
        assert_eq!(told("builtin.post", body), [""; 0], "{body}");
    }
    assert_eq!(told("tool.post", "log(len(payload[\"result\"]))"), [""; 0]);
}

#[test]
fn names_on_one_line_are_one_finding() {
    let hook = WATCH.replace(
        "return allow()",
        "if payload[\"name\"] in [\"fs.read\", \"fs.list\", \"shell\", \"zsh\"]:\n          log(\"seen\")\n      return allow()",
    );
    let checked = judge(&[(".harness/hooks/watch_calls.md", &hook)]);
    let messages: Vec<_> = checked
        .diagnostics
        .iter()
        .map(|found| found.message.as_str())
        .collect();
    assert_eq!(
        messages,
        [
            "there are no tools `fs.read`, `fs.list`",
            "there are no tools `shell`, `zsh`"
        ]
    );
}

#[test]
fn every_common_payload_spelling_is_accepted() {
    let hook = |event: &str, body: &str| {
        format!(
            "---\nevent: {event}\nscript: |\n  def handle(event, payload):\n{body}\n      return allow()\n---\nWatches.\n"
        )
    };
    for (event, body) in [
        (
            "tool.pre",
            "      if payload[\"name\"] == payload[\"tool_name\"] and payload[\"args\"] == payload[\"arguments\"]:\n          log(payload[\"id\"])",
        ),
        (
            "tool.pre",
            "      tool = payload[\"tool\"]\n      log(tool[\"name\"], tool.get(\"args\", {}).get(\"command\", \"\"))",
        ),
        (
            "tool.pre",
            "      args = payload.get(\"args\", payload.get(\"arguments\", {}))\n      if \"rm -rf\" in args.get(\"command\", \"\"):\n          return {\"action\": \"block\", \"reason\": \"no\"}",
        ),
        (
            "tool.post",
            "      metrics.incr(\"calls\")\n      log.info(payload[\"content\"], payload[\"is_error\"], payload[\"result\"])",
        ),
        (
            "builtin.post",
            "      emit(\"custom.used\", {\"name\": payload[\"name\"], \"error\": payload.get(\"error\")})",
        ),
        ("custom.used", "      log(payload[\"whatever\"])"),
        (
            "artifact.load",
            "      if payload[\"kind\"] == \"tool\" and \"exec.run\" in payload[\"script\"] and \"reviewed\" not in payload[\"tags\"]:\n          return block(\"not reviewed\")",
        ),
    ] {
        expect(
            &[(".harness/hooks/watch_calls.md", &hook(event, body))],
            &[],
        );
    }
}

#[test]
fn messages_stay_on_one_line_whatever_a_name_contains() {
    let hook = WATCH.replace(
        "return allow()",
        "return modify(payload) if payload[\"name\"] == \"a\\nb\\x1b\" else allow()",
    );
    let checked = judge(&[(".harness/hooks/watch_calls.md", &hook)]);
    assert_eq!(
        checked.diagnostics[0].message,
        "there is no tool `a\\nb\\u{1b}`",
        "{:?}",
        found(&checked)
    );
}

#[test]
fn ten_thousand_tools_are_checked_in_linear_time() {
    let time = |count: usize| -> Duration {
        let parameters = "parameters:\n  path: {type: string, required: true, minLength: 1}\n  lines: {type: array, items: {type: integer}}\n";
        let text = |index: usize| {
            tool(
                &format!("{parameters}tags: [number_{index}]\n"),
                "fs.read(args[\"path\"])",
            )
        };
        let files = (0..count).map(|index| {
            (
                format!(".harness/tools/read_note_{index}.md"),
                text(index).into_bytes(),
            )
        });
        let artifacts = read(files);
        let facts = facts_of(&artifacts);
        let start = Instant::now();
        let checked = check(artifacts, &facts);
        assert_eq!((checked.tools.len(), checked.diagnostics.len()), (count, 0));
        start.elapsed()
    };
    time(100);
    // The best of three attempts: a busy machine may delay any of them.
    let tries = (0..3).map(|_| (time(1_000), time(10_000)));
    let is_linear = |(small, large): (Duration, Duration)| {
        println!("1,000 tools: {small:?}; 10,000 tools: {large:?}");
        large < small * 40 + Duration::from_millis(200)
    };
    assert!(tries.into_iter().any(is_linear));
}
