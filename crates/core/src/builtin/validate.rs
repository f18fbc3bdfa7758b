//! `validate`: is this what it should be?

use super::{Args, Body, Builtin, Example, Module, PLAIN, Param, json as json_module, re, uuid};
use ::url::Url;
use jiff::civil::Date;
use jsonschema::PatternOptions;
use serde_json::{Value, json};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Faults one validation reports.
const MAX_FAULTS: usize = 100;
/// Bytes of a compiled pattern of a schema.
const MAX_COMPILED: usize = 4 << 20;

/// Three numbers, then perhaps what comes before the release, then perhaps the build.
const SEMVER: &str = concat!(
    r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)",
    r"(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?",
    r"(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$",
);
/// Dotted words, `@`, and a domain of at least two labels.
const EMAIL: &str = concat!(
    r"^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*",
    r"@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$",
);

const VALUE: &[Param] = &[Param::any("value").also(&["s"])];

const IS_EMAIL: Builtin = Builtin {
    name: "is_email",
    params: VALUE,
    doc: "Whether it is an e-mail address with a domain.",
    returns: "True or False",
    body: Body::Pure(|args| Ok(json!(args.text(0).len() <= 254 && matches(args, EMAIL)?))),
    examples: &[
        Example::new(r#"validate.is_email("ann@example.com")"#, "true"),
        Example::new(r#"validate.is_email("ann@")"#, "false"),
    ],
    ..PLAIN
};

const IS_URL: Builtin = Builtin {
    name: "is_url",
    params: &[
        Param::any("value").also(&["s"]),
        Param::list("schemes").or(r#"["http", "https"]"#),
    ],
    doc: "Whether it is an absolute URL with a host and one of `schemes`.",
    returns: "True or False",
    body: Body::Pure(is_url),
    examples: &[
        Example::new(r#"validate.is_url("https://example.com/a")"#, "true"),
        Example::new(r#"validate.is_url("file:///etc")"#, "false"),
    ],
    ..PLAIN
};

const IS_JSON: Builtin = Builtin {
    name: "is_json",
    params: VALUE,
    doc: "Whether `json.decode` accepts it.",
    returns: "True or False",
    body: Body::Pure(|args| Ok(json!(json_module::parse(args.text(0)).is_ok()))),
    examples: &[
        Example::new(r#"validate.is_json("[1]")"#, "true"),
        Example::new(r#"validate.is_json("[1")"#, "false"),
    ],
    ..PLAIN
};

pub(super) const MODULE: Module = Module {
    name: "validate",
    doc: "Whether a value is what it should be. The `is_` calls return False for anything but a string.",
    constants: &[],
    calls: &[
        Builtin {
            name: "schema",
            params: &[Param::any("value"), Param::any("schema")],
            doc: "The faults of a value by a JSON Schema (draft 2020-12 unless `$schema` says otherwise), at most 100. \
                Nothing is fetched; an invalid schema raises.",
            returns: "a list of dicts with `path` (as `/a/0`) and `message`; empty when the value is valid",
            body: Body::Pure(schema),
            examples: &[
                Example::new(
                    r#"validate.schema({"n": 1}, {"properties": {"n": {"type": "integer"}}})"#,
                    "[]",
                ),
                Example::new(
                    r#"validate.schema({"n": "x"}, {"properties": {"n": {"type": "integer"}}})[0]["path"]"#,
                    r#""/n""#,
                ),
                Example::new(
                    r#"validate.schema(1, {"type": "intger"})"#,
                    "error: not a schema",
                ),
            ],
            ..PLAIN
        },
        IS_EMAIL,
        Builtin {
            name: "email",
            doc: "The same as `validate.is_email`.",
            examples: &[Example::new(r#"validate.email("ann@example.com")"#, "true")],
            ..IS_EMAIL
        },
        IS_URL,
        Builtin {
            name: "url",
            doc: "The same as `validate.is_url`.",
            examples: &[Example::new(r#"validate.url("example.com")"#, "false")],
            ..IS_URL
        },
        Builtin {
            name: "is_uuid",
            params: VALUE,
            doc: "Whether it is a UUID in its usual form, with hyphens.",
            returns: "True or False",
            body: Body::Pure(|args| Ok(json!(uuid::plain(args.text(0)).is_some()))),
            examples: &[Example::new(
                r#"validate.is_uuid("6ba7b810-9dad-11d1-80b4-00c04fd430c8")"#,
                "true",
            )],
            ..PLAIN
        },
        Builtin {
            name: "is_ipv4",
            params: VALUE,
            doc: "Whether it is an IPv4 address.",
            returns: "True or False",
            body: Body::Pure(|args| Ok(json!(args.text(0).parse::<Ipv4Addr>().is_ok()))),
            examples: &[
                Example::new(r#"validate.is_ipv4("10.0.0.1")"#, "true"),
                Example::new(r#"validate.is_ipv4("10.0.0.256")"#, "false"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "is_ipv6",
            params: VALUE,
            doc: "Whether it is an IPv6 address.",
            returns: "True or False",
            body: Body::Pure(|args| Ok(json!(args.text(0).parse::<Ipv6Addr>().is_ok()))),
            examples: &[Example::new(r#"validate.is_ipv6("::1")"#, "true")],
            ..PLAIN
        },
        IS_JSON,
        Builtin {
            name: "json",
            doc: "The same as `validate.is_json`.",
            examples: &[Example::new(r#"validate.json("{}")"#, "true")],
            ..IS_JSON
        },
        Builtin {
            name: "is_semver",
            params: VALUE,
            doc: "Whether it is a version in the form of Semantic Versioning 2.",
            returns: "True or False",
            body: Body::Pure(|args| Ok(json!(matches(args, SEMVER)?))),
            examples: &[
                Example::new(r#"validate.is_semver("1.0.0-rc.1+b5")"#, "true"),
                Example::new(r#"validate.is_semver("1.0")"#, "false"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "is_date",
            params: VALUE,
            doc: "Whether it is a day of the calendar written as `2026-01-31`.",
            returns: "True or False",
            body: Body::Pure(|args| {
                Ok(json!(
                    matches(args, r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")?
                        && args.text(0).parse::<Date>().is_ok()
                ))
            }),
            examples: &[
                Example::new(r#"validate.is_date("2024-02-29")"#, "true"),
                Example::new(r#"validate.is_date("2023-02-29")"#, "false"),
            ],
            ..PLAIN
        },
    ],
};

fn matches(args: &Args, pattern: &str) -> Result<bool, String> {
    Ok(re::compile(pattern)?.is_match(args.text(0)))
}

fn is_url(args: &Args) -> Result<Value, String> {
    let schemes = args.texts(1, "schemes")?;
    Ok(json!(Url::parse(args.text(0)).is_ok_and(
        |url| url.has_host() && url.host_str() != Some("") && schemes.contains(&url.scheme())
    )))
}

fn schema(args: &Args) -> Result<Value, String> {
    let patterns = PatternOptions::regex()
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED);
    let validator = jsonschema::options()
        .with_pattern_options(patterns)
        .offline()
        .build(args.get(1));
    let validator = validator.map_err(|error| {
        format!(
            "not a schema: {} at `{}`",
            one_line(&error.to_string()),
            error.instance_path()
        )
    })?;
    let faults = validator.iter_errors(args.get(0)).take(MAX_FAULTS);
    Ok(faults.map(|fault| json!({"path": fault.instance_path().to_string(), "message": one_line(&fault.to_string())})).collect())
}

/// One line, cut: the messages quote the value they are about.
fn one_line(text: &str) -> String {
    const SHOWN: usize = 500;
    let shown: String = text.chars().take(SHOWN).collect();
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{call, refused};
    use serde_json::{Value, json};

    fn check(name: &str, good: &[Value], bad: &[Value]) {
        let name = format!("validate.{name}");
        for (values, expected) in [(good, true), (bad, false)] {
            for value in values {
                assert_eq!(
                    call(&name, json!([value])),
                    json!(expected),
                    "{name} {value}"
                );
            }
        }
    }

    #[test]
    fn the_simple_forms() {
        check(
            "is_email",
            &[json!("a.b+c@x-y.example")],
            &[
                json!("a@b"),
                json!("a b@c.d"),
                json!("a@.c"),
                json!("a..b@c.d"),
                json!(1),
                json!("a@b.c\n"),
            ],
        );
        check(
            "is_url",
            &[json!("http://a")],
            &[
                json!("/a"),
                json!("http://"),
                json!("javascript:alert(1)"),
                json!(null),
            ],
        );
        check(
            "is_uuid",
            &[json!("6BA7B810-9dad-11d1-80b4-00c04fd430c8")],
            &[json!("6ba7b8109dad11d180b400c04fd430c8"), json!([])],
        );
        check(
            "is_ipv4",
            &[json!("0.0.0.0")],
            &[json!("1.2.3"), json!("01.2.3.4"), json!("::1")],
        );
        check(
            "is_ipv6",
            &[json!("fe80::1")],
            &[json!("1.2.3.4"), json!(":")],
        );
        check(
            "is_json",
            &[json!("null")],
            &[json!(""), json!("1e400"), json!({})],
        );
        check(
            "is_semver",
            &[json!("1.2.3")],
            &[
                json!("01.2.3"),
                json!("1.2.3-"),
                json!("v1.2.3"),
                json!("1.2.3\n"),
            ],
        );
        check(
            "is_date",
            &[json!("2026-12-31")],
            &[
                json!("2026-13-01"),
                json!("2026-1-1"),
                json!("20260101"),
                json!("2026-01-01T00:00:00Z"),
            ],
        );
    }

    #[test]
    fn schemas_list_every_fault_with_its_place() {
        let schema = json!({"type": "object", "required": ["a"], "properties": {"b": {"items": {"type": "string"}}}});
        let faults = call("validate.schema", json!([{"b": ["x", 1, 2]}, schema]));
        let paths: Vec<&Value> = faults
            .as_array()
            .expect("a list")
            .iter()
            .map(|fault| &fault["path"])
            .collect();
        assert_eq!(paths.len(), 3);
        assert!(
            [json!(""), json!("/b/1"), json!("/b/2")]
                .iter()
                .all(|path| paths.contains(&path)),
            "{faults}"
        );
        let many = call(
            "validate.schema",
            json!([vec![1; 1000], {"items": {"type": "string"}}]),
        );
        assert_eq!(many.as_array().map(Vec::len), Some(100));
    }

    #[test]
    fn schemas_cannot_fetch_or_backtrack() {
        refused(
            "validate.schema",
            json!([1, {"$ref": "http://example.com/schema.json"}]),
        );
        refused(
            "validate.schema",
            json!([1, {"$ref": "file:///etc/passwd"}]),
        );
        refused("validate.schema", json!(["a", {"pattern": "(?=a)"}]));
        assert_eq!(
            call(
                "validate.schema",
                json!([1, {"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}])
            ),
            json!([])
        );
        let slow = call(
            "validate.schema",
            json!([format!("{}b", "a".repeat(50_000)), {"pattern": "^(a+)+$"}]),
        );
        assert_eq!(slow.as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn integers_beyond_floats_are_compared_exactly() {
        let schema = json!({"maximum": 9_007_199_254_740_992_i64});
        assert_ne!(
            call(
                "validate.schema",
                json!([9_007_199_254_740_993_i64, schema])
            ),
            json!([])
        );
    }
}
