//! Private keys, however their lines are written.

use super::*;

#[test]
fn a_key_is_taken_out_however_its_lines_are_written_and_prose_about_one_stays() {
    let redactor = redactor(&[]);
    let (first, last) = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----");
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let (short, marked) = ("MzEfYyji", "[redacted]");
    for (text, expected) in [
        (
            format!("{first}\n{line}\n{line}\n{short}\n{last} and on"),
            format!("{marked} and on"),
        ),
        (
            format!("{first} {line} {short} {last} and on"),
            format!("{marked} and on"),
        ),
        (
            format!("{first}{line}{last} and on"),
            format!("{marked} and on"),
        ),
        (
            json!(format!("{first}\n{line}\n{short}\n{last}\n")).to_string(),
            format!("\"{marked}\\n\""),
        ),
        (
            json!(json!(format!("{first}\r\n{line}\r\n{last}")).to_string()).to_string(),
            format!("\"\\\"{marked}\\\"\""),
        ),
        (
            format!("key: |\n  {first}\n  {line}\n  {short}\n  {last}\nnext: 1"),
            format!("key: |\n  {marked}\nnext: 1"),
        ),
        (
            format!(
                "{first}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0102\n\n{line}\n{last}"
            ),
            marked.to_owned(),
        ),
        // Cut off, wherever.
        (format!("{first}\n{line}\n{line}\nMIIE"), marked.to_owned()),
        (
            format!("{first}\n{line}\n{}", &line[..9]),
            marked.to_owned(),
        ),
        (format!("{first}\nMIIEvQ"), marked.to_owned()),
        (
            format!("\"{first}\\n{line}\\n{}", &line[..30]),
            format!("\"{marked}"),
        ),
        (
            format!("{first}\n{line}\n\nThat was it, and this goes on."),
            format!("{marked}\n\nThat was it, and this goes on."),
        ),
        (
            format!("{first}\n{line}\n-----END PRIV"),
            format!("{marked}\n-----END PRIV"),
        ),
        // Only spoken of.
        (
            format!(
                "{first} is the header of a key, and {last} its end.\nNothing of that is secret"
            ),
            format!(
                "{marked} is the header of a key, and {last} its end.\nNothing of that is secret"
            ),
        ),
        (
            format!("look for {first}\nand then read on\nas you like"),
            format!("look for {marked}\nand then read on\nas you like"),
        ),
        (
            format!("{first}\nComments are welcome: here"),
            format!("{marked}\nComments are welcome: here"),
        ),
        (
            format!("`{first}`\n\n{}{line}", " ".repeat(300)),
            format!("`{marked}`\n\n{}{line}", " ".repeat(300)),
        ),
        (
            format!("{first}{}word", "\n".repeat(1000)),
            format!("{marked}{}word", "\n".repeat(1000)),
        ),
    ] {
        assert_eq!(redactor.text(&text), expected, "{text}");
        for size in [1, 2, 7, 30] {
            let (out, _) = in_pieces(&redactor, text.as_bytes(), &[size]);
            assert_eq!(String::from_utf8_lossy(&out), expected, "{size}: {text}");
        }
    }
    let (out, count) = in_pieces(
        &redactor,
        format!("{first}\n{line} ghp_{}", &TOKEN[4..]).as_bytes(),
        &[5],
    );
    assert_eq!(
        (String::from_utf8_lossy(&out).as_ref(), count),
        ("[redacted] [redacted]", 2),
        "what follows a key is looked at, too"
    );
}

/// A key as something shows it: with this before and after each of its lines.
fn shown(before: impl Fn(usize) -> String, after: &str) -> String {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let lines = [
        "-----BEGIN RSA PRIVATE KEY-----",
        line,
        line,
        "bGFzdA==",
        "-----END RSA PRIVATE KEY-----",
    ];
    lines
        .iter()
        .enumerate()
        .map(|(at, line)| format!("{}{line}{after}\n", before(at + 1)))
        .collect()
}

fn always(before: &str) -> impl Fn(usize) -> String + '_ {
    move |_| before.to_owned()
}

/// As tools, editors, logs and sources show one.
fn all_shown() -> Vec<String> {
    let mut all = vec![
        shown(|at| format!("{at:6}\t"), ""),
        shown(|at| format!("{at:6}\u{2192}"), ""),
        shown(|at| format!("{at}:"), ""),
        shown(|at| format!("{at}-"), ""),
        shown(|at| format!("{at:4} | "), ""),
        shown(|at| format!("path/key.pem:{at}:"), ""),
        shown(|at| format!("src/key-{at}-"), ""),
        shown(
            |at| format!("crates/core/tests/fixtures/keys/key.pem:{at}:"),
            "",
        ),
        shown(
            |at| format!("/Users/Me/Documents/Projects2/keys/key.pem:{at}:"),
            "",
        ),
        shown(
            |at| format!("2024-05-06T07:08:0{at}.123Z INFO worker[{at}]: "),
            "",
        ),
        shown(|at| format!("May 06 07:08:0{at} host app: "), ""),
        shown(|at| format!("{at:6}\t\""), "\\n\" +"),
    ];
    for before in ["-", "+", "- ", "# ", "// ", "> ", " * ", "    ", "| "] {
        all.push(shown(always(before), ""));
    }
    for (before, after) in [
        ("\"", "\\n\" +"),
        ("  \"", "\","),
        ("'", "\\r\\n' ."),
        ("", "\\"),
        ("", "\\n\\"),
        ("", "<br/>"),
        ("  <p>", "</p>"),
        ("s += \"", "\\n\";"),
    ] {
        all.push(shown(always(before), after));
    }
    all.push(shown(always("\""), "\",").replace('\n', ""));
    all.push(shown(always(""), "<br/>").replace('\n', ""));
    all
}

#[test]
fn a_key_is_taken_out_whatever_stands_around_its_lines() {
    let redactor = redactor(&[]);
    let about = |text: &str| {
        text.replacen(
            "MIIE",
            "Proc-Type: 4,ENCRYPTED\n#  DEK-Info: AES-128-CBC,0102\n# \n# MIIE",
            1,
        )
    };
    let mut all = all_shown();
    all.push(about(&shown(always("# "), "")));
    for text in all {
        let cut: String = text.split_inclusive('\n').take(3).collect();
        let texts = [
            format!("before\n{text}after it\n"),
            json!(text).to_string(),
            json!(json!(text).to_string()).to_string(),
            cut,
        ];
        for text in texts {
            let clean = redactor.text(&text).into_owned();
            assert!(
                clean.contains(MARK) && !clean.contains("MIIE") && !clean.contains("gkqh"),
                "{text}\n{clean}"
            );
            assert!(
                !clean.contains("bGFz") && !clean.contains("-END"),
                "{text}\n{clean}"
            );
            assert!(
                !text.contains("after it")
                    || clean.starts_with("before\n") && clean.ends_with("after it\n"),
                "{clean}"
            );
            for size in [1, 7, 40, 300] {
                let (out, _) = in_pieces(&redactor, text.as_bytes(), &[size]);
                assert_eq!(String::from_utf8_lossy(&out), clean, "{size}: {text}");
            }
        }
    }
}

#[test]
fn possible_lines_of_a_key_are_searched_a_few_times() {
    let redactor = redactor(&[]);
    let first = "-----BEGIN PRIVATE KEY-----";
    for part in [
        first.to_owned(),
        format!("{first}\n- "),
        ".MIIEvQIBADANBgkqhkiG9w0B".to_owned(),
        "\n- MIIEvQIBADANBgkqhkiG9w0B".to_owned(),
    ] {
        let (text, start) = (
            format!("{first}{}", part.repeat((1 << 20) / part.len())),
            std::time::Instant::now(),
        );
        assert!(redactor.text(&text).contains(MARK));
        assert!(in_pieces(&redactor, &text.as_bytes()[..100_000], &[16]).1 > 0);
        assert!(
            start.elapsed().as_secs() < 60,
            "{:?}: {part:?}",
            start.elapsed()
        );
    }
}

#[test]
fn prose_about_a_key_stays_whatever_surrounds_it() {
    let redactor = redactor(&[]);
    let first = "-----BEGIN PRIVATE KEY-----";
    for after in [
        "` is how it begins.\n\nRead on in crates/core/tests/fixtures/keys for more.\n",
        "\";\nlet factory = AbstractSingletonProxyFactoryBeans::new();\n",
        "\nsee commit 0123456789abcdef0123456789abcdef01234567\n",
        " and\nthe line -----END PRIVATE KEY----- ends it\n",
        "\n12: no base64\n13: nor here\n-----END PRIVATE KEY-----\n",
    ] {
        let text = format!("It is `{first}{after}");
        assert_eq!(redactor.text(&text), format!("It is `{MARK}{after}"));
        for size in [1, 30] {
            assert_eq!(
                in_pieces(&redactor, text.as_bytes(), &[size]).0,
                redactor.text(&text).as_bytes(),
                "{size}: {text}"
            );
        }
    }
}
