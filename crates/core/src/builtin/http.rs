//! `http`: requests. Known by name and effect until the network is governed.

use super::{Body, Builtin, Example, Kind, Module, PLAIN, Param};
use crate::effect::Effects;

const URL: Param = Param::required("url", Kind::Text);
const BODY: Param = Param::optional("body", Kind::Any, "null");
const HEADERS: Param = Param::optional("headers", Kind::Dict, "{}");
const TIMEOUT_SECONDS: Param = Param::optional("timeout_seconds", Kind::Number, "30");
const TIMEOUT_MS: Param = Param::optional("timeout_ms", Kind::Int, "null");

const REQUEST: Builtin = Builtin {
    name: "request",
    params: &[Param::required("method", Kind::Text), URL, BODY, HEADERS, TIMEOUT_SECONDS, TIMEOUT_MS],
    doc: "Sends a request of any method; a dict as `body` is sent as JSON. A status that is an error does not raise.",
    returns: "a dict with `ok`, `status`, `headers`, `body`, `url`",
    effects: Effects::NET_READ.and(Effects::NET_WRITE),
    body: Body::Absent("the network comes with its policy"),
    examples: &[Example::new(r#"http.request("PUT", "https://example.com/a", {"n": 1})"#, "error: not available yet")],
    ..PLAIN
};

pub(super) const MODULE: Module = Module {
    name: "http",
    doc: "Requests to the domains the network policy names.",
    constants: &[],
    calls: &[
        Builtin {
            name: "get",
            params: &[URL, HEADERS, TIMEOUT_SECONDS, TIMEOUT_MS],
            doc: "Fetches an address.",
            effects: Effects::NET_READ,
            examples: &[Example::new(r#"http.get("https://example.com")"#, "error: not available yet")],
            ..REQUEST
        },
        Builtin {
            name: "post",
            params: &[URL, BODY, HEADERS, TIMEOUT_SECONDS, TIMEOUT_MS],
            doc: "Posts a body to an address; a dict is sent as JSON.",
            examples: &[Example::new(r#"http.post("https://example.com", {"n": 1})"#, "error: not available yet")],
            ..REQUEST
        },
        REQUEST,
    ],
};
