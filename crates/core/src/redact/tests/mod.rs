//! What is taken out, whole and in pieces.

mod cases;
mod key;
mod patterns;
mod short;
mod wrapped;

use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::json;

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const VALUE: &str = "correct horse/battery+staple";
const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7x/y+z==\nProc-Type: 4\n-----END RSA PRIVATE KEY-----";

/// Overlaps with the end of the other value.
const LONG: &str = "taple and more than one line of base64 can hold, which is why it is here: base64 was wrapped at 76 by most of its writers";

/// Has its only escape near its end.
const QUOTED: &str = "orchard\"9zQ";

/// As somebody writes it into an address in a JSON text.
fn escaped(value: &str) -> String {
    json!(
        value
            .replace('%', "%25")
            .replace(' ', "%20")
            .replace('/', "%2f")
    )
    .to_string()
    .replace('c', "\\\\u0063")
}

fn wrapped(base64: &str) -> String {
    base64
        .as_bytes()
        .chunks(76)
        .map(|line| format!("{}\n", String::from_utf8_lossy(line)))
        .collect()
}

fn redactor(patterns: &[&str]) -> Redactor {
    let values = SecretValues::default();
    for value in [VALUE, LONG, QUOTED] {
        values.learn(value.as_bytes()).expect("long enough");
    }
    Redactor::new(
        Arc::new(values),
        RedactionPatterns::new(patterns.iter().copied()).expect("patterns"),
    )
}

/// Fields as they are written in one place and another.
const FIELDS: &[&str] = &[
    "{\"password\": {\n  \"value\": \"hunter2\"}}",
    "Login { x_token: Some(\n \"hunter2\") }",
    "<password>\nhunter2</password>",
    "<ns:password a=\"b\">hunter2</ns:password>",
    "<password><![CDATA[hunter2]]></password>",
    "\"password\"\n  : \"hunter2\"",
    "let password\n    = \"hunter2\";",
    "let password: &'static str = \"it is hunter2\";",
    "var x_token string = \"hunter2\"",
    "Password:\n$hunter2",
    "password: 'it''s hunter2'",
    "--password='it'\\''s hunter2'",
    "password: !vault |\n  hun\n  hunter2",
    "password: !!str hunter2",
    "password: hun\n  hunter2",
    "password: it is hunter2",
    "password:\n- hunter2\n- hunter2",
    "[\"password\"]=>\n  string(7) \"a hunter2\"",
    "password[]=hunter2",
    "run --password hunter2",
    "password = \"\"\"a\nhunter2\"\"\"",
    "{\"name\": \"password\", \"value\": \"hunter2\"}",
    "{\n  \"Key\": \"x_token\",\n  \"Value\": \"hunter2\"\n}",
    "env:\n- name: password\n  value: hunter2\n",
    "- name: password\n  value: |\n    hun\n    hunter2\n",
    "name = \"password\"\nvalue = \"hunter2\"\n",
    "{\"text\": \"[{\\\"name\\\": \\\"password\\\",\\n  \\\"value\\\": \\\"hunter2\\\"}]\"}",
];

fn in_pieces(redactor: &Redactor, text: &[u8], sizes: &[usize]) -> (Vec<u8>, u64) {
    let (mut stream, mut out, mut rest) = (redactor.stream(), Vec::new(), text);
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.len().min(*sizes.next().expect("a cycle")));
        stream.push(piece, &mut out);
        rest = after;
    }
    let count = stream.finish(&mut out);
    (out, count)
}

#[test]
fn what_stands_beside_the_name_of_a_field_goes_as_the_field_would_and_nothing_else_does() {
    let redactor = Redactor::new(
        Arc::default(),
        RedactionPatterns::new(["password", "*_token"]).expect("patterns"),
    );
    let (mut pass, mut value) = (
        redactor.pass(None),
        json!({"env": [
            {"name": "PASSWORD", "value": "hunter2", "line": 3},
            {"Value": {"all": ["hunter2"]}, "Key": "x_token"},
            {"name": "user", "value": "me"},
            {"name": "password", "valueFrom": "secret/db"},
            {"title": "password", "value": 3},
        ]}),
    );
    pass.value(&mut value);
    let left = json!({"env": [
        {"name": "PASSWORD", "value": MARK, "line": 3},
        {"Value": MARK, "Key": "x_token"},
        {"name": "user", "value": "me"},
        {"name": "password", "valueFrom": "secret/db"},
        {"title": "password", "value": 3},
    ]});
    assert_eq!((value, pass.count), (left, 2));
    for text in [
        "{\"name\": \"user\", \"value\": \"me\"}",
        "- name: password\n  valueFrom: secret/db\n",
        "- name: password\n- name: user\n  value: me\n",
        "a password\nvaluable: yes\n",
        "[\"password\", \"value\"]",
    ] {
        assert_eq!(redactor.text(text), text);
        assert_eq!(
            String::from_utf8_lossy(&in_pieces(&redactor, text.as_bytes(), &[1]).0),
            text
        );
    }
}

#[test]
fn what_matches_without_an_end_is_kept_back_up_to_a_bound_and_then_takes_the_rest_of_its_line_with_it()
 {
    let redactor = Redactor::new(
        Arc::default(),
        RedactionPatterns::new(["/secret.*/"]).expect("patterns"),
    );
    let (mut stream, mut out, mut most) = (redactor.stream(), Vec::new(), 0);
    stream.push(b"a\nb secret ", &mut out);
    for _ in 0..4096 {
        stream.push(&[b'x'; 1024], &mut out);
        most = most.max(stream.pending());
    }
    assert!(
        most < 3 << 19,
        "{most} bytes were kept back of four million"
    );
    assert_eq!(
        String::from_utf8_lossy(&out),
        "a\nb [redacted]",
        "before its line ends"
    );
    stream.push(b"the end\nafter it\nsecret 2\n", &mut out);
    assert_eq!(stream.finish(&mut out), 2);
    assert_eq!(
        String::from_utf8_lossy(&out),
        "a\nb [redacted]\nafter it\n[redacted]\n"
    );
}

#[test]
fn the_shortest_tokens_are_found_and_shorter_ones_are_not() {
    let tail = |tail: token::Tail| match tail {
        token::Tail::Key => "PRIVATE KEY-----".to_owned(),
        other => "A1B2C3D4E5F60718".repeat(4)[..other.least()].to_owned(),
    };
    for shape in shape::SHAPES {
        for head in shape.heads {
            let token = format!("{head}{}", tail(shape.tail));
            assert_eq!(Redactor::default().text(&token), MARK, "{}", shape.what);
            let shorter = &token[..token.len() - 1];
            assert_eq!(Redactor::default().text(shorter), shorter, "{}", shape.what);
        }
    }
    for value in ["a1b2", "a1b\\", "\\\\\\\\"] {
        let values = SecretValues::default();
        values.learn(value.as_bytes()).expect("long enough");
        let redactor = Redactor::new(Arc::new(values), RedactionPatterns::default());
        for form in [
            value.to_owned(),
            STANDARD.encode(value),
            json!(value).to_string(),
            value.replace('a', "%61"),
        ] {
            assert!(redactor.text(&form).contains(MARK), "{value} as {form}");
        }
    }
}

#[test]
fn values_tokens_and_keys_are_taken_out_in_every_form_and_the_rest_stays() {
    let redactor = redactor(&[]);
    for (text, expected) in [
        (format!("a {VALUE} b"), "a [redacted] b".to_owned()),
        (format!("token={TOKEN}."), "token=[redacted].".to_owned()),
        (format!("<{KEY}>"), "<[redacted]>".to_owned()),
        (format!("<{}>", json!(KEY)), "<\"[redacted]\">".to_owned()),
        (
            "nothing to see, ghp_ and sk- and -----BEGIN CERTIFICATE-----".to_owned(),
            String::new(),
        ),
        (
            "q=correct%20horse%2Fbattery%2Bstaple&r".to_owned(),
            "q=[redacted]&r".to_owned(),
        ),
    ] {
        let clean = redactor.text(&text);
        assert_eq!(
            clean,
            if expected.is_empty() {
                text.as_str()
            } else {
                &expected
            }
        );
        assert_eq!(
            matches!(clean, Cow::Borrowed(_)),
            expected.is_empty(),
            "{text}"
        );
    }
    for before in ["", "x", "xy"] {
        let whole = format!("{before}{VALUE}, and so on");
        for encoded in [STANDARD.encode(&whole), URL_SAFE_NO_PAD.encode(&whole)] {
            assert!(redactor.text(&encoded).contains(MARK), "{before}");
        }
    }
}

#[test]
fn a_value_is_found_however_it_was_escaped_and_wherever_it_overlaps_with_another() {
    let values = SecretValues::default();
    for value in [
        "pä ss/w\"rd<&'~>+1%",
        "C:\\new\\t",
        "abcdefgh",
        "ghijkl",
        LONG,
    ] {
        values.learn(value.as_bytes()).expect("long enough");
    }
    let redactor = Redactor::new(Arc::new(values), RedactionPatterns::default());
    for text in [
        // Python's quote and quote_plus, JavaScript's encodeURIComponent, Go's PathEscape and
        // QueryEscape, and mixed case.
        "p%C3%A4%20ss/w%22rd%3C%26%27~%3E%2B1%25",
        "p%C3%A4+ss%2Fw%22rd%3C%26%27~%3E%2B1%25",
        "p%C3%A4%20ss%2Fw%22rd%3C%26'~%3E%2B1%25",
        "p%C3%A4%20ss%2Fw%22rd%3C&%27~%3E+1%25",
        "p%C3%A4+ss%2Fw%22rd%3C%26%27%7E%3E%2B1%25",
        "p%c3%A4%20ss%2fw%22rd%3c%26%27%7E%3E%2B1%25",
        "p%25C3%25A4%2520ss%252Fw%2522rd%253C%2526%2527~%253E%252B1%2525",
        // JSON of serde, of Go, of Python, in JSON, and in JSON in an address.
        "pä ss/w\\\"rd<&'~>+1%",
        "pä ss/w\\\"rd\\u003c\\u0026'~\\u003e+1%",
        "p\\u00E4 ss\\/w\\\"rd<&'~>+1%",
        "p\\\\u00e4 ss/w\\\\\\\"rd<&'~>+1%",
        "p%5Cu00e4%20ss%2Fw%5C%22rd%3C%26'~%3E%2B1%25",
        "C:\\new\\t",
        "C:\\\\new\\\\t",
        "C:%5Cnew%5Ct",
        "abcdefghijkl",
        "ab\\u0063defghijkl",
    ] {
        assert_eq!(redactor.text(text), MARK, "{text}");
    }
    let base64 = STANDARD.encode(format!("{}{LONG}", "before ".repeat(20)));
    for end in ["\n", "\r\n", "\\n", "%0A"] {
        let clean = redactor
            .text(&wrapped(&base64).replace('\n', end))
            .replace(end, "");
        let left = base64.len() - STANDARD.encode(LONG).len();
        assert!(
            clean.contains(MARK) && clean.len() <= left + MARK.len() + 4,
            "{end}: {clean}"
        );
    }
    for text in ["p%C3%A4+ss", "C:\\new", "abcdef ghijk", "100% \\ of it"] {
        assert_eq!(redactor.text(text), text);
    }
}

#[test]
fn a_value_that_ends_in_a_backslash_is_found_as_a_whole_and_its_start_is_nothing() {
    let values = SecretValues::default();
    values.learn(b"pass\\").expect("long enough");
    values.learn(b"hor\"se\\\\").expect("long enough");
    let redactor = Redactor::new(Arc::new(values), RedactionPatterns::default());
    for (text, expected) in [
        ("it is pass\\ here", "it is [redacted] here".to_owned()),
        ("it is pass\\", format!("it is {MARK}")),
        (r#"{"a": "pass\\"}"#, String::new()),
        (r#""{\"a\": \"pass\\\\\"}""#, String::new()),
        ("?q=pass%5C&x=1", String::new()),
        (r#"{"a": "hor\"se\\\\"}"#, String::new()),
    ] {
        let clean = redactor.text(text);
        assert!(
            clean.contains(MARK) && !clean.contains("pass") && !clean.contains("hor"),
            "{text}: {clean}"
        );
        assert!(expected.is_empty() || clean == expected, "{text}: {clean}");
        for size in [1, 3, 8] {
            assert_eq!(
                String::from_utf8_lossy(&in_pieces(&redactor, text.as_bytes(), &[size]).0),
                clean,
                "{size}: {text}"
            );
        }
    }
    // The last ones read other than they are written, as a path with backslashes does.
    for text in [
        "password, compass",
        r#"{"a": "passed\n"}"#,
        r"C:\password\compass",
        "50%25 pass",
        r#"{"a": "pass"}\n"#,
        r#"hor\"se"#,
    ] {
        assert_eq!(redactor.text(text), text);
        assert_eq!(
            in_pieces(&redactor, text.as_bytes(), &[2]).0,
            text.as_bytes()
        );
    }
}

#[test]
fn a_text_with_stars_is_as_long_as_it_was() {
    let text = format!("ä {TOKEN} ö {TOKEN}");
    let starred = starred(&text);
    assert_eq!(
        (starred.len(), starred.chars().filter(|c| *c == '*').count()),
        (text.len(), 2 * TOKEN.len())
    );
    assert!(starred.starts_with("ä *") && matches!(super::starred("none"), Cow::Borrowed("none")));
}

#[test]
fn a_value_has_its_fields_texts_numbers_and_names_cleaned_and_each_is_counted() {
    let values = SecretValues::default();
    values.learn(b"123456").expect("long enough");
    assert!(values.learn(b"abc").is_err(), "in every text by chance");
    let redactor = Redactor::new(
        Arc::new(values),
        RedactionPatterns::new(["pin"]).expect("patterns"),
    );
    let mut pass = redactor.pass(None);
    let mut value = json!({"pin": {"a": 1}, "n": 91234569, "list": ["123456", true, null], TOKEN: 1, "ok": "fine"});
    pass.value(&mut value);
    assert_eq!(
        value,
        json!({"pin": MARK, "n": MARK, "list": [MARK, true, null], MARK: 1, "ok": "fine"})
    );
    assert_eq!(pass.count, 4);
    let mut names = json!({TOKEN: 1, format!("{TOKEN}."): 2, "123456": {"a": 3}, "x123456": 4, "[redacted] 3": 5});
    pass.value(&mut names);
    assert_eq!(
        names,
        json!({MARK: 1, "[redacted].": 2, "[redacted] 3": {"a": 3}, "x[redacted]": 4, "[redacted] 3 5": 5})
    );
}

#[test]
fn of_values_that_are_another_one_each_time_the_last_are_known_and_those_in_use_stay() {
    let values = Arc::new(SecretValues::default());
    let redactor = Redactor::new(Arc::clone(&values), RedactionPatterns::default());
    let fresh = |number: usize| format!("minted-{number:04}-token");
    values.learn(VALUE.as_bytes()).expect("long enough");
    for number in 0..300 {
        for value in [&fresh(number), "in use all the time", VALUE] {
            values.learn_fresh(value.as_bytes()).expect("long enough");
        }
    }
    let text = format!(
        "{VALUE}, {}, in use all the time, {}",
        fresh(299),
        fresh(200)
    );
    assert_eq!(
        redactor.text(&text),
        "[redacted], [redacted], [redacted], [redacted]"
    );
    assert_eq!(redactor.text(&fresh(100)), fresh(100));
}

#[test]
fn only_text_that_may_be_a_secret_is_held_back() {
    let redactor = redactor(&[]);
    let mut stream = redactor.stream();
    let mut out = Vec::new();
    stream.push(b"password? ", &mut out);
    assert_eq!(out, b"password? ");
    stream.push(b"correct ho", &mut out);
    assert_eq!(out, b"password? ");
    stream.push(b"pe", &mut out);
    assert_eq!(out, b"password? correct hope");
}

#[test]
fn text_before_a_value_hides_at_most_its_first_letters() {
    let values = SecretValues::default();
    for value in [
        "nabc\"de/f12345",
        "ab/cd+ef==gh\"12",
        "user\nhunter22/x",
        "b1Z\"abcdefghij",
    ] {
        values.learn(value.as_bytes()).expect("long enough");
    }
    let redactor = Redactor::new(Arc::new(values), RedactionPatterns::default());
    let word = "abcd/".repeat(14);
    for (text, expected) in [
        (
            "C:\\\\nabc\\\"de/f12345 end".to_owned(),
            "C:\\\\n[redacted] end".to_owned(),
        ),
        (
            "100%ab/cd+ef==gh\\\"12 end".to_owned(),
            "100%ab[redacted] end".to_owned(),
        ),
        // The same start after a percent sign, after one and a digit, and after a backslash.
        (
            "100%b1Z\\\"abcdefghij end".to_owned(),
            "100%b1[redacted] end".to_owned(),
        ),
        (
            "100%7b1Z\\\"abcdefghij end".to_owned(),
            "100%7b[redacted] end".to_owned(),
        ),
        (
            "C:\\b1Z\\\"abcdefghij end".to_owned(),
            "C:\\b[redacted] end".to_owned(),
        ),
        (
            format!("{word}user\\nhunter22/x end"),
            format!("{word}[redacted] end"),
        ),
    ] {
        assert_eq!(redactor.text(&text), expected);
    }
}

#[test]
fn a_value_is_found_wherever_a_piece_ends() {
    let redactor = redactor(&[]);
    for hidden in [
        QUOTED.replace('"', "\\\""),
        QUOTED.replace('"', "%22"),
        QUOTED.replace('"', "%2522"),
    ] {
        let text = format!("token: {hidden} end");
        for at in 0..text.len() {
            let (out, count) = in_pieces(&redactor, text.as_bytes(), &[at.max(1), text.len()]);
            assert_eq!(
                (String::from_utf8_lossy(&out).as_ref(), count),
                ("token: [redacted] end", 1),
                "{text} at {at}"
            );
            let long = format!("{}{hidden}", ".".repeat(super::matcher::PIECE - at));
            assert!(redactor.text(&long).ends_with(MARK), "{hidden} at {at}");
        }
    }
}

#[test]
fn a_long_text_full_of_escapes_takes_little_more_room_than_it_has_and_hides_nothing() {
    let redactor = redactor(&[]);
    let filler = "\\n\\\"%25".repeat(20_000);
    let hidden = escaped(VALUE);
    for text in [
        format!("{filler}{hidden}"),
        format!("{hidden}{filler}"),
        format!("{}{hidden}{filler}", &filler[..super::matcher::PIECE - 9]),
    ] {
        let clean = redactor.text(&text);
        assert!(
            clean.contains(MARK)
                && !clean.contains("horse")
                && clean.len() > text.len() - 2 * hidden.len()
        );
    }
    assert!(matches!(redactor.text(&filler), Cow::Borrowed(_)));
}

#[test]
fn a_pattern_is_found_over_pieces_of_a_line_and_of_a_line_without_end() {
    let redactor = redactor(&["/CUS-[0-9]{8}/"]);
    let text = format!(
        "{}CUS-12345678{}\nCUS-12345678\n",
        "x".repeat(100_000),
        "y".repeat(100_000)
    );
    let (out, count) = in_pieces(&redactor, text.as_bytes(), &[777]);
    assert_eq!(count, 2);
    assert_eq!(out, text.replace("CUS-12345678", MARK).into_bytes());
}

#[test]
fn a_field_that_holds_a_list_is_found_over_pieces_and_lines_and_holds_no_more_back_than_it_must() {
    let redactor = redactor(&["password"]);
    let text = "{\n  \"user\": \"me\",\n  \"password\": [\n    \"hunter2\",\n    \"hunter3\"\n  ],\n  \"c\": 1\n}\npassword:\n  hunter4\n";
    let expected = "{\n  \"user\": \"me\",\n  \"password\": \"[redacted]\",\n  \"c\": 1\n}\npassword:\n  [redacted]\n";
    assert_eq!(redactor.text(text), expected);
    for size in [1, 4, 17, 60] {
        let (out, count) = in_pieces(&redactor, text.as_bytes(), &[size]);
        assert_eq!(
            (String::from_utf8_lossy(&out).as_ref(), count),
            (expected, 2),
            "{size}"
        );
    }
    let (mut stream, mut out) = (redactor.stream(), Vec::new());
    stream.push(b"password: [\n", &mut out);
    assert_eq!(out, b"");
    for _ in 0..100 {
        stream.push("line\n".repeat(1000).as_bytes(), &mut out);
    }
    assert!(
        out.len() > 400_000,
        "an unclosed value holds 64 KiB back: {}",
        out.len()
    );
    // Neither a name, nor what comes before a value, nor a header ends.
    let redactor = Redactor::new(
        Arc::default(),
        RedactionPatterns::new(["*secret*", "cookie"]).expect("patterns"),
    );
    for (first, more) in [
        ("", "secret_"),
        ("secret:", "        "),
        ("secret\n:", "\t\t\t\t\t\t\t"),
        ("Cookie: ", "a=1; "),
    ] {
        let (mut stream, mut out) = (redactor.stream(), Vec::new());
        stream.push(first.as_bytes(), &mut out);
        for _ in 0..200 {
            stream.push(more.repeat(600).as_bytes(), &mut out);
        }
        assert!(out.len() > 400_000, "{first}{more}: {}", out.len());
    }
}

proptest! {
    #[test]
    fn pieces_give_what_the_whole_gives(
        parts in prop::collection::vec(prop_oneof![
            Just(VALUE.to_owned()), Just(TOKEN.to_owned()), Just(KEY.to_owned()),
            Just("correct horse".to_owned()), Just("ghp_16C7e42F292c6912".to_owned()), Just("-----BEGIN RSA ".to_owned()), Just("-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7x/y+zAAAA\n".to_owned()), Just(" is a header ".to_owned()),
            Just(STANDARD.encode(format!("u:{VALUE}:"))), Just(escaped(VALUE)), Just("corr%65ct%20horse".to_owned()), "[\\\\%u0-9]{0,6}",
            Just("taple and more".to_owned()), Just(QUOTED.replace('"', "\\\"")), Just(QUOTED.replace('"', "%22")), Just("orchard%2".to_owned()), Just(wrapped(&STANDARD.encode(format!("{VALUE}{LONG}")))), Just("\\u0063orrect".to_owned()), "[a-z \\n=\"]{0,12}", Just("AKIAIOSFODNN7QWERTYU".to_owned()),
        ], 0..8),
        sizes in prop::collection::vec(1_usize..40, 1..5),
    ) {
        let redactor = redactor(&[]);
        let text = parts.concat();
        let whole = redactor.text(&text);
        let (out, _) = in_pieces(&redactor, text.as_bytes(), &sizes);
        prop_assert_eq!(String::from_utf8_lossy(&out), whole.clone());
        for known in [VALUE, LONG, QUOTED, &QUOTED.replace('"', "\\\""), &QUOTED.replace('"', "%22")] {
            prop_assert!(!whole.contains(known));
        }
    }

    #[test]
    fn named_fields_are_redacted_in_pieces_as_in_the_whole_text(
        parts in prop::collection::vec(prop_oneof![
            prop::sample::select(FIELDS).prop_map(str::to_owned),
            prop::sample::select(&["\n", "\n  ", ", ", " ", "{", "}", "[", "]", "(", "\"", "'", "<", "</b>", "user: me", "\n- x", "password", ":", " = ", "|", "\\", "\\n", "it's", "users' "][..])
                .prop_map(str::to_owned),
            "[a-z \\n=\":<>]{0,6}",
        ], 0..10),
        sizes in prop::collection::vec(1_usize..40, 1..5),
    ) {
        let redactor = redactor(&["password", "*_token"]);
        let text = parts.concat();
        let (out, _) = in_pieces(&redactor, text.as_bytes(), &sizes);
        prop_assert_eq!(String::from_utf8_lossy(&out), redactor.text(&text), "{:?}", text);
    }

    #[test]
    fn a_value_in_a_form_that_is_known_is_gone_whatever_lines_stand_around_it(
        parts in prop::collection::vec((prop::sample::select(FIELDS), "(?:\n(?:user: me|x = 1|<b>c</b>|it is so|\\{\\})){0,2}"), 1..5),
        sizes in prop::collection::vec(1_usize..40, 1..5),
    ) {
        let redactor = redactor(&["password", "*_token"]);
        let text: String = parts.iter().map(|(field, after)| format!("{field}{after}\n")).collect();
        let (out, _) = in_pieces(&redactor, text.as_bytes(), &sizes);
        let out = String::from_utf8_lossy(&out);
        prop_assert!(!out.contains("hunter2"), "{:?}: {:?}", text, out);
    }
}
