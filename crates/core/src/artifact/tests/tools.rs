//! The loader rules and validation rules of seed 000, and the rest of a tool's fields.

use super::{codes, problems, project, tool};
use crate::artifact::permission::PermissionKind;
use crate::artifact::tool::{Approval, Inject, Limits, RetryPolicy};
use crate::artifact::{Form, Layer};
use crate::diagnostic::Severity;
use crate::effect::Level;
use serde_json::json;
use tool_harness_sandbox::plan::Access;

const SCRIPT: &str = "script: |\n  def run(args):\n      return 1\n";

#[test]
fn loader_rule_1_a_file_without_frontmatter_is_rejected() {
    let artifacts = project(&[
        (".harness/tools/x.md", "# x\n\nDoes x.\n"),
        (".harness/tools/y.md", "---\n---\nDoes y.\n"),
    ]);
    assert_eq!(
        problems(&artifacts),
        ["FRONTMATTER_MISSING 1:1 the file does not start with a `---` line"]
    );
    assert_eq!(artifacts.broken_tools[0].name, "x");
    assert_eq!(artifacts.tools.len(), 1, "the rest loads");
}

#[test]
fn loader_rule_2_frontmatter_must_be_closed() {
    let artifacts = project(&[(".harness/tools/x.md", "---\nrisk: read\n----\nDoes x.\n")]);
    assert_eq!(codes(&artifacts), ["FRONTMATTER_UNCLOSED"]);
    assert!(artifacts.tools.is_empty());
}

#[test]
fn loader_rule_3_the_filename_is_the_tool_name_and_there_is_no_name_field() {
    let (tool, artifacts) = tool("name: other\ndescription: Does something else.");
    assert_eq!(
        (tool.name.as_str(), tool.description.as_str()),
        ("x", "Does x.")
    );
    assert_eq!(
        problems(&artifacts),
        [
            "NAME_KEY_IN_FILE 2:1 `name` in the file of a tool has no effect: it comes from the file's name",
            "NAME_KEY_IN_FILE 3:1 `description` in the file of a tool has no effect: it comes from the text below the frontmatter",
        ]
    );
    assert!(
        artifacts.broken_tools.is_empty(),
        "a warning changes nothing"
    );
}

#[test]
fn loader_rule_4_the_body_is_the_description_and_falls_back_to_the_name() {
    let artifacts = project(&[
        (
            ".harness/tools/run_it.md",
            "---\n---\n\n# run_it\n\nRuns it.\n\n",
        ),
        (".harness/tools/stop_it.md", "---\n---\n \n"),
    ]);
    let seen: Vec<_> = artifacts
        .tools
        .iter()
        .map(|tool| (tool.description.as_str(), tool.described))
        .collect();
    assert_eq!(seen, [("# run_it\n\nRuns it.", true), ("stop_it", false)]);
}

#[test]
fn loader_rule_5_an_unknown_key_is_warned_about_instead_of_ignored() {
    let (_, artifacts) = tool("timeout_sm: 5\nannotations: { knid: read }\nzzz: 1");
    let seen: Vec<_> = artifacts
        .problems
        .iter()
        .map(|problem| {
            let help = problem.help.as_deref().unwrap_or_default();
            let help = help.split("`, `script`").next();
            (problem.field.as_deref(), problem.severity, help)
        })
        .collect();
    assert_eq!(
        seen,
        [
            (
                Some("timeout_sm"),
                Severity::Warning,
                Some("did you mean `timeout_ms`?")
            ),
            (
                Some("annotations.knid"),
                Severity::Warning,
                Some("did you mean `kind`?")
            ),
            (
                Some("zzz"),
                Severity::Warning,
                Some("fields here: `parameters")
            ),
        ]
    );
    assert!(artifacts.broken_tools.is_empty());
}

#[test]
fn loader_rule_6_fenced_code_in_the_body_is_never_a_script() {
    let artifacts = project(&[(
        ".harness/tools/x.md",
        "---\nrisk: safe\n---\n```starlark\ndef run(args):\n    return 1\n```\n",
    )]);
    assert!(artifacts.tools[0].script.is_none());
    assert!(artifacts.tools[0].description.starts_with("```starlark"));
}

#[test]
fn validation_rule_1_an_inline_tool_needs_a_name() {
    let root = "---\ntools:\n  - { name: a, description: Does a. }\n  - { name: '' }\n  - { script: x }\n---\n";
    let artifacts = project(&[("harness.md", root)]);
    assert_eq!(
        problems(&artifacts),
        [
            "INLINE_NAME_EMPTY 4:5 tools[1].name cannot be empty",
            "INLINE_NAME_EMPTY 5:5 tools[2].name cannot be empty"
        ]
    );
    assert_eq!(
        artifacts
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect::<Vec<_>>(),
        ["a"]
    );
    assert!(
        !artifacts.root_broken,
        "a broken tool does not break the root"
    );
    assert_eq!(artifacts.broken_tools.len(), 2);
}

#[test]
fn validation_rule_2_tools_of_one_name_are_all_kept_for_the_registry_to_judge() {
    let inline = "---\ntools:\n  - name: x\n---\n";
    let artifacts = project(&[
        (".harness/tools/x.md", "---\n---\nDoes x.\n"),
        ("harness.md", inline),
        (".harness/overrides/o.md", inline),
    ]);
    let seen: Vec<_> = artifacts
        .tools
        .iter()
        .map(|tool| (tool.name.as_str(), tool.layer(), tool.origin.form))
        .collect();
    assert_eq!(
        seen,
        [
            ("x", Layer::Project, Form::File),
            ("x", Layer::Project, Form::Inline(0)),
            ("x", Layer::Override, Form::Inline(0))
        ]
    );
}

#[test]
fn validation_rule_3_a_negative_timeout_is_rejected_and_zero_is_allowed() {
    let (broken, artifacts) = tool("timeout_ms: -5");
    assert_eq!(
        problems(&artifacts),
        ["TIMEOUT_NEGATIVE 2:13 tool \"x\" timeout_ms must be >= 0"]
    );
    assert_eq!(
        (broken.timeout_ms, artifacts.broken_tools[0].name.as_str()),
        (0, "x")
    );
    for (written, expected) in [
        ("timeout_ms: 0", 0),
        ("timeout_ms: 30000", 30_000),
        ("risk: read", 0),
    ] {
        let (tool, artifacts) = tool(written);
        assert_eq!((tool.timeout_ms, codes(&artifacts).len()), (expected, 0));
    }
    let (_, artifacts) = super::hook("event: tool.pre\ntimeout_ms: 0");
    assert_eq!(
        problems(&artifacts),
        ["FIELD_WRONG_TYPE 3:13 `timeout_ms` must be an integer of at least 1, not `0`"],
        "a hook always has a cap"
    );
}

#[test]
fn parameters_that_are_not_a_map_have_the_wrong_type() {
    let (_, artifacts) = tool("parameters: [path]");
    assert_eq!(
        problems(&artifacts),
        ["FIELD_WRONG_TYPE 2:13 `parameters` must be a map, not a list"]
    );
    let (_, artifacts) = tool("parameters: { path: string }");
    assert_eq!(
        problems(&artifacts),
        ["FIELD_WRONG_TYPE 2:21 `parameters.path` must be a map with a `type`, not `string`"]
    );
}

#[test]
fn parameters_keep_their_order_and_required_is_aggregated() {
    let (tool, artifacts) = tool(concat!(
        "parameters:\n  zeta: { type: string, required: true, minLength: 1 }\n  alpha:\n    type: array\n    items: { type: integer }\n",
        "    required: false\n  mid: { enum: [a, b], required: true }\n  deep: { type: object, required: [k], properties: { k: { type: number } } }",
    ));
    assert_eq!(codes(&artifacts), [""; 0]);
    let expected = r#"{"type":"object","properties":{"zeta":{"type":"string","minLength":1},"alpha":{"type":"array","items":{"type":"integer"}},"mid":{"enum":["a","b"]},"deep":{"type":"object","required":["k"],"properties":{"k":{"type":"number"}}}},"required":["zeta","mid"]}"#;
    assert_eq!(tool.input_schema.to_string(), expected);
    assert_eq!(tool.schema_source.expect("a source").value, "parameters");
}

#[test]
fn a_parameter_needs_a_type_that_exists_unless_a_keyword_gives_it() {
    let (_, artifacts) = tool(
        "parameters:\n  a: { description: A. }\n  b: { type: str }\n  c: { type: [string, 'null'] }\n  d: { const: 1 }\n  e: { type: 3 }",
    );
    assert_eq!(
        problems(&artifacts),
        [
            "PARAMETER_TYPE_MISSING 3:3 `parameters.a` has no `type`",
            "PARAMETER_TYPE_UNKNOWN 4:14 `parameters.b` has the unknown type `str`",
            "PARAMETER_TYPE_UNKNOWN 7:14 `parameters.e` has the unknown type a number",
        ]
    );
}

#[test]
fn strict_tools_take_no_other_arguments_and_annotations_can_require() {
    let (tool, _) = tool(
        "strict: true\nparameters: { a: { type: string } }\nannotations: { arg_schema: { required: [a, b] } }",
    );
    assert_eq!(tool.input_schema["additionalProperties"], json!(false));
    assert_eq!(tool.input_schema["required"], json!(["a", "b"]));
}

#[test]
fn an_input_schema_is_taken_whole_and_is_always_of_an_object() {
    let (tool, artifacts) =
        tool("input_schema: { properties: { n: { type: integer, maximum: 9007199254740993 } } }");
    assert_eq!(codes(&artifacts), [""; 0]);
    assert_eq!(tool.input_schema["type"], json!("object"));
    assert_eq!(
        tool.input_schema["properties"]["n"]["maximum"].to_string(),
        "9007199254740993"
    );
    for wrong in [
        "input_schema: true",
        "input_schema: { type: string }",
        "input_schema: text",
    ] {
        assert_eq!(
            codes(&super::tool(wrong).1),
            ["FIELD_WRONG_TYPE"],
            "{wrong}"
        );
    }
}

#[test]
fn every_field_of_a_tool_reaches_its_place() {
    let (tool, artifacts) = tool(concat!(
        "script: 'def run(args): return 1'\noutput_schema: { type: object }\nrequires_approval: true\napproval_timeout_ms: 5\n",
        "annotations: { kind: execute, side_effect_level: process_exec, arg_schema: { path_params: [p], arg_aliases: { q: p } }, ",
        "capabilities: { git: [read] }, emits_artifacts: true, result_readers: [r], inline_result: true, readOnlyHint: false }\n",
        "safety: { idempotent: true }\ninject: { who: run_id, me: call_id, s: session_id, m: mode, k: 'state:x', i: idempotency_key }\n",
        "idempotency: { key: 'args[0]' }\nretry: { max_attempts: 4, initial_backoff_ms: 5, max_backoff_ms: 6, multiplier: 1.5 }\n",
        "limits: { max_calls: 1, max_concurrency: 2, max_output_bytes: 3, memory_mb: 8, cpu_ms: 5, processes: 9 }\ndeferred: true\naliases: { claude: X }\n",
        "examples:\n  - { args: { a: 1 }, result: null, is_error: false, files: { a.txt: hi }, http: [{ status: 200 }], exec: [{ cmd: ls }] }\ntags: [t]",
    ));
    assert_eq!(codes(&artifacts), [""; 0]);
    assert_eq!(
        tool.requires_approval.expect("approval").value,
        Approval::Always
    );
    assert_eq!(tool.approval_timeout_ms, 5);
    assert_eq!(tool.annotations.kind.as_deref(), Some("execute"));
    assert_eq!(tool.annotations.level, Some(Level::ProcessExec));
    assert_eq!(tool.annotations.path_params, ["p"]);
    assert_eq!(
        tool.annotations.arg_aliases,
        [("q".to_owned(), "p".to_owned())]
    );
    assert_eq!(
        tool.annotations.capabilities,
        [("git".to_owned(), vec!["read".to_owned()])]
    );
    assert!(
        tool.annotations.emits_artifacts
            && tool.annotations.inline_result
            && tool.idempotent
            && tool.deferred
    );
    assert_eq!(
        tool.annotations.hints.get("readOnlyHint"),
        Some(&json!(false))
    );
    let injected: Vec<_> = tool
        .inject
        .iter()
        .map(|(name, at)| (name.as_str(), at.value.clone()))
        .collect();
    let expected = [
        ("who", Inject::RunId),
        ("me", Inject::CallId),
        ("s", Inject::SessionId),
        ("m", Inject::Mode),
        ("k", Inject::State("x".into())),
        ("i", Inject::IdempotencyKey),
    ];
    assert_eq!(injected, expected);
    let retry = RetryPolicy {
        max_attempts: 4,
        initial_backoff_ms: 5,
        max_backoff_ms: 6,
        multiplier: 1.5,
    };
    assert_eq!(tool.retry.expect("a policy").value, retry);
    assert!(tool.key.expect("a key").text.contains("args[0]"));
    let limits = Limits {
        max_calls: Some(1),
        max_concurrency: Some(2),
        max_output_bytes: Some(3),
        memory_mb: Some(8),
        cpu_ms: Some(5),
        processes: Some(9),
    };
    assert_eq!(tool.limits, limits);
    assert_eq!(tool.aliases[0].1.value, "X");
    let example = &tool.examples[0].value;
    assert_eq!(
        (
            &example.result,
            example.is_error,
            example.files.len(),
            example.http.len(),
            example.exec.len()
        ),
        (&Some(json!(null)), Some(false), 1, 1, 1)
    );
    assert_eq!(example.args.get("a"), Some(&json!(1)));
    assert_eq!(tool.tags, ["t"]);
    assert_eq!(tool.frontmatter["deferred"], json!(true));
    assert!(tool.unsupported.is_empty());
}

#[test]
fn what_would_restrict_and_is_not_enforced_is_listed_with_its_place() {
    let check = |frontmatter: &str, expected: &[&str]| {
        let (tool, artifacts) = tool(frontmatter);
        assert_eq!(codes(&artifacts), [""; 0], "{frontmatter}");
        assert_eq!(
            tool.unsupported
                .iter()
                .map(|at| at.value)
                .collect::<Vec<_>>(),
            expected,
            "{frontmatter}"
        );
    };
    check("async: true", &[]);
    check("permissions: []", &[]);
    check(
        "requires_approval: args['n'] > 3",
        &["requires_approval as an expression"],
    );
    check("requires_approval: true", &[]);
    check("safety: { redact: [token], workspace_root: sub }", &[]);
    check(
        "inject: { a: 'secret:T', b: idempotency_key, c: run_id }",
        &[],
    );
    check("idempotency: { key: 'args[\"id\"]' }", &[]);
    check("idempotency: natural", &[]);
    check("retry: { max_attempts: 3 }", &[]);
    check("limits: { processes: 2, max_calls: 1 }", &[]);
    let (tool, _) = tool("risk: read\nrequires_approval: args['n']");
    assert_eq!(
        tool.place(tool.unsupported[0].span).to_string(),
        ".harness/tools/x.md:3:20"
    );
}

#[test]
fn permissions_are_read_and_a_path_outside_the_workspace_is_refused() {
    let (given, artifacts) = tool(
        "safety: { workspace_root: ./a/../src }\npermissions:\n  - { kind: filesystem, access: write, path: src/out }\n  \
         - { kind: filesystem }\n  - { kind: shell, programs: [git] }\n  - { kind: network, hosts: [a.example] }\n  - { kind: custom }",
    );
    assert_eq!(codes(&artifacts), [""; 0]);
    assert_eq!(given.workspace_root.expect("a folder").value, "src");
    let kinds: Vec<_> = given
        .permissions
        .into_iter()
        .map(|permission| permission.kind)
        .collect();
    let filesystem = |access, path: &str| PermissionKind::Filesystem {
        access,
        path: path.into(),
    };
    let expected = [
        filesystem(Access::Write, "src/out"),
        filesystem(Access::Read, "."),
        PermissionKind::Shell {
            programs: vec!["git".into()],
        },
        PermissionKind::Network {
            hosts: vec!["a.example".into()],
        },
        PermissionKind::Custom,
    ];
    assert_eq!(kinds, expected);
    for (frontmatter, code) in [
        ("safety: { workspace_root: /etc }", "FIELD_WRONG_TYPE"),
        ("safety: { workspace_root: a/../.. }", "FIELD_WRONG_TYPE"),
        (
            "permissions: [{ kind: filesystem, path: ~/.ssh }]",
            "FIELD_WRONG_TYPE",
        ),
        (
            "permissions: [{ kind: filesystem, access: all }]",
            "FIELD_WRONG_TYPE",
        ),
        (
            "permissions: [{ kind: network, hosts: ['a b'] }]",
            "DOMAIN_INVALID",
        ),
        ("permissions: [{ access: read }]", "FIELD_MISSING"),
    ] {
        let (_, artifacts) = tool(frontmatter);
        assert_eq!(codes(&artifacts), [code], "{frontmatter}");
    }
}

#[test]
fn one_bad_annotation_is_reported_and_the_others_count() {
    let (tool, artifacts) = tool(
        "annotations: { side_effect_level: reading, kind: read, emits_artifacts: 1, path: x }",
    );
    assert_eq!(
        codes(&artifacts),
        ["FIELD_WRONG_TYPE", "FIELD_WRONG_TYPE", "KEY_UNKNOWN"]
    );
    assert_eq!(
        (tool.annotations.kind.as_deref(), tool.annotations.level),
        (Some("read"), None)
    );
}

#[test]
fn a_value_that_cannot_be_injected_is_reported() {
    let (_, artifacts) = tool("inject: { a: user_id, b: 'state:', c: 3 }");
    assert_eq!(codes(&artifacts), ["FIELD_WRONG_TYPE"; 3]);
}

#[test]
fn positions_in_a_script_are_positions_in_the_markdown_file() {
    let check = |text: &str| {
        let artifacts = project(&[(".harness/tools/x.md", text)]);
        assert_eq!(codes(&artifacts), [""; 0], "{text:?}");
        let script = artifacts.tools[0].script.clone().expect("a script");
        for (index, line) in script.text.lines().enumerate() {
            let Some(column) = line.find(|c: char| !c.is_whitespace()) else {
                continue;
            };
            let position = crate::span::Position {
                line: u32::try_from(index + 1).expect("small"),
                column: u32::try_from(column + 1).expect("small"),
            };
            let place = script.place_of(position);
            let rest = &place.source.text[place.span.start..];
            assert!(
                rest.starts_with(line.trim()),
                "{text:?}: line {index} is at {place}"
            );
        }
        script.text.to_string()
    };
    let expected = "def run(args):\n    return 1\n";
    for header in [
        "script: |",
        "script: |  # why",
        "script: |+",
        "tags: [é, 日本]\nscript: |",
        "# é comment\n\nscript: |",
        "script:\n  |",
    ] {
        assert_eq!(
            check(&format!(
                "---\n{header}\n  def run(args):\n      return 1\n---\n"
            )),
            expected,
            "{header}"
        );
    }
    assert_eq!(
        check("---\nscript: |2\n    # odd\n  def run(args):\n      return 1\n---\n"),
        "  # odd\ndef run(args):\n    return 1\n"
    );
    assert_eq!(
        check("---\nscript: |-\n\n\n      def run(args):\n\n          return 1\n\n---\n"),
        "\n\ndef run(args):\n\n    return 1"
    );
    assert_eq!(
        check("\u{feff}---\r\nscript: |\r\n  def run(args):\r\n      return 1\r\n---\r\n"),
        expected
    );
    let inline = project(&[(
        "harness.md",
        "---\ntools:\n  - name: x\n    script: |\n      def run(args):\n          return 1\n---\n",
    )]);
    let script = inline.tools[0].script.clone().expect("a script");
    assert_eq!(
        script
            .place_of(crate::span::Position { line: 2, column: 5 })
            .to_string(),
        "harness.md:6:11"
    );
}

#[test]
fn a_quoted_script_is_placed_at_its_value() {
    let (tool, _) = tool("script: \"def run(args):\\n  return 1\"");
    let script = tool.script.expect("a script");
    assert!(script.block.is_none());
    assert_eq!(
        script
            .place_of(crate::span::Position { line: 2, column: 3 })
            .to_string(),
        ".harness/tools/x.md:2:9"
    );
}

#[test]
fn crlf_and_a_byte_order_mark_change_nothing_but_the_bytes() {
    let text = format!(
        "---\nparameters: {{ p: {{ type: string }} }}\nbad_key: é\n{SCRIPT}timeout_ms: 5\n---\nDoes x.\n\nTwice.\n"
    );
    let plain = project(&[(".harness/tools/x.md", &text)]);
    let windows = project(&[(
        ".harness/tools/x.md",
        &format!("\u{feff}{}", text.replace('\n', "\r\n")),
    )]);
    assert_eq!(problems(&plain), problems(&windows));
    assert_eq!(plain.tools[0].frontmatter, windows.tools[0].frontmatter);
    assert_eq!(plain.tools[0].description, windows.tools[0].description);
    assert_eq!(
        plain.tools[0].script.as_ref().expect("script").text,
        windows.tools[0].script.as_ref().expect("script").text
    );
}
