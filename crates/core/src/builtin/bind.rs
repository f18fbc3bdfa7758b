//! Binds arguments to parameters. The worker binds; the harness verifies, since it does not trust a
//! worker.

use super::{Args, Builtin, Kind, Param};
use serde_json::{Map, Value};

/// Assigns positional and named arguments to parameters, fills in defaults and checks kinds.
pub fn bind(
    builtin_name: &str,
    params: &[Param],
    positional: Vec<Value>,
    named: Vec<(String, Value)>,
) -> Result<Args, String> {
    let mut slots: Vec<Option<Value>> = params.iter().map(|_| None).collect();
    let plain = params
        .iter()
        .take_while(|param| !matches!(param.kind, Kind::Rest | Kind::Named))
        .count();
    let given = positional.len();
    let mut positional = positional.into_iter();
    for (slot, value) in slots.iter_mut().take(plain).zip(&mut positional) {
        *slot = Some(value);
    }
    let rest: Vec<Value> = positional.collect();
    let has_rest = params.iter().any(|param| param.kind == Kind::Rest);
    if !rest.is_empty() && !has_rest {
        return Err(match plain {
            0 => format!("`{builtin_name}` takes no positional arguments, got {given}"),
            1 => format!("`{builtin_name}` takes 1 positional argument, got {given}"),
            _ => {
                format!("`{builtin_name}` takes at most {plain} positional arguments, got {given}")
            }
        });
    }
    let mut further = Map::new();
    let has_named = params.iter().any(|param| param.kind == Kind::Named);
    for (name, value) in named {
        match params
            .iter()
            .take(plain)
            .zip(slots.iter_mut())
            .find(|(param, _)| param.is_named(&name))
        {
            Some((_, slot @ None)) => *slot = Some(value),
            Some((_, Some(_))) => return Err(format!("`{builtin_name}` got `{name}` twice")),
            None if has_named => drop(further.insert(name, value)),
            None => return Err(unknown(builtin_name, &params[..plain], &name)),
        }
    }
    let (mut rest, mut further) = (Some(rest), Some(further));
    let mut bound = Vec::with_capacity(params.len());
    for (param, slot) in params.iter().zip(slots) {
        bound.push(match (param.kind, slot, param.default) {
            (Kind::Rest, ..) => Value::Array(rest.take().unwrap_or_default()),
            (Kind::Named, ..) => Value::Object(further.take().unwrap_or_default()),
            (_, Some(value), _) => {
                let value = whole(param, value);
                check(param, &value).map_err(|(accepted, got)| {
                    format!(
                        "`{}` of `{builtin_name}` must be {accepted}, got {got}",
                        param.name
                    )
                })?;
                value
            }
            (_, None, Some(default)) => serde_json::from_str(default).unwrap_or(Value::Null),
            (_, None, None) => return Err(format!("`{builtin_name}` needs `{}`", param.name)),
        });
    }
    Ok(Args(bound))
}

/// A whole float as the integer that a parameter wants.
fn whole(param: &Param, value: Value) -> Value {
    /// Every whole float below this is exact.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = match (param.kind, &value) {
        (Kind::Int, Value::Number(number)) if !crate::number::is_integer(number.as_str()) => {
            number.as_f64()
        }
        _ => None,
    };
    match float.filter(|float| float.fract() == 0.0 && float.abs() <= EXACT) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole and within the range"
        )]
        Some(float) => Value::from(float as i64),
        None => value,
    }
}

/// Checks the bound arguments of a worker, which may be compromised and send anything.
pub(crate) fn verify(builtin: &Builtin, args: Vec<Value>) -> Result<Args, String> {
    if args.len() != builtin.params.len() {
        return Err(format!(
            "`{}` was called with {} bound arguments instead of {}",
            builtin.name,
            args.len(),
            builtin.params.len()
        ));
    }
    for (param, value) in builtin.params.iter().zip(&args) {
        check(param, value).map_err(|(accepted, got)| {
            format!(
                "`{}` of `{}` must be {accepted}, got {got}",
                param.name, builtin.name
            )
        })?;
    }
    Ok(Args(args))
}

/// Checks the kind of a value. The error has the accepted kind and the one of the value.
fn check(param: &Param, value: &Value) -> Result<(), (&'static str, &'static str)> {
    let accepted = match param.kind {
        Kind::Any => return Ok(()),
        Kind::Text => "a string",
        Kind::Bool => "True or False",
        Kind::Int => "an integer",
        Kind::Number => "a number",
        Kind::List | Kind::Rest => "a list",
        Kind::Dict | Kind::Named => "a dict",
    };
    let fits = match (param.kind, value) {
        (Kind::Text, Value::String(_))
        | (Kind::Bool, Value::Bool(_))
        | (Kind::Number, Value::Number(_)) => true,
        (Kind::Int, Value::Number(number)) => crate::number::is_integer(number.as_str()),
        (Kind::List | Kind::Rest, Value::Array(_))
        | (Kind::Dict | Kind::Named, Value::Object(_)) => true,
        (_, Value::Null) => param.default == Some("null"),
        _ => false,
    };
    if fits {
        Ok(())
    } else {
        Err((accepted, describe(value)))
    }
}

/// The type of a value, in the words of script authors.
pub(super) fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "None",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a dict",
    }
}

fn unknown(builtin_name: &str, params: &[Param], name: &str) -> String {
    let nearest = params
        .iter()
        .map(|param| (strsim::damerau_levenshtein(param.name, name), param.name))
        .min();
    match nearest {
        Some((distance, near)) if distance <= 2 && distance < near.len() => {
            format!("`{builtin_name}` has no parameter `{name}`; did you mean `{near}`?")
        }
        Some(_) => {
            let names: Vec<String> = params
                .iter()
                .map(|param| format!("`{}`", param.name))
                .collect();
            format!(
                "`{builtin_name}` has no parameter `{name}`; it has {}",
                names.join(", ")
            )
        }
        None => format!("`{builtin_name}` has no parameter `{name}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;
    use serde_json::json;

    fn check(name: &str, positional: Value, named: Value, expected: Result<Value, &str>) {
        let (_, _, builtin) = find(name).expect("a built-in");
        let Value::Array(positional) = positional else {
            panic!("positional arguments are a list")
        };
        let Value::Object(named) = named else {
            panic!("named arguments are a dict")
        };
        let bound = bind(
            name,
            builtin.params,
            positional,
            named.into_iter().collect(),
        );
        assert_eq!(
            bound.map(|args| Value::Array(args.0)),
            expected.map_err(str::to_owned),
            "{name}"
        );
    }

    #[test]
    fn arguments_come_by_position_or_name_and_defaults_fill_the_rest() {
        check(
            "fs.read",
            json!(["a"]),
            json!({}),
            Ok(json!(["a", 1_048_576, "utf-8"])),
        );
        check(
            "fs.read",
            json!([]),
            json!({"encoding": "lossy", "path": "a"}),
            Ok(json!(["a", 1_048_576, "lossy"])),
        );
        check("print", json!([1, "b"]), json!({}), Ok(json!([[1, "b"]])));
        check(
            "log",
            json!(["m"]),
            json!({"k": 1}),
            Ok(json!(["m", [], {"k": 1}])),
        );
        check("env", json!(["A", null]), json!({}), Ok(json!(["A", null])));
        check(
            "fs.read",
            json!(["a", 10.0]),
            json!({}),
            Ok(json!(["a", 10, "utf-8"])),
        );
        check(
            "string.truncate",
            json!(["a", 1]),
            json!({"ellipsis": "…"}),
            Ok(json!(["a", 1, "…"])),
        );
    }

    #[test]
    fn a_wrong_value_is_reported_with_the_accepted_ones() {
        check(
            "fs.read",
            json!([]),
            json!({"pth": "a"}),
            Err("`fs.read` has no parameter `pth`; did you mean `path`?"),
        );
        check(
            "fs.read",
            json!([]),
            json!({"bytes": 1}),
            Err("`fs.read` has no parameter `bytes`; it has `path`, `max_bytes`, `encoding`"),
        );
        check(
            "fs.read",
            json!([]),
            json!({}),
            Err("`fs.read` needs `path`"),
        );
        check(
            "fs.read",
            json!([7]),
            json!({}),
            Err("`path` of `fs.read` must be a string, got a number"),
        );
        check(
            "fs.read",
            json!([null]),
            json!({}),
            Err("`path` of `fs.read` must be a string, got None"),
        );
        check(
            "fs.read",
            json!(["a", 1.5]),
            json!({}),
            Err("`max_bytes` of `fs.read` must be an integer, got a number"),
        );
        check(
            "fs.read",
            json!(["a"]),
            json!({"path": "b"}),
            Err("`fs.read` got `path` twice"),
        );
        check(
            "fs.exists",
            json!(["a", "b"]),
            json!({}),
            Err("`fs.exists` takes 1 positional argument, got 2"),
        );
        check(
            "allow",
            json!([1]),
            json!({}),
            Err("`allow` takes no positional arguments, got 1"),
        );
        check(
            "string.truncate",
            json!(["a", 1, "."]),
            json!({"ellipsis": "…"}),
            Err("`string.truncate` got `ellipsis` twice"),
        );
        check(
            "print",
            json!([]),
            json!({"args": 1}),
            Err("`print` has no parameter `args`"),
        );
    }

    #[test]
    fn a_worker_that_lies_about_its_arguments_is_refused() {
        let (_, _, read) = find("fs.read").expect("a built-in");
        assert!(verify(read, vec![json!("a"), json!(10), json!("utf-8")]).is_ok());
        for lie in [
            vec![],
            vec![json!("a"), json!(10)],
            vec![json!({}), json!(10), json!("utf-8")],
            vec![json!("a"), json!(1.5), json!("utf-8")],
        ] {
            assert!(verify(read, lie).is_err());
        }
    }
}
