//! Reads arguments into a type. They already fit the schema made from that type, so a mismatch is a
//! difference between the two that the model has to work around.

use super::ToolError;
use crate::redact::{MARK, NamedFields};
use crate::refusal::{Code, Refusal};
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess,
    Visitor,
};
use serde_json::{Error, Map, Value, json, map};

pub(super) fn read<Input: DeserializeOwned>(
    arguments: Map<String, Value>,
    named: &NamedFields<'_>,
) -> Result<Input, ToolError> {
    let mut object = Object {
        entries: arguments.into_iter(),
        at: None,
        value: None,
        named,
        holds: Holds::default(),
    };
    Input::deserialize(&mut object).map_err(|error| object.refusal(&error).into())
}

/// An object that tracks which entry is being read.
struct Object<'a> {
    entries: map::IntoIter,
    at: Option<String>,
    value: Option<Value>,
    named: &'a NamedFields<'a>,
    holds: Holds,
}

/// Whether redacted fields occur in what was read: the error message quotes a value, and the value
/// is gone by then.
#[derive(Default)]
struct Holds {
    /// In the current entry.
    here: bool,
    /// In the current entry or an earlier one.
    so_far: bool,
}

impl Object<'_> {
    #[cold]
    fn refusal(&self, error: &Error) -> Refusal {
        let path = self.at.as_ref().map_or_else(String::new, |name| {
            format!("/{}", crate::schema::escaped(name))
        });
        // Problems that concern the whole object are reported after all entries were read.
        let quotes = if self.at.is_some() {
            self.holds.here
        } else {
            self.holds.so_far
        };
        let said = if quotes {
            MARK.to_owned()
        } else {
            error.to_string()
        };
        let place = if path.is_empty() {
            String::new()
        } else {
            format!("{path}: ")
        };
        Refusal::new(
            Code::ArgsInvalid,
            format!("the arguments do not fit: {place}{said}"),
        )
        .help("the schema says less than the tool takes; send another value")
        .detail("errors", json!([{"path": path, "message": said}]))
    }
}

impl<'de> MapAccess<'de> for &mut Object<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((name, value)) = self.entries.next() else {
            self.at = None;
            return Ok(None);
        };
        self.holds.here = self.named.holds(&name, &value);
        self.holds.so_far |= self.holds.here;
        self.value = Some(value);
        seed.deserialize(self.at.insert(name).as_str().into_deserializer())
            .map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(
            self.value
                .take()
                .ok_or_else(|| Error::custom("there is no value"))?,
        )
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

impl<'de> Deserializer<'de> for &mut Object<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        MapAccessDeserializer::new(self).deserialize_enum(name, names, visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::{RedactionPatterns, Redactor, SecretValues};
    use serde::Deserialize;
    use std::sync::Arc;

    #[derive(Debug)]
    struct Pin;

    impl<'de> Deserialize<'de> for Pin {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let sent = String::deserialize(deserializer)?;
            Err(D::Error::invalid_value(
                serde::de::Unexpected::Str(&sent),
                &"four digits",
            ))
        }
    }

    #[derive(Debug, Deserialize)]
    struct Login {
        #[expect(dead_code, reason = "only read")]
        password: Option<Pin>,
        #[expect(dead_code, reason = "only read")]
        name: Option<Pin>,
    }

    #[derive(Debug, Deserialize)]
    struct Sent {
        #[expect(dead_code, reason = "only read")]
        login: Option<Vec<Login>>,
        #[expect(dead_code, reason = "only read")]
        password: Option<Pin>,
        #[serde(flatten)]
        #[expect(dead_code, reason = "only read")]
        rest: Login,
    }

    #[test]
    fn what_is_wrong_with_an_argument_is_not_said_where_it_holds_a_named_field_and_which_one_it_is_is_said()
     {
        let redactor = Redactor::new(
            Arc::<SecretValues>::default(),
            RedactionPatterns::new(["password"]).expect("words"),
        );
        let refused = |sent: Value, redactor: &Redactor| {
            let Value::Object(arguments) = sent else {
                return Default::default();
            };
            let mut refusal = read::<Sent>(arguments, &redactor.named(None))
                .expect_err("refused")
                .into_refusal("x");
            let mut pass = redactor.pass(None);
            pass.refusal(&mut refusal);
            (
                format!(
                    "{} {}",
                    refusal.message,
                    Value::Object(refusal.details.clone())
                ),
                pass.count,
            )
        };
        for (sent, path) in [
            (
                json!({"login": [{"password": "hunter2"}]}),
                "/login: [redacted]",
            ),
            (
                json!({"login": [{"name": "hunter2"}, {"password": null}]}),
                "/login: [redacted]",
            ),
            (
                json!({"name": "hunter2", "more": {"Password": 1}}),
                "do not fit: [redacted]",
            ),
        ] {
            let (said, count) = refused(sent, &redactor);
            assert!(
                said.contains(path) && !said.contains("hunter2") && count == 1,
                "{said} {count}"
            );
        }
        let (said, count) = refused(json!({"login": [{"name": "me"}]}), &redactor);
        assert!(
            said.contains("/login: invalid value: string \"me\"") && count == 0,
            "{said}"
        );
        let (said, _) = refused(
            json!({"login": [{"password": "hunter2"}]}),
            &Redactor::default(),
        );
        assert!(said.contains("hunter2"), "nobody named it: {said}");
    }
}
