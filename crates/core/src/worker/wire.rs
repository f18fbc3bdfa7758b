//! JSON values in a compact tagged binary form, for the channel between the harness and its
//! workers.
//!
//! A value is one tag byte and its content; lengths are little-endian `u32`. Decoding goes straight
//! into whatever the reader builds: `serde_json` values here, Starlark values in a worker.

use crate::depth::MAX_DEPTH;
use crate::number::is_integer;
use serde_json::{Map, Number, Value};

/// How many values lists and maps may hold in all: a value takes one byte on the wire and many
/// times that in memory.
pub(crate) const MAX_VALUES: usize = 1 << 20;

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const INT: u8 = 3;
const BIG_INT: u8 = 4;
const FLOAT: u8 = 5;
const TEXT: u8 = 6;
const LIST: u8 = 7;
const MAP: u8 = 8;

/// Why a value could not cross.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// A number that no float can hold.
    #[error("the number {0} cannot be represented")]
    Unrepresentable(String),
    /// More values than lists and maps may hold in all.
    #[error("more than {0} values in its lists and dicts")]
    TooMany(usize),
    /// Longer than a length can say.
    #[error("too large")]
    TooLarge,
    /// The bytes are not a value.
    #[error("malformed frame")]
    Malformed,
}

/// Writes values.
#[derive(Debug, Default)]
pub struct Writer {
    /// What was written so far.
    pub bytes: Vec<u8>,
    values: usize,
}

impl Writer {
    /// A writer with room for what most calls say.
    #[must_use]
    pub fn roomy() -> Self {
        Self {
            bytes: Vec::with_capacity(2 << 10),
            values: 0,
        }
    }

    /// Writes null.
    pub fn null(&mut self) {
        self.bytes.push(NULL);
    }

    /// Writes a boolean.
    pub fn bool(&mut self, value: bool) {
        self.bytes.push(if value { TRUE } else { FALSE });
    }

    /// Writes an integer.
    pub fn int(&mut self, value: i64) {
        self.bytes.push(INT);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Writes an integer of any size, as decimal text.
    pub fn big_int(&mut self, digits: &str) -> Result<(), WireError> {
        self.bytes.push(BIG_INT);
        self.raw(digits.as_bytes())
    }

    /// Writes a float.
    pub fn float(&mut self, value: f64) {
        self.bytes.push(FLOAT);
        self.bytes.extend_from_slice(&value.to_bits().to_le_bytes());
    }

    /// Writes text.
    pub fn text(&mut self, text: &str) -> Result<(), WireError> {
        self.bytes.push(TEXT);
        self.raw(text.as_bytes())
    }

    /// Starts a list of `len` values, which the caller writes next.
    pub fn list(&mut self, len: usize) -> Result<(), WireError> {
        self.bytes.push(LIST);
        self.held(len)
    }

    /// Starts a map of `len` entries: the caller writes a [`key`](Self::key) and a value for each.
    pub fn map(&mut self, len: usize) -> Result<(), WireError> {
        self.bytes.push(MAP);
        self.held(len)
    }

    /// Writes a key of a map.
    pub fn key(&mut self, key: &str) -> Result<(), WireError> {
        self.raw(key.as_bytes())
    }

    /// Writes a JSON value.
    pub fn value(&mut self, value: &Value) -> Result<(), WireError> {
        self.nested(value, 0)
    }

    /// Writes a JSON object.
    pub fn object(&mut self, object: &Map<String, Value>) -> Result<(), WireError> {
        self.entries(object, 0)
    }

    fn entries(&mut self, object: &Map<String, Value>, depth: usize) -> Result<(), WireError> {
        self.map(object.len())?;
        for (key, value) in object {
            self.key(key)?;
            self.nested(value, depth + 1)?;
        }
        Ok(())
    }

    fn nested(&mut self, value: &Value, depth: usize) -> Result<(), WireError> {
        if depth > MAX_DEPTH {
            return Err(WireError::TooDeep);
        }
        match value {
            Value::Null => self.null(),
            Value::Bool(value) => self.bool(*value),
            Value::Number(number) => self.number(number)?,
            Value::String(text) => self.text(text)?,
            Value::Array(items) => {
                self.list(items.len())?;
                for item in items {
                    self.nested(item, depth + 1)?;
                }
            }
            Value::Object(object) => self.entries(object, depth)?,
        }
        Ok(())
    }

    /// The length of a list or map, within what all of them may hold.
    fn held(&mut self, len: usize) -> Result<(), WireError> {
        self.values = self.values.saturating_add(len);
        if self.values > MAX_VALUES {
            return Err(WireError::TooMany(MAX_VALUES));
        }
        self.len(len)
    }

    fn number(&mut self, number: &Number) -> Result<(), WireError> {
        if let Some(value) = number.as_i64() {
            self.int(value);
            return Ok(());
        }
        let text = number.as_str();
        if is_integer(text) {
            return self.big_int(text);
        }
        self.float(finite(text)?);
        Ok(())
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        self.len(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn len(&mut self, len: usize) -> Result<(), WireError> {
        let len = u32::try_from(len).map_err(|_| WireError::TooLarge)?;
        self.bytes.extend_from_slice(&len.to_le_bytes());
        Ok(())
    }
}

/// Arguments share the payload of a hook with a result and with themselves as text, and all of it
/// must fit.
const SHARES: usize = 8;

/// Whether arguments could be written, also several times in one frame, without writing them.
pub fn look(value: &Value) -> Result<(), WireError> {
    look_nested(value, 0, &mut (MAX_VALUES / SHARES))
}

fn look_nested(value: &Value, depth: usize, room: &mut usize) -> Result<(), WireError> {
    if depth > MAX_DEPTH {
        return Err(WireError::TooDeep);
    }
    *room = room
        .checked_sub(1)
        .ok_or(WireError::TooMany(MAX_VALUES / SHARES))?;
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
        Value::Number(number) if is_integer(number.as_str()) => Ok(()),
        Value::Number(number) => finite(number.as_str()).map(drop),
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| look_nested(item, depth + 1, room)),
        Value::Object(object) => object
            .values()
            .try_for_each(|value| look_nested(value, depth + 1, room)),
    }
}

/// Where in a value the first part is that [`look`] refuses, as a JSON Pointer.
#[must_use]
pub(crate) fn offends(value: &Value) -> Option<String> {
    fn find(value: &Value, depth: usize, path: &mut Vec<String>) -> bool {
        if depth > MAX_DEPTH {
            return true;
        }
        let mut inside = |name: String, value: &Value| {
            path.push(crate::schema::escaped(&name));
            let found = find(value, depth + 1, path);
            if !found {
                path.pop();
            }
            found
        };
        match value {
            Value::Number(number) => {
                !is_integer(number.as_str()) && finite(number.as_str()).is_err()
            }
            Value::Array(items) => items
                .iter()
                .enumerate()
                .any(|(index, item)| inside(index.to_string(), item)),
            Value::Object(object) => object
                .iter()
                .any(|(name, value)| inside(name.clone(), value)),
            _ => false,
        }
    }
    let mut path = Vec::new();
    find(value, 0, &mut path).then(|| path.iter().map(|part| format!("/{part}")).collect())
}

fn finite(text: &str) -> Result<f64, WireError> {
    text.parse()
        .ok()
        .filter(|value: &f64| value.is_finite())
        .ok_or_else(|| WireError::Unrepresentable(shorten(text)))
}

fn shorten(text: &str) -> String {
    if text.len() <= 40 {
        text.to_owned()
    } else {
        format!("{}… ({} digits)", &text[..20], text.len())
    }
}

/// Builds values while they are decoded.
pub trait Build {
    /// What is built.
    type Out;
    /// Null.
    fn null(&mut self) -> Self::Out;
    /// A boolean.
    fn bool(&mut self, value: bool) -> Self::Out;
    /// An integer.
    fn int(&mut self, value: i64) -> Self::Out;
    /// An integer beyond 64 bits, as decimal text.
    fn big_int(&mut self, digits: &str) -> Result<Self::Out, WireError>;
    /// A finite float.
    fn float(&mut self, value: f64) -> Result<Self::Out, WireError>;
    /// Text.
    fn text(&mut self, text: &str) -> Self::Out;
    /// A list.
    fn list(&mut self, items: Vec<Self::Out>) -> Self::Out;
    /// A map, in order; keys are unique when the writer's were.
    fn map(&mut self, entries: Vec<(&str, Self::Out)>) -> Self::Out;
}

/// Builds `serde_json` values.
#[derive(Debug)]
pub struct Json;

impl Build for Json {
    type Out = Value;

    fn null(&mut self) -> Value {
        Value::Null
    }

    fn bool(&mut self, value: bool) -> Value {
        Value::Bool(value)
    }

    fn int(&mut self, value: i64) -> Value {
        Value::from(value)
    }

    fn big_int(&mut self, digits: &str) -> Result<Value, WireError> {
        let body = digits.strip_prefix('-').unwrap_or(digits);
        let canonical = !body.is_empty()
            && body.bytes().all(|byte| byte.is_ascii_digit())
            && (body == "0" || !body.starts_with('0'));
        if !canonical {
            return Err(WireError::Malformed);
        }
        Ok(Value::Number(Number::from_string_unchecked(
            digits.to_owned(),
        )))
    }

    fn float(&mut self, value: f64) -> Result<Value, WireError> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| WireError::Unrepresentable(value.to_string()))
    }

    fn text(&mut self, text: &str) -> Value {
        Value::String(text.to_owned())
    }

    fn list(&mut self, items: Vec<Value>) -> Value {
        Value::Array(items)
    }

    fn map(&mut self, entries: Vec<(&str, Value)>) -> Value {
        Value::Object(
            entries
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<Map<_, _>>(),
        )
    }
}

/// Reads values and parts of frames.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    values: usize,
}

impl<'a> Reader<'a> {
    /// Reads from these bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            values: 0,
        }
    }

    /// Whether everything was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads one value with `build`.
    pub fn value<B: Build>(&mut self, build: &mut B) -> Result<B::Out, WireError> {
        self.nested(build, 0)
    }

    /// Reads a map's entries and leaves the map to the caller.
    pub fn entries<B: Build>(
        &mut self,
        build: &mut B,
    ) -> Result<Vec<(&'a str, B::Out)>, WireError> {
        if self.byte()? == MAP {
            self.entries_within(build, 0)
        } else {
            Err(WireError::Malformed)
        }
    }

    /// Reads one value as JSON.
    pub fn json(&mut self) -> Result<Value, WireError> {
        self.value(&mut Json)
    }

    fn nested<B: Build>(&mut self, build: &mut B, depth: usize) -> Result<B::Out, WireError> {
        if depth > MAX_DEPTH {
            return Err(WireError::TooDeep);
        }
        Ok(match self.byte()? {
            NULL => build.null(),
            FALSE => build.bool(false),
            TRUE => build.bool(true),
            INT => build.int(i64::from_le_bytes(self.array()?)),
            BIG_INT => build.big_int(self.str()?)?,
            FLOAT => build.float(f64::from_bits(u64::from_le_bytes(self.array()?)))?,
            TEXT => build.text(self.str()?),
            LIST => {
                let len = self.held()?;
                let mut items = Vec::with_capacity(len.min(self.rest.len()));
                for _ in 0..len {
                    items.push(self.nested(build, depth + 1)?);
                }
                build.list(items)
            }
            MAP => {
                let entries = self.entries_within(build, depth)?;
                build.map(entries)
            }
            _ => return Err(WireError::Malformed),
        })
    }

    fn entries_within<B: Build>(
        &mut self,
        build: &mut B,
        depth: usize,
    ) -> Result<Vec<(&'a str, B::Out)>, WireError> {
        let len = self.held()?;
        let mut entries = Vec::with_capacity(len.min(self.rest.len() / 5));
        for _ in 0..len {
            let key = self.str()?;
            entries.push((key, self.nested(build, depth + 1)?));
        }
        Ok(entries)
    }

    pub(super) fn byte(&mut self) -> Result<u8, WireError> {
        let (&byte, rest) = self.rest.split_first().ok_or(WireError::Malformed)?;
        self.rest = rest;
        Ok(byte)
    }

    pub(super) fn u32(&mut self) -> Result<u32, WireError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, WireError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(super) fn str(&mut self) -> Result<&'a str, WireError> {
        let len = self.count()?;
        let (text, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or(WireError::Malformed)?;
        self.rest = rest;
        std::str::from_utf8(text).map_err(|_| WireError::Malformed)
    }

    /// The length of something that holds values. Charged before anything is reserved for it,
    /// because the length is only a claim.
    pub(super) fn held(&mut self) -> Result<usize, WireError> {
        let len = self.count()?;
        self.values = self.values.saturating_add(len);
        if self.values > MAX_VALUES {
            Err(WireError::TooMany(MAX_VALUES))
        } else {
            Ok(len)
        }
    }

    pub(super) fn count(&mut self) -> Result<usize, WireError> {
        usize::try_from(self.u32()?).map_err(|_| WireError::Malformed)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (head, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or(WireError::Malformed)?;
        self.rest = rest;
        Ok(*head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn there_and_back(text: &str) -> Value {
        let value: Value = serde_json::from_str(text).expect("JSON");
        let mut writer = Writer::default();
        writer.value(&value).expect("writes");
        Reader::new(&writer.bytes).json().expect("reads")
    }

    #[test]
    fn values_keep_order_and_exact_integers() {
        let text = r#"{"b":[1,-9223372036854775808,18446744073709551615,123456789012345678901234567890],"a":{"x":null,"y":1.5,"z":"é"}}"#;
        assert_eq!(there_and_back(text).to_string(), text);
    }

    #[test]
    fn what_no_float_can_hold_is_refused() {
        let value: Value = serde_json::from_str("[1e400]").expect("JSON");
        assert_eq!(
            Writer::default().value(&value),
            Err(WireError::Unrepresentable("1e+400".into()))
        );
        assert_eq!(
            look(&value),
            Err(WireError::Unrepresentable("1e+400".into()))
        );
    }

    #[test]
    fn more_values_than_memory_should_hold_are_refused_in_both_directions() {
        let wide = Value::Array(vec![Value::Null; MAX_VALUES + 1]);
        assert_eq!(
            Writer::default().value(&wide),
            Err(WireError::TooMany(MAX_VALUES))
        );
        let mut bytes = vec![LIST];
        bytes.extend(u32::MAX.to_le_bytes());
        bytes.push(NULL);
        assert_eq!(
            Reader::new(&bytes).json(),
            Err(WireError::TooMany(MAX_VALUES))
        );
        let arguments = |values: usize| serde_json::json!({"a": vec![Value::Null; values]});
        assert_eq!(
            look(&arguments(MAX_VALUES / SHARES)),
            Err(WireError::TooMany(MAX_VALUES / SHARES))
        );
        let fits = arguments(MAX_VALUES / SHARES - 2);
        assert_eq!(
            (look(&fits), Writer::default().value(&fits)),
            (Ok(()), Ok(()))
        );
    }

    #[test]
    fn deep_values_are_refused_in_both_directions() {
        let deep = (0..=MAX_DEPTH + 1).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        assert_eq!(
            (Writer::default().value(&deep), look(&deep)),
            (Err(WireError::TooDeep), Err(WireError::TooDeep))
        );
        let shallower = &deep[0][0];
        assert_eq!(
            (Writer::default().value(shallower), look(shallower)),
            (Ok(()), Ok(()))
        );
        let mut bytes = [LIST, 1, 0, 0, 0].repeat(MAX_DEPTH + 2);
        bytes.push(NULL);
        assert_eq!(Reader::new(&bytes).json(), Err(WireError::TooDeep));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Reader::new(&bytes).json();
        }
    }
}
