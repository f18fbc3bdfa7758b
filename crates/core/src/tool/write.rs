//! Writes a result as JSON, up to the depth that values may have. A deeper type fails before the
//! stack overflows.

use super::walk::{NO_NUMBER, can_be_dropped, no_number};
use super::{ToolError, ToolOutput};
use crate::depth::{MAX_DEPTH, too_deep};
use crate::refusal::{Code, Refusal};
use serde::ser::{Error as _, Serialize, Serializer};
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};
use serde_json::{Error, Value, json};

pub(super) fn write<Output: Serialize>(output: Output) -> Result<ToolOutput, ToolError> {
    match output.serialize(Bounded {
        inner: serde_json::value::Serializer,
        left: MAX_DEPTH,
    }) {
        Ok(Value::Null) => Ok(ToolOutput::default()),
        Ok(value) => Ok(ToolOutput::value(value)),
        Err(error) => Err(failed(output, &error)),
    }
}

#[cold]
fn failed<Output: Serialize>(output: Output, error: &Error) -> ToolError {
    let said = error.to_string();
    let invalid = |message: String| {
        Refusal::new(Code::OutputInvalid, message).help("a person must fix the tool")
    };
    let failure = if said == NO_NUMBER {
        let path = no_number(&output).unwrap_or_default();
        let place = if path.is_empty() {
            String::new()
        } else {
            format!(" at {path}")
        };
        let errors = json!([{"path": path, "message": said}]);
        invalid(format!("the result is not JSON{place}: {said}"))
            .detail("errors", errors)
            .into()
    } else if said == too_deep() {
        invalid(format!("the result is {said}")).into()
    } else {
        ToolError::fatal("result", format!("its result is not JSON: {said}"))
    };
    if !can_be_dropped(&output) {
        // A generic type cannot be dropped level by level, so leak its memory instead of
        // overflowing the stack.
        std::mem::forget(output);
    }
    failure.when_done()
}

/// A serializer that counts the levels left.
struct Bounded<S> {
    inner: S,
    left: usize,
}

/// A part of a value, to be written with the levels left.
struct Inside<'a, T: ?Sized> {
    value: &'a T,
    left: usize,
}

impl<T: Serialize + ?Sized> Serialize for Inside<'_, T> {
    fn serialize<S: Serializer>(&self, inner: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(Bounded {
            inner,
            left: self.left,
        })
    }
}

impl<S: Serializer> Bounded<S> {
    fn level<T>(self, open: impl FnOnce(S) -> Result<T, S::Error>) -> Result<Bounded<T>, S::Error> {
        let left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| S::Error::custom(too_deep()))?;
        Ok(Bounded {
            inner: open(self.inner)?,
            left,
        })
    }
}

/// Forwards plain values.
macro_rules! plain {
    ($($name:ident: $type:ty,)*) => {
        $(fn $name(self, value: $type) -> Result<S::Ok, S::Error> {
            self.inner.$name(value)
        })*
    };
}

impl<S: Serializer> Serializer for Bounded<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Bounded<S::SerializeSeq>;
    type SerializeTuple = Bounded<S::SerializeTuple>;
    type SerializeTupleStruct = Bounded<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Bounded<S::SerializeTupleVariant>;
    type SerializeMap = Bounded<S::SerializeMap>;
    type SerializeStruct = Bounded<S::SerializeStruct>;
    type SerializeStructVariant = Bounded<S::SerializeStructVariant>;

    plain! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
        serialize_char: char, serialize_str: &str, serialize_bytes: &[u8], serialize_unit_struct: &'static str,
    }

    fn serialize_f32(self, value: f32) -> Result<S::Ok, S::Error> {
        if value.is_finite() {
            self.inner.serialize_f32(value)
        } else {
            Err(S::Error::custom(NO_NUMBER))
        }
    }

    fn serialize_f64(self, value: f64) -> Result<S::Ok, S::Error> {
        if value.is_finite() {
            self.inner.serialize_f64(value)
        } else {
            Err(S::Error::custom(NO_NUMBER))
        }
    }

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_none()
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.inner.serialize_some(&Inside {
            value,
            left: self.left,
        })
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit_variant(name, index, variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.inner.serialize_newtype_struct(
            name,
            &Inside {
                value,
                left: self.left,
            },
        )
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let Bounded { inner, left } = self.level(Ok)?;
        inner.serialize_newtype_variant(name, index, variant, &Inside { value, left })
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        self.level(|inner| inner.serialize_seq(len))
    }

    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, S::Error> {
        self.level(|inner| inner.serialize_tuple(len))
    }

    fn serialize_tuple_struct(
        self,
        name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleStruct, S::Error> {
        self.level(|inner| inner.serialize_tuple_struct(name, len))
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        self.level(|inner| inner.serialize_tuple_variant(name, index, variant, len))
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        self.level(|inner| inner.serialize_map(len))
    }

    fn serialize_struct(
        self,
        name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStruct, S::Error> {
        // `serde_json` passes a number of arbitrary precision as a struct; it is not a level.
        if self.left == 0 && name.starts_with("$serde_json::private::") {
            return Ok(Bounded {
                inner: self.inner.serialize_struct(name, len)?,
                left: 0,
            });
        }
        self.level(|inner| inner.serialize_struct(name, len))
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        self.level(|inner| inner.serialize_struct_variant(name, index, variant, len))
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// Forwards the parts of a value, each with the levels left.
macro_rules! parts {
    ($($trait:ident: $part:ident($($key:ident: $type:ty)?),)*) => {
        $(impl<S: $trait> $trait for Bounded<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn $part<T: Serialize + ?Sized>(&mut self, $($key: $type,)? value: &T) -> Result<(), S::Error> {
                self.inner.$part($($key,)? &Inside { value, left: self.left })
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.inner.end()
            }
        })*
    };
}

parts! {
    SerializeSeq: serialize_element(),
    SerializeTuple: serialize_element(),
    SerializeTupleStruct: serialize_field(),
    SerializeTupleVariant: serialize_field(),
    SerializeStruct: serialize_field(key: &'static str),
    SerializeStructVariant: serialize_field(key: &'static str),
}

impl<S: SerializeMap> SerializeMap for Bounded<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        self.inner.serialize_key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        self.inner.serialize_value(&Inside {
            value,
            left: self.left,
        })
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.inner.end()
    }
}
