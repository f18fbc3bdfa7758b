//! Values of built-ins that authors read in more than one way: as a dict, by fields, and matches of
//! regular expressions also as a list.

use super::builtin::{raise, script_error};
use super::decode::{HeapBuilder, from_json};
use super::encode::to_json;
use allocative::Allocative;
use serde_json::{Map, Value as Json};
use starlark::eval::{Arguments, Evaluator};
use starlark::starlark_simple_value;
use starlark::values::list::AllocList;
use starlark::values::{
    Heap, NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, UnpackValue, Value,
    ValueLike, starlark_value,
};
use std::fmt;
use std::sync::Arc;
use tool_harness::builtin::Shape;
use tool_harness::worker::protocol::MAX_FRAME;

/// The value of a built-in as its table says scripts see it.
pub(super) fn shaped<'v>(
    shape: Shape,
    value: &Json,
    heap: Heap<'v>,
) -> starlark::Result<Value<'v>> {
    match (shape, value) {
        (Shape::Record, Json::Object(fields)) => Ok(heap.alloc(RecordValue::of(fields.clone()))),
        (Shape::Match, Json::Object(found)) => Ok(heap.alloc(RecordValue::of_match(found))),
        (Shape::Matches, Json::Array(all)) => {
            let all = all.iter().filter_map(Json::as_object);
            let all = all.map(|found| heap.alloc(RecordValue::of_match(found)));
            Ok(heap.alloc(AllocList(all)))
        }
        (_, plain) => value_of(plain, heap),
    }
}

/// A value that came from the harness as its table says scripts see it.
pub(super) fn reshaped<'v>(
    shape: Shape,
    value: Value<'v>,
    heap: Heap<'v>,
) -> starlark::Result<Value<'v>> {
    if shape == Shape::Plain {
        return Ok(value);
    }
    let json =
        to_json(value, heap, MAX_FRAME as u64).map_err(|error| script_error(error.to_string()))?;
    shaped(shape, &json, heap)
}

/// A dict whose keys are also fields. A match is also the list of its texts.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(super) struct RecordValue {
    #[allocative(skip)]
    fields: Arc<Map<String, Json>>,
    /// The whole match and its groups; `None` in what is no match.
    #[allocative(skip)]
    texts: Option<Vec<Json>>,
}

starlark_simple_value!(RecordValue);

/// What a dict has after a dot, unless a field has that name.
const METHODS: [&str; 4] = ["get", "items", "keys", "values"];

impl RecordValue {
    fn of(fields: Map<String, Json>) -> Self {
        Self {
            fields: Arc::new(fields),
            texts: None,
        }
    }

    fn of_match(fields: &Map<String, Json>) -> Self {
        let groups = fields.get("groups").and_then(Json::as_array);
        let texts = fields
            .get("text")
            .into_iter()
            .chain(groups.into_iter().flatten());
        Self {
            texts: Some(texts.cloned().collect()),
            ..Self::of(fields.clone())
        }
    }

    /// The dict that JSON has in its place.
    pub(super) fn plain<'v>(&self, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        value_of(&Json::Object((*self.fields).clone()), heap)
    }

    /// What a loop over it sees.
    fn elements<'v>(&self, heap: Heap<'v>) -> starlark::Result<Vec<Value<'v>>> {
        match &self.texts {
            Some(texts) => texts.iter().map(|text| value_of(text, heap)).collect(),
            None => Ok(self
                .fields
                .keys()
                .map(|key| heap.alloc(key.as_str()))
                .collect()),
        }
    }
}

#[starlark_value(type = "record")]
impl<'v> StarlarkValue<'v> for RecordValue {
    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        let other = other.downcast_ref::<Self>();
        Ok(other.is_some_and(|other| self.fields == other.fields))
    }

    fn at(&self, index: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        if let Some(key) = index.unpack_str() {
            return match self.fields.get(key) {
                Some(value) => value_of(value, heap),
                None => raise(format!(
                    "Key `\"{key}\"` was not found; there are `{}`",
                    self.fields.keys().cloned().collect::<Vec<_>>().join("`, `")
                )),
            };
        }
        let texts = self.texts.as_deref();
        let at = i64::unpack_value(index)?
            .zip(texts)
            .and_then(|(at, texts)| {
                let at = if at < 0 {
                    at.checked_add(i64::try_from(texts.len()).ok()?)?
                } else {
                    at
                };
                texts.get(usize::try_from(at).ok()?)
            });
        match (at, texts) {
            (Some(text), _) => value_of(text, heap),
            (None, Some(texts)) => raise(format!(
                "the match has no group {index}; it has groups up to {}",
                texts.len().saturating_sub(1)
            )),
            (None, None) => raise(format!("there is no key {index}; keys are text")),
        }
    }

    fn slice(
        &self,
        start: Option<Value<'v>>,
        stop: Option<Value<'v>>,
        stride: Option<Value<'v>>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        if stride.is_some_and(|stride| !stride.is_none()) {
            return raise("a slice of a match takes no step; write `list(m)` first".to_owned());
        }
        let all = self.elements(heap)?;
        let edge = |given: Option<Value<'v>>, default: usize| {
            let given = given.map(i64::unpack_value).transpose()?.flatten();
            let length = i64::try_from(all.len()).unwrap_or(i64::MAX);
            Ok::<_, starlark::Error>(given.map_or(default, |at| {
                let at = if at < 0 {
                    at.saturating_add(length)
                } else {
                    at
                };
                usize::try_from(at.clamp(0, length)).unwrap_or(default)
            }))
        };
        let (from, to) = (edge(start, 0)?, edge(stop, all.len())?);
        let part = all.get(from..to.max(from)).unwrap_or_default();
        Ok(heap.alloc(AllocList(part.iter().copied())))
    }

    fn length(&self) -> starlark::Result<i32> {
        let length = self.texts.as_ref().map_or(self.fields.len(), Vec::len);
        Ok(i32::try_from(length).unwrap_or(i32::MAX))
    }

    fn iterate_collect(&self, heap: Heap<'v>) -> starlark::Result<Vec<Value<'v>>> {
        self.elements(heap)
    }

    fn is_in(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(other
            .unpack_str()
            .is_some_and(|key| self.fields.contains_key(key)))
    }

    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        if let Some(value) = self.fields.get(attribute) {
            return value_of(value, heap).ok();
        }
        let name = METHODS.into_iter().find(|name| *name == attribute)?;
        Some(heap.alloc(RecordMethod {
            name,
            fields: Arc::clone(&self.fields),
        }))
    }

    fn dir_attr(&self) -> Vec<String> {
        let methods = METHODS.map(str::to_owned);
        self.fields.keys().cloned().chain(methods).collect()
    }
}

impl fmt::Display for RecordValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Json::Object((*self.fields).clone()))
    }
}

/// A method of a record, bound to it.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
struct RecordMethod {
    name: &'static str,
    #[allocative(skip)]
    fields: Arc<Map<String, Json>>,
}

starlark_simple_value!(RecordMethod);

#[starlark_value(type = "function")]
impl<'v> StarlarkValue<'v> for RecordMethod {
    fn invoke(
        &self,
        _: Value<'v>,
        args: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let heap = eval.heap();
        args.no_named_args()?;
        let given: Vec<Value<'v>> = args.positions(heap)?.collect();
        let values = || self.fields.values().map(|value| value_of(value, heap));
        match (self.name, given.as_slice()) {
            ("get", [key]) => self.get(*key, Value::new_none(), heap),
            ("get", [key, default]) => self.get(*key, *default, heap),
            ("keys", []) => Ok(heap.alloc(AllocList(self.fields.keys().map(String::as_str)))),
            ("values", []) => {
                let values: Vec<_> = values().collect::<Result<_, _>>()?;
                Ok(heap.alloc(AllocList(values)))
            }
            ("items", []) => {
                let items = self.fields.keys().zip(values());
                let items = items.map(|(key, value)| Ok(heap.alloc((key.as_str(), value?))));
                let items: Vec<_> = items.collect::<starlark::Result<_>>()?;
                Ok(heap.alloc(AllocList(items)))
            }
            ("get", _) => raise("`get` takes a key and perhaps a default".to_owned()),
            (name, _) => raise(format!("`{name}` takes no arguments")),
        }
    }
}

impl RecordMethod {
    fn get<'v>(
        &self,
        key: Value<'v>,
        default: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        match key.unpack_str().and_then(|key| self.fields.get(key)) {
            Some(value) => value_of(value, heap),
            None => Ok(default),
        }
    }
}

impl fmt::Display for RecordMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<method {}>", self.name)
    }
}

fn value_of<'v>(json: &Json, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
    from_json(json, &mut HeapBuilder(heap)).or_else(|error| raise(error.to_string()))
}
