//! What may be registered, and that it is like any tool from then on.

use crate::support::{Number, bare, call, code, echo, load, load_asking, number_schema, numbered};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tool_harness::content::Media;
use tool_harness::control::Control;
use tool_harness::effect::Effects;
use tool_harness::error::Error;
use tool_harness::id::NameProblem;
use tool_harness::tool::READER;
use tool_harness::tool::{Idempotency, Inject, Limits, RegisterError, RetryPolicy, blocking};
use tool_harness::{
    ContentBlock, EngineBuilder, Tool, ToolError, ToolOutput, ToolRuntime, ToolSpec,
};

struct Spec(ToolSpec);

impl Tool for Spec {
    fn spec(&self) -> ToolSpec {
        self.0.clone()
    }

    async fn call(
        &self,
        (): &(),
        _: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::value(Value::Object(arguments)))
    }
}

async fn refused(builder: EngineBuilder) -> RegisterError {
    match builder.load().await {
        Err(Error::Register(problem)) => problem,
        other => panic!("{other:?}"),
    }
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "A tool.").pure().input(number_schema())
}

#[tokio::test]
async fn whatever_could_surprise_a_call_is_refused_with_a_type() {
    for (name, problem) in [
        ("", NameProblem::Empty),
        ("has space", NameProblem::Spaced),
        (&"x".repeat(65), NameProblem::Long),
        ("größe", NameProblem::Unescapable),
        ("a.b", NameProblem::Unescapable),
    ] {
        assert_eq!(
            refused(bare().tool(Spec(spec(name)))).await,
            RegisterError::Name {
                name: name.to_owned(),
                problem
            },
            "{name}"
        );
        let aliased = Spec(spec("fine").alias("openai", name));
        assert_eq!(
            refused(bare().tool(aliased)).await,
            RegisterError::Name {
                name: name.to_owned(),
                problem
            },
            "{name} as an alias"
        );
    }
    assert_eq!(
        refused(bare().tool(echo("a")).tool(echo("a"))).await,
        RegisterError::Duplicate("a".into())
    );
    assert_eq!(
        refused(
            bare()
                .tool(Spec(spec("b").alias("mcp", "a")))
                .tool(echo("a"))
        )
        .await,
        RegisterError::Duplicate("a".into())
    );
    let input =
        |schema: Value| refused(bare().tool(Spec(ToolSpec::new("a", "").pure().input(schema))));
    assert!(matches!(
        input(json!({"type": "object", "properties": {"x": {"type": "strin"}}})).await,
        RegisterError::InputSchema { .. }
    ));
    assert!(matches!(
        input(json!({"type": "array"})).await,
        RegisterError::InputSchema { .. }
    ));
    assert!(matches!(
        input(json!(false)).await,
        RegisterError::InputSchema { .. }
    ));
    assert!(matches!(
        input(Value::Null).await,
        RegisterError::InputSchema { .. }
    ));
    let of_an_enum = input(json!({"oneOf": [{"type": "object"}, {"const": "none"}]})).await;
    assert!(
        of_an_enum
            .to_string()
            .ends_with("put the choice (an `enum` in Rust) into a field of a struct"),
        "{of_an_enum}"
    );
    let output = Spec(spec("a").output(json!({"type": 7})));
    assert!(matches!(
        refused(bare().tool(output)).await,
        RegisterError::OutputSchema { .. }
    ));
    let injected = Spec(spec("a").inject("n", Inject::CallId));
    let named = |tool: &str, argument: &str| (tool.to_owned(), argument.to_owned());
    let (tool, argument) = named("a", "n");
    assert_eq!(
        refused(bare().tool(injected)).await,
        RegisterError::InjectedInSchema { tool, argument }
    );
    let keyed = Spec(spec("a").idempotency(Idempotency::By(vec!["m".into()])));
    let (tool, argument) = named("a", "m");
    let unknown = refused(bare().tool(keyed)).await;
    assert_eq!(
        unknown,
        RegisterError::NoSuchArgument {
            tool,
            argument,
            known: vec!["n".into()]
        }
    );
    assert!(
        unknown.to_string().ends_with("does not have; it has `n`"),
        "{unknown}"
    );
    let hosted = Spec(spec("a").inject("who", Inject::Host("user".into())));
    assert!(matches!(
        refused(bare().tool(hosted)).await,
        RegisterError::NothingToInject { .. }
    ));
    let unkeyed = Spec(spec("a").idempotency(Idempotency::By(Vec::new())));
    assert_eq!(
        refused(bare().tool(unkeyed)).await,
        RegisterError::KeyEmpty("a".into())
    );
    assert!(
        bare()
            .max_concurrency(usize::MAX)
            .tool(echo("a"))
            .load()
            .await
            .is_ok()
    );
    for entry in ["*", "/(/", "/x*/", "/\\b/", "two words"] {
        assert!(
            matches!(
                refused(bare().tool(Spec(spec("a").redact([entry])))).await,
                RegisterError::Redact { .. }
            ),
            "{entry}"
        );
    }
    assert_eq!(
        refused(bare().tool(Spec(ToolSpec::new("a", "A tool.")))).await,
        RegisterError::EffectsUndeclared("a".into())
    );
}

#[tokio::test]
async fn what_says_nothing_or_more_than_can_be_done_is_refused_with_a_type() {
    let retry = |max_attempts| RetryPolicy::attempts(max_attempts, Duration::ZERO);
    let outside = |folder: &str| RegisterError::WorkspaceRoot {
        tool: "a".into(),
        folder: folder.into(),
    };
    for (said, problem) in [
        (
            spec("a")
                .inject("who", Inject::CallId)
                .inject("who", Inject::RunId),
            RegisterError::InjectedTwice {
                tool: "a".into(),
                argument: "who".into(),
            },
        ),
        (
            spec("a").inject("", Inject::CallId),
            RegisterError::InjectedUnnamed("a".into()),
        ),
        (
            spec("a").alias("", "b"),
            RegisterError::AliasForNobody {
                tool: "a".into(),
                alias: "b".into(),
            },
        ),
        (
            spec("a").alias(" ", "b"),
            RegisterError::AliasForNobody {
                tool: "a".into(),
                alias: "b".into(),
            },
        ),
        (
            spec("a").alias("openai", "b").alias("openai", "c"),
            RegisterError::AliasTwice {
                tool: "a".into(),
                provider: "openai".into(),
            },
        ),
        (
            spec("a").alias("openai", ""),
            RegisterError::Name {
                name: String::new(),
                problem: NameProblem::Empty,
            },
        ),
        (
            spec("a").retry(retry(0)),
            RegisterError::NoAttempt("a".into()),
        ),
        (
            spec("a").retry(RetryPolicy {
                multiplier: f64::NAN,
                ..retry(2)
            }),
            RegisterError::Multiplier("a".into()),
        ),
        (
            spec("a").retry(RetryPolicy {
                multiplier: f64::INFINITY,
                ..retry(2)
            }),
            RegisterError::Multiplier("a".into()),
        ),
        (
            spec("a").retry(RetryPolicy {
                multiplier: -1.0,
                ..retry(2)
            }),
            RegisterError::Multiplier("a".into()),
        ),
        (
            spec("a").limits(Limits {
                max_concurrency: Some(0),
                ..Limits::default()
            }),
            RegisterError::Limit {
                tool: "a".into(),
                limit: "max_concurrency",
                least: 1,
            },
        ),
        (
            spec("a").limits(Limits {
                max_output_bytes: Some(0),
                ..Limits::default()
            }),
            RegisterError::Limit {
                tool: "a".into(),
                limit: "max_output_bytes",
                least: 1,
            },
        ),
        (spec("a").workspace_root("../.."), outside("../..")),
        (spec("a").workspace_root("a/../.."), outside("a/../..")),
        (spec("a").workspace_root("/etc"), outside("/etc")),
        (spec("a").workspace_root("~/x"), outside("~/x")),
    ] {
        assert_eq!(refused(bare().tool(Spec(said))).await, problem);
    }
    for said in [
        spec("a")
            .inject("who", Inject::CallId)
            .inject("run", Inject::RunId),
        spec("a").alias("openai", "b").alias("gemini", "c"),
        spec("a").alias("openai", "b").alias("gemini", "b"),
        spec("a").retry(retry(1)),
        spec("a").limits(Limits {
            max_calls: Some(0),
            max_concurrency: Some(1),
            ..Limits::default()
        }),
        // It is never used, because a repeat could do harm.
        spec("a").effects(Effects::WRITE).retry(retry(3)),
        spec("a").workspace_root("a/../src"),
        spec("a").workspace_root("."),
    ] {
        assert!(
            bare().tool(Spec(said.clone())).load().await.is_ok(),
            "{said:?}"
        );
    }
}

#[tokio::test]
async fn a_tool_is_kept_to_its_folder_however_that_is_written() {
    struct Reads;
    impl Tool for Reads {
        fn spec(&self) -> ToolSpec {
            ToolSpec::new("read_it", "Reads.")
                .effects(Effects::READ)
                .workspace_root("./other/../src")
                .input(json!({"type": "object"}))
        }
        async fn call(
            &self,
            (): &(),
            runtime: ToolRuntime<'_>,
            _: Map<String, Value>,
        ) -> Result<ToolOutput, ToolError> {
            let files = runtime.files()?;
            Ok(ToolOutput::value(json!([
                files.read("src/in", 99).is_ok(),
                files.read("out", 99).is_ok()
            ])))
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("src")).expect("a folder in it");
    for name in ["src/in", "out"] {
        std::fs::write(folder.path().join(name), "x").expect("a file");
    }
    let (engine, _) = load(bare().workspace(folder.path()).tool(Reads)).await;
    let result = engine.call(call("read_it", json!({}))).await;
    assert_eq!(
        result.value,
        Some(json!([true, false])),
        "{}",
        result.text()
    );
}

#[tokio::test]
async fn a_schema_beside_the_types_of_a_tool_is_refused_because_nothing_would_read_it() {
    let few = json!({"type": "object", "properties": {"n": {"type": "integer", "maximum": 10}}, "required": ["n"]});
    let bare_spec = || ToolSpec::new("a", "A tool.").pure();
    let tool = |spec: ToolSpec| numbered(spec, |n| async move { Ok(n) });
    for (spec, which) in [
        (bare_spec().input(few.clone()), "input"),
        (bare_spec().output(few.clone()), "output"),
    ] {
        let expected = RegisterError::SchemaBesideTypes {
            tool: "a".into(),
            which,
        };
        assert_eq!(refused(bare().tool(tool(spec.clone()))).await, expected);
        let blocks = blocking(spec, |input: Number| Ok(input.n));
        assert_eq!(refused(bare().tool(blocks)).await, expected);
    }
    // What says the same as the type is no other schema, and a tool over JSON has no types.
    assert!(
        bare()
            .tool(tool(bare_spec().input(number_schema())))
            .load()
            .await
            .is_ok()
    );
    assert!(
        bare()
            .tool(Spec(bare_spec().input(few)))
            .load()
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn an_injected_argument_is_found_wherever_the_schema_speaks_of_it() {
    let takes = |schema: Value| {
        bare().tool(Spec(
            ToolSpec::new("a", "A tool.")
                .pure()
                .input(schema)
                .inject("who", Inject::CallId),
        ))
    };
    let with = |more: Value| {
        let mut schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        schema
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        schema
    };
    let who = || json!({"properties": {"who": {"type": "string"}}});
    for more in [
        who(),
        json!({"required": ["who"]}),
        json!({"allOf": [{"required": ["n"]}, who()]}),
        json!({"anyOf": [who(), true]}),
        json!({"oneOf": [{"allOf": [who()]}]}),
        json!({"not": {"required": ["who"]}}),
        json!({"if": {"required": ["n"]}, "then": who()}),
        json!({"if": {"required": ["n"]}, "else": who()}),
        json!({"if": who()}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": who()}}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b%7Ec"}, "b~c": who()}}),
        json!({"allOf": [{"$ref": "#named"}], "$defs": {"a": {"$anchor": "named", "properties": {"who": true}}}}),
        json!({"$dynamicRef": "#named", "$defs": {"a": {"$dynamicAnchor": "named", "properties": {"who": true}}}}),
        json!({"patternProperties": {"^w": {"type": "string"}}}),
        json!({"dependentSchemas": {"n": who()}}),
        json!({"dependentSchemas": {"who": true}}),
        json!({"dependentRequired": {"n": ["who"]}}),
        json!({"dependentRequired": {"who": ["n"]}}),
        json!({"propertyNames": {"enum": ["n", "who"]}}),
        json!({"propertyNames": {"anyOf": [{"const": "who"}, {"maxLength": 1}]}}),
        json!({"enum": [{"n": 1, "who": "me"}]}),
        json!({"examples": [{"n": 1, "who": "me"}]}),
    ] {
        let problem = refused(takes(with(more.clone()))).await;
        assert_eq!(
            problem,
            RegisterError::InjectedInSchema {
                tool: "a".into(),
                argument: "who".into()
            },
            "{more}"
        );
    }
    for more in [
        json!({}),
        json!({"properties": {"n": who()}}),
        json!({"properties": {"n": {"required": ["who"]}, "m": {"$ref": "#/$defs/a"}}, "$defs": {"a": who()}}),
        json!({"allOf": [{"properties": {"n": who()}}]}),
        json!({"properties": {"n": {"type": "array", "items": who()}}, "additionalProperties": who()}),
        json!({"patternProperties": {"^x": who()}, "propertyNames": {"pattern": "^[a-z]+$"}}),
        json!({"$ref": "#", "$comment": "who"}),
    ] {
        assert!(takes(with(more.clone())).load().await.is_ok(), "{more}");
    }
}

#[tokio::test]
async fn a_default_that_does_not_fit_its_own_schema_is_refused() {
    let takes =
        |schema: Value| bare().tool(Spec(ToolSpec::new("a", "A tool.").pure().input(schema)));
    let bad = |path: &str, problem: &str| RegisterError::Default {
        tool: "a".into(),
        path: path.into(),
        problem: problem.into(),
    };
    for (properties, expected) in [
        (
            json!({"n": {"type": "integer", "default": "3"}}),
            bad("/properties/n/default", "\"3\" is not of type \"integer\""),
        ),
        (
            json!({"o": {"type": "object", "properties": {"a/b": {"$ref": "#/$defs/small", "default": 9}}}}),
            bad(
                "/properties/o/properties/a~1b/default",
                "9 is greater than the maximum of 3",
            ),
        ),
    ] {
        let schema =
            json!({"type": "object", "properties": properties, "$defs": {"small": {"maximum": 3}}});
        assert_eq!(refused(takes(schema)).await, expected);
    }
    let fits = json!({"type": "object", "properties": {"n": {"$ref": "#/$defs/small", "default": 2}}, "$defs": {"small": {"maximum": 3}}});
    let (engine, _) = load(takes(fits)).await;
    assert_eq!(
        engine.call(call("a", json!({}))).await.value,
        Some(json!({"n": 2}))
    );
}

#[tokio::test]
async fn the_name_of_the_harness_own_tool_is_taken() {
    for tool in [Spec(spec(READER)), Spec(spec("a").alias("openai", READER))] {
        assert_eq!(
            refused(bare().tool(tool)).await,
            RegisterError::Reserved(READER.into())
        );
    }
}

#[tokio::test]
async fn what_a_tool_wants_taken_out_leaves_neither_in_its_result_nor_in_an_event() {
    let tool = Spec(
        ToolSpec::new("get_account", "Gets an account.")
            .pure()
            .input(json!({"type": "object"}))
            .redact(["pin", "/acct-[0-9]+/"]),
    );
    let (engine, events) = load(bare().tool(tool)).await;
    let result = engine
        .call(call(
            "get_account",
            json!({"pin": 4711, "owner": "acct-31337", "open": true}),
        ))
        .await;
    assert_eq!(
        result.value,
        Some(json!({"pin": "[redacted]", "owner": "[redacted]", "open": true}))
    );
    assert_eq!(result.metadata["redacted"], 2);
    for text in [result.text(), format!("{:?}", events.all())] {
        assert!(!text.contains("4711") && !text.contains("31337"), "{text}");
    }
    let number = Spec(
        spec("get_card")
            .input(json!({"type": "object"}))
            .redact(["/[0-9]{16}/"]),
    );
    let (engine, events) = load(bare().tool(number)).await;
    let result = engine
        .call(call("get_card", json!({"card": 4_111_111_111_111_111_u64})))
        .await;
    assert_eq!(result.value, Some(json!({"card": "[redacted]"})));
    let refused = engine
        .call(call(
            "get_card",
            json!([4_111_111_111_111_111_u64, "4111111111111111"]),
        ))
        .await;
    assert!(
        !format!("{refused:?}{:?}", events.all()).contains("41111111"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn the_words_of_an_error_are_for_sinks_that_ask_and_quote_no_field_that_was_named() {
    let schema = json!({"type": "object", "properties": {"pin": {"type": "array", "items": {"type": "integer"}}, "code": {"type": "integer"}, "n": {"type": "integer"}}});
    let tool = || {
        Spec(
            spec("open_it")
                .input(schema.clone())
                .redact(["pin", "code"]),
        )
    };
    let wrong = json!({"pin": ["s3same-pin"], "code": "s3same-code", "n": "payload-text"});
    let (engine, events) = load(bare().tool(tool())).await;
    let refused = engine.call(call("open_it", wrong.clone())).await;
    let rejected = &events.named("tool.rejected")[0].fields;
    assert_eq!(
        (&rejected["code"], &rejected["class"]),
        (&json!("tool.args.invalid_schema"), &json!("repairable"))
    );
    assert!(
        !format!("{:?}", events.all()).contains("payload-text"),
        "{rejected:?}"
    );
    assert!(
        !format!("{refused:?}").contains("s3same") && refused.text().contains("payload-text"),
        "{refused:?}"
    );
    let (engine, events) = load_asking(bare().tool(tool())).await;
    engine.call(call("open_it", wrong)).await;
    let message = events.named("tool.rejected")[0].fields["message"].to_string();
    assert!(
        message.contains("payload-text") && !message.contains("s3same"),
        "{message}"
    );

    let failing = || {
        numbered(ToolSpec::new("fail_it", "Fails.").pure(), |n| async move {
            Err(ToolError::fatal("no", format!("not with {n}")))
        })
    };
    let (engine, events) = load(bare().tool(failing())).await;
    engine.call(call("fail_it", json!({"n": 31_337}))).await;
    assert!(
        !format!("{:?}", events.all()).contains("31337")
            && events.named("tool.failed")[0].fields["class"] == "fatal"
    );
    let (engine, events) = load_asking(bare().tool(failing())).await;
    engine.call(call("fail_it", json!({"n": 31_337}))).await;
    assert!(
        events.named("tool.failed")[0].fields["message"]
            .to_string()
            .contains("31337")
    );

    let told = Spec(
        spec("give_it")
            .input(json!({"type": "object"}))
            .output(schema.clone())
            .redact(["pin", "code"]),
    );
    let (engine, events) = load_asking(bare().tool(told)).await;
    let result = engine
        .call(call("give_it", json!({"pin": ["s3same-pin"]})))
        .await;
    assert_eq!(code(&result), "tool.output.invalid_schema");
    assert!(
        !format!("{result:?}{:?}", events.named("tool.failed")).contains("s3same"),
        "{result:?}"
    );
}

const SECRET: &str = "tangerine-46-lamp";

/// Tells its secret in every way it can.
struct Tells;

impl Tool for Tells {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("tell_it", "Tells.")
            .pure()
            .input(number_schema())
            .redact(["/acct-[0-9]+/"])
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        runtime.progress(0.5, &format!("acct-31337 {SECRET}"));
        match arguments["n"].as_i64() {
            Some(0) => Ok(ToolOutput::text(SECRET)),
            Some(1) => Ok(ToolOutput::content(vec![ContentBlock::Image(Media {
                data: vec![1],
                media_type: format!("image/{SECRET}"),
            })])),
            Some(2) => Ok(ToolOutput {
                artifacts: vec![
                    runtime
                        .keep(b"x".to_vec(), &format!("text/{SECRET}"))
                        .await?,
                ],
                ..ToolOutput::default()
            }),
            _ => Err(ToolError::control(Control::Stop(format!(
                "because of {SECRET}"
            )))),
        }
    }
}

#[tokio::test]
async fn a_secret_with_the_end_of_a_line_is_known_without_it_and_words_of_a_tool_hold_for_its_events()
 {
    let (engine, events) = load_asking(bare().secret("S", format!("{SECRET}\n")).tool(Tells)).await;
    for n in 0..4 {
        let result = engine.call(call("tell_it", json!({"n": n}))).await;
        assert!(
            !format!("{result:?}{:?}", events.all()).contains(SECRET),
            "{n}: {result:?}"
        );
    }
    let said = format!("{:?}", events.named("tool.progress"));
    assert!(
        !said.contains("31337") && said.contains("[redacted]"),
        "{said}"
    );
}

#[tokio::test]
async fn of_a_secret_in_a_long_value_that_does_not_fit_no_part_is_quoted() {
    let secret = "s3cr3tS3cr3tValue99-and-some-more-of-it";
    let (engine, events) = load(bare().secret("S", secret).tool(Spec(spec("count_it")))).await;
    for pad in [0, 160, 165, 185, 199, 400] {
        let sent = format!("{}{secret}{}", "a".repeat(pad), "b".repeat(400));
        let refused = engine.call(call("count_it", json!({"n": sent}))).await;
        assert_eq!(code(&refused), "tool.args.invalid_schema");
        assert!(
            !format!("{refused:?}{:?}", events.all()).contains("s3cr3t"),
            "{pad}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn rules_in_code_govern_rust_tools_and_aliases_lead_to_canonical_names() {
    let root = "---\ntools_policy:\n  deny: [\"drop_*\"]\npolicy:\n  side_effect_level: read_only\n  tool_arg_constraints:\n    - {tool: read_it, arg_key: path, arg_patterns: [\"src/**\"]}\n---\nRules.\n";
    let path =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let read = Spec(
        ToolSpec::new("read_it", "Reads.")
            .effects(Effects::READ)
            .input(path.clone())
            .path_param("path")
            .alias("openai", "readIt"),
    );
    let write = Spec(
        ToolSpec::new("write_it", "Writes.")
            .effects(Effects::READ | Effects::WRITE)
            .input(path),
    );
    let builder = bare()
        .root(root)
        .tool(read)
        .tool(write)
        .tool(echo("drop_it"));
    let (engine, events) = load(builder).await;
    let offered: Vec<String> = engine
        .surface("default")
        .expect("a surface")
        .tools
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    assert_eq!(offered, [READER, "read_it", "write_it"]);
    let result = engine.call(call("readIt", json!({"path": "src/a"}))).await;
    assert_eq!((result.is_error, result.name.as_str()), (false, "read_it"));
    assert_eq!(events.named("tool.completed")[0].fields["tool"], "read_it");
    for (tool, arguments, expected) in [
        ("read_it", json!({"path": "etc/a"}), "tool.denied"),
        ("read_it", json!({"path": "src/../etc"}), "tool.denied"),
        ("write_it", json!({"path": "src/a"}), "tool.denied"),
        ("drop_it", json!({"n": 1}), "tool.denied"),
        ("readit", json!({}), "tool.unknown"),
    ] {
        let result = engine.call(call(tool, arguments)).await;
        assert_eq!(code(&result), expected, "{tool}: {}", result.text());
    }
    let explained = engine
        .explain(call("write_it", json!({"path": "src/a"})))
        .await;
    assert_eq!(
        explained.outcome.expect_err("refused").code.text(),
        "tool.denied"
    );
}

#[tokio::test]
async fn a_broken_root_in_code_stops_everything() {
    let (engine, _) = load(bare().root("---\npolicy: [\n---\n").tool(echo("echo"))).await;
    assert_eq!(
        code(&engine.call(call("echo", json!({"n": 1}))).await),
        "project.broken"
    );
}

#[tokio::test]
async fn a_tool_that_asks_for_a_person_is_refused_where_there_is_none() {
    let confirm = numbered(
        ToolSpec::new("send_it", "Sends.").pure().confirm(),
        |n| async move { Ok(n) },
    );
    let spend = numbered(
        ToolSpec::new("pay_it", "Pays.").effects(Effects::NET_WRITE | Effects::SPEND),
        |n| async move { Ok(n) },
    );
    let (engine, _) = load(bare().tool(confirm).tool(spend)).await;
    for tool in ["send_it", "pay_it"] {
        assert_eq!(
            code(&engine.call(call(tool, json!({"n": 1}))).await),
            "tool.approval.denied",
            "{tool}"
        );
    }
}

#[tokio::test]
async fn a_file_and_a_rust_tool_of_one_name_are_a_typed_error() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join(".harness/tools")).expect("folders");
    std::fs::write(
        folder.path().join(".harness/tools/echo.md"),
        "---\nrisk: safe\n---\nA file.\n",
    )
    .expect("a file");
    assert_eq!(
        refused(EngineBuilder::new(folder.path()).tool(echo("echo"))).await,
        RegisterError::Duplicate("echo".into())
    );
    let (engine, _) = load(EngineBuilder::new(folder.path()).tool(echo("other"))).await;
    assert!(!engine.call(call("other", json!({"n": 1}))).await.is_error);
}
