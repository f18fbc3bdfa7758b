//! Encodes Starlark values for the wire and as JSON, bounded in depth and size.

use super::record::RecordValue;
use serde_json::{Map, Number, Value as Json};
use starlark::values::dict::DictRef;
use starlark::values::float::StarlarkFloat;
use starlark::values::list::ListRef;
use starlark::values::structs::StructRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, UnpackValue, Value, ValueLike};
use std::fmt;
use tool_harness::MAX_DEPTH;
use tool_harness::worker::wire::{WireError, Writer};

/// Why a value cannot be encoded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EncodeError {
    what: String,
    /// The path to the offending part, such as `["a"][0]`, if one part is to blame. It is built
    /// while the error travels outwards.
    path: Option<String>,
}

impl EncodeError {
    fn whole(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            path: None,
        }
    }

    fn part(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            path: Some(String::new()),
        }
    }

    fn within(mut self, step: impl FnOnce() -> String) -> Self {
        self.path = self.path.map(|path| step() + &path);
        self
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.path {
            Some(path) if !path.is_empty() => write!(f, " (at `{}`)", shorten(path.clone())),
            _ => Ok(()),
        }
    }
}

impl From<WireError> for EncodeError {
    fn from(error: WireError) -> Self {
        Self::whole(error.to_string())
    }
}

/// Writes `value`, in at most `limit` bytes.
pub(super) fn to_wire<'v>(
    value: Value<'v>,
    heap: Heap<'v>,
    limit: u64,
    writer: &mut Writer,
) -> Result<(), EncodeError> {
    Encoder {
        heap,
        limit,
        output: writer,
    }
    .value(value, 0)
}

/// Returns `value` as JSON with its size, or an error if it takes more than `limit` bytes.
pub(super) fn to_sized_json<'v>(
    value: Value<'v>,
    heap: Heap<'v>,
    limit: u64,
) -> Result<(Json, u64), EncodeError> {
    let mut output = JsonOutput::default();
    Encoder {
        heap,
        limit,
        output: &mut output,
    }
    .value(value, 0)?;
    Ok((output.done, output.size as u64))
}

/// Returns `value` as JSON, or an error if it takes more than `limit` bytes.
pub(super) fn to_json<'v>(
    value: Value<'v>,
    heap: Heap<'v>,
    limit: u64,
) -> Result<Json, EncodeError> {
    to_sized_json(value, heap, limit).map(|(json, _)| json)
}

/// Where the encoder writes. A container starts with its length and ends with `close`.
trait EncodeTarget {
    fn null(&mut self);
    fn bool(&mut self, value: bool);
    fn int(&mut self, value: i64);
    fn big_int(&mut self, digits: String) -> Result<(), WireError>;
    fn float(&mut self, value: f64);
    fn text(&mut self, text: &str) -> Result<(), WireError>;
    fn list(&mut self, len: usize) -> Result<(), WireError>;
    fn map(&mut self, len: usize) -> Result<(), WireError>;
    fn key(&mut self, key: &str) -> Result<(), WireError>;
    fn close(&mut self);
    fn size(&self) -> usize;
}

impl EncodeTarget for Writer {
    fn null(&mut self) {
        Writer::null(self);
    }
    fn bool(&mut self, value: bool) {
        Writer::bool(self, value);
    }
    fn int(&mut self, value: i64) {
        Writer::int(self, value);
    }
    fn big_int(&mut self, digits: String) -> Result<(), WireError> {
        Writer::big_int(self, &digits)
    }
    fn float(&mut self, value: f64) {
        Writer::float(self, value);
    }
    fn text(&mut self, text: &str) -> Result<(), WireError> {
        Writer::text(self, text)
    }
    fn list(&mut self, len: usize) -> Result<(), WireError> {
        Writer::list(self, len)
    }
    fn map(&mut self, len: usize) -> Result<(), WireError> {
        Writer::map(self, len)
    }
    fn key(&mut self, key: &str) -> Result<(), WireError> {
        Writer::key(self, key)
    }
    fn close(&mut self) {}
    fn size(&self) -> usize {
        self.bytes.len()
    }
}

/// Builds a `serde_json` value.
#[derive(Default)]
struct JsonOutput {
    open: Vec<(Json, String)>,
    key: String,
    done: Json,
    size: usize,
}

impl JsonOutput {
    fn put(&mut self, value: Json, size: usize) {
        self.size += size + self.key.len() + 1;
        match self.open.last_mut() {
            Some((Json::Array(items), _)) => items.push(value),
            Some((Json::Object(map), _)) => {
                map.insert(std::mem::take(&mut self.key), value);
            }
            _ => self.done = value,
        }
    }

    fn begin(&mut self, container: Json) -> Result<(), WireError> {
        self.open.push((container, std::mem::take(&mut self.key)));
        Ok(())
    }
}

impl EncodeTarget for JsonOutput {
    fn null(&mut self) {
        self.put(Json::Null, 0);
    }
    fn bool(&mut self, value: bool) {
        self.put(Json::Bool(value), 0);
    }
    fn int(&mut self, value: i64) {
        self.put(Json::from(value), 8);
    }
    fn big_int(&mut self, digits: String) -> Result<(), WireError> {
        let size = digits.len();
        self.put(Json::Number(Number::from_string_unchecked(digits)), size);
        Ok(())
    }
    fn float(&mut self, value: f64) {
        self.put(Json::from(value), 8);
    }
    fn text(&mut self, text: &str) -> Result<(), WireError> {
        self.put(Json::String(text.to_owned()), text.len());
        Ok(())
    }
    fn list(&mut self, _: usize) -> Result<(), WireError> {
        self.begin(Json::Array(Vec::new()))
    }
    fn map(&mut self, _: usize) -> Result<(), WireError> {
        self.begin(Json::Object(Map::new()))
    }
    fn key(&mut self, key: &str) -> Result<(), WireError> {
        key.clone_into(&mut self.key);
        Ok(())
    }
    fn close(&mut self) {
        if let Some((value, key)) = self.open.pop() {
            self.key = key;
            self.put(value, 4);
        }
    }
    fn size(&self) -> usize {
        self.size
    }
}

struct Encoder<'a, 'v, O> {
    heap: Heap<'v>,
    limit: u64,
    output: &'a mut O,
}

impl<'v, O: EncodeTarget> Encoder<'_, 'v, O> {
    fn value(&mut self, value: Value<'v>, depth: usize) -> Result<(), EncodeError> {
        if depth > MAX_DEPTH {
            let what = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(EncodeError::whole(what));
        }
        self.reserve(0)?;
        if value.is_none() {
            self.output.null();
        } else if let Some(value) = value.unpack_bool() {
            self.output.bool(value);
        } else if let Some(text) = value.unpack_str() {
            self.reserve(text.len())?;
            self.output.text(text)?;
        } else if let Ok(Some(number)) = i64::unpack_value(value) {
            self.output.int(number);
        } else if let Some(&StarlarkFloat(number)) = value.downcast_ref::<StarlarkFloat>() {
            if !number.is_finite() {
                let what = format!("`{number}` is not a JSON number");
                return Err(EncodeError::part(what));
            }
            self.output.float(number);
        } else if value.get_type() == "int" {
            let digits = value.to_str();
            self.reserve(digits.len())?;
            self.output.big_int(digits)?;
        } else if let Some(record) = value.downcast_ref::<RecordValue>() {
            let plain = record.plain(self.heap);
            let plain = plain.map_err(|error| EncodeError::whole(error.to_string()))?;
            self.value(plain, depth)?;
        } else {
            self.container(value, depth)?;
        }
        Ok(())
    }

    fn container(&mut self, value: Value<'v>, depth: usize) -> Result<(), EncodeError> {
        if let Some(list) = ListRef::from_value(value) {
            self.items(list.len(), list.iter(), depth)?;
        } else if let Some(dict) = DictRef::from_value(value) {
            self.output.map(dict.len())?;
            for (key, value) in dict.iter() {
                let Some(key) = key.unpack_str() else {
                    return Err(EncodeError::part(format!(
                        "the key `{}` is not a string",
                        shorten(key.to_repr())
                    )));
                };
                self.entry(key, value, depth)?;
            }
        } else if let Some(tuple) = TupleRef::from_value(value) {
            self.items(tuple.len(), tuple.iter(), depth)?;
        } else if let Some(fields) = StructRef::from_value(value) {
            let fields: Vec<_> = fields.iter().collect();
            self.output.map(fields.len())?;
            for (key, value) in fields {
                self.entry(key.as_str(), value, depth)?;
            }
        } else if matches!(value.get_type(), "set" | "range") {
            let failed = |_| EncodeError::whole(format!("a {} cannot be read", value.get_type()));
            let len = value.length().map_err(failed)?;
            let items = value.iterate(self.heap).map_err(failed)?;
            self.items(usize::try_from(len).unwrap_or(0), items, depth)?;
        } else {
            return Err(EncodeError::part(format!(
                "a value of type `{}` is not JSON",
                value.get_type()
            )));
        }
        self.output.close();
        Ok(())
    }

    fn items(
        &mut self,
        len: usize,
        items: impl Iterator<Item = Value<'v>>,
        depth: usize,
    ) -> Result<(), EncodeError> {
        // Each item takes at least a byte, so refuse before allocating for them.
        self.reserve(len)?;
        self.output.list(len)?;
        for (index, item) in items.enumerate() {
            self.value(item, depth + 1)
                .map_err(|error| error.within(|| format!("[{index}]")))?;
        }
        Ok(())
    }

    fn entry(&mut self, key: &str, value: Value<'v>, depth: usize) -> Result<(), EncodeError> {
        self.reserve(key.len())?;
        self.output.key(key)?;
        self.value(value, depth + 1)
            .map_err(|error| error.within(|| format!("[\"{key}\"]")))
    }

    fn reserve(&self, more: usize) -> Result<(), EncodeError> {
        let size = u64::try_from(self.output.size().saturating_add(more)).unwrap_or(u64::MAX);
        if size > self.limit {
            let what = format!("larger than {} bytes", self.limit);
            return Err(EncodeError::whole(what));
        }
        Ok(())
    }
}

fn shorten(text: String) -> String {
    if text.chars().count() <= 60 {
        text
    } else {
        text.chars().take(59).chain(['…']).collect()
    }
}
