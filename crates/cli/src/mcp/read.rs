//! Bytes to messages. A malformed message is answered here, so that it does not end the connection.

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorCode,
    ErrorData, JsonObject, JsonRpcError, JsonRpcMessage, JsonRpcRequest, MetaObject, RequestId,
    RequestMetaObject,
};
use serde_json::Value;
use std::io::{self, BufRead};

/// A longer line is skipped.
pub(super) const MAX_LINE_BYTES: usize = 64 << 20;

/// One line of the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputLine {
    /// Without its newline.
    Whole(Vec<u8>),
    /// Longer than the maximum.
    TooLong,
}

/// What a line contains.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A message for the server.
    Message(Box<ClientJsonRpcMessage>),
    /// Something malformed, which gets this answer.
    Reply(JsonRpcError),
    /// Something that gets no answer.
    Ignored,
}

/// The next line; none at the end of the input. The last line need not end with a newline.
pub(super) fn line(input: &mut impl BufRead, max: usize) -> io::Result<Option<InputLine>> {
    let (mut line, mut too_long, mut any) = (Vec::new(), false, false);
    loop {
        let available = match input.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let is_over = available.is_empty();
        if is_over && !any {
            return Ok(None);
        }
        any = true;
        let end = available.iter().position(|&byte| byte == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        too_long = too_long || line.len() + part.len() > max;
        if too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if is_over || end.is_some() {
            return Ok(Some(match too_long {
                true => InputLine::TooLong,
                false => InputLine::Whole(line),
            }));
        }
    }
}

/// Parses a line.
pub(super) fn read(line: &InputLine) -> Incoming {
    let text = match line {
        InputLine::TooLong => {
            let text = format!("a message must not be longer than {MAX_LINE_BYTES} bytes");
            return refused(None, ErrorCode::INVALID_REQUEST, text);
        }
        InputLine::Whole(bytes) => bytes
            .strip_prefix("\u{feff}".as_bytes())
            .unwrap_or(bytes)
            .trim_ascii(),
    };
    if text.is_empty() {
        return Incoming::Ignored;
    }
    let mut message = match serde_json::from_slice(text) {
        Ok(Value::Object(message)) => message,
        Ok(Value::Array(_)) => {
            let text = "batches are not supported; send one message a line";
            return refused(None, ErrorCode::INVALID_REQUEST, text);
        }
        Ok(_) => {
            let text = "a message must be a JSON object";
            return refused(None, ErrorCode::INVALID_REQUEST, text);
        }
        Err(problem) => {
            let message = format!("this is not JSON: {problem}");
            return refused(id_in(text), ErrorCode::PARSE_ERROR, message);
        }
    };
    let id = message
        .get("id")
        .map(|id| serde_json::from_value::<RequestId>(id.clone()));
    let known_id = || id.as_ref().and_then(|id| id.as_ref().ok()).cloned();
    let invalid = |text: &str| refused(known_id(), ErrorCode::INVALID_REQUEST, text.to_owned());
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("`jsonrpc` must be \"2.0\"");
    }
    let outcome = message.contains_key("result") || message.contains_key("error");
    let method = match (message.get("method"), &id) {
        // The server sends no requests, so this answers none.
        (None, _) if outcome => return Incoming::Ignored,
        (None, _) => return invalid("`method` is missing"),
        (Some(Value::String(_)), Some(Err(_))) => {
            return invalid("`id` must be a string or an integer");
        }
        (Some(Value::String(_)), Some(Ok(_))) if outcome => {
            return invalid("a request must have neither `result` nor `error`");
        }
        (Some(Value::String(method)), _) => method.clone(),
        (Some(_), _) => return invalid("`method` must be a string"),
    };
    let Some(id) = known_id() else {
        // A notification gets no answer, even a malformed one.
        return serde_json::from_value(Value::Object(message)).map_or(Incoming::Ignored, |known| {
            Incoming::Message(Box::new(known))
        });
    };
    request(id, &method, &mut message).unwrap_or_else(|answer| Incoming::Reply(*answer))
}

/// A request whose parameters fit its method.
fn request(
    id: RequestId,
    method: &str,
    message: &mut JsonObject,
) -> Result<Incoming, Box<JsonRpcError>> {
    let unfit = |why: &str| {
        let text = format!("invalid parameters of `{method}`: {why}");
        let error = ErrorData::invalid_params(text, None);
        Box::new(JsonRpcError::new(Some(id.clone()), error))
    };
    match message.get("params") {
        None => {}
        Some(Value::Object(params)) if params.get("cursor").is_none_or(Value::is_string) => {}
        Some(Value::Object(_)) => return Err(unfit("`cursor` is not a string")),
        Some(_) => return Err(unfit("they are not an object")),
    }
    let parsed = if method == "tools/call" {
        let Some(Value::Object(params)) = message.remove("params") else {
            return Err(unfit("`name` is missing"));
        };
        let request = ClientRequest::CallToolRequest(call(params).map_err(|why| unfit(&why))?);
        JsonRpcMessage::Request(JsonRpcRequest::new(id.clone(), request))
    } else {
        serde_json::from_value(Value::Object(std::mem::take(message)))
            .map_err(|problem| unfit(&problem.to_string()))?
    };
    match &parsed {
        // If the parameters of a known method do not fit, `rmcp` parses it as a custom request.
        JsonRpcMessage::Request(request) => match &request.request {
            ClientRequest::CustomRequest(_) if METHODS.contains(&method) => {
                Err(unfit("see the protocol's schema"))
            }
            _ => Ok(Incoming::Message(Box::new(parsed))),
        },
        _ => Err(unfit("this is not a request")),
    }
}

/// Methods whose parameters `rmcp` checks.
const METHODS: [&str; 8] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "subscriptions/listen",
    "completion/complete",
    "logging/setLevel",
    "resources/read",
];

/// Parses `tools/call` directly: it is frequent, and `rmcp` would try every other request first.
fn call(mut params: JsonObject) -> Result<CallToolRequest, String> {
    let meta = match params.remove("_meta") {
        None => None,
        Some(Value::Object(meta)) => Some(RequestMetaObject(MetaObject(meta))),
        Some(_) => return Err("`_meta` is not an object".to_owned()),
    };
    let arguments = match params.remove("arguments") {
        None | Some(Value::Null) => None,
        Some(Value::Object(arguments)) => Some(arguments),
        Some(_) => return Err("`arguments` is not an object".to_owned()),
    };
    if params.contains_key("inputResponses") || params.contains_key("requestState") {
        return Err("this server never asks for input".to_owned());
    }
    let Some(Value::String(name)) = params.remove("name") else {
        return Err("`name` is not a string".to_owned());
    };
    let mut wanted = CallToolRequestParams::new(name);
    wanted.arguments = arguments;
    let mut request = CallToolRequest::new(wanted);
    request.extensions.insert(meta.unwrap_or_default());
    Ok(request)
}

/// The id of a request that is valid except for bytes that are not UTF-8, or unpaired surrogates.
fn id_in(text: &[u8]) -> Option<RequestId> {
    let text = String::from_utf8_lossy(text);
    let (mut repaired, mut rest) = (String::with_capacity(text.len()), &*text);
    let code = |rest: &str| {
        rest.strip_prefix("\\u")
            .and_then(|rest| u32::from_str_radix(rest.get(..4)?, 16).ok())
    };
    while let Some(at) = rest.find('\\') {
        repaired.push_str(&rest[..at]);
        rest = &rest[at..];
        let next = rest.get(6..).and_then(code);
        let (kept, used) = match code(rest) {
            Some(0xd800..=0xdbff) if next.is_some_and(|next| (0xdc00..=0xdfff).contains(&next)) => {
                (rest.get(..12), 12)
            }
            Some(0xd800..=0xdfff) => (Some("?"), 6),
            _ => {
                let used = rest.chars().take(2).map(char::len_utf8).sum();
                (rest.get(..used), used)
            }
        };
        repaired.push_str(kept?);
        rest = rest.get(used..)?;
    }
    let message: Value = serde_json::from_str(&(repaired + rest)).ok()?;
    serde_json::from_value(message.get("id")?.clone()).ok()
}

fn refused(id: Option<RequestId>, code: ErrorCode, message: impl Into<String>) -> Incoming {
    let error = ErrorData::new(code, message.into(), None);
    Incoming::Reply(JsonRpcError::new(id, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use std::io::BufReader;

    fn lines(bytes: &[u8], most: usize, buffer: usize) -> Vec<InputLine> {
        let mut input = BufReader::with_capacity(buffer, bytes);
        std::iter::from_fn(|| line(&mut input, most).expect("bytes in memory")).collect()
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "2\\.0|ping|tools/call|tools/list|initialize|.{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 5, |inner| {
            let key = "jsonrpc|id|method|params|name|arguments|_meta|cursor|result|error|progressToken|[a-z]{0,3}";
            let pairs = prop::collection::vec((key, inner.clone()), 0..5);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::from),
                pairs.prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn lines_are_the_same_however_the_bytes_arrive(bytes in prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..300), buffer in 1..40_usize) {
            let (most, text) = (20, &bytes);
            let mut expected: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
            if expected.last().is_some_and(|last| last.is_empty()) {
                expected.pop();
            }
            let expected: Vec<InputLine> =
                expected.into_iter().map(|line| if line.len() > most { InputLine::TooLong } else { InputLine::Whole(line.to_vec()) }).collect();
            prop_assert_eq!(lines(text, most, buffer), expected);
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for line in lines(&bytes, 100, 16) {
                read(&line);
            }
        }

        #[test]
        fn a_valid_request_keeps_its_id_and_an_invalid_one_is_answered_under_it(message in any_json(), id in any::<i32>()) {
            let mut message = message;
            if let Value::Object(parts) = &mut message {
                parts.insert("jsonrpc".into(), json!("2.0"));
                parts.insert("id".into(), json!(id));
                parts.insert("method".into(), parts.get("method").cloned().unwrap_or_else(|| json!("tools/call")));
            }
            let is_object = message.is_object();
            match read(&InputLine::Whole(message.to_string().into_bytes())) {
                Incoming::Message(message) => {
                    let JsonRpcMessage::Request(request) = *message else { panic!("not a request: {message:?}") };
                    prop_assert_eq!(request.id, RequestId::Number(id.into()));
                }
                Incoming::Reply(answer) => prop_assert_eq!(answer.id, is_object.then_some(RequestId::Number(id.into()))),
                Incoming::Ignored => prop_assert!(false, "a request got no answer: {}", message),
            }
        }

        #[test]
        fn a_call_arrives_as_it_was_sent(arguments in prop::collection::hash_map(".{0,5}", any_json(), 0..4), name in ".{0,10}", token in ".{1,5}") {
            let arguments: JsonObject = arguments.into_iter().collect();
            let sent = json!({"jsonrpc": "2.0", "id": "x", "method": "tools/call",
                "params": {"name": name, "arguments": arguments, "_meta": {"progressToken": token}}});
            let Incoming::Message(message) = read(&InputLine::Whole(sent.to_string().into_bytes())) else { panic!("refused: {sent}") };
            let JsonRpcMessage::Request(request) = *message else { panic!("not a request") };
            let ClientRequest::CallToolRequest(call) = request.request else { panic!("not a call") };
            prop_assert_eq!((&*call.params.name, call.params.arguments), (name.as_str(), Some(arguments)));
            let meta = call.extensions.get::<RequestMetaObject>().expect("its metadata");
            prop_assert_eq!(meta.get_progress_token().map(|token| token.0.into_json_value()), Some(json!(token)));
        }
    }
}
