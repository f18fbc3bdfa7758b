//! `url`: addresses taken apart and put together.

use super::bind::describe;
use super::{Args, Body, Builtin, Example, Module, PLAIN, Param};
use ::url::form_urlencoded::Serializer;
use ::url::{Host, Url};
use serde_json::{Map, Value, json};

/// Bytes of an address.
const MAX_URL: usize = 1 << 20;

/// What `url.build` understands; also what `url.parse` gives.
const PARTS: [&str; 11] = [
    "scheme",
    "host",
    "hostname",
    "port",
    "path",
    "query",
    "params",
    "fragment",
    "username",
    "raw_query",
    "user",
];

pub(super) const MODULE: Module = Module {
    name: "url",
    doc: "URLs: parsed, built, and their parts encoded.",
    constants: &[],
    calls: &[
        Builtin {
            name: "parse",
            params: &[Param::text("text")],
            doc: "The parts of an absolute URL. `host` includes a port other than the scheme's default, `query` is verbatim, \
                `params` has a list of values for each name. `raw_query` is another name for `query`, `user` for `username`.",
            returns: "a dict with `scheme`, `host`, `hostname`, `port` (an integer; None for the scheme's own), `path`, `query`, `raw_query`, \
                `params`, `fragment`, `username`, `user`",
            body: Body::Pure(parse),
            examples: &[
                Example::new(
                    r#"url.parse("https://example.com:8443/a?x=1&x=2#top")["params"]"#,
                    r#"{"x": ["1", "2"]}"#,
                ),
                Example::new(
                    r#"url.parse("https://example.com:8443/a")["host"]"#,
                    r#""example.com:8443""#,
                ),
                Example::new(
                    r#"url.parse("no address")"#,
                    "error: `no address` is not a URL",
                ),
            ],
            ..PLAIN
        },
        Builtin {
            name: "build",
            params: &[Param::dict("parts")],
            doc: "The URL with these parts, named as by `url.parse`. `params` has a string, a number, a boolean or a list of \
                these for each name, and wins over `query`.",
            returns: "a string",
            body: Body::Pure(build),
            examples: &[
                Example::new(
                    r#"url.build({"scheme": "https", "host": "example.com", "path": "/a b", "params": {"q": "x&y", "n": 2}})"#,
                    r#""https://example.com/a%20b?q=x%26y&n=2""#,
                ),
                Example::new(
                    r#"url.build({"scheme": "https", "host": "a/b"})"#,
                    "error: `a/b` is not a host",
                ),
            ],
            ..PLAIN
        },
        Builtin {
            name: "join",
            params: &[Param::text("base"), Param::text("ref")],
            doc: "The URL that a link on a page leads to.",
            returns: "a string",
            body: Body::Pure(join),
            examples: &[Example::new(
                r#"url.join("https://example.com/a/b", "../c")"#,
                r#""https://example.com/c""#,
            )],
            ..PLAIN
        },
        Builtin {
            name: "encode",
            params: &[Param::any("value")],
            doc: "Text with everything but letters, digits and `-_.~` percent-encoded, for one part of a URL. A dict is encoded \
                as `url.encode_query` does.",
            returns: "a string",
            body: Body::Pure(encode),
            examples: &[Example::new(
                r#"url.encode("a b/ü")"#,
                r#""a%20b%2F%C3%BC""#,
            )],
            ..PLAIN
        },
        Builtin {
            name: "decode",
            params: &[Param::text("text")],
            doc: "Text with percent-encoded bytes decoded. A `%` that encodes nothing stays; bytes that are not UTF-8 raise.",
            returns: "a string",
            body: Body::Pure(decode),
            examples: &[
                Example::new(r#"url.decode("a%20b%2F100%")"#, r#""a b/100%""#),
                Example::new(r#"url.decode("%ff")"#, "error: not UTF-8"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "encode_query",
            params: &[Param::dict("params")],
            doc: "A dict as the query of a URL; a list repeats its name for each item.",
            returns: "a string",
            body: Body::Pure(|args| {
                Ok(json!(query(
                    args.get(0).as_object().unwrap_or(&Map::new())
                )?))
            }),
            examples: &[Example::new(
                r#"url.encode_query({"q": "a b", "tag": ["x", "y"]})"#,
                r#""q=a+b&tag=x&tag=y""#,
            )],
            ..PLAIN
        },
    ],
};

fn absolute(text: &str) -> Result<Url, String> {
    if text.len() > MAX_URL {
        return Err(format!(
            "the URL has {} bytes, at most {MAX_URL} are accepted",
            text.len()
        ));
    }
    Url::parse(text).map_err(|error| format!("`{text}` is not a URL: {error}"))
}

fn parse(args: &Args) -> Result<Value, String> {
    let url = absolute(args.text(0))?;
    let hostname = url.host_str().unwrap_or_default();
    let host = url
        .port()
        .map_or_else(|| hostname.to_owned(), |port| format!("{hostname}:{port}"));
    let mut params = Map::new();
    for (name, value) in url.query_pairs() {
        let values = params.entry(name).or_insert_with(|| json!([]));
        if let Value::Array(values) = values {
            values.push(json!(value));
        }
    }
    Ok(json!({
        "scheme": url.scheme(),
        "host": host,
        "hostname": hostname,
        "port": url.port(),
        "path": url.path(),
        "query": url.query().unwrap_or_default(),
        "params": params,
        "fragment": url.fragment().unwrap_or_default(),
        "username": url.username(),
        "raw_query": url.query().unwrap_or_default(),
        "user": url.username(),
    }))
}

fn build(args: &Args) -> Result<Value, String> {
    let none = Map::new();
    let parts = args.get(0).as_object().unwrap_or(&none);
    if let Some(unknown) = parts.keys().find(|key| !PARTS.contains(&key.as_str())) {
        return Err(format!(
            "a URL has no part `{unknown}`; its parts are {}",
            PARTS.join(", ")
        ));
    }
    let text = |name: &str| match parts.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some(other) => Err(format!(
            "`{name}` must be a string, got {}",
            describe(other)
        )),
    };
    let scheme = text("scheme")?.ok_or("a URL needs `scheme`")?;
    if !scheme.starts_with(|char: char| char.is_ascii_alphabetic())
        || !scheme
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || matches!(char, '+' | '-' | '.'))
    {
        return Err(format!("`{scheme}` is not a scheme"));
    }
    let path = text("path")?.unwrap_or_default();
    let mut url = match host(text("hostname")?, text("host")?, parts.get("port"))? {
        Some(host) => absolute(&format!("{scheme}://{host}"))?,
        None => absolute(&format!("{scheme}:"))?,
    };
    let refused = |part: &str| format!("`{part}` does not fit a `{scheme}` URL");
    url.set_path(path);
    if let Some(name) = text("username")? {
        url.set_username(name).map_err(|()| refused("username"))?;
    }
    match parts.get("params") {
        Some(Value::Object(params)) if !params.is_empty() => url.set_query(Some(&query(params)?)),
        None | Some(Value::Null | Value::Object(_)) => url.set_query(text("query")?),
        Some(other) => return Err(format!("`params` must be a dict, got {}", describe(other))),
    }
    url.set_fragment(text("fragment")?);
    Ok(json!(url.as_str()))
}

/// Host and port of a URL, checked so that a host cannot smuggle in a path or a
/// user.
fn host(
    hostname: Option<&str>,
    host: Option<&str>,
    port: Option<&Value>,
) -> Result<Option<String>, String> {
    let (name, with_port) = match (hostname, host) {
        (Some(hostname), _) => (hostname, None),
        (None, Some(host)) => match host
            .rsplit_once(':')
            .filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
        {
            Some((name, port)) if !name.ends_with(':') => (name, Some(port)),
            _ => (host, None),
        },
        (None, None) => return Ok(None),
    };
    let parsed = Host::parse(name).map_err(|_| format!("`{name}` is not a host"))?;
    let port = match (port, with_port) {
        (None | Some(Value::Null), None) => return Ok(Some(parsed.to_string())),
        (None | Some(Value::Null), Some(port)) => port.parse().ok(),
        (Some(port), _) => port.as_u64().and_then(|port| u16::try_from(port).ok()),
    };
    let port = port.ok_or("`port` must be from 0 to 65535")?;
    Ok(Some(format!("{parsed}:{port}")))
}

fn join(args: &Args) -> Result<Value, String> {
    let joined = absolute(args.text(0))?.join(args.text(1));
    joined
        .map(|url| json!(url.as_str()))
        .map_err(|error| format!("`{}` cannot be resolved: {error}", args.text(1)))
}

fn encode(args: &Args) -> Result<Value, String> {
    match args.get(0) {
        Value::String(text) => Ok(json!(percent_encode(text))),
        Value::Object(params) => Ok(json!(query(params)?)),
        other => Err(format!(
            "`value` must be a string or a dict, got {}",
            describe(other)
        )),
    }
}

fn percent_encode(text: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut made = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            made.push(char::from(byte));
        } else {
            made.extend([
                '%',
                char::from(HEX[usize::from(byte >> 4)]),
                char::from(HEX[usize::from(byte & 15)]),
            ]);
        }
    }
    made
}

fn decode(args: &Args) -> Result<Value, String> {
    let bytes = args.text(0).as_bytes();
    let digit = |at: usize| {
        bytes
            .get(at)
            .and_then(|&byte| char::from(byte).to_digit(16))
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let mut made = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                made.push(high << 4 | low);
                at += 3;
            }
            _ => {
                made.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(made)
        .map(Value::String)
        .map_err(|_| "the decoded bytes are not UTF-8 text".to_owned())
}

fn query(params: &Map<String, Value>) -> Result<String, String> {
    let mut made = Serializer::new(String::new());
    for (name, value) in params {
        let items = value
            .as_array()
            .map_or(std::slice::from_ref(value), Vec::as_slice);
        for item in items {
            match item {
                Value::String(text) => made.append_pair(name, text),
                Value::Number(_) | Value::Bool(_) => made.append_pair(name, &item.to_string()),
                other => {
                    return Err(format!(
                        "`{name}` must be a string, a number, a boolean or a list of these, got {}",
                        describe(other)
                    ));
                }
            };
        }
    }
    Ok(made.finish())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{call, refused};
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_url_can_be_parsed_and_built_again() {
        for address in [
            "https://example.com/",
            "http://ann@example.com:8080/a/b?x=1&y=%20#f",
            "http://[::1]:81/",
            "mailto:ann@example.com",
            "file:///etc/passwd",
        ] {
            let parts = call("url.parse", json!([address]));
            assert_eq!(
                call("url.build", json!([parts])),
                json!(
                    call("url.join", json!([address, address]))
                        .as_str()
                        .map(|text| text.replace("%20", "+"))
                ),
                "{address}"
            );
        }
    }

    #[test]
    fn a_part_cannot_become_another_part() {
        for parts in [
            json!({"scheme": "https://evil.example/?", "host": "a"}),
            json!({"scheme": "https", "host": "good.example/@evil.example"}),
            json!({"scheme": "https", "host": "evil.example#"}),
            json!({"scheme": "https", "host": "a", "port": 70_000}),
            json!({"scheme": "https", "host": "a", "pth": "/"}),
            json!({"host": "a"}),
        ] {
            refused("url.build", json!([parts]));
        }
        let built = call(
            "url.build",
            json!([{"scheme": "https", "host": "good.example", "path": "?a#b", "fragment": "x"}]),
        );
        assert_eq!(built, json!("https://good.example/%3Fa%23b#x"));
    }

    proptest! {
        #[test]
        fn encoded_text_decodes_to_itself(text in any::<String>()) {
            let encoded = call("url.encode", json!([text]));
            prop_assert!(encoded.as_str().is_some_and(|text| text.is_ascii()));
            prop_assert_eq!(call("url.decode", json!([encoded])), json!(text));
        }
    }
}
