//! Named fields and patterns in free text.

use super::cases::CASES;
use super::*;

#[test]
fn fields_and_patterns_are_taken_out_of_text_and_nothing_else_is() {
    let entries = [
        "password",
        "*_token",
        "authorization",
        "*cookie",
        "/CUS-[0-9]{4}/",
    ];
    let patterns = RedactionPatterns::new(entries).expect("patterns");
    let redactor = Redactor::new(
        Arc::default(),
        RedactionPatterns::new(entries).expect("patterns"),
    );
    let mut wrong = Vec::new();
    for (text, expected) in CASES {
        let mut bytes = text.as_bytes().to_vec();
        patterns.redact(&mut bytes);
        let mut given = vec![(0, bytes)];
        for size in [1, 3, 17] {
            let (mut stream, mut out) = (redactor.stream(), Vec::new());
            text.as_bytes()
                .chunks(size)
                .for_each(|piece| stream.push(piece, &mut out));
            stream.finish(&mut out);
            given.push((size, out));
        }
        let differs = |(size, out): (usize, Vec<u8>)| {
            (out != expected.as_bytes()).then(|| (size, String::from_utf8_lossy(&out).into_owned()))
        };
        wrong.extend(
            given
                .into_iter()
                .find_map(differs)
                .map(|(size, out)| format!("in pieces of {size}: {out:?} for {expected:?}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut often = serde_json::json!({"password": ["a", "b\"\\"], "c": 1}).to_string();
    for _ in 0..6 {
        let mut bytes = often.clone().into_bytes();
        assert_eq!(patterns.redact(&mut bytes), 1, "{often}");
        let clean = String::from_utf8_lossy(&bytes).into_owned();
        assert!(
            serde_json::from_str::<serde_json::Value>(&clean).is_ok()
                && clean.contains('c')
                && !clean.contains("a\\"),
            "{clean}"
        );
        often = serde_json::json!(often).to_string();
    }
    let mut gone = b"password: \"[redacted]\"".to_vec();
    assert_eq!(
        (patterns.redact(&mut gone), gone.as_slice()),
        (0, &b"password: \"[redacted]\""[..]),
        "counted before"
    );
    assert!(
        patterns.names("PASSWORD")
            && patterns.names("github_token")
            && !patterns.names("passwords")
    );
}

/// Texts full of what looks like an opening quote, and is closed nowhere.
fn unclosed() -> Vec<String> {
    let runs = |lengths: &[usize]| {
        lengths
            .iter()
            .map(|length| format!("{}\"", "\\".repeat(*length)))
            .collect::<String>()
    };
    let every: Vec<usize> = (0..130).collect();
    let odd: Vec<usize> = (0..64).map(|length| 2 * length).collect();
    ["password: [", "password: {"]
        .iter()
        .flat_map(|head| {
            [
                runs(&[127]),
                runs(&[63]),
                runs(&every),
                runs(&odd),
                "\\".repeat(127),
                "'\\\"".to_owned(),
            ]
            .map(|text| (head, text))
        })
        .flat_map(|(head, text)| {
            [(1, text.clone()), (64, text)].map(|(heads, text)| (head, heads, text))
        })
        .map(|(head, heads, text)| {
            format!("{head}{}", text.repeat((1 << 20) / heads / text.len())).repeat(heads)
        })
        .collect()
}

#[test]
fn unclosed_values_are_searched_once() {
    let patterns = RedactionPatterns::new(["password"]).expect("patterns");
    for head in [
        "password: [",
        "password: {'",
        "password: \\\"",
        "password%3D%22",
        "password: \"{[",
        "password=a(",
        "password: Some(\n",
        "password: |\n ",
        "password:\n\n - ",
        "password=a\\",
        "<password>x</",
        "<password><!--<password>x</",
        "password: 'a''",
        "password: x\n ",
        "password: ( (\n",
        "\npassword: a ( b (",
        "password: x<",
        "--password \"\"\"",
    ] {
        // So many that the product of both lengths would take minutes.
        let mut text = head.repeat(200_000).into_bytes();
        assert!(
            patterns.redact(&mut text) > 0 && text.len() < 200_000 * (head.len() + 20),
            "{head}"
        );
    }
    for text in unclosed() {
        let (mut bytes, start) = (text.clone().into_bytes(), std::time::Instant::now());
        assert!(
            patterns.redact(&mut bytes) > 0 && bytes.len() < text.len(),
            "{}",
            &text[..200]
        );
        assert!(
            start.elapsed().as_secs() < 30,
            "{:?}: {}",
            start.elapsed(),
            &text[..200]
        );
    }
}

#[test]
fn unclosed_values_in_pieces_are_searched_a_few_times() {
    let redactor = Redactor::new(
        Arc::default(),
        RedactionPatterns::new(["password"]).expect("patterns"),
    );
    for text in unclosed() {
        // With line ends, so that there is something to be looked at.
        let text = text[..100_000].replace("\"", "\"\n");
        for size in [16, 4096] {
            let (mut stream, mut out, start) =
                (redactor.stream(), Vec::new(), std::time::Instant::now());
            text.as_bytes()
                .chunks(size)
                .for_each(|piece| stream.push(piece, &mut out));
            assert!(stream.finish(&mut out) > 0);
            assert!(
                start.elapsed().as_secs() < 30,
                "{size} {:?}: {}",
                start.elapsed(),
                &text[..200]
            );
        }
    }
}

#[test]
fn entries_that_would_redact_everything_or_mean_nothing_are_refused() {
    for entry in ["*", "", "/a*/", "/(/", "two words", "//"] {
        assert!(RedactionPatterns::new([entry]).is_err(), "{entry}");
    }
}
