//! What counts as a use of a tool's name, sentence by sentence.

use super::*;
use proptest::prelude::*;
use std::time::{Duration, Instant};

const DECLARED: [&str; 7] = [
    "read_file",
    "run",
    "file",
    "list-files",
    "strings::count_char",
    "notes.read",
    "search",
];

fn names() -> DeclaredNames<'static> {
    let mut names = DeclaredNames::default();
    for (index, name) in DECLARED.into_iter().enumerate() {
        names.add(name, index);
    }
    names.add_alias(0, "file", "path");
    names.add_alias(0, "filename", "path");
    names
}

/// The names that a text uses, with line and column of each.
fn used(text: &str) -> Vec<String> {
    let names = names();
    let found = scan(text, &names, Fences::Skip).references;
    found
        .iter()
        .filter(|found| found.marker.is_none())
        .map(|found| found.name(text).to_owned())
        .collect()
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(used(text), expected, "{text}");
}

#[test]
fn a_declared_name_counts_as_a_call_with_and_without_arguments() {
    check("Use read_file(path) first.", &["read_file"]);
    check("Use read_file().", &["read_file"]);
    check("run(x)", &["run"]);
    check(
        "Then list-files(), strings::count_char(\"a\") and notes.read(1).",
        &["list-files", "strings::count_char", "notes.read"],
    );
    check("functions.read_file(path)", &["read_file"]);
}

#[test]
fn a_declared_name_counts_in_backticks() {
    check(
        "Use `read_file` and `run`, `` list-files `` too.",
        &["read_file", "run", "list-files"],
    );
    check("`read_file(path)`", &["read_file"]);
    check(
        "`read_file` and `unknown_name` and `max_bytes: 3`",
        &["read_file"],
    );
    check("a ` alone, and `read_file", &[]);
    check("`ghost(1)` in `O(n)`, with `f(x)`", &["ghost"]);
    check("each user_id(s), all file_name(s) and box_class(es)", &[]);
}

#[test]
fn names_in_tags_count_as_a_name_or_as_json() {
    check("<tool_call>ghost</tool_call>", &["ghost"]);
    check("<toolcall>\n  read_file\n</toolcall>", &["read_file"]);
    check(
        "<tool_call>{\"name\": \"ghost\", \"arguments\": {}}</tool_call>",
        &["ghost"],
    );
    check(
        "<tool_call>\n{\n  \"arguments\": {},\n  \"name\": \"ghost\"\n}\n</tool_call>",
        &["ghost"],
    );
    check("<tool_call>run({})</tool_call>", &["run"]);
    check("<tool_call>{\"name\": \"ghost\"", &["ghost"]);
    check(
        "<TOOL_CALL>ghost</TOOL_CALL> <Tool_Call>{\"name\": \"ghost\"}</Tool_Call>",
        &["ghost", "ghost"],
    );
    check(
        "<tool_call name=\"ghost\">{\"path\": 1}</tool_call>, <toolcall id='1' name='read_file'/>",
        &["ghost", "read_file"],
    );
    check("<tool_call id=\"1\">ghost</tool_call>", &["ghost"]);
    check(
        "<tool_call name=\"<name>\"> <tool_call name=\"your tool\"> <tool_call filename=\"a\">",
        &[],
    );
    check(
        "<tool_calls>ghost</tool_calls> <tool_call_id>ghost</tool_call_id>",
        &[],
    );
    check("<tool_call>...</tool_call> and a <tool_call>", &[]);
    check(
        "<tool_call>{\"name\": <function-name>, \"arguments\": <args>}</tool_call>",
        &[],
    );
    check(
        "<tool_call>{\"name\": \"<function-name>\"}</tool_call>",
        &[],
    );
}

#[test]
fn json_objects_of_calls_count_and_others_do_not() {
    check(
        "{\"name\": \"ghost\", \"arguments\": {\"a\": 1}}",
        &["ghost"],
    );
    check("{\"type\": \"tool_use\", \"name\": \"ghost\"}", &["ghost"]);
    check("{\"function\": {\"name\": \"ghost\"}}", &["ghost"]);
    check("{\"name\": \"Ada\", \"age\": 36}", &[]);
    check(
        "{\"name\": \"ghost\", \"description\": \"d\", \"parameters\": {}}",
        &[],
    );
    check("the \"name\": \"ghost\" of it", &[]);
}

#[test]
fn an_undeclared_name_counts_when_it_is_called_and_has_an_underscore() {
    check("Use delete_file(path).", &["delete_file"]);
    check("delete_file()", &["delete_file"]);
    check("Use foo(path) or delete(path).", &[]);
    check("`foo(path)`", &["foo"]);
    check("`foo`", &[]);
}

#[test]
fn methods_paths_definitions_and_prose_are_no_tools() {
    for text in [
        "df.group_by(x)",
        "os.path.is_file(p)",
        "rows().group_by(x)",
        "std::mem::size_of(x)",
        "`df.group_by(x)`",
        "/usr/lib_x(1)",
        "def read_lines(path):",
        "__init__(self)",
        "Use the tools (listed below).",
        "a run (any run) of it",
        "runtime (docs)",
        "delete_file (see below)",
        "the file(s), the search(es)",
        "`print(x)` and `len(x)`",
        "call `tool_name(...)` with tool_name(x)",
    ] {
        check(text, &[]);
    }
}

#[test]
fn nested_calls_count_and_an_apostrophe_swallows_nothing() {
    check(
        "read_file(run(delete_file(1)))",
        &["read_file", "run", "delete_file"],
    );
    check(
        "read_file(don't) then delete_file(x)",
        &["read_file", "delete_file"],
    );
    check(
        "read_file(it's unclosed\nand delete_file(x)",
        &["read_file", "delete_file"],
    );
    check("He said \"use delete_file(x)\".", &["delete_file"]);
}

#[test]
fn each_use_has_its_place() {
    let text = "one\nread_file() and read_file()\n";
    let spans: Vec<usize> = scan(text, &names(), Fences::Skip)
        .references
        .iter()
        .map(|found| found.span.start)
        .collect();
    assert_eq!(spans, [4, 20]);
}

#[test]
fn fenced_code_counts_only_when_asked_for() {
    let text = "```\ndelete_file(x)\n```\n";
    check(text, &[]);
    assert_eq!(scan(text, &names(), Fences::Scan).references.len(), 1);
}

#[test]
fn a_marker_covers_its_line_the_next_one_or_a_block() {
    check(
        "<!-- harness: ignore-next-line -->\ndelete_file(x)\ndelete_file(y)",
        &["delete_file"],
    );
    check(
        "delete_file(x) <!-- harn-tool-surface: ignore-line -->",
        &[],
    );
    check(
        "<!-- harn-tool-surface: ignore-start -->\ndelete_file(x)\n<!-- harn-tool-surface: ignore-end -->\nremove_file(x)",
        &["remove_file"],
    );
}

#[test]
fn aliases_count_only_as_arguments_of_their_own_tool() {
    let aliases = |text: &str| {
        let names = names();
        let found = scan(text, &names, Fences::Skip).aliases;
        found
            .iter()
            .map(|found| found.used.name(text).to_owned())
            .collect::<Vec<_>>()
    };
    for (text, expected) in [
        ("read_file(file=\"a\")", vec!["file"]),
        (
            "read_file({file: 1, filename: 2})",
            vec!["file", "filename"],
        ),
        ("read_file({\n  \"file\": 1\n})", vec!["file"]),
        ("read_file(file)", vec!["file"]),
        (
            "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"file\": 1}}</tool_call>",
            vec!["file"],
        ),
        (
            "{\"arguments\": {\"file\": 1}, \"name\": \"read_file\"}",
            vec!["file"],
        ),
        ("read_file(path=\"the file\")", vec![]),
        ("read_file({path: {file: 1, a: {file: 2}}})", vec![]),
        ("the file: a, and run(file=1)", vec![]),
        ("read_file(path) of file=1", vec![]),
        ("read_file(run(file=1))", vec![]),
        ("read_file(file == 1)", vec![]),
    ] {
        assert_eq!(aliases(text), expected, "{text}");
    }
}

/// The shortest of several times for scanning a text.
fn time(text: &str, times: usize) -> Duration {
    let names = names();
    let run = || {
        let started = Instant::now();
        for _ in 0..times {
            drop(std::hint::black_box(scan(
                std::hint::black_box(text),
                &names,
                Fences::Skip,
            )));
        }
        started.elapsed()
    };
    (0..5).map(|_| run()).min().unwrap_or_default()
}

#[test]
fn no_text_is_worse_than_linear() {
    for part in [
        "<tool_call>",
        "<tool_call>{",
        "<tool_call ",
        "<tool_call name=\"",
        "<TOOL_CALL a='name",
        "{\"name\":",
        "read_file(",
        "'",
        "\"\\\"",
        "`",
        "`` ` ",
        "(",
        "read_file(don't ",
        "<!-- harness: ignore-start -->",
        "{\"name\": \"a\", \"arguments\": {",
        "a.",
        "a-a::",
        "\\\"",
        "{\"a",
        "- ",
        "> ",
        "_(",
    ] {
        let of = |bytes: usize| part.repeat(bytes / part.len());
        let (short, long) = (of(24_000), of(192_000));
        // As much text in one piece as in eight, so that a busy machine disturbs both alike. A
        // quadratic pass would take eight times as long.
        let linear = || time(&long, 1) < time(&short, 8) * 5 / 2;
        assert!(
            (0..8).any(|_| linear()),
            "{part:?}: {:?} and {:?}",
            time(&short, 8),
            time(&long, 1)
        );
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_scanner_panic(text in "(\\PC|[`'\"(){}<>:,.\n \\\\-]|read_file|<tool_call>|\"name\"|```|~~~|<!-- harness: ignore-start -->){0,80}") {
        let names = names();
        for fences in [Fences::Skip, Fences::Scan] {
            let scanned = scan(&text, &names, fences);
            let uses = scanned.references.iter().chain(scanned.aliases.iter().map(|found| &found.used));
            for found in uses {
                prop_assert!(text.get(found.span.start..found.span.end).is_some_and(|name| !name.is_empty()));
                prop_assert!(found.marker.is_none_or(|marker| marker < scanned.markers.len()));
            }
        }
    }

    #[test]
    fn names_in_a_fence_are_never_seen(inside in "[a-z_(){}\"' \n]{0,60}") {
        let text = format!("````\n{inside}\n````\n");
        prop_assert!(scan(&text, &names(), Fences::Skip).references.is_empty());
    }
}
