//! What is refused when a tool is registered.

use super::{Spec, refused, spec};
use crate::support::{Number, bare, call, echo, load, number_schema, numbered};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tool_harness::Effects;
use tool_harness::NameProblem;
use tool_harness::tool::READER;
use tool_harness::tool::{Idempotency, Inject, Limits, RegisterError, RetryPolicy, blocking};
use tool_harness::{EngineBuilder, Tool, ToolError, ToolOutput, ToolRuntime, ToolSpec};

#[tokio::test]
async fn a_bad_name_or_schema_is_refused_with_a_typed_error() {
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
async fn an_empty_or_impossible_setting_is_refused_with_a_typed_error() {
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
            RegisterError::AliasWithoutProvider {
                tool: "a".into(),
                alias: "b".into(),
            },
        ),
        (
            spec("a").alias(" ", "b"),
            RegisterError::AliasWithoutProvider {
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
        // A repeat could do harm, so it is never used.
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
async fn a_tool_is_confined_to_its_folder_in_any_spelling() {
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
async fn a_schema_next_to_the_types_of_a_tool_is_refused() {
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
    // A schema equal to the type's is accepted, and so is any schema for a tool over JSON.
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
async fn an_injected_argument_is_found_anywhere_in_the_schema() {
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
async fn a_default_that_does_not_match_its_own_schema_is_refused() {
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
async fn the_name_of_the_built_in_tool_is_reserved() {
    for tool in [Spec(spec(READER)), Spec(spec("a").alias("openai", READER))] {
        assert_eq!(
            refused(bare().tool(tool)).await,
            RegisterError::Reserved(READER.into())
        );
    }
}

#[tokio::test]
async fn a_file_and_a_rust_tool_with_one_name_are_a_typed_error() {
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
