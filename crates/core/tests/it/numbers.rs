//! Numbers arrive as the type in the schema, and one that does not fit its type is a repairable error.

use crate::support::{Number, bare, call, code, load, text};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use tool_harness::tool::function;
use tool_harness::{Tool, ToolError, ToolOutput, ToolResult, ToolRuntime, ToolSpec};

#[derive(Deserialize, Serialize, schemars::JsonSchema)]
struct Many {
    list: Vec<i64>,
    #[serde(default)]
    maybe: Option<u8>,
    #[serde(default)]
    inner: Option<Box<Many>>,
    #[serde(default)]
    either: Option<Either>,
    #[serde(default)]
    fraction: f64,
}

#[derive(Deserialize, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
enum Either {
    Count(u32),
    Word(String),
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "Takes numbers.").pure()
}

#[tokio::test]
async fn whole_numbers_arrive_as_integers_where_the_schema_says_so() {
    let one = function(spec("one"), |input: Number| async move { Ok(input.n) });
    let many = function(spec("many"), |input: Many| async move { Ok(input) });
    let (engine, _) = load(bare().tool(one).tool(many)).await;
    for (sent, expected) in [
        ("1.0", 1),
        ("1e3", 1000),
        ("12.50E1", 125),
        ("-2.00", -2),
        ("0e0", 0),
        ("-0.0", 0),
        ("9223372036854775807.0", i64::MAX),
    ] {
        let result = engine
            .call(text("one", &format!("{{\"n\": {sent}}}")))
            .await;
        assert_eq!(
            result.value,
            Some(json!(expected)),
            "{sent}: {}",
            result.text()
        );
    }
    let sent = r#"{"list": [1.0, 2e1], "maybe": 3.0, "inner": {"list": [4.0], "either": 5.0}, "either": "6.0", "fraction": 7.0}"#;
    let result = engine.call(text("many", sent)).await;
    let value = result
        .value
        .as_ref()
        .unwrap_or_else(|| panic!("{}", result.text()));
    assert_eq!(
        (&value["list"], &value["maybe"], &value["inner"]["list"]),
        (&json!([1, 20]), &json!(3), &json!([4]))
    );
    assert_eq!(
        (
            &value["inner"]["either"],
            &value["either"],
            value["fraction"].as_f64()
        ),
        (&json!(5), &json!("6.0"), Some(7.0))
    );
}

#[derive(Deserialize, Serialize, schemars::JsonSchema)]
struct Small {
    x: f32,
    #[serde(default)]
    more: Vec<f32>,
}

#[tokio::test]
async fn a_number_that_would_overflow_to_infinity_is_refused() {
    let small = function(spec("small"), |input: Small| async move {
        Ok(f64::from(input.x))
    });
    let (engine, _) = load(bare().tool(small)).await;
    for (sent, path) in [
        (r#"{"x": 1e39}"#, "/x"),
        (r#"{"x": -1e300}"#, "/x"),
        (r#"{"x": 1, "more": [1, 3.5e38]}"#, "/more/1"),
    ] {
        let result = engine.call(text("small", sent)).await;
        assert_eq!(
            (code(&result), paths(&result)),
            ("tool.args.invalid_schema", vec![path.to_owned()]),
            "{sent}"
        );
    }
    for (sent, expected) in [
        (r#"{"x": 1.5}"#, 1.5),
        (r#"{"x": -3.4e38}"#, f64::from(-3.4e38_f32)),
        (r#"{"x": 3, "more": [1e-300]}"#, 3.0),
    ] {
        let result = engine.call(text("small", sent)).await;
        assert_eq!(
            result.value.as_ref().and_then(Value::as_f64),
            Some(expected),
            "{}",
            result.text()
        );
    }
}

/// Returns its arguments unchanged.
struct Back;

impl Tool for Back {
    fn spec(&self) -> ToolSpec {
        spec("back").input(json!({"type": "object", "properties": {
            "i": {"type": "integer"}, "n": {"type": "number"}, "both": {"type": ["integer", "string"]},
            "pairs": {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "number"}},
            "ref": {"$ref": "#/$defs/i"}, "all": {"allOf": [{"type": "integer"}, {"minimum": 0}]},
        }, "patternProperties": {"^x_": {"type": "integer"}}, "additionalProperties": {"anyOf": [{"$ref": "#/$defs/i"}, {"type": "string"}]},
        "$defs": {"i": {"type": "integer"}}}))
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

#[tokio::test]
async fn only_numbers_that_the_schema_calls_integers_are_rewritten() {
    let (engine, _) = load(bare().tool(Back)).await;
    let sent = r#"{"i":1.0,"n":1.0,"both":2.0,"pairs":[3.0,3.0],"ref":4e0,"all":5.0,"x_a":6.0,"other":7.0,"large":1e20}"#;
    let result = engine.call(text("back", sent)).await;
    let got = result
        .value
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_else(|| result.text());
    let expected = r#"{"i":1,"n":1.0,"both":2,"pairs":[3,3.0],"ref":4,"all":5,"x_a":6,"other":7,"large":100000000000000000000}"#;
    assert_eq!(got, expected);
    let result = engine.call(text("back", r#"{"i":1.5}"#)).await;
    assert_eq!(
        (code(&result), paths(&result)),
        ("tool.args.invalid_schema", vec!["/i".to_owned()])
    );
}

fn paths(result: &ToolResult) -> Vec<String> {
    let errors = result
        .error
        .as_ref()
        .and_then(|error| error.details.get("errors"))
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    errors
        .iter()
        .filter_map(|error| error["path"].as_str().map(str::to_owned))
        .collect()
}

/// Accepts only even numbers, which its schema does not say.
#[derive(schemars::JsonSchema)]
struct Even {
    #[expect(dead_code, reason = "only its schema is used")]
    number: i64,
}

impl<'de> Deserialize<'de> for Even {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(deserializer)?;
        if number % 2 == 0 {
            Ok(Self { number })
        } else {
            Err(serde::de::Error::custom("it is odd"))
        }
    }
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Widths {
    #[serde(default)]
    #[expect(dead_code, reason = "only read")]
    i: Option<i64>,
    #[serde(default)]
    #[expect(dead_code, reason = "only read")]
    s: i32,
    #[serde(default)]
    #[expect(dead_code, reason = "only read")]
    u: u64,
    #[serde(default)]
    #[expect(dead_code, reason = "only read")]
    b: Vec<u8>,
    #[serde(default)]
    #[schemars(with = "i64")]
    #[expect(dead_code, reason = "only read")]
    even: Option<Even>,
}

#[tokio::test]
async fn a_number_out_of_range_for_its_type_is_refused_with_its_path() {
    let widths = function(spec("widths"), |_: Widths| async { Ok(1) });
    let (engine, events) = load(bare().tool(widths)).await;
    for (sent, path) in [
        (r#"{"i": 1180591620717411303424}"#, "/i"),
        (r#"{"i": 1e30}"#, "/i"),
        (r#"{"s": 3000000000}"#, "/s"),
        (r#"{"s": -2147483649.0}"#, "/s"),
        (r#"{"u": 18446744073709551616}"#, "/u"),
        (r#"{"u": -1}"#, "/u"),
        (r#"{"b": [1, 256]}"#, "/b/1"),
    ] {
        let before = events.named("tool.rejected").len();
        let result = engine.call(text("widths", sent)).await;
        assert_eq!(
            (code(&result), paths(&result)),
            ("tool.args.invalid_schema", vec![path.to_owned()]),
            "{sent}: {}",
            result.text()
        );
        assert_eq!(
            events.named("tool.rejected").len(),
            before + 1,
            "{sent}: refused before it starts"
        );
    }
    for sent in [
        r#"{"i": -9223372036854775808, "s": 2147483647, "u": 18446744073709551615, "b": [255]}"#,
        r#"{"i": null, "even": 2}"#,
    ] {
        let result = engine.call(text("widths", sent)).await;
        assert!(!result.is_error, "{sent}: {}", result.text());
    }
    let result = engine
        .call(text("widths", r#"{"s": 1, "even": 3, "u": 4}"#))
        .await;
    assert_eq!(
        (code(&result), paths(&result)),
        ("tool.args.invalid_schema", vec!["/even".to_owned()]),
        "{}",
        result.text()
    );
    assert!(result.text().contains("it is odd"), "{}", result.text());
}

#[tokio::test]
async fn read_artifact_accepts_whole_numbers_in_any_notation() {
    struct Keeps;
    impl Tool for Keeps {
        fn spec(&self) -> ToolSpec {
            spec("keep").input(json!({"type": "object"}))
        }
        async fn call(
            &self,
            (): &(),
            runtime: ToolRuntime<'_>,
            _: Map<String, Value>,
        ) -> Result<ToolOutput, ToolError> {
            Ok(ToolOutput::value(
                runtime.keep("#!?%&=+;@~", "text/plain").await?.id,
            ))
        }
    }
    let (engine, _) = load(bare().tool(Keeps)).await;
    let kept = engine.call(call("keep", json!({})).session("s")).await;
    let id = kept.value.expect("an id");
    for numbers in [
        r#""offset": 2, "length": 3"#,
        r#""offset": 2.0, "length": 3.0"#,
        r#""offset": 0.2e1, "length": 30e-1"#,
    ] {
        let result = engine
            .call(text("read_artifact", &format!("{{\"id\": {id}, {numbers}}}")).session("s"))
            .await;
        let shown = result.text();
        assert!(shown.trim_end().ends_with("\n?%&"), "{numbers}: {shown}");
    }
    let beyond = engine
        .call(
            text(
                "read_artifact",
                &format!("{{\"id\": {id}, \"offset\": 1e30}}"),
            )
            .session("s"),
        )
        .await;
    // No id contains these characters, but one may contain any digits.
    assert!(!beyond.text().contains("?%&"), "{}", beyond.text());
}

#[derive(Serialize, schemars::JsonSchema)]
struct Measured {
    maybe: Option<f64>,
    #[serde(rename = "a/b")]
    list: Vec<Shape>,
    by_name: BTreeMap<String, f32>,
}

#[derive(Serialize, schemars::JsonSchema)]
enum Shape {
    Circle(f64),
    Box { sides: (f64, f64) },
}

#[tokio::test]
async fn a_result_with_a_number_that_json_cannot_express_fails_and_names_its_place() {
    let measured = |n: i64| {
        let mut all = Measured {
            maybe: Some(1.0),
            list: vec![Shape::Circle(1.0), Shape::Box { sides: (1.0, 2.0) }],
            by_name: BTreeMap::from([("x~y".to_owned(), 1.0)]),
        };
        match n {
            1 => all.maybe = Some(f64::NAN),
            2 => all.list[0] = Shape::Circle(f64::INFINITY),
            3 => {
                all.list[1] = Shape::Box {
                    sides: (1.0, f64::NEG_INFINITY),
                }
            }
            4 => drop(all.by_name.insert("x~y".to_owned(), f32::NAN)),
            _ => {}
        }
        all
    };
    let one = function(spec("one"), |input: Number| async move {
        Ok(if input.n == 0 { 1.5 } else { f64::NAN })
    });
    let many = function(spec("many"), move |input: Number| async move {
        Ok(measured(input.n))
    });
    let (engine, _) = load(bare().tool(one).tool(many)).await;
    for (tool, n, path) in [
        ("one", 1, ""),
        ("many", 1, "/maybe"),
        ("many", 2, "/a~1b/0/Circle"),
        ("many", 3, "/a~1b/1/Box/sides/1"),
        ("many", 4, "/by_name/x~0y"),
    ] {
        let result = engine.call(call(tool, json!({"n": n}))).await;
        assert_eq!(
            (code(&result), paths(&result)),
            ("tool.output.invalid_schema", vec![path.to_owned()]),
            "{}",
            result.text()
        );
        assert!(
            result.text().contains("JSON cannot represent") && result.text().contains(path),
            "{}",
            result.text()
        );
    }
    for tool in ["one", "many"] {
        let result = engine.call(call(tool, json!({"n": 0}))).await;
        assert!(!result.is_error, "{}", result.text());
    }
}
