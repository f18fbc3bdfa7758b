//! Text that is wrong on purpose: a diagnostic each, soon, and no panic.

use super::{codes, project};
use crate::artifact::read;
use crate::artifact::yaml::{MAX_BYTES, MAX_DEPTH, MAX_NODES};
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// The codes of a tool with this frontmatter, read within the time.
fn within(limit: Duration, frontmatter: &str) -> Vec<&'static str> {
    let text = format!("---\n{frontmatter}\n---\nDoes x.\n");
    let start = Instant::now();
    let seen = codes(&project(&[(".harness/tools/x.md", &text)]));
    let taken = start.elapsed();
    assert!(taken < limit, "{} bytes took {taken:?}", text.len());
    seen
}

/// Generous, for an unoptimised build on a busy machine; quadratic work on these sizes takes
/// minutes.
const SOON: Duration = Duration::from_secs(60);

#[test]
fn deep_nesting_is_a_limit_and_not_a_crash() {
    let indented: String = (0..2000)
        .map(|depth| format!("{}k:\n", " ".repeat(depth)))
        .collect();
    for text in [
        "[".repeat(50_000),
        "{".repeat(50_000),
        "a: ".to_owned() + &"[".repeat(50_000) + &"]".repeat(50_000),
        "a: ".to_owned() + &"{a: ".repeat(50_000),
        "- ".repeat(50_000),
        indented,
        "a: ".to_owned() + &"[".repeat(100) + &"]".repeat(100),
    ] {
        assert_eq!(within(SOON, &text), ["YAML_LIMIT"], "{}", &text[..20]);
    }
    for text in [
        "? ".repeat(50_000),
        "- ? ".repeat(20_000),
        "[".repeat(200),
        "]".repeat(50_000),
        "a: {".repeat(50_000),
    ] {
        assert_eq!(within(SOON, &text).len(), 1, "{}", &text[..20]);
    }
    let deepest = format!(
        "output_schema: {{ x: {}{} }}",
        "[".repeat(MAX_DEPTH - 2),
        "]".repeat(MAX_DEPTH - 2)
    );
    assert_eq!(
        within(SOON, &deepest),
        [""; 0],
        "the deepest that is accepted"
    );
}

#[test]
fn too_many_values_are_a_limit() {
    let flow = format!(
        "a: {{{}}}",
        (0..60_000).map(|n| format!("k{n}: 1,")).collect::<String>()
    );
    assert_eq!(within(SOON, &flow), ["YAML_LIMIT"]);
    let block: String = (0..60_000).map(|n| format!("k{n}: 1\n")).collect();
    assert_eq!(within(SOON, &block), ["YAML_LIMIT"]);
    let accepted = format!(
        "output_schema: {{{}}}",
        (0..MAX_NODES / 2 - 10)
            .map(|n| format!("k{n}: 1,"))
            .collect::<String>()
    );
    assert_eq!(within(SOON, &accepted), [""; 0]);
    let unknown: String = (0..MAX_NODES / 2 - 10)
        .map(|n| format!("k{n}: é\n"))
        .collect();
    assert_eq!(within(SOON, &unknown).len(), MAX_NODES / 2 - 10);
}

#[test]
fn long_text_is_linear() {
    let long = |n: usize| "é".repeat(n / 2);
    assert_eq!(
        within(SOON, &format!("script: |\n  {}", long(MAX_BYTES - 100))),
        [""; 0]
    );
    assert_eq!(
        within(SOON, &format!("script: \"{}\"", long(MAX_BYTES - 100))),
        [""; 0]
    );
    assert_eq!(
        within(SOON, &format!("{}: 1", "k".repeat(MAX_BYTES - 100))).len(),
        1
    );
    assert_eq!(
        within(
            SOON,
            &format!("timeout_ms: {}", "9".repeat(MAX_BYTES - 100))
        ),
        ["FIELD_WRONG_TYPE"]
    );
    assert_eq!(
        within(
            SOON,
            &format!("script: |{}  x", "\n".repeat(MAX_BYTES - 100))
        ),
        [""; 0]
    );
    assert_eq!(
        within(
            SOON,
            &format!("risk: read{}", "\n#".repeat(MAX_BYTES / 2 - 100))
        ),
        [""; 0]
    );
    assert_eq!(
        within(SOON, &"x\n".repeat(MAX_BYTES / 2 + 1)),
        ["YAML_LIMIT"]
    );
    let line = format!("output_schema: [{}]", "é,".repeat(MAX_NODES - 10));
    assert_eq!(
        within(SOON, &line).len(),
        1,
        "one long line with many values"
    );
}

#[test]
fn scanner_oddities_are_diagnostics() {
    for (text, code) in [
        ("a: &x 1", "YAML_NOT_ACCEPTED"),
        ("a: *x", "YAML_NOT_ACCEPTED"),
        ("allow: *.md", "YAML_NOT_ACCEPTED"),
        ("a: !!str 1", "YAML_NOT_ACCEPTED"),
        ("a: .inf", "YAML_NOT_ACCEPTED"),
        ("? [a]\n: 1", "YAML_NOT_ACCEPTED"),
        ("{a: 1}: 1", "YAML_NOT_ACCEPTED"),
        ("risk: read\n--- \nrisk: write", "YAML_NOT_ACCEPTED"),
        ("risk: read\n...\n--- x", "YAML_NOT_ACCEPTED"),
        ("a: b: c", "YAML_INVALID"),
        ("a: \"x", "YAML_INVALID"),
        ("a: \u{1b}[31m", "YAML_INVALID"),
        ("a: 1\rb: 2", "YAML_INVALID"),
        ("a: 1\n\u{feff}b: 2", "YAML_INVALID"),
        ("%TAG ! x\na: 1", "YAML_INVALID"),
        ("a:\n\tb: 1", "YAML_INVALID"),
    ] {
        assert_eq!(within(SOON, text), [code], "{text:?}");
    }
    for text in [
        "...\n".repeat(50_000),
        "%X y\n".repeat(50_000),
        "\u{2028}".repeat(50_000),
        "!a ".repeat(50_000),
        "&a ".repeat(50_000),
        "- \n".repeat(200_000),
    ] {
        assert!(within(SOON, &text).len() <= 1);
    }
}

#[test]
fn ten_thousand_files_are_read_quickly() {
    let text = "---\nparameters:\n  path: { type: string, required: true }\nscript: |\n  def run(args):\n      return args\n---\nReads one note.\n";
    let files = (0..10_000).map(|n| {
        (
            format!(".harness/tools/read_{n}.md"),
            text.as_bytes().to_vec(),
        )
    });
    let start = Instant::now();
    let artifacts = read(files);
    assert_eq!(
        (artifacts.tools.len(), artifacts.problems.len()),
        (10_000, 0)
    );
    assert!(
        start.elapsed() < Duration::from_secs(120),
        "{:?}",
        start.elapsed()
    );
}

/// Pieces that YAML gives a meaning to, so that random texts get past the first line.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("---\n".to_owned()),
        Just("- ".to_owned()),
        Just("event: tool.pre\n".to_owned()),
        Just("parameters:\n  a: ".to_owned()),
        Just("tools:\n  - name: ".to_owned()),
        Just("script: |2-\n".to_owned()),
        Just("\"\\u00e9\\x4".to_owned()),
        Just("\r\n".to_owned()),
        Just("\t".to_owned()),
        "[\\[\\]{},:?&*!|>'\"%@`#~\n -]{1,6}",
        "[a-zé0-9_.]{1,4}(: |\n|:\n  )",
        any::<char>().prop_map(String::from),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_reader_panic(pieces in proptest::collection::vec(piece(), 0..60)) {
        let body = pieces.concat();
        let framed = format!("---\n{body}\n---\n{body}");
        for path in ["harness.md", "harness.yaml", ".harness/tools/x.md", ".harness/hooks/x.md", ".harness/plugins/x.md"] {
            let start = Instant::now();
            for text in [&body, &framed] {
                let artifacts = project(&[(path, text.as_str())]);
                for problem in &artifacts.problems {
                    let place = problem.place.as_ref().expect("a place");
                    prop_assert!(place.span.end <= text.len() && text.is_char_boundary(place.span.start) && text.is_char_boundary(place.span.end));
                    prop_assert!(!problem.message.contains('\n'), "{}", problem.message);
                }
                for script in artifacts.tools.iter().filter_map(|tool| tool.script.as_ref()) {
                    for (line, column) in [(0, 0), (1, 1), (2, 3), (3, 90), (u32::MAX, u32::MAX)] {
                        let place = script.place_of(crate::span::Position { line, column });
                        prop_assert!(text.is_char_boundary(place.span.start) && text.is_char_boundary(place.span.end));
                    }
                }
            }
            prop_assert!(start.elapsed() < Duration::from_secs(30));
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let artifacts = read([(".harness/tools/x.md".to_owned(), bytes.clone()), (".harness/hooks/x.md".to_owned(), bytes)]);
        prop_assert_eq!(artifacts.tools.len() + artifacts.broken_tools.len() > 0, true);
        prop_assert_eq!(artifacts.hooks.len() + artifacts.broken_hooks.len() > 0, true);
    }

    #[test]
    fn line_ends_change_neither_artifacts_nor_positions(pieces in proptest::collection::vec(piece(), 0..40)) {
        let text = format!("---\n{}\n---\nBody.\n", pieces.concat().replace(['\r', '\0'], ""));
        let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        let (plain, crlf) = (project(&[(".harness/tools/x.md", &text)]), project(&[(".harness/tools/x.md", &windows)]));
        prop_assert_eq!(super::problems(&plain), super::problems(&crlf));
        let json = |artifacts: &crate::artifact::Artifacts| artifacts.tools.iter().map(|tool| (tool.frontmatter.to_string(), tool.description.clone())).collect::<Vec<_>>();
        prop_assert_eq!(json(&plain), json(&crlf));
    }
}
