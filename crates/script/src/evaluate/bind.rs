//! Binds the arguments of a call to the parameters of a built-in.

use super::encode::{EncodeError, to_json, to_wire};
use super::record::RecordValue;
use serde_json::{Map, Value as Json};
use starlark::eval::Arguments;
use starlark::values::dict::DictRef;
use starlark::values::float::StarlarkFloat;
use starlark::values::list::ListRef;
use starlark::values::structs::StructRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, Value, ValueLike};
use tool_harness::builtin::{Kind, Param};
use tool_harness::worker::wire::Writer;

/// The argument of one parameter.
pub(super) enum BoundArgument<'v, 'a> {
    /// A value that the script passed.
    Value(Value<'v>),
    /// The parameter's default.
    Default(&'a Json),
    /// All remaining positional arguments.
    Rest(Vec<Value<'v>>),
    /// All remaining named arguments.
    Named(Vec<(&'v str, Value<'v>)>),
}

/// The parameters of one built-in, with their defaults parsed.
pub(super) struct Signature {
    /// The full name, such as `fs.read`.
    pub(super) path: String,
    params: &'static [Param],
    defaults: Vec<Option<Json>>,
}

impl Signature {
    pub(super) fn new(path: String, params: &'static [Param]) -> Self {
        // A default that is not JSON is a mistake in the table; read it as null.
        let defaults = params
            .iter()
            .map(|param| {
                param
                    .default
                    .map(|text| serde_json::from_str(text).unwrap_or(Json::Null))
            })
            .collect();
        Self {
            path,
            params,
            defaults,
        }
    }

    pub(super) fn params(&self) -> &'static [Param] {
        self.params
    }

    /// Returns one argument for each parameter, or a message that says what would be accepted.
    pub(super) fn bind<'v>(
        &self,
        args: &Arguments<'v, '_>,
        heap: Heap<'v>,
    ) -> starlark::Result<Result<Vec<BoundArgument<'v, '_>>, String>> {
        let positions: Vec<Value<'v>> = args.positions(heap)?.collect();
        let names = args.names_map()?;
        let names = names.iter().map(|(name, value)| (name.as_str(), *value));
        Ok(self.assign(&positions, names.collect(), heap))
    }

    fn assign<'v>(
        &self,
        positions: &[Value<'v>],
        mut names: Vec<(&'v str, Value<'v>)>,
        heap: Heap<'v>,
    ) -> Result<Vec<BoundArgument<'v, '_>>, String> {
        let mut positions = positions.iter();
        let mut bound = Vec::with_capacity(self.params.len());
        for (param, default) in self.params.iter().zip(&self.defaults) {
            bound.push(match param.kind {
                Kind::Rest => BoundArgument::Rest(positions.by_ref().copied().collect()),
                Kind::Named => BoundArgument::Named(std::mem::take(&mut names)),
                _ => {
                    let named = names
                        .iter()
                        .position(|(name, _)| param.is_named(name))
                        .map(|at| names.remove(at).1);
                    match (positions.next(), named) {
                        (Some(_), Some(_)) => {
                            return Err(format!("`{}` got `{}` twice", self.path, param.name));
                        }
                        (Some(&value), None) | (None, Some(value)) => {
                            self.accept(param, whole(param, value, heap))?
                        }
                        (None, None) => match default {
                            Some(default) => BoundArgument::Default(default),
                            None => return self.reject(&format!("needs `{}`", param.name)),
                        },
                    }
                }
            });
        }
        if positions.next().is_some() {
            return self.reject("got too many arguments");
        }
        match names.first() {
            Some((name, _)) => self.reject(&format!("has no parameter `{name}`")),
            None => Ok(bound),
        }
    }

    fn accept<'v, 'a>(
        &'a self,
        param: &Param,
        value: Value<'v>,
    ) -> Result<BoundArgument<'v, 'a>, String> {
        let optional = param.default.is_some_and(|default| default == "null");
        if (value.is_none() && optional) || fits(param.kind, value) {
            return Ok(BoundArgument::Value(value));
        }
        let or_none = if optional { " or `None`" } else { "" };
        let is_float = value.downcast_ref::<StarlarkFloat>().is_some();
        if param.kind == Kind::Int && is_float {
            return Err(format!(
                "`{}` of `{}` must be a whole number{or_none}, not {value}",
                param.name, self.path
            ));
        }
        Err(format!(
            "`{}` of `{}` must be {}{or_none}, not {}",
            param.name,
            self.path,
            word(param.kind),
            value.get_type()
        ))
    }

    /// An error that says what the built-in accepts.
    fn reject<T>(&self, problem: &str) -> Result<T, String> {
        if self.params.is_empty() {
            return Err(format!("`{}` {problem}; it takes no arguments", self.path));
        }
        let names = self
            .params
            .iter()
            .map(|param| match (param.kind, param.default) {
                (Kind::Rest, _) => format!("*{}", param.name),
                (Kind::Named, _) => format!("**{}", param.name),
                (_, Some("null")) => format!("{}=None", param.name),
                (_, Some(default)) => format!("{}={default}", param.name),
                (_, None) => param.name.to_owned(),
            });
        let names = names.collect::<Vec<_>>().join(", ");
        Err(format!("`{}` {problem}; it takes `({names})`", self.path))
    }
}

impl<'v> BoundArgument<'v, '_> {
    pub(super) fn to_json(&self, heap: Heap<'v>, limit: u64) -> Result<Json, EncodeError> {
        Ok(match self {
            Self::Value(value) => to_json(*value, heap, limit)?,
            Self::Default(json) => (*json).clone(),
            Self::Rest(values) => Json::Array(
                values
                    .iter()
                    .map(|value| to_json(*value, heap, limit))
                    .collect::<Result<_, _>>()?,
            ),
            Self::Named(entries) => {
                let entries = entries
                    .iter()
                    .map(|(name, value)| Ok(((*name).to_owned(), to_json(*value, heap, limit)?)));
                Json::Object(entries.collect::<Result<Map<_, _>, EncodeError>>()?)
            }
        })
    }

    pub(super) fn to_wire(
        &self,
        heap: Heap<'v>,
        limit: u64,
        writer: &mut Writer,
    ) -> Result<(), EncodeError> {
        match self {
            Self::Value(value) => to_wire(*value, heap, limit, writer),
            Self::Default(json) => Ok(writer.value(json)?),
            Self::Rest(values) => {
                writer.list(values.len())?;
                values
                    .iter()
                    .try_for_each(|value| to_wire(*value, heap, limit, writer))
            }
            Self::Named(entries) => {
                writer.map(entries.len())?;
                entries.iter().try_for_each(|(name, value)| {
                    writer.key(name)?;
                    to_wire(*value, heap, limit, writer)
                })
            }
        }
    }
}

/// A whole float as the integer that a parameter wants.
fn whole<'v>(param: &Param, value: Value<'v>, heap: Heap<'v>) -> Value<'v> {
    /// Every whole float up to this is exact.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value.downcast_ref::<StarlarkFloat>() {
        Some(&StarlarkFloat(float))
            if param.kind == Kind::Int && float.fract() == 0.0 && float.abs() <= EXACT =>
        {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "whole and within the range"
            )]
            let integer = float as i64;
            heap.alloc(integer)
        }
        _ => value,
    }
}

fn fits(kind: Kind, value: Value<'_>) -> bool {
    match kind {
        Kind::Any | Kind::Rest | Kind::Named => true,
        Kind::Text => value.unpack_str().is_some(),
        Kind::Bool => value.unpack_bool().is_some(),
        Kind::Int => value.get_type() == "int",
        Kind::Number => {
            value.get_type() == "int" || value.downcast_ref::<StarlarkFloat>().is_some()
        }
        Kind::List => {
            ListRef::from_value(value).is_some()
                || TupleRef::from_value(value).is_some()
                || matches!(value.get_type(), "set" | "range")
        }
        Kind::Dict => {
            DictRef::from_value(value).is_some()
                || StructRef::from_value(value).is_some()
                || value.downcast_ref::<RecordValue>().is_some()
        }
    }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Any | Kind::Rest | Kind::Named => "a value",
        Kind::Text => "a string",
        Kind::Bool => "a bool",
        Kind::Int => "an int",
        Kind::Number => "a number",
        Kind::List => "a list",
        Kind::Dict => "a dict",
    }
}
