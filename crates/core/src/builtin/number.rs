//! Numbers as scripts have them: integers exact, floats finite.

use crate::number::is_integer;
use serde_json::{Number, Value};
use std::cmp::Ordering;

/// A number of a script.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Num {
    Int(i128),
    Float(f64),
}

impl Num {
    /// Reads a value; `name` is for the error if it is no number or too large.
    pub(super) fn of(value: &Value, name: &str) -> Result<Self, String> {
        let Value::Number(number) = value else {
            return Err(format!(
                "`{name}` must be a number, got {}",
                super::bind::describe(value)
            ));
        };
        let text = number.as_str();
        let parsed = if is_integer(text) {
            text.parse().ok().map(Self::Int)
        } else {
            number
                .as_f64()
                .filter(|float| float.is_finite())
                .map(Self::Float)
        };
        parsed.ok_or_else(|| format!("`{name}` is too large: integers may have at most 38 digits"))
    }

    #[expect(clippy::cast_precision_loss, reason = "a float is asked for")]
    pub(super) fn float(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    pub(super) fn value(self) -> Result<Value, String> {
        let number = match self {
            Self::Int(int) => Some(Number::from_string_unchecked(int.to_string())),
            Self::Float(float) => Number::from_f64(float),
        };
        number
            .map(Value::Number)
            .ok_or_else(|| "the result is not a finite number".to_owned())
    }

    /// The sum: exact between integers.
    pub(super) fn plus(self, other: Self) -> Result<Self, String> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a
                .checked_add(b)
                .map(Self::Int)
                .ok_or_else(|| "the sum is too large".to_owned()),
            (a, b) => Ok(Self::Float(a.float() + b.float())),
        }
    }

    pub(super) fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(&b),
            (a, b) => a.float().total_cmp(&b.float()),
        }
    }

    /// A whole float as an integer.
    pub(super) fn whole(float: f64) -> Result<Self, String> {
        /// Below 2^126 every whole float is an `i128`.
        const LIMIT: f64 = 8.5e37;
        if float.abs() < LIMIT {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "whole and within the range"
            )]
            return Ok(Self::Int(float as i128));
        }
        Err("the result is too large for an integer".to_owned())
    }
}
