//! Examines a result that could not be written: finds a number that JSON cannot express, and
//! measures the depth.

use crate::schema::escaped;
use serde::ser::{Error, Serialize, Serializer};
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};
use serde_json::Value;
use std::fmt;

/// The message about a number that JSON cannot express.
pub(super) const NO_NUMBER: &str = "JSON cannot represent infinity or NaN";

/// How many levels any stack can drop.
const FEW_LEVELS: usize = 512;
/// How many values are examined: a value that shares its parts may contain too many to count.
const MOST_VALUES: usize = 100_000;

/// The place of the first such number, as a JSON Pointer.
pub(super) fn no_number<Output: Serialize>(output: &Output) -> Option<String> {
    let mut walk = Walk {
        path: Vec::new(),
        ends_at: EndsAt::Number,
    };
    match output.serialize(&mut walk) {
        Err(Stopped::NoNumber) => Some(
            walk.path
                .iter()
                .map(|part| format!("/{}", escaped(part)))
                .collect(),
        ),
        _ => None,
    }
}

/// Whether a result is shallow enough to be dropped without overflowing the stack.
pub(super) fn can_be_dropped<Output: Serialize>(output: &Output) -> bool {
    let mut walk = Walk {
        path: Vec::new(),
        ends_at: EndsAt::Depth {
            values: MOST_VALUES,
        },
    };
    !matches!(output.serialize(&mut walk), Err(Stopped::TooMuch))
}

/// Visits every value and tracks its path.
struct Walk {
    path: Vec<String>,
    ends_at: EndsAt,
}

/// What ends the walk.
enum EndsAt {
    /// A number that JSON cannot express. Depth needs no check here: a value that is too deep
    /// before it would have failed first.
    Number,
    /// A value that is too deep, or the last of this many values.
    Depth { values: usize },
}

/// Why the walk ended.
#[derive(Debug)]
enum Stopped {
    NoNumber,
    TooMuch,
    /// The type's own serialization failed.
    Other,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Stopped {}

impl Error for Stopped {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Other
    }
}

impl Walk {
    /// Visits a part. If the walk ends there, the path stays.
    fn part<T: Serialize + ?Sized>(&mut self, name: String, value: &T) -> Result<(), Stopped> {
        if let EndsAt::Depth { values } = &mut self.ends_at {
            *values = values
                .checked_sub(1)
                .filter(|_| self.path.len() < FEW_LEVELS)
                .ok_or(Stopped::TooMuch)?;
        }
        self.path.push(name);
        value.serialize(&mut *self)?;
        self.path.pop();
        Ok(())
    }

    fn number(&self, is_finite: bool) -> Result<(), Stopped> {
        if !is_finite && matches!(self.ends_at, EndsAt::Number) {
            Err(Stopped::NoNumber)
        } else {
            Ok(())
        }
    }
}

/// The parts of a value, each with an index or a name.
struct Parts<'a> {
    walk: &'a mut Walk,
    next: usize,
    key: String,
    /// Whether they are inside a variant, which is a level of its own.
    of_variant: bool,
}

impl<'a> Parts<'a> {
    fn new(walk: &'a mut Walk, variant: Option<&'static str>) -> Self {
        walk.path.extend(variant.map(str::to_owned));
        Self {
            walk,
            next: 0,
            key: String::new(),
            of_variant: variant.is_some(),
        }
    }

    fn numbered<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stopped> {
        let at = self.next.to_string();
        self.next += 1;
        self.walk.part(at, value)
    }

    fn end(self) -> Result<(), Stopped> {
        if self.of_variant {
            self.walk.path.pop();
        }
        Ok(())
    }
}

/// Skips values that JSON can express.
macro_rules! fine {
    ($($name:ident: $type:ty,)*) => {
        $(fn $name(self, _: $type) -> Result<(), Stopped> {
            Ok(())
        })*
    };
}

impl<'a> Serializer for &'a mut Walk {
    type Ok = ();
    type Error = Stopped;
    type SerializeSeq = Parts<'a>;
    type SerializeTuple = Parts<'a>;
    type SerializeTupleStruct = Parts<'a>;
    type SerializeTupleVariant = Parts<'a>;
    type SerializeMap = Parts<'a>;
    type SerializeStruct = Parts<'a>;
    type SerializeStructVariant = Parts<'a>;

    fine! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128, serialize_char: char,
        serialize_str: &str, serialize_bytes: &[u8], serialize_unit_struct: &'static str,
    }

    fn serialize_f32(self, value: f32) -> Result<(), Stopped> {
        self.number(value.is_finite())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Stopped> {
        self.number(value.is_finite())
    }

    fn serialize_none(self) -> Result<(), Stopped> {
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), Stopped> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Stopped> {
        value.serialize(self)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
    ) -> Result<(), Stopped> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Stopped> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Stopped> {
        self.part(variant.to_owned(), value)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'a>, Stopped> {
        Ok(Parts::new(self, None))
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts<'a>, Stopped> {
        Ok(Parts::new(self, None))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'a>, Stopped> {
        Ok(Parts::new(self, None))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'a>, Stopped> {
        Ok(Parts::new(self, Some(variant)))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'a>, Stopped> {
        Ok(Parts::new(self, None))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Parts<'a>, Stopped> {
        Ok(Parts::new(self, None))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'a>, Stopped> {
        Ok(Parts::new(self, Some(variant)))
    }
}

/// Visits the parts of a value.
macro_rules! parts {
    ($($trait:ident: $part:ident($($key:ident: $type:ty)?) by $look:expr,)*) => {
        $(impl $trait for Parts<'_> {
            type Ok = ();
            type Error = Stopped;

            fn $part<T: Serialize + ?Sized>(&mut self, $($key: $type,)? value: &T) -> Result<(), Stopped> {
                $look(self, $($key,)? value)
            }

            fn end(self) -> Result<(), Stopped> {
                Parts::end(self)
            }
        })*
    };
}

fn named<T: Serialize + ?Sized>(
    parts: &mut Parts<'_>,
    key: &'static str,
    value: &T,
) -> Result<(), Stopped> {
    parts.walk.part(key.to_owned(), value)
}

parts! {
    SerializeSeq: serialize_element() by Parts::numbered,
    SerializeTuple: serialize_element() by Parts::numbered,
    SerializeTupleStruct: serialize_field() by Parts::numbered,
    SerializeTupleVariant: serialize_field() by Parts::numbered,
    SerializeStruct: serialize_field(key: &'static str) by named,
    SerializeStructVariant: serialize_field(key: &'static str) by named,
}

impl SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = Stopped;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Stopped> {
        self.key = match serde_json::to_value(key) {
            Ok(Value::String(key)) => key,
            Ok(key) => key.to_string(),
            Err(_) => return Err(Stopped::Other),
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stopped> {
        let key = std::mem::take(&mut self.key);
        self.walk.part(key, value)
    }

    fn end(self) -> Result<(), Stopped> {
        Parts::end(self)
    }
}
