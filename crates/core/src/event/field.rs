//! The types that a field of an event can have.

use crate::decision::{Action, HookAction};
use crate::door::Door;
use crate::refusal::{Class, Code};
use crate::result::{ArtifactRef, Enforced};
use crate::stage::StageTimes;
use serde_json::{Map, Value, json};
use tool_harness_sandbox::process::DenialLayer;

/// A field of an event.
pub(super) trait EventField {
    /// Its JSON form; `None` if the field is left out.
    fn to_json(&self) -> Option<Value>;

    /// Shows every part that may quote what somebody wrote.
    fn visit(&mut self, _: &mut dyn FnMut(Quoted<'_>)) {}
}

/// A part of an event that may quote what somebody wrote. It is redacted and bounded before
/// anything reads it.
pub(crate) enum Quoted<'a> {
    /// A text.
    Text(&'a mut String),
    /// A value of any shape.
    Json(&'a mut Value),
}

impl EventField for String {
    fn to_json(&self) -> Option<Value> {
        Some(self.as_str().into())
    }

    fn visit(&mut self, visitor: &mut dyn FnMut(Quoted<'_>)) {
        visitor(Quoted::Text(self));
    }
}

impl EventField for Value {
    fn to_json(&self) -> Option<Value> {
        Some(self.clone())
    }

    fn visit(&mut self, visitor: &mut dyn FnMut(Quoted<'_>)) {
        visitor(Quoted::Json(self));
    }
}

impl<T: EventField> EventField for Option<T> {
    fn to_json(&self) -> Option<Value> {
        self.as_ref()?.to_json()
    }

    fn visit(&mut self, visitor: &mut dyn FnMut(Quoted<'_>)) {
        if let Some(field) = self {
            field.visit(visitor);
        }
    }
}

impl EventField for Vec<String> {
    fn to_json(&self) -> Option<Value> {
        Some(self.as_slice().into())
    }

    fn visit(&mut self, visitor: &mut dyn FnMut(Quoted<'_>)) {
        self.iter_mut().for_each(|text| visitor(Quoted::Text(text)));
    }
}

impl EventField for Vec<ArtifactRef> {
    fn to_json(&self) -> Option<Value> {
        let handle = |artifact: &ArtifactRef| json!({"id": artifact.id, "digest": artifact.digest});
        (!self.is_empty()).then(|| self.iter().map(handle).collect())
    }
}

impl EventField for Enforced {
    fn to_json(&self) -> Option<Value> {
        Some(Self::to_json(self).into())
    }
}

impl EventField for StageTimes {
    fn to_json(&self) -> Option<Value> {
        let milliseconds = self.iter().map(|(stage, time)| {
            (
                stage.word().to_owned(),
                (time.as_secs_f64() * 1e9).round() / 1e6,
            )
        });
        Some(
            milliseconds
                .map(|(word, time)| (word, time.into()))
                .collect::<Map<_, _>>()
                .into(),
        )
    }
}

/// Fields with one plain value that quotes nothing.
macro_rules! plain_fields {
    ($($type:ty => |$field:ident| $json:expr;)+) => {$(
        impl EventField for $type {
            fn to_json(&self) -> Option<Value> {
                let $field = self;
                Some(Value::from($json))
            }
        }
    )+};
}

plain_fields! {
    u32 => |number| *number;
    u64 => |number| *number;
    f64 => |number| *number;
    Vec<&'static str> => |words| words.as_slice();
    super::LogLevel => |level| level.word();
    Action => |action| action.word();
    HookAction => |action| action.word();
    Door => |door| door.word();
    Code => |code| code.text();
    Class => |class| class.text();
    DenialLayer => |layer| layer.as_str();
}
