//! `math`: integers stay integers where the result is exact.

use super::number::Num;
use super::{Args, Body, Builtin, Example, Module, PLAIN, Param};
use serde_json::Value;
use std::cmp::Ordering;
use std::f64::consts;

const X: &[Param] = &[Param::number("x")];
const VALUES: &[Param] = &[Param::any("values"), Param::rest("more")];

pub(super) const MODULE: Module = Module {
    name: "math",
    doc: "Arithmetic. Integers stay integers where the result is exact; a result that is not a finite number raises.",
    constants: &[("pi", consts::PI), ("e", consts::E)],
    calls: &[
        Builtin {
            name: "abs",
            params: X,
            doc: "The distance from zero.",
            returns: "a number",
            body: Body::Pure(|args| match one(args)? {
                Num::Int(int) => Num::Int(int.saturating_abs()).value(),
                Num::Float(float) => Num::Float(float.abs()).value(),
            }),
            examples: &[
                Example::new("math.abs(-3)", "3"),
                Example::new("math.abs(-1.5)", "1.5"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "ceil",
            params: X,
            doc: "The smallest integer that is not below `x`.",
            returns: "an integer",
            body: Body::Pure(|args| integer(args, f64::ceil)),
            examples: &[Example::new("math.ceil(1.2)", "2")],
            ..PLAIN
        },
        Builtin {
            name: "floor",
            params: X,
            doc: "The largest integer that is not above `x`.",
            returns: "an integer",
            body: Body::Pure(|args| integer(args, f64::floor)),
            examples: &[Example::new("math.floor(-1.2)", "-2")],
            ..PLAIN
        },
        Builtin {
            name: "round",
            params: &[Param::number("x"), Param::int("digits").or("0")],
            doc: "The nearest integer, or the nearest number with `digits` decimal places (at most 15). What lies exactly between \
                two goes to the even one.",
            returns: "an integer, or a float when `digits` is more than 0",
            body: Body::Pure(round),
            examples: &[
                Example::new("math.round(2.6)", "3"),
                Example::new("math.round(3.14159, 2)", "3.14"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "sqrt",
            params: X,
            doc: "The square root.",
            returns: "a float",
            body: Body::Pure(|args| float(args, f64::sqrt)),
            examples: &[
                Example::new("math.sqrt(16)", "4.0"),
                Example::new("math.sqrt(-1)", "error: not a finite number"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "pow",
            params: &[Param::number("x"), Param::number("y")],
            doc: "`x` to the power of `y`.",
            returns: "an integer when both are integers and the result is exact, otherwise a float",
            body: Body::Pure(pow),
            examples: &[
                Example::new("math.pow(2, 64)", "18446744073709551616"),
                Example::new("math.pow(2, -1)", "0.5"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "exp",
            params: X,
            doc: "e to the power of `x`.",
            returns: "a float",
            body: Body::Pure(|args| float(args, f64::exp)),
            examples: &[Example::new("math.exp(0)", "1.0")],
            ..PLAIN
        },
        Builtin {
            name: "log",
            params: &[Param::number("x"), Param::number("base").or("null")],
            doc: "The logarithm, natural unless a `base` is given.",
            returns: "a float",
            body: Body::Pure(log),
            examples: &[
                Example::new("math.log(1000, 10)", "3.0"),
                Example::new("math.log(0)", "error: not a finite number"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "min",
            params: VALUES,
            doc: "The smallest number of a list, or of the arguments.",
            returns: "a number",
            body: Body::Pure(|args| extreme(args, Ordering::Less)),
            examples: &[
                Example::new("math.min([3, 1.5, 2])", "1.5"),
                Example::new("math.min(3, 2)", "2"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "max",
            params: VALUES,
            doc: "The largest number of a list, or of the arguments.",
            returns: "a number",
            body: Body::Pure(|args| extreme(args, Ordering::Greater)),
            examples: &[
                Example::new("math.max([3, 1.5, 2])", "3"),
                Example::new("math.max([])", "error: must not be empty"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "sum",
            params: VALUES,
            doc: "The sum of a list, or of the arguments; 0 for an empty list.",
            returns: "a number",
            body: Body::Pure(|args| {
                numbers(args)?
                    .into_iter()
                    .try_fold(Num::Int(0), Num::plus)?
                    .value()
            }),
            examples: &[
                Example::new("math.sum([1, 2, 3])", "6"),
                Example::new("math.sum([0.5, 1])", "1.5"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "sin",
            params: X,
            doc: "The sine of an angle in radians.",
            returns: "a float",
            body: Body::Pure(|args| float(args, f64::sin)),
            examples: &[Example::new("math.sin(0)", "0.0")],
            ..PLAIN
        },
        Builtin {
            name: "cos",
            params: X,
            doc: "The cosine of an angle in radians.",
            returns: "a float",
            body: Body::Pure(|args| float(args, f64::cos)),
            examples: &[Example::new("math.cos(0)", "1.0")],
            ..PLAIN
        },
        Builtin {
            name: "tan",
            params: X,
            doc: "The tangent of an angle in radians.",
            returns: "a float",
            body: Body::Pure(|args| float(args, f64::tan)),
            examples: &[Example::new("math.tan(0)", "0.0")],
            ..PLAIN
        },
        Builtin {
            name: "atan2",
            params: &[Param::number("y"), Param::number("x")],
            doc: "The angle of the point (`x`, `y`), in radians.",
            returns: "a float",
            body: Body::Pure(|args| {
                Num::Float(one(args)?.float().atan2(Num::of(args.get(1), "x")?.float())).value()
            }),
            examples: &[Example::new("math.atan2(0, 1)", "0.0")],
            ..PLAIN
        },
        Builtin {
            name: "clamp",
            params: &[
                Param::number("x"),
                Param::number("low"),
                Param::number("high"),
            ],
            doc: "`x`, but not below `low` and not above `high`.",
            returns: "a number",
            body: Body::Pure(clamp),
            examples: &[
                Example::new("math.clamp(12, 0, 10)", "10"),
                Example::new("math.clamp(1, 5, 0)", "error: `low` is above `high`"),
            ],
            ..PLAIN
        },
    ],
};

fn one(args: &Args) -> Result<Num, String> {
    Num::of(args.get(0), "x")
}

fn float(args: &Args, of: fn(f64) -> f64) -> Result<Value, String> {
    Num::Float(of(one(args)?.float())).value()
}

fn integer(args: &Args, of: fn(f64) -> f64) -> Result<Value, String> {
    match one(args)? {
        Num::Float(float) => Num::whole(of(float))?.value(),
        int => int.value(),
    }
}

fn round(args: &Args) -> Result<Value, String> {
    let digits = args.count(1, "digits", 15)?;
    match (one(args)?, digits) {
        (Num::Float(float), 0) => Num::whole(float.round_ties_even())?.value(),
        // Formatting rounds the exact binary value, which scaling by a power of ten would change
        // first.
        (Num::Float(float), _) => {
            Num::Float(format!("{float:.digits$}").parse().unwrap_or(float)).value()
        }
        (int, _) => int.value(),
    }
}

fn pow(args: &Args) -> Result<Value, String> {
    let (x, y) = (one(args)?, Num::of(args.get(1), "y")?);
    let exact = match (x, y) {
        (Num::Int(x), Num::Int(y)) => u32::try_from(y).ok().and_then(|y| x.checked_pow(y)),
        _ => None,
    };
    exact
        .map_or_else(|| Num::Float(x.float().powf(y.float())), Num::Int)
        .value()
}

fn log(args: &Args) -> Result<Value, String> {
    let x = one(args)?.float();
    let made = match args.number(1) {
        None => x.ln(),
        Some(base) if base.total_cmp(&10.0).is_eq() => x.log10(),
        Some(base) if base.total_cmp(&2.0).is_eq() => x.log2(),
        Some(base) => x.ln() / base.ln(),
    };
    Num::Float(made).value()
}

/// The items of a single list, or all arguments.
fn numbers(args: &Args) -> Result<Vec<Num>, String> {
    let more = args.list(1);
    match args.get(0) {
        Value::Array(items) if more.is_empty() => items
            .iter()
            .enumerate()
            .map(|(at, item)| Num::of(item, &format!("values[{at}]")))
            .collect(),
        first => std::iter::once(first)
            .chain(more)
            .map(|value| Num::of(value, "values"))
            .collect(),
    }
}

fn extreme(args: &Args, wanted: Ordering) -> Result<Value, String> {
    let found = numbers(args)?.into_iter().reduce(|best, next| {
        if next.compare(best) == wanted {
            next
        } else {
            best
        }
    });
    found
        .ok_or_else(|| "`values` must not be empty".to_owned())?
        .value()
}

fn clamp(args: &Args) -> Result<Value, String> {
    let (x, low, high) = (
        one(args)?,
        Num::of(args.get(1), "low")?,
        Num::of(args.get(2), "high")?,
    );
    if low.compare(high).is_gt() {
        return Err("`low` is above `high`".to_owned());
    }
    let raised = if x.compare(low).is_lt() { low } else { x };
    if raised.compare(high).is_gt() {
        high
    } else {
        raised
    }
    .value()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{call, refused};
    use serde_json::{Value, json};

    fn check(name: &str, args: Value, expected: &str) {
        assert_eq!(
            call(&format!("math.{name}"), args.clone()).to_string(),
            expected,
            "{name} {args}"
        );
    }

    #[test]
    fn integers_stay_integers_and_floats_stay_floats() {
        check(
            "abs",
            json!([-9_007_199_254_740_993_i64]),
            "9007199254740993",
        );
        check("floor", json!([7]), "7");
        check("floor", json!([1e20]), "100000000000000000000");
        check("round", json!([2.5]), "2");
        check("round", json!([3.5]), "4");
        check("round", json!([1.005, 2]), "1.0");
        check("round", json!([-0.4]), "0");
        check("pow", json!([10, 30]), "1000000000000000000000000000000");
        check("pow", json!([2.0, 3]), "8.0");
        check("sum", json!([[i64::MAX, 1]]), "9223372036854775808");
        check("sum", json!([[]]), "0");
        check(
            "max",
            json!([[1, 9_007_199_254_740_993_i64, 9_007_199_254_740_992_i64]]),
            "9007199254740993",
        );
        check("clamp", json!([5, 0, 10]), "5");
        check("log", json!([8, 2]), "3.0");
    }

    #[test]
    fn a_result_that_is_not_finite_raises() {
        for (name, args) in [
            ("log", json!([-1])),
            ("log", json!([2, 1])),
            ("exp", json!([1000])),
            ("pow", json!([10, 400])),
            ("pow", json!([0, -1])),
            ("floor", json!([1e300])),
            ("round", json!([1, 16])),
            ("min", json!([["a"]])),
            ("sum", json!(["a"])),
        ] {
            refused(&format!("math.{name}"), args);
        }
    }
}
