//! The arguments of a call on the command line.

use crate::exit::{UsageError, usage};
use crate::output::quoted;
use clap::Args;
use serde_json::{Map, Value};
use std::io::Read;
use tool_harness::engine::Engine;
use tool_harness::{Arguments, Call, DEFAULT_MODE, Door};

/// The help for every error in an argument.
const ACCEPTED: &str = "write `key=text`, or `key:=json` as in `limit:=10` or `tags:='[\"a\"]'`; `--args '{...}'` sets all at once";

/// The arguments of a call.
#[derive(Args)]
pub(crate) struct CallArguments {
    /// `key=text` or `key:=json`
    #[arg(value_name = "ARGUMENT")]
    pairs: Vec<String>,
    /// All arguments as one JSON object; `-` reads them from standard input
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    /// The mode the call is made in
    #[arg(long, default_value = DEFAULT_MODE)]
    mode: String,
}

impl CallArguments {
    /// The call of `tool` with these arguments.
    pub(crate) fn call(&self, engine: &Engine, tool: &str) -> anyhow::Result<Call> {
        let surface = engine.surface(&self.mode)?;
        let schema = surface
            .tools
            .iter()
            .find(|offered| offered.name == tool)
            .map(|offered| &offered.input_schema);
        let whole = match self.args.as_deref() {
            Some("-") => Some(from_stdin()?),
            given => given.map(str::to_owned),
        };
        let arguments = match whole {
            // Checked on the call's own path, which has the best messages.
            Some(text) if self.pairs.is_empty() => Arguments::Text(text),
            whole => {
                let merged = merged(whole.as_deref(), &self.pairs, schema);
                Arguments::Value(Value::Object(
                    merged.map_err(|usage| usage.redacted(engine.redactor()))?,
                ))
            }
        };
        Ok(Call::new(tool, arguments)
            .door(Door::Cli)
            .mode(self.mode.clone()))
    }

    /// The arguments as they would be typed again.
    pub(crate) fn words(&self) -> String {
        let whole = self.args.iter().flat_map(|text| ["--args", text.as_str()]);
        let pairs = self.pairs.iter().map(String::as_str);
        let words = pairs.chain(whole).map(quoted);
        words.collect::<Vec<_>>().join(" ")
    }

    /// Whether any argument was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.args.is_none()
    }
}

fn from_stdin() -> anyhow::Result<String> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|problem| usage!("cannot read the arguments from standard input: {problem}"))?;
    Ok(text)
}

/// The object of `--args` with the pairs added. A key given twice is an error.
fn merged(
    whole: Option<&str>,
    pairs: &[String],
    schema: Option<&Value>,
) -> Result<Map<String, Value>, UsageError> {
    let mut map = match whole.map(serde_json::from_str) {
        None => Map::new(),
        Some(Ok(Value::Object(map))) => map,
        Some(Ok(_)) => return Err(UsageError::new("`--args` is not a JSON object").help(ACCEPTED)),
        Some(Err(problem)) => {
            return Err(usage!("`--args` is not JSON: {problem}").help(ACCEPTED));
        }
    };
    for pair in pairs {
        let (key, value) = argument(pair, schema)?;
        if map.insert(key.clone(), value).is_some() {
            return Err(usage!("the argument `{key}` is given twice"));
        }
    }
    Ok(map)
}

/// One `key=text` or `key:=json`. Text becomes another type only where the schema asks for it.
fn argument(pair: &str, schema: Option<&Value>) -> Result<(String, Value), UsageError> {
    let Some((key, text)) = pair.split_once('=') else {
        return Err(usage!("`{pair}` is not an argument").help(ACCEPTED));
    };
    let (key, is_json) = key
        .strip_suffix(':')
        .map_or((key, false), |key| (key, true));
    if key.is_empty() {
        return Err(usage!("`{pair}` has no key before the `=`").help(ACCEPTED));
    }
    if is_json {
        let value = serde_json::from_str(text).map_err(|problem| {
            usage!("the value of `{key}:=` is not JSON: {problem}")
                .help(format!("for text write `{key}={text}`"))
        })?;
        return Ok((key.to_owned(), value));
    }
    let wanted = wanted_types(schema, key);
    Ok((key.to_owned(), coerce(key, text, &wanted)?))
}

/// The types that the schema accepts for `key`; empty if it does not say.
fn wanted_types<'a>(schema: Option<&'a Value>, key: &str) -> Vec<&'a str> {
    match schema.and_then(|schema| schema.get("properties")?.get(key)?.get("type")) {
        Some(Value::String(word)) => vec![word],
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn coerce(key: &str, text: &str, wanted: &[&str]) -> Result<Value, UsageError> {
    if wanted.is_empty() || wanted.contains(&"string") {
        return Ok(Value::from(text));
    }
    let parsed: Option<Value> = serde_json::from_str(text).ok();
    let fits = |value: &Value| {
        wanted.iter().any(|&word| match word {
            "integer" | "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            "null" => value.is_null(),
            _ => false,
        })
    };
    parsed.filter(fits).ok_or_else(|| {
        let wanted = wanted.join(" or ");
        let example = match wanted.as_str() {
            "integer" => "10",
            "number" => "2.5",
            "boolean" => "true",
            "array" => "'[\"a\", \"b\"]'",
            _ => "'{\"a\": 1}'",
        };
        let article = match wanted.starts_with(['a', 'e', 'i', 'o', 'u']) {
            true => "an",
            false => "a",
        };
        usage!("`{key}`: expected {article} {wanted}, got `{text}`")
            .help(format!("for example `{key}={example}`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({"type": "object", "properties": {
            "path": {"type": "string"}, "limit": {"type": "integer"}, "ratio": {"type": "number"}, "all": {"type": "boolean"},
            "tags": {"type": "array"}, "where": {"type": "object"}, "maybe": {"type": ["integer", "null"]}, "any": {},
            "either": {"type": ["integer", "string"]},
        }})
    }

    fn check(pairs: &[&str], expected: &Value) {
        let pairs: Vec<String> = pairs.iter().map(|&pair| pair.to_owned()).collect();
        let got = merged(None, &pairs, Some(&schema()))
            .map(Value::Object)
            .map_err(|usage| usage.message);
        assert_eq!(got.unwrap_or_else(Value::from), *expected, "{pairs:?}");
    }

    #[test]
    fn text_stays_text_unless_the_schema_wants_something_else() {
        check(&["path=a=b"], &json!({"path": "a=b"}));
        check(
            &["path=12", "any=12", "unknown=true", "either=7"],
            &json!({"path": "12", "any": "12", "unknown": "true", "either": "7"}),
        );
        check(
            &["limit=12", "ratio=2.5", "all=true"],
            &json!({"limit": 12, "ratio": 2.5, "all": true}),
        );
        check(
            &["tags=[\"a\"]", "where={\"b\":1}", "maybe=null"],
            &json!({"tags": ["a"], "where": {"b": 1}, "maybe": null}),
        );
        check(&["path="], &json!({"path": ""}));
    }

    #[test]
    fn json_is_json_whatever_the_schema_says() {
        check(
            &["path:=12", "limit:=\"x\"", "n:={\"k\":\"a=b\"}"],
            &json!({"path": 12, "limit": "x", "n": {"k": "a=b"}}),
        );
    }

    #[test]
    fn integers_keep_every_digit() {
        let pairs = ["limit=123456789012345678901234567890".to_owned()];
        let map = merged(None, &pairs, Some(&schema())).expect("an integer");
        assert_eq!(map["limit"].to_string(), "123456789012345678901234567890");
    }

    #[test]
    fn wrong_arguments_say_what_is_accepted() {
        check(&["path"], &json!("`path` is not an argument"));
        check(&["=x"], &json!("`=x` has no key before the `=`"));
        check(
            &["limit=ten"],
            &json!("`limit`: expected an integer, got `ten`"),
        );
        check(&["all=yes"], &json!("`all`: expected a boolean, got `yes`"));
        check(
            &["path=a", "path=b"],
            &json!("the argument `path` is given twice"),
        );
        let got = argument("limit:=ten", None).expect_err("no JSON");
        assert_eq!(got.help.as_deref(), Some("for text write `limit=ten`"));
    }

    #[test]
    fn pairs_add_to_the_object_of_args() {
        let pairs = ["limit=1".to_owned()];
        let got = merged(Some(r#"{"path": "a"}"#), &pairs, Some(&schema())).expect("both");
        assert_eq!(Value::Object(got), json!({"path": "a", "limit": 1}));
        for (whole, message) in [
            ("[1]", "`--args` is not a JSON object"),
            (r#"{"limit": 2}"#, "the argument `limit` is given twice"),
        ] {
            assert_eq!(
                merged(Some(whole), &pairs, None)
                    .expect_err("a mistake")
                    .message,
                message
            );
        }
    }
}
