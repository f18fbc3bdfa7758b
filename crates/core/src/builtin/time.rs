//! `time`: the clock, in UTC.

use super::{Args, Body, Builtin, Example, Module, PLAIN, Param};
use jiff::civil::{Date, DateTime};
use jiff::fmt::{rfc2822, strtime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Unit};
use serde_json::{Value, json};

/// Bytes of a layout.
const MAX_LAYOUT: usize = 1024;

pub(super) const MODULE: Module = Module {
    name: "time",
    doc: "The clock and dates, in UTC. `sleep(seconds)` is a global.",
    constants: &[],
    calls: &[
        Builtin {
            name: "now",
            doc: "The current time as RFC 3339 text in UTC, to the millisecond.",
            returns: "text such as `2026-01-31T12:00:00.250Z`",
            body: Body::Pure(|_| Ok(json!(format!("{:.3}", now())))),
            examples: &[Example::new("len(time.now())", "24")],
            ..PLAIN
        },
        Builtin {
            name: "unix",
            doc: "Whole seconds since 1970.",
            returns: "an integer",
            body: Body::Pure(|_| Ok(json!(Timestamp::now().as_second()))),
            examples: &[Example::new("time.unix() > 1700000000", "true")],
            ..PLAIN
        },
        Builtin {
            name: "unix_ms",
            doc: "Whole milliseconds since 1970.",
            returns: "an integer",
            body: Body::Pure(|_| Ok(json!(Timestamp::now().as_millisecond()))),
            examples: &[Example::new("time.unix_ms() > 1700000000000", "true")],
            ..PLAIN
        },
        Builtin {
            name: "format",
            params: &[
                Param::number("unix"),
                Param::text("layout").or(r#""%Y-%m-%dT%H:%M:%SZ""#),
            ],
            doc: "Seconds since 1970 as text in UTC, in a layout with `%Y`, `%m`, `%d`, `%H`, `%M`, `%S`, `%b`, `%a` and the like.",
            returns: "a string",
            body: Body::Pure(format_unix),
            examples: &[
                Example::new("time.format(0)", r#""1970-01-01T00:00:00Z""#),
                Example::new(r#"time.format(86400, "%d %b %Y")"#, r#""02 Jan 1970""#),
            ],
            ..PLAIN
        },
        Builtin {
            name: "parse",
            params: &[Param::text("text"), Param::text("layout").or("null")],
            doc: "A date or time as seconds since 1970: RFC 3339, RFC 2822, `2026-01-31` or `2026-01-31 12:00:00`, or in a `layout` \
                as `time.format` takes. Without an offset it is UTC.",
            returns: "an integer, or a float when there is a fraction of a second",
            body: Body::Pure(parse),
            examples: &[
                Example::new(r#"time.parse("1970-01-02T00:00:00Z")"#, "86400"),
                Example::new(r#"time.parse("02/01/1970", "%d/%m/%Y")"#, "86400"),
                Example::new(
                    r#"time.parse("soon")"#,
                    "error: `soon` is not a date or time",
                ),
            ],
            ..PLAIN
        },
    ],
};

/// Now, to the millisecond: shown digits must not round up into the future.
fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

fn bounded(layout: &str) -> Result<&str, String> {
    match layout.len() {
        ..=MAX_LAYOUT => Ok(layout),
        bytes => Err(format!(
            "`layout` has {bytes} bytes, at most {MAX_LAYOUT} are accepted"
        )),
    }
}

fn format_unix(args: &Args) -> Result<Value, String> {
    let layout = bounded(args.text(1))?;
    let time = match args.int(0) {
        Some(seconds) => Timestamp::from_second(seconds).ok(),
        None => args.number(0).and_then(from_seconds),
    };
    let time = time.ok_or_else(|| {
        format!(
            "`unix` must be a time up to the year 9999, got {}",
            args.get(0)
        )
    })?;
    strtime::format(layout, time)
        .map(Value::String)
        .map_err(|error| format!("`layout` is invalid: {error}"))
}

fn from_seconds(seconds: f64) -> Option<Timestamp> {
    let whole = seconds.floor();
    let nanos = ((seconds - whole) * 1e9).min(999_999_999.0);
    if whole.abs() > 1e12 {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "both are whole and within range"
    )]
    Timestamp::new(whole as i64, nanos as i32).ok()
}

fn parse(args: &Args) -> Result<Value, String> {
    let text = args.text(0).trim();
    let utc = |time: DateTime| TimeZone::UTC.to_timestamp(time).ok();
    let time = match args.given_text(1) {
        Some(layout) => {
            let parts = strtime::parse(bounded(layout)?, text)
                .map_err(|error| format!("`{text}` does not fit `layout`: {error}"))?;
            let date = || {
                parts
                    .to_datetime()
                    .ok()
                    .or_else(|| parts.to_date().ok().map(|date| date.at(0, 0, 0, 0)))
            };
            parts.to_timestamp().ok().or_else(|| date().and_then(utc))
        }
        None => text
            .parse::<Timestamp>()
            .ok()
            .or_else(|| text.parse::<DateTime>().ok().and_then(utc))
            .or_else(|| {
                text.parse::<Date>()
                    .ok()
                    .and_then(|date| utc(date.at(0, 0, 0, 0)))
            })
            .or_else(|| rfc2822::parse(text).ok().map(|time| time.timestamp())),
    };
    let time = time.ok_or_else(|| format!("`{text}` is not a date or time"))?;
    let time = time.round(Unit::Microsecond).unwrap_or(time);
    if time.subsec_nanosecond() == 0 {
        return Ok(json!(time.as_second()));
    }
    Ok(json!(time.as_duration().as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{call, refused};
    use serde_json::{Value, json};

    fn check(args: Value, expected: Value) {
        assert_eq!(call("time.parse", args.clone()), expected, "{args}");
    }

    #[test]
    fn dates_are_read_in_the_forms_people_write() {
        check(json!(["1970-01-01T01:00:00+01:00"]), json!(0));
        check(json!(["1970-01-01T00:00:01.5Z"]), json!(1.5));
        check(json!(["1970-01-02 00:00:00"]), json!(86_400));
        check(json!(["1970-01-02"]), json!(86_400));
        check(json!(["Fri, 02 Jan 1970 00:00:00 GMT"]), json!(86_400));
        check(json!(["1969-12-31T23:59:59Z"]), json!(-1));
        check(
            json!(["02 Jan 1970 06:30", "%d %b %Y %H:%M"]),
            json!(109_800),
        );
        check(
            json!(["1970-01-01 01:00 +0100", "%Y-%m-%d %H:%M %z"]),
            json!(0),
        );
    }

    #[test]
    fn formats_go_both_ways_and_nonsense_is_refused() {
        assert_eq!(call("time.format", json!([1.5, "%S %3f"])), json!("01 500"));
        assert_eq!(
            call("time.format", json!([-1])),
            json!("1969-12-31T23:59:59Z")
        );
        let now = call("time.now", json!([]));
        assert!(
            (call("time.unix", json!([])).as_i64().expect("seconds")
                - call("time.parse", json!([now])).as_f64().expect("seconds") as i64)
                .abs()
                <= 2
        );
        refused("time.format", json!([1e300]));
        refused("time.format", json!([i64::MAX]));
        refused("time.format", json!([0, "%"]));
        refused("time.format", json!([0, "x".repeat(2000)]));
        refused("time.parse", json!(["2026-02-30"]));
        refused("time.parse", json!(["x", "%Y"]));
    }
}
