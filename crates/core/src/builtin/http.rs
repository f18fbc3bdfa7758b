//! `http`: requests to the hosts that the network policy names.

use super::exec::seconds_of;
use super::{Args, Body, Builtin, BuiltinHost, Example, Module, PLAIN, Param};
use crate::effect::Effects;
use crate::outside::{Request, Response};
use serde_json::{Map, Value, json};
use std::time::Duration;

const URL: Param = Param::text("url");
const BODY: Param = Param::any("body").or("null");
const HEADERS: Param = Param::dict("headers").or("{}");
const TIMEOUT_SECONDS: Param = Param::number("timeout_seconds").or("30");
const TIMEOUT_MS: Param = Param::int("timeout_ms").or("null");

const REQUEST: Builtin = Builtin {
    name: "request",
    params: &[
        Param::text("method"),
        URL,
        BODY,
        HEADERS,
        TIMEOUT_SECONDS,
        TIMEOUT_MS,
    ],
    doc: "Sends a request with any method; a dict or list as `body` is sent as JSON. An error status does not raise; \
                a host that is not allowed ends the call. A body of more than 8 MiB is cut, and `truncated` is True.",
    returns: "a dict with `ok`, `status`, `headers`, `body`, `url`, `truncated`",
    effects: Effects::NET_READ.and(Effects::NET_WRITE),
    body: Body::Host(request),
    examples: &[Example::new(
        r#"http.request("PUT", "https://example.com/a", {"n": 1})"#,
        "error: not in network.allowed_domains",
    )],
    ..PLAIN
};

pub(super) const MODULE: Module = Module {
    name: "http",
    doc: "Requests to the hosts that `network.allowed_domains` names. A hook has them where its `permissions` name hosts.",
    constants: &[],
    calls: &[
        Builtin {
            name: "get",
            params: &[URL, HEADERS, TIMEOUT_SECONDS, TIMEOUT_MS],
            doc: "Fetches a URL.",
            effects: Effects::NET_READ,
            body: Body::Host(get),
            examples: &[Example::new(
                r#"http.get("https://example.com")"#,
                "error: not in network.allowed_domains",
            )],
            ..REQUEST
        },
        Builtin {
            name: "post",
            params: &[URL, BODY, HEADERS, TIMEOUT_SECONDS, TIMEOUT_MS],
            doc: "Posts a body to a URL; a dict or list is sent as JSON.",
            body: Body::Host(post),
            examples: &[Example::new(
                r#"http.post("https://example.com", {"n": 1})"#,
                "error: not in network.allowed_domains",
            )],
            ..REQUEST
        },
        REQUEST,
    ],
};

fn get(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    send(
        host,
        "GET",
        args.text(0),
        &Value::Null,
        args.get(1),
        timeout(args, 2)?,
    )
}

fn post(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    send(
        host,
        "POST",
        args.text(0),
        args.get(1),
        args.get(2),
        timeout(args, 3)?,
    )
}

fn request(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let method = args.text(0).to_ascii_uppercase();
    if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(format!(
            "`method` must be a method such as `PUT`, got `{}`",
            args.text(0)
        ));
    }
    send(
        host,
        &method,
        args.text(1),
        args.get(2),
        args.get(3),
        timeout(args, 4)?,
    )
}

/// `timeout_ms` if it is given, else `timeout_seconds`, which comes first by position.
fn timeout(args: &Args, at: usize) -> Result<Duration, String> {
    match args.get(at + 1) {
        Value::Null => seconds_of(args.number(at).unwrap_or(30.0)),
        given => match args.int(at + 1).and_then(|ms| u64::try_from(ms).ok()) {
            Some(ms) => Ok(Duration::from_millis(ms)),
            None => Err(format!("`timeout_ms` must be 0 or more, got {given}")),
        },
    }
}

fn send(
    host: &dyn BuiltinHost,
    method: &str,
    url: &str,
    body: &Value,
    headers: &Value,
    timeout: Duration,
) -> Result<Value, String> {
    let mut headers = texts(headers)?;
    let (body, is_json) = match body {
        Value::Null => (Vec::new(), false),
        Value::String(text) => (text.clone().into_bytes(), false),
        other => (other.to_string().into_bytes(), true),
    };
    if is_json
        && !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
    {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    let request = Request {
        method: method.to_owned(),
        url: url.to_owned(),
        headers,
        body,
    };
    Ok(result(&host.send(request, timeout)?))
}

fn texts(given: &Value) -> Result<Vec<(String, String)>, String> {
    let header = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Ok((name.clone(), text.clone())),
        Value::Number(number) => Ok((name.clone(), number.to_string())),
        _ => Err(format!("`headers.{name}` must be a string")),
    };
    given
        .as_object()
        .into_iter()
        .flatten()
        .map(header)
        .collect()
}

fn result(response: &Response) -> Value {
    let mut headers = Map::new();
    for (name, value) in &response.headers {
        match headers.get_mut(name) {
            // A repeated header is one list, as HTTP says.
            Some(Value::String(before)) => before.push_str(&format!(", {value}")),
            _ => drop(headers.insert(name.clone(), Value::String(value.clone()))),
        }
    }
    json!({
        "ok": (200..300).contains(&response.status),
        "status": response.status,
        "headers": headers,
        "body": response.text(),
        "url": response.url,
        "truncated": response.truncated,
    })
}
