//! Values from the wire, and from JSON, into a Starlark heap.

use num_bigint::BigInt;
use serde_json::Value as Json;
use starlark::values::dict::AllocDict;
use starlark::values::list::AllocList;
use starlark::values::{FrozenHeap, FrozenValue, Heap, Value};
use tool_harness::number::is_integer;
use tool_harness::worker::wire::{Build, WireError};

/// Builds values a script may change.
pub(super) struct OnHeap<'v>(pub(super) Heap<'v>);

/// Builds values nobody may change, so that several scripts can be given the same one.
pub(super) struct Frozen<'a>(pub(super) &'a FrozenHeap);

impl<'v> Build for OnHeap<'v> {
    type Out = Value<'v>;

    fn null(&mut self) -> Self::Out {
        Value::new_none()
    }

    fn bool(&mut self, value: bool) -> Self::Out {
        Value::new_bool(value)
    }

    fn int(&mut self, value: i64) -> Self::Out {
        self.0.alloc(value)
    }

    fn big_int(&mut self, digits: &str) -> Result<Self::Out, WireError> {
        Ok(self.0.alloc(big(digits)?))
    }

    fn float(&mut self, value: f64) -> Result<Self::Out, WireError> {
        Ok(self.0.alloc(finite(value)?))
    }

    fn text(&mut self, text: &str) -> Self::Out {
        self.0.alloc(text)
    }

    fn list(&mut self, items: Vec<Self::Out>) -> Self::Out {
        self.0.alloc(AllocList(items))
    }

    fn map(&mut self, entries: Vec<(&str, Self::Out)>) -> Self::Out {
        self.0.alloc(AllocDict(entries))
    }
}

impl Build for Frozen<'_> {
    type Out = FrozenValue;

    fn null(&mut self) -> Self::Out {
        FrozenValue::new_none()
    }

    fn bool(&mut self, value: bool) -> Self::Out {
        FrozenValue::new_bool(value)
    }

    fn int(&mut self, value: i64) -> Self::Out {
        self.0.alloc(value)
    }

    fn big_int(&mut self, digits: &str) -> Result<Self::Out, WireError> {
        Ok(self.0.alloc(big(digits)?))
    }

    fn float(&mut self, value: f64) -> Result<Self::Out, WireError> {
        Ok(self.0.alloc(finite(value)?))
    }

    fn text(&mut self, text: &str) -> Self::Out {
        self.0.alloc(text)
    }

    fn list(&mut self, items: Vec<Self::Out>) -> Self::Out {
        self.0.alloc(AllocList(items))
    }

    fn map(&mut self, entries: Vec<(&str, Self::Out)>) -> Self::Out {
        self.0.alloc(AllocDict(entries))
    }
}

/// Builds a JSON value, as pure built-ins return them.
pub(super) fn from_json<B: Build>(json: &Json, build: &mut B) -> Result<B::Out, WireError> {
    Ok(match json {
        Json::Null => build.null(),
        Json::Bool(value) => build.bool(*value),
        Json::String(text) => build.text(text),
        Json::Number(number) => match number.as_i64() {
            Some(value) => build.int(value),
            None if is_integer(number.as_str()) => build.big_int(number.as_str())?,
            None => build.float(
                number
                    .as_f64()
                    .ok_or_else(|| WireError::Unrepresentable(number.to_string()))?,
            )?,
        },
        Json::Array(items) => {
            let items = items
                .iter()
                .map(|item| from_json(item, build))
                .collect::<Result<_, _>>()?;
            build.list(items)
        }
        Json::Object(map) => {
            let entries = map
                .iter()
                .map(|(key, value)| Ok((key.as_str(), from_json(value, build)?)))
                .collect::<Result<_, _>>()?;
            build.map(entries)
        }
    })
}

fn big(digits: &str) -> Result<BigInt, WireError> {
    digits.parse().map_err(|_| WireError::Malformed)
}

fn finite(value: f64) -> Result<f64, WireError> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(WireError::Unrepresentable(value.to_string()))
    }
}
