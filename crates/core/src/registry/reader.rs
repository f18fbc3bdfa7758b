//! `read_artifact`: the harness's own tool, called through the same path as every other.

use super::{Catalogue, RegisteredTool};
use crate::artifact::Tool;
use crate::artifact::tool::{Claim, DeclaredEffects, Inject, Limits};
use crate::effect::{Effects, Level};
use crate::isolate;
use crate::redact::Redactor;
use crate::span::Span;
use crate::span::Spanned;
use crate::store::blob::{BlobQuery, BlobStore, SessionBlobs};
use crate::tool::READER;
use crate::tool::{ToolError, unbound};
use serde_json::{Value, json};
use std::sync::Arc;

/// How many bytes one call shows. It stays below the bound of every result, so that the text it
/// returns is never moved to an artifact again.
const MOST: u64 = 12_000;
const TIMEOUT_MS: u64 = 10_000;
/// The argument that names the session of the handle. The harness fills it in; a model cannot send
/// it.
const SESSION: &str = "session";

const DESCRIPTION: &str = "Read what was left out of a long result. The result named its id. Give offset and length for a part, line and lines for \
                           some lines, or search for the lines that contain a text. Without any of them it starts at the beginning.";

impl Catalogue {
    /// Adds the tool that reads artifacts, if the project has tools and none with that name.
    pub(crate) fn add_reader(
        &mut self,
        store: &Arc<dyn BlobStore>,
        redactor: &Redactor,
        most: Option<u64>,
    ) {
        if self.find(READER).is_some()
            || self.find_broken(READER).is_some()
            || !self.tools.iter().any(|tool| tool.unusable.is_none())
        {
            return;
        }
        let bound = most.unwrap_or(MOST).min(MOST);
        let (store, redactor, shown) = (
            Arc::clone(store),
            redactor.clone(),
            usize::try_from(bound).unwrap_or(usize::MAX),
        );
        let body = unbound(move |arguments: Value| {
            let session = arguments
                .get(SESSION)
                .and_then(Value::as_str)
                .unwrap_or_default();
            let blobs = SessionBlobs::new(Arc::clone(&store), redactor.clone(), None, session);
            async move {
                let looked = isolate::blocking(move || read(&blobs, &arguments, shown)).await;
                looked
                    .unwrap_or_else(|| Err("the store crashed".to_owned()))
                    .map(Value::from)
                    .map_err(|why| ToolError::repairable("artifact", why))
            }
        });
        let limits = Limits {
            max_output_bytes: most,
            ..Limits::default()
        };
        self.reader = Some(Arc::new(RegisteredTool::with_body(tool(), limits, body)));
    }
}

/// The tool as an author would have written it.
fn tool() -> Tool {
    let number = |least: u64, words: &str| json!({"type": "integer", "minimum": least, "description": words});
    let mut tool = Tool::of_client("the harness", READER, Vec::new(), Vec::new());
    tool.description = DESCRIPTION.to_owned();
    tool.described = true;
    tool.frontmatter = json!({"risk": "safe"});
    tool.input_schema = json!({
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The id, as art_ and 32 digits."},
            "offset": number(0, "The first byte to read."),
            "length": number(1, "How many bytes to read; at most 12000."),
            "line": number(1, "The first line to read, counted from 1."),
            "lines": number(1, "How many lines to read; 100 unless given."),
            "search": {"type": "string", "minLength": 1, "description": "Text to look for; the answer has the lines with it, their numbers and offsets."},
        },
        "required": ["id"],
        "additionalProperties": false,
    });
    tool.schema_source = Some(Spanned {
        value: "input_schema",
        span: Span::default(),
    });
    tool.timeout_ms = TIMEOUT_MS;
    tool.declared_effects = vec![DeclaredEffects {
        spelling: "risk: safe".to_owned(),
        span: Span::default(),
        claim: Claim::Exactly(Effects::NONE),
    }];
    tool.annotations.kind = Some("read".to_owned());
    tool.annotations.level = Some(Level::None);
    tool.annotations.inline_result = true;
    tool.idempotent = true;
    tool.inject = vec![(
        SESSION.to_owned(),
        Spanned {
            value: Inject::SessionId,
            span: Span::default(),
        },
    )];
    tool
}

fn read(blobs: &SessionBlobs, arguments: &Value, most: usize) -> Result<String, String> {
    // A number too large for an offset lies past the end of the text.
    let number = |name: &str| {
        arguments
            .get(name)
            .and_then(Value::as_number)
            .map(|number| number.as_u64().unwrap_or(u64::MAX))
    };
    let id = arguments
        .get("id")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let search = arguments.get("search").and_then(Value::as_str);
    let by_line = number("line").is_some() || number("lines").is_some();
    let by_byte = number("offset").is_some() || number("length").is_some();
    let query = match (search, by_line, by_byte) {
        (Some(text), false, false) => BlobQuery::Search(text.to_owned()),
        (None, true, false) => BlobQuery::Lines {
            first: number("line").unwrap_or(1),
            count: number("lines").unwrap_or(100),
        },
        (None, false, _) => BlobQuery::Bytes {
            offset: number("offset").unwrap_or(0),
            length: number("length").unwrap_or(MOST),
        },
        _ => {
            return Err(
                "give offset and length, or line and lines, or search; not several of them"
                    .to_owned(),
            );
        }
    };
    blobs
        .excerpt(id, &query, most)
        .map_err(|error| error.to_string())
}
