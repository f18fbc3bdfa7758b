//! The configuration reader against `git config --list`.

use std::fs;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use tempfile::TempDir;
use tool_harness_sandbox::git::{Config, objections};

use super::world::has_git;

/// What Git reads: names and values, and whether it gave up.
fn by_git(file: &Path) -> (Vec<Vec<u8>>, bool) {
    let ran = Command::new("git")
        .args(["config", "--list", "-z", "--file"])
        .arg(file)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git runs");
    let mut settings: Vec<Vec<u8>> = ran.stdout.split(|byte| *byte == 0).map(plain).collect();
    assert_eq!(settings.pop(), Some(Vec::new()), "{ran:?}");
    (settings, !ran.status.success())
}

/// The same by the harness.
fn by_us(text: &[u8]) -> (Vec<Vec<u8>>, bool) {
    let config = Config::read(text);
    let line = |setting: &tool_harness_sandbox::git::Setting| {
        let mut line = setting.name.clone();
        if let Some(value) = &setting.value {
            line.push(b'\n');
            line.extend(value);
        }
        plain(&line)
    };
    (
        config.settings.iter().map(line).collect(),
        config.broken.is_some(),
    )
}

/// Versions differ in which blanks they keep inside a value.
fn plain(text: &[u8]) -> Vec<u8> {
    let blank = |byte: &u8| match byte {
        b'\t' | b'\r' => b' ',
        byte => *byte,
    };
    text.iter().map(blank).collect()
}

fn check(file: &Path, text: &[u8]) {
    fs::write(file, text).expect("a file");
    let (theirs, ours) = (by_git(file), by_us(text));
    assert_eq!(ours, theirs, "{:?}", String::from_utf8_lossy(text));
}

#[test]
fn hand_written_files_are_read_as_git_reads_them() {
    if !has_git() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("config");
    for text in [
        &b""[..],
        b"[core]\n\tbare = false\n",
        b"\xef\xbb\xbf[core]\nbare\n",
        b"\xef\xbb[core]\nbare\n",
        b"\xef\xbb\xbf\xef\xbb\xbf[core]\nbare\n",
        b"[core]\r\n\tbare = false\r\n\thooksPath = x\\\r\ny\r\n",
        b"[core]\rbare = a\rb\r",
        b"[core] bare=1 # x\n[core]; y\nz",
        b"[a \"B\"]k=v\n[a \"b\"]k=w\n[A.B]k=x\n[a.B \"C\"]k=y\n",
        b"[a \"x\\\"y\\\\z\\q\"]\nk = v\n",
        b"[a \"x\ny\"]\nk = v\n",
        b"[a  \t \"x\"]k\n",
        b"[a\"x\"]k\n",
        b"[a \"x\" ]k\n",
        b"[ a]k\n",
        b"[]k=1\n",
        b"[ \"x\"]k=1\n",
        b"[.x]k=1\n",
        b"[a.]k=1\n",
        b"[a \"\"]k=1\n",
        b"[a-b.c-d]k-l=1\n",
        b"[a_b]k=1\n",
        b"[a]k_l=1\n",
        b"[a]k = x   y  \n",
        b"[a]k = \"  x  \"  \n",
        b"[a]k = \"a\"b\"c\" d\n",
        b"[a]k = a \"\" \n",
        b"[a]k = \"x # y ; z\" ; w\n",
        b"[a]k = x\\\n  y \\\n\n[b]l=1\n",
        b"[a]k = \"x\\\ny\"\n",
        b"[a]k = x # c \\\nl = 2\n",
        b"[a]k = \\t\\n\\b\\\\\\\"\n",
        b"[a]k = \\r\n",
        b"[a]k = x\\",
        b"[a]k = \"x",
        b"[a]k",
        b"[a]k =",
        b"[a]k x\n",
        b"[a]\n  k\t =\tv\n",
        b"[a]k=v\0w\nl=\0\n",
        b"[a \"x\0y\"]k=v\n",
        b"k = v\n",
        b"# [a]\nk\n; x\n",
        b"[include]\npath = nowhere\n",
        b"[a]k = v\n[b\nl=w\n[c]\nm=x",
        b"[a]1k=v\n",
        b"[a]-k=v\n",
        b"[\xc3\xa4]k=v\n",
        b"[a \"\xc3\xa4\"]k=\xff\n",
        b"[a]k=\x0b\x0cv\x0b\n",
        b"\x0b[a]k=v\n",
    ] {
        check(&file, text);
    }
}

/// Pieces of which most files, and most mistakes, are made.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = [
        "[core]",
        "[a \"b\"]",
        "[A.b]",
        "[a",
        "[",
        "]",
        "\"",
        "\\",
        "\\\n",
        "\n",
        "\r\n",
        "\r",
        " ",
        "\t",
        "=",
        " = ",
        "#",
        ";",
        "key",
        "Key-2",
        "value",
        "a b",
        "\\\"",
        "\\t",
        "\\q",
        ".",
        "-",
        "_",
        "1",
        "\0",
        "\u{feff}",
        "include",
        "path",
        "\u{e4}",
        "\u{b}",
    ];
    prop_oneof![
        20 => prop::sample::select(known.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..3),
    ]
}

/// A line that is probably right.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let joined = |pieces: Vec<Vec<u8>>| pieces.concat();
    prop_oneof![
        3 => prop::collection::vec(piece(), 0..8).prop_map(joined),
        2 => prop::collection::vec(piece(), 0..4).prop_map(|pieces| {
            [b"key = ".to_vec(), pieces.concat(), b"\n".to_vec()].concat()
        }),
        1 => Just(b"[core]\n".to_vec()),
        1 => Just(b"[remote \"Origin\"]\n".to_vec()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn made_up_files_are_read_as_git_reads_them(lines in prop::collection::vec(line(), 0..8)) {
        // Without Git the other test says that it is skipped.
        if Command::new("git").arg("--version").output().is_ok() {
            let folder = TempDir::new().expect("a folder");
            check(&folder.path().join("config"), &lines.concat());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn no_bytes_make_the_reader_or_the_judge_panic(
        old in prop::collection::vec(line(), 0..8),
        new in prop::collection::vec(line(), 0..8),
        bytes in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let (old, new) = (old.concat(), [new.concat(), bytes].concat());
        for setting in &Config::read(&new).settings {
            let _ = (setting.section(), setting.subsection(), setting.key(), setting.shown());
        }
        // A file that says the same has nothing against it, and one that says more has.
        prop_assert_eq!(objections(&old, &old).len(), usize::from(Config::read(&old).broken.is_some()));
        let _ = objections(&old, &new);
        let more = [&old[..], b"\n[core]\nfsmonitor = ./x\n"].concat();
        prop_assert!(!objections(&old, &more).is_empty());
    }
}
