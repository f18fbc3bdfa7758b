//! `string`: text by characters.

use super::bound::{Bounded, fits};
use super::number::Num;
use super::{Args, Body, Builtin, Example, Module, PLAIN, Param, fs, re};
use serde_json::{Value, json};

const S: Param = Param::text("s");
const PAD: &[Param] = &[
    S,
    Param::int("width"),
    Param::text("fill").or("\" \"").also(&["char"]),
];

pub(super) const MODULE: Module = Module {
    name: "string",
    doc: "Text, counted in characters.",
    constants: &[],
    calls: &[
        Builtin {
            name: "truncate",
            params: &[
                S,
                Param::int("n"),
                Param::text("marker").or("\"\"").also(&["ellipsis"]),
            ],
            doc: "At most `n` characters of a text. When something was cut, the last of them are `marker`.",
            returns: "a string",
            body: Body::Pure(truncate),
            examples: &[
                Example::new(r#"string.truncate("héllo", 2)"#, r#""hé""#),
                Example::new(
                    r#"string.truncate("hello world", 8, marker="...")"#,
                    r#""hello...""#,
                ),
                Example::new(r#"string.truncate("hi", 8, marker="...")"#, r#""hi""#),
            ],
            ..PLAIN
        },
        Builtin {
            name: "trim",
            params: &[S, Param::text("chars").or("null")],
            doc: "Without white space, or without any of `chars`, at both ends.",
            returns: "a string",
            body: Body::Pure(trim),
            examples: &[
                Example::new(r#"string.trim("  a b ")"#, r#""a b""#),
                Example::new(r#"string.trim("--a-", chars="-")"#, r#""a""#),
            ],
            ..PLAIN
        },
        Builtin {
            name: "trim_prefix",
            params: &[S, Param::text("prefix")],
            doc: "Without `prefix`, when the text starts with it.",
            returns: "a string",
            body: Body::Pure(|args| {
                Ok(json!(
                    args.text(0)
                        .strip_prefix(args.text(1))
                        .unwrap_or(args.text(0))
                ))
            }),
            examples: &[Example::new(
                r#"string.trim_prefix("v1.2", "v")"#,
                r#""1.2""#,
            )],
            ..PLAIN
        },
        Builtin {
            name: "trim_suffix",
            params: &[S, Param::text("suffix")],
            doc: "Without `suffix`, when the text ends with it.",
            returns: "a string",
            body: Body::Pure(|args| {
                Ok(json!(
                    args.text(0)
                        .strip_suffix(args.text(1))
                        .unwrap_or(args.text(0))
                ))
            }),
            examples: &[Example::new(
                r#"string.trim_suffix("a.md", ".md")"#,
                r#""a""#,
            )],
            ..PLAIN
        },
        Builtin {
            name: "contains",
            params: &[S, Param::text("part")],
            doc: "Whether `part` occurs in the text.",
            returns: "True or False",
            body: Body::Pure(|args| Ok(json!(args.text(0).contains(args.text(1))))),
            examples: &[Example::new(r#"string.contains("harness", "rn")"#, "true")],
            ..PLAIN
        },
        Builtin {
            name: "contains_any",
            params: &[S, Param::list("parts")],
            doc: "Whether any of `parts` occurs in the text, found in one pass over it.",
            returns: "True or False",
            body: Body::Pure(contains_any),
            examples: &[
                Example::new(
                    r#"string.contains_any("rm -rf /", ["sudo", "rm -rf"])"#,
                    "true",
                ),
                Example::new(r#"string.contains_any("ls", ["sudo", "rm -rf"])"#, "false"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "starts_with",
            params: &[S, Param::text("prefix")],
            doc: "Whether the text starts with `prefix`.",
            returns: "True or False",
            body: Body::Pure(|args| Ok(json!(args.text(0).starts_with(args.text(1))))),
            examples: &[Example::new(
                r#"string.starts_with("harness", "har")"#,
                "true",
            )],
            ..PLAIN
        },
        Builtin {
            name: "ends_with",
            params: &[S, Param::text("suffix")],
            doc: "Whether the text ends with `suffix`.",
            returns: "True or False",
            body: Body::Pure(|args| Ok(json!(args.text(0).ends_with(args.text(1))))),
            examples: &[Example::new(r#"string.ends_with("a.md", ".md")"#, "true")],
            ..PLAIN
        },
        Builtin {
            name: "lower",
            params: &[S],
            doc: "In lower case.",
            returns: "a string",
            body: Body::Pure(|args| Ok(json!(args.text(0).to_lowercase()))),
            examples: &[Example::new(r#"string.lower("ÄB")"#, r#""äb""#)],
            ..PLAIN
        },
        Builtin {
            name: "upper",
            params: &[S],
            doc: "In upper case.",
            returns: "a string",
            body: Body::Pure(|args| Ok(json!(args.text(0).to_uppercase()))),
            examples: &[Example::new(r#"string.upper("äb")"#, r#""ÄB""#)],
            ..PLAIN
        },
        Builtin {
            name: "replace",
            params: &[
                S,
                Param::text("old"),
                Param::text("new"),
                Param::int("count").or("0"),
            ],
            doc: "With every `old` replaced by `new`, or the first `count` of them.",
            returns: "a string",
            body: Body::Pure(replace),
            examples: &[
                Example::new(r#"string.replace("a-b-c", "-", "+")"#, r#""a+b+c""#),
                Example::new(
                    r#"string.replace("a-b-c", "-", "+", count=1)"#,
                    r#""a+b-c""#,
                ),
            ],
            ..PLAIN
        },
        Builtin {
            name: "split",
            params: &[S, Param::text("sep").or("null"), Param::int("max").or("0")],
            doc: "The pieces between each `sep`, or between runs of white space when there is none; with `max`, at most that many \
                splits.",
            returns: "a list of strings",
            body: Body::Pure(split),
            examples: &[
                Example::new(r#"string.split("a,b,,c", ",")"#, r#"["a", "b", "", "c"]"#),
                Example::new(r#"string.split("  a  b ")"#, r#"["a", "b"]"#),
                Example::new(r#"string.split("k=v=w", "=", max=1)"#, r#"["k", "v=w"]"#),
            ],
            ..PLAIN
        },
        Builtin {
            name: "join",
            params: &[
                Param::list("items").also(&["parts"]),
                Param::text("sep").or("\"\""),
            ],
            doc: "The texts of a list, one after the other, with `sep` between them.",
            returns: "a string",
            body: Body::Pure(|args| join(&args.texts(0, "items")?, args.text(1))),
            examples: &[
                Example::new(r#"string.join(["a", "b"], ", ")"#, r#""a, b""#),
                Example::new(
                    r#"string.join(["a", 1])"#,
                    "error: item 1 of `items` must be a string",
                ),
            ],
            ..PLAIN
        },
        Builtin {
            name: "lines",
            params: &[S],
            doc: "The lines of a text, without their ends.",
            returns: "a list of strings",
            body: Body::Pure(|args| Ok(args.text(0).lines().collect())),
            examples: &[Example::new(r#"string.lines("a\r\nb\n")"#, r#"["a", "b"]"#)],
            ..PLAIN
        },
        Builtin {
            name: "repeat",
            params: &[S, Param::int("n")],
            doc: "The text `n` times.",
            returns: "a string",
            body: Body::Pure(repeat),
            examples: &[
                Example::new(r#"string.repeat("ab", 2)"#, r#""abab""#),
                Example::new(
                    r#"string.repeat("ab", 1000000000)"#,
                    "error: larger than 64 MiB",
                ),
            ],
            ..PLAIN
        },
        Builtin {
            name: "pad_left",
            params: PAD,
            doc: "Filled up to `width` characters on the left.",
            returns: "a string",
            body: Body::Pure(|args| Ok(json!(padding(args)? + args.text(0)))),
            examples: &[Example::new(r#"string.pad_left("7", 3, "0")"#, r#""007""#)],
            ..PLAIN
        },
        Builtin {
            name: "pad_right",
            params: PAD,
            doc: "Filled up to `width` characters on the right.",
            returns: "a string",
            body: Body::Pure(|args| Ok(json!(args.text(0).to_owned() + &padding(args)?))),
            examples: &[Example::new(r#"string.pad_right("ab", 4)"#, r#""ab  ""#)],
            ..PLAIN
        },
        Builtin {
            name: "format_number",
            params: &[
                Param::number("x"),
                Param::int("digits").or("2"),
                Param::text("thousands").or("\"\""),
            ],
            doc: "A number with that many digits after the point, rounded to the nearest; `thousands` is put between groups of three \
                digits. Starlark's `%` and `format` take no precision.",
            returns: "a string",
            body: Body::Pure(format_number),
            examples: &[
                Example::new("string.format_number(3.14159)", r#""3.14""#),
                Example::new("string.format_number(2, 1)", r#""2.0""#),
                Example::new(
                    r#"string.format_number(-1234567.5, digits=0, thousands=",")"#,
                    r#""-1,234,568""#,
                ),
            ],
            ..PLAIN
        },
        Builtin {
            name: "slug",
            params: &[S],
            doc: "Letters and digits in lower case, everything between them as one `-`.",
            returns: "a string",
            body: Body::Pure(slug),
            examples: &[Example::new(
                r#"string.slug("  Hello, World! ")"#,
                r#""hello-world""#,
            )],
            ..PLAIN
        },
        Builtin {
            name: "dedent",
            params: &[S],
            doc: "Without the white space that every line that is not blank starts with; blank lines become empty.",
            returns: "a string",
            body: Body::Pure(dedent),
            examples: &[Example::new(
                r#"string.dedent("  a\n    b\n")"#,
                r#""a\n  b\n""#,
            )],
            ..PLAIN
        },
        Builtin {
            name: "indent",
            params: &[S, Param::text("prefix").or("\"    \"")],
            doc: "With `prefix` before every line that is not blank.",
            returns: "a string",
            body: Body::Pure(indent),
            examples: &[Example::new(
                r#"string.indent("a\n\nb", "> ")"#,
                r#""> a\n\n> b""#,
            )],
            ..PLAIN
        },
        Builtin {
            name: "diff",
            params: &[Param::text("a"), Param::text("b")],
            doc: "A unified diff that turns one text into another, line by line; empty when they are equal. `fs.diff` compares files.",
            returns: "a string",
            body: Body::Pure(|args| {
                Ok(json!(fs::diff::unified(
                    ("a", args.text(0)),
                    ("b", args.text(1))
                )))
            }),
            examples: &[Example::new(
                r#"string.diff("x\ny\n", "x\nz\n")"#,
                r#""--- a\n+++ b\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n""#,
            )],
            ..PLAIN
        },
    ],
};

fn truncate(args: &Args) -> Result<Value, String> {
    let (text, max) = (args.text(0), args.count(1, "n", usize::MAX)?);
    let head = |text: &'_ str, count: usize| {
        text.char_indices()
            .nth(count)
            .map_or(text.len(), |(end, _)| end)
    };
    if head(text, max) == text.len() {
        return Ok(json!(text));
    }
    let marker = &args.text(2)[..head(args.text(2), max)];
    let kept = &text[..head(text, max - marker.chars().count())];
    Ok(json!(format!("{kept}{marker}")))
}

fn format_number(args: &Args) -> Result<Value, String> {
    let digits = args.count(1, "digits", 30)?;
    let text = match Num::of(args.get(0), "x")? {
        Num::Int(int) if digits == 0 => int.to_string(),
        Num::Int(int) => format!("{int}.{}", "0".repeat(digits)),
        Num::Float(float) => format!("{float:.digits$}"),
    };
    let is_zero = text.bytes().all(|byte| matches!(byte, b'-' | b'.' | b'0'));
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) if is_zero => ("", rest),
        Some(rest) => ("-", rest),
        None => ("", text.as_str()),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut made = Bounded::default();
    made.push(sign)?;
    for (at, digit) in whole.char_indices() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            made.push(args.text(2))?;
        }
        made.push(digit.encode_utf8(&mut [0; 4]))?;
    }
    if !fraction.is_empty() {
        made.push(".")?;
        made.push(fraction)?;
    }
    Ok(json!(made.into_text()))
}

fn trim(args: &Args) -> Result<Value, String> {
    let text = args.text(0);
    Ok(json!(match args.given_text(1) {
        None => text.trim(),
        Some(chars) => text.trim_matches(|char| chars.contains(char)),
    }))
}

fn contains_any(args: &Args) -> Result<Value, String> {
    /// For fewer needles, separate searches are quicker than one compiled pattern.
    const FEW: usize = 4;
    let (text, parts) = (args.text(0), args.texts(1, "parts")?);
    let each_in_turn = || parts.iter().any(|part| text.contains(part));
    if parts.len() <= FEW {
        return Ok(json!(each_in_turn()));
    }
    let pattern = parts
        .iter()
        .map(|part| regex::escape(part))
        .collect::<Vec<_>>()
        .join("|");
    Ok(json!(re::compile_any_length(&pattern).map_or_else(
        |_| each_in_turn(),
        |regex| regex.is_match(text)
    )))
}

fn replace(args: &Args) -> Result<Value, String> {
    let (text, old, new) = (args.text(0), args.text(1), args.text(2));
    if old.is_empty() {
        return Err("`old` must not be empty".to_owned());
    }
    let count = match args.count(3, "count", usize::MAX)? {
        0 => usize::MAX,
        count => count,
    };
    let mut made = Bounded::default();
    let mut copied = 0;
    for (at, _) in text.match_indices(old).take(count) {
        made.push(&text[copied..at])?;
        made.push(new)?;
        copied = at + old.len();
    }
    made.push(&text[copied..])?;
    Ok(json!(made.into_text()))
}

fn split(args: &Args) -> Result<Value, String> {
    let text = args.text(0);
    let max = args.count(2, "max", usize::MAX - 1)?;
    Ok(match (args.given_text(1), max) {
        (Some(""), _) => {
            return Err("`sep` must not be empty; leave it out to split at white space".to_owned());
        }
        (Some(sep), 0) => text.split(sep).collect(),
        (Some(sep), max) => text.splitn(max + 1, sep).collect(),
        (None, 0) => text.split_whitespace().collect(),
        (None, max) => {
            let mut rest = text.trim_start();
            let mut pieces = Vec::new();
            while pieces.len() < max
                && let Some((piece, after)) = rest.split_once(char::is_whitespace)
            {
                pieces.push(piece);
                rest = after.trim_start();
            }
            pieces.extend(Some(rest.trim_end()).filter(|rest| !rest.is_empty()));
            pieces.into_iter().collect()
        }
    })
}

fn join(items: &[&str], sep: &str) -> Result<Value, String> {
    let mut made = Bounded::default();
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            made.push(sep)?;
        }
        made.push(item)?;
    }
    Ok(json!(made.into_text()))
}

fn repeat(args: &Args) -> Result<Value, String> {
    let times = args.count(1, "n", usize::MAX)?;
    fits(args.text(0).len().checked_mul(times))?;
    Ok(json!(args.text(0).repeat(times)))
}

fn padding(args: &Args) -> Result<String, String> {
    let width = args.count(1, "width", usize::MAX)?;
    let fill = args.text(2);
    if fill.chars().count() != 1 {
        return Err("`fill` must be one character".to_owned());
    }
    let missing = width.saturating_sub(args.text(0).chars().count());
    fits(
        missing
            .checked_mul(fill.len())
            .and_then(|bytes| bytes.checked_add(args.text(0).len())),
    )?;
    Ok(fill.repeat(missing))
}

fn slug(args: &Args) -> Result<Value, String> {
    let lower = args.text(0).to_lowercase();
    let words: Vec<&str> = lower
        .split(|char: char| !char.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    Ok(json!(words.join("-")))
}

fn dedent(args: &Args) -> Result<Value, String> {
    let text = args.text(0);
    let mut common: Option<&str> = None;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let space = &line[..line.len() - line.trim_start().len()];
        common = Some(common.map_or(space, |common| shared(common, space)));
    }
    let common = common.unwrap_or_default();
    let mut made = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let blank = line.trim().is_empty();
        made.push_str(if blank {
            &line[line.trim_end_matches(['\r', '\n']).len()..]
        } else {
            &line[common.len()..]
        });
    }
    Ok(json!(made))
}

fn shared<'a>(a: &'a str, b: &str) -> &'a str {
    let end = a
        .char_indices()
        .zip(b.chars())
        .find(|((_, a), b)| a != b)
        .map_or(a.len().min(b.len()), |((at, _), _)| at);
    &a[..end]
}

fn indent(args: &Args) -> Result<Value, String> {
    let mut made = Bounded::default();
    for line in args.text(0).split_inclusive('\n') {
        if !line.trim().is_empty() {
            made.push(args.text(1))?;
        }
        made.push(line)?;
    }
    Ok(json!(made.into_text()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{call, refused};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn check(name: &str, args: Value, expected: Value) {
        assert_eq!(
            call(&format!("string.{name}"), args.clone()),
            expected,
            "{name} {args}"
        );
    }

    #[test]
    fn splitting_and_trimming() {
        check("split", json!(["", ","]), json!([""]));
        check("split", json!([" a b  c ", null, 1]), json!(["a", "b  c"]));
        check("split", json!(["", null, 1]), json!([]));
        check("trim", json!(["\u{2003}a\n"]), json!("a"));
        check("trim_prefix", json!(["ab", "b"]), json!("ab"));
        assert!(refused("string.split", json!(["a", ""])).contains("must not be empty"));
    }

    #[test]
    fn dedent_keeps_relative_depth_and_line_ends() {
        check(
            "dedent",
            json!(["\n  a\r\n\n   \n   b"]),
            json!("\na\r\n\n\n b"),
        );
        check("dedent", json!(["\ta\n  b"]), json!("\ta\n  b"));
        check("dedent", json!([""]), json!(""));
    }

    #[test]
    fn many_parts_are_found_as_few_are() {
        let many: Vec<String> = (0..5000).map(|n| format!("needle{n}.")).collect();
        check(
            "contains_any",
            json!(["a needle4999. b", many]),
            json!(true),
        );
        check(
            "contains_any",
            json!(["a needle4999 b", many]),
            json!(false),
        );
        check("contains_any", json!(["abc", []]), json!(false));
        check(
            "contains_any",
            json!(["a+c", ["1", "2", "3", "4", "a+"]]),
            json!(true),
        );
    }

    #[test]
    fn nothing_grows_without_bound() {
        let big = "a".repeat(1_000_000);
        for (name, args) in [
            ("replace", json!([big, "a", big])),
            ("repeat", json!([big, 1000])),
            ("pad_left", json!(["a", 100_000_000])),
            ("join", json!([vec![""; 1000], big])),
            ("indent", json!(["a\n".repeat(1000), big])),
        ] {
            assert!(
                refused(&format!("string.{name}"), args).contains("larger than 64 MiB"),
                "{name}"
            );
        }
        assert!(
            refused("string.repeat", json!(["a", -1])).contains("`n` must be 0 or more, got -1")
        );
    }

    #[test]
    fn numbers_are_written_with_digits_and_thousands() {
        for (x, digits, thousands, expected) in [
            (json!(0.5), 0, "", "0"),
            (json!(1.5), 0, "", "2"),
            (json!(-0.001), 2, "", "0.00"),
            (json!(1e21), 1, " ", "1 000 000 000 000 000 000 000.0"),
            (json!(123), 0, ",", "123"),
            (json!(1234), 2, "'", "1'234.00"),
            (json!(9_007_199_254_740_993_i64), 0, "", "9007199254740993"),
        ] {
            assert_eq!(
                call("string.format_number", json!([x, digits, thousands])),
                json!(expected)
            );
        }
        assert!(refused("string.format_number", json!([1, 31, ""])).contains("from 0 to 30"));
    }

    proptest! {
        #[test]
        fn truncate_never_exceeds_and_never_splits(text in any::<String>(), n in 0_usize..20, marker in "[.…]{0,4}") {
            let cut = call("string.truncate", json!([text, n, marker]));
            let cut = cut.as_str().expect("text");
            prop_assert!(cut.chars().count() <= n);
            if text.chars().count() <= n {
                prop_assert_eq!(cut, &text);
            } else {
                prop_assert_eq!(cut.chars().count(), n);
                let kept = n.saturating_sub(marker.chars().count());
                prop_assert!(text.starts_with(&cut.chars().take(kept).collect::<String>()));
            }
        }

        #[test]
        fn no_text_makes_these_panic(text in "[ \t\r\nab\u{2003}é]{0,30}", n in 0..10) {
            for name in ["dedent", "indent", "slug", "lines", "split", "trim"] {
                call(&format!("string.{name}"), json!([text]));
            }
            call("string.split", json!([text, null, n]));
        }
    }
}
