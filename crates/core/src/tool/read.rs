//! Arguments as a type. They fit the schema that was made of it, so what does not fit is a difference between the two, and the model's to mend.

use super::ToolError;
use crate::run::{Code, Refusal};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, Visitor};
use serde_json::{Error, Map, Value, json, map};

pub(super) fn read<Input: DeserializeOwned>(arguments: Map<String, Value>) -> Result<Input, ToolError> {
    let mut object = Object { entries: arguments.into_iter(), at: None, value: None };
    Input::deserialize(&mut object).map_err(|error| object.refusal(&error).into())
}

/// An object that knows which of its entries is being read.
struct Object {
    entries: map::IntoIter,
    at: Option<String>,
    value: Option<Value>,
}

impl Object {
    #[cold]
    fn refusal(&self, error: &Error) -> Refusal {
        let path = self.at.as_ref().map_or_else(String::new, |name| format!("/{}", crate::schema::escaped(name)));
        let place = if path.is_empty() { String::new() } else { format!("{path}: ") };
        Refusal::new(Code::ArgsInvalid, format!("the arguments do not fit: {place}{error}"))
            .help("the schema says less than the tool takes; send another value")
            .detail("errors", json!([{"path": path, "message": error.to_string()}]))
    }
}

impl<'de> MapAccess<'de> for &mut Object {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((name, value)) = self.entries.next() else {
            self.at = None;
            return Ok(None);
        };
        self.value = Some(value);
        seed.deserialize(self.at.insert(name).as_str().into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(self.value.take().ok_or_else(|| Error::custom("there is no value"))?)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

impl<'de> Deserializer<'de> for &mut Object {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(self, name: &'static str, names: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        MapAccessDeserializer::new(self).deserialize_enum(name, names, visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}
