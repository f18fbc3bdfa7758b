//! Other names for the parts of a payload. The harness sends each part once, and the worker adds
//! the names.

use serde_json::{Map, Value};
use std::borrow::Cow;

/// Names that authors also use, and the part each of them stands for.
pub const SPELLINGS: [(&str, &str); 3] = [
    ("tool_name", "name"),
    ("arguments", "args"),
    ("id", "call_id"),
];

/// The name that combines a tool and its arguments.
pub const TOOL: &str = "tool";

/// The parts of [`TOOL`], and what each stands for.
pub const TOOL_PARTS: [(&str, &str); 3] =
    [("name", "name"), ("args", "args"), ("arguments", "args")];

/// Whether payloads of this event have other spellings.
#[must_use]
pub fn applies_to(event: &str) -> bool {
    matches!(event, "tool.pre" | "tool.post")
}

/// The value that hooks of such an event find under `key`.
pub(crate) fn part<'a>(payload: &'a Map<String, Value>, key: &str) -> Option<Cow<'a, Value>> {
    if let Some(value) = payload.get(key) {
        return Some(Cow::Borrowed(value));
    }
    if key == TOOL {
        let parts = TOOL_PARTS
            .iter()
            .map(|(name, of)| Some(((*name).to_owned(), payload.get(*of)?.clone())));
        return parts
            .collect::<Option<Map<_, _>>>()
            .map(|tool| Cow::Owned(tool.into()));
    }
    let (_, of) = SPELLINGS.iter().find(|(spelling, _)| *spelling == key)?;
    payload.get(*of).map(Cow::Borrowed)
}
