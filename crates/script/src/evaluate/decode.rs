//! Builds Starlark values from the wire and from JSON.

use num_bigint::BigInt;
use serde_json::Value as Json;
use starlark::values::dict::AllocDict;
use starlark::values::list::AllocList;
use starlark::values::{FrozenHeap, FrozenValue, Heap, Value};
use tool_harness::is_integer;
use tool_harness::worker::wire::{Build, WireError};

/// Builds values that a script may change.
pub(super) struct HeapBuilder<'v>(pub(super) Heap<'v>);

/// Builds frozen values, which several scripts can share.
pub(super) struct FrozenBuilder<'a>(pub(super) &'a FrozenHeap);

/// The two heaps have the same methods, but no trait in common.
macro_rules! impl_build {
    ($builder:ident<$lifetime:lifetime>, $value:ty) => {
        impl<$lifetime> Build for $builder<$lifetime> {
            type Out = $value;

            fn null(&mut self) -> Self::Out {
                <$value>::new_none()
            }

            fn bool(&mut self, value: bool) -> Self::Out {
                <$value>::new_bool(value)
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
    };
}

impl_build!(HeapBuilder<'v>, Value<'v>);
impl_build!(FrozenBuilder<'a>, FrozenValue);

/// Builds a value from JSON, which pure built-ins return.
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
