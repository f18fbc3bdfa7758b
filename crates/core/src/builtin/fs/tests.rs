//! `fs` on a real workspace.

use super::super::tests::{TestHost, call_on, refused_on};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn files_are_written_read_listed_and_removed() {
    let host = TestHost::with_files();
    assert_eq!(
        call_on(&host, "fs.write", json!(["d/a.txt", "hé"])),
        json!({"path": "d/a.txt", "bytes": 3, "created": true})
    );
    assert_eq!(
        call_on(&host, "fs.write", json!(["d/a.txt", "hé"]))["created"],
        json!(false)
    );
    assert_eq!(call_on(&host, "fs.read", json!(["d/a.txt"])), json!("hé"));
    let listed = call_on(&host, "fs.list", json!([]));
    let mut folder = call_on(&host, "fs.stat", json!(["d/"]));
    assert_eq!(folder["name"], json!("d"));
    folder.as_object_mut().expect("a dict").shift_remove("mode");
    assert_eq!(listed, json!([folder]));
    assert_eq!(
        (&listed[0]["kind"], &listed[0]["is_dir"]),
        (&json!("directory"), &json!(true))
    );
    let stat = call_on(&host, "fs.stat", json!(["d/a.txt"]));
    assert_eq!(
        (
            &stat["kind"],
            &stat["size"],
            &stat["is_file"],
            &stat["is_dir"]
        ),
        (&json!("file"), &json!(3), &json!(true), &json!(false))
    );
    assert!(
        stat["mode"]
            .as_str()
            .is_some_and(|mode| u32::from_str_radix(mode, 8).is_ok())
    );
    call_on(&host, "fs.copy", json!(["d/a.txt", "b.txt"]));
    call_on(&host, "fs.move", json!(["b.txt", "c.txt"]));
    assert_eq!(
        call_on(&host, "fs.glob", json!(["**/*.txt"])),
        json!(["c.txt", "d/a.txt"])
    );
    assert!(!refused_on(&host, "fs.remove", json!(["d"])).is_empty());
    call_on(&host, "fs.remove", json!(["d", true]));
    assert_eq!(call_on(&host, "fs.exists", json!(["d"])), json!(false));
}

#[test]
fn bytes_that_are_no_text_say_where_and_can_still_be_read() {
    let host = TestHost::with_files();
    call_on(&host, "fs.write", json!(["b", "YWL/Yw==", "base64"]));
    assert_eq!(
        fs::read(host.folder().join("b")).expect("a file"),
        b"ab\xffc"
    );
    assert!(refused_on(&host, "fs.read", json!(["b"])).contains("byte 2"));
    assert_eq!(
        call_on(&host, "fs.read", json!(["b", 10, "lossy"])),
        json!("ab\u{fffd}c")
    );
    assert_eq!(
        call_on(&host, "fs.read", json!(["b", 10, "base64"])),
        json!("YWL/Yw==")
    );
    assert!(
        refused_on(&host, "fs.read", json!(["b", 10, "latin1"]))
            .contains("`utf-8`, `lossy` or `base64`")
    );
    assert!(refused_on(&host, "fs.read_lines", json!(["b"])).contains("byte 2"));
    refused_on(&host, "fs.read", json!(["b", 3]));
    refused_on(&host, "fs.read", json!(["b", -1]));
}

#[test]
fn edits_change_what_they_name_and_nothing_when_they_fail() {
    let host = TestHost::with_files();
    let text = "one\ntwo\nthree\n";
    call_on(&host, "fs.write", json!(["f", text]));
    for (name, args) in [
        ("fs.replace", json!(["f", "four", "x"])),
        ("fs.replace", json!(["f", "o", "x"])),
        ("fs.replace", json!(["f", "", "x"])),
        ("fs.replace_all", json!(["f", "", "x"])),
        ("fs.insert_at", json!(["f", 9, "x"])),
        ("fs.replace_lines", json!(["f", 3, 2, "x"])),
        ("fs.delete_lines", json!(["f", 1, 4])),
    ] {
        refused_on(&host, name, args);
        assert_eq!(
            call_on(&host, "fs.read", json!(["f"])),
            json!(text),
            "{name}"
        );
    }
    assert_eq!(
        call_on(&host, "fs.replace", json!(["f", "two\nth", "2\nTH"])),
        json!({"path": "f", "line": 2})
    );
    assert_eq!(
        call_on(&host, "fs.replace_all", json!(["f", "e", "E"])),
        json!(3)
    );
    assert_eq!(
        call_on(&host, "fs.replace_all", json!(["f", "zzz", "E"])),
        json!(0)
    );
    assert_eq!(
        call_on(&host, "fs.insert_at", json!(["f", 4, "end"])),
        json!({"path": "f", "lines": 4})
    );
    assert_eq!(
        call_on(&host, "fs.read_lines", json!(["f", 2, 0])),
        json!(["2", "THrEE", "end"])
    );
    assert_eq!(call_on(&host, "fs.line_count", json!(["f"])), json!(4));
}

#[test]
fn find_looks_into_text_files_and_passes_over_the_rest() {
    let host = TestHost::with_files();
    for (path, text) in [
        ("a.rs", "let x = 1;\nlet y = 2;\n"),
        ("sub/b.rs", "let z = 3;\n"),
        ("d.txt", "let no;\n"),
    ] {
        call_on(&host, "fs.write", json!([path, text]));
    }
    fs::create_dir(host.folder().join(".git")).expect("a folder");
    fs::write(host.folder().join(".git/c.rs"), "let g = 0;\n").expect("written");
    fs::write(host.folder().join("binary.rs"), b"let \0").expect("written");
    fs::write(host.folder().join("huge.rs"), "let ".repeat(5 << 20)).expect("written");
    let found = |args| {
        let found = call_on(&host, "fs.find", args);
        found
            .as_array()
            .expect("a list")
            .iter()
            .map(|hit| {
                format!(
                    "{}:{}",
                    hit["path"].as_str().unwrap_or_default(),
                    hit["line"]
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        found(json!(["let ", "**/*.rs"])),
        ["a.rs:1", "a.rs:2", "sub/b.rs:1"]
    );
    assert_eq!(
        found(json!(["^let [yz]", "**/*.rs", true])),
        ["a.rs:2", "sub/b.rs:1"]
    );
    assert_eq!(found(json!(["let", "**/*.rs", false, 1])), ["a.rs:1"]);
    assert_eq!(found(json!(["^let [yz]", "**/*.rs"])), Vec::<String>::new());
    // The other order, where only one of the two is a path that exists.
    assert_eq!(found(json!(["a.rs", "let [xy]"])), ["a.rs:1", "a.rs:2"]);
    assert_eq!(found(json!(["sub", "^let"])), ["sub/b.rs:1"]);
    assert_eq!(found(json!(["let", "sub/"])), ["sub/b.rs:1"]);
    assert_eq!(found(json!(["let", "a.rs"])).len(), 2);
    assert_eq!(found(json!(["let", "./"])).len(), 4);
    assert!(
        refused_on(&host, "fs.find", json!(["let", "missing.rs"]))
            .contains("write `fs.find(pattern, path)`")
    );
    refused_on(&host, "fs.find", json!([""]));
    refused_on(&host, "fs.find", json!(["(", "**/*", true]));
}

#[test]
fn searches_leave_out_what_git_ignores_unless_asked() {
    let host = TestHost::with_files();
    for (path, text) in [
        (".gitignore", "/out/\n*.log\n!keep.log\n"),
        ("a.txt", "x"),
        ("a.log", "x"),
        ("keep.log", "x"),
        ("out/b.txt", "x"),
        ("sub/.gitignore", "!a.log\nb.txt\n"),
        ("sub/a.log", "x"),
        ("sub/b.txt", "x"),
        ("sub/out/c.txt", "x"),
        (".hidden/d.txt", "x"),
    ] {
        fs::create_dir_all(host.folder().join(path).parent().expect("a parent")).expect("folders");
        fs::write(host.folder().join(path), text).expect("written");
    }
    let paths = |args| call_on(&host, "fs.glob", args);
    assert_eq!(
        paths(json!(["**/*.{txt,log}"])),
        json!([
            ".hidden/d.txt",
            "a.txt",
            "keep.log",
            "sub/a.log",
            "sub/out/c.txt"
        ])
    );
    assert_eq!(
        paths(json!(["**/*.txt", 9, true, false])),
        json!(["a.txt", "out/b.txt", "sub/b.txt", "sub/out/c.txt"])
    );
    // What the pattern names in full is not left out.
    assert_eq!(paths(json!(["out/*"])), json!(["out/b.txt"]));
    assert_eq!(paths(json!(["a.log"])), json!(["a.log"]));
    assert_eq!(
        paths(json!([".hidden/*", 9, false, false])),
        json!([".hidden/d.txt"])
    );
    assert_eq!(paths(json!(["sub/*.txt"])), json!([]));
    let found = |args| {
        let found = call_on(&host, "fs.find", args);
        found.as_array().expect("a list").len()
    };
    assert_eq!(found(json!(["x", "**/*.{txt,log}", false, 99])), 5);
    assert_eq!(found(json!(["x", "**/*.{txt,log}", false, 99, true])), 8);
}

#[test]
fn too_many_results_are_the_first_ones_and_a_hint() {
    let host = TestHost::with_files();
    for number in 0..300 {
        call_on(
            &host,
            "fs.write",
            json!([format!("d{}/{number:03}", number % 7), "x\nx\n"]),
        );
    }
    let part = call_on(
        &host,
        "fs.find",
        json!(["x", "**/*", false, 3, false, true, true]),
    );
    let places: Vec<String> = part["matches"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|hit| {
            format!(
                "{}:{}",
                hit["path"].as_str().unwrap_or_default(),
                hit["line"]
            )
        })
        .collect();
    assert_eq!(places, ["d0/000:1", "d0/000:2", "d0/007:1"]);
    assert_eq!(part["truncated"], json!(true));
    let hint = part["hint"].as_str().expect("a hint");
    assert!(
        hint.contains("first 3 results") && hint.contains("narrow `path`"),
        "{hint}"
    );
    let whole = call_on(&host, "fs.glob", json!(["**/*", 300, false, true, true]));
    assert_eq!(
        (&whole["truncated"], &whole["hint"]),
        (&json!(false), &json!(null))
    );
    assert!(host.warned.lock().expect("a lock").is_empty());
    let cut = call_on(&host, "fs.glob", json!(["**/*", 299]));
    assert_eq!(cut.as_array().map(Vec::len), Some(299));
    assert!(host.warned.lock().expect("a lock")[0].contains("there are more"));
}

#[test]
fn a_search_stops_with_its_call() {
    let mut host = TestHost::with_files();
    call_on(&host, "fs.write", json!(["a", "x"]));
    host.over = true;
    for name in ["fs.glob", "fs.find"] {
        assert!(refused_on(&host, name, json!(["**/*"])).contains("was stopped"));
    }
}

#[test]
fn no_call_leaves_the_workspace_and_the_same_calls_work_inside() {
    let host = TestHost::with_files();
    let outside = tempfile::tempdir().expect("a folder");
    let canary = outside.path().join("canary");
    fs::write(&canary, "untouched\n").expect("written");
    symlink(outside.path(), host.folder().join("out")).expect("a link");
    call_on(&host, "fs.write", json!(["in/canary", "untouched\n"]));
    call_on(&host, "fs.write", json!(["mine", "mine\n"]));
    let absolute = canary.to_str().expect("UTF-8").to_owned();
    let calls = |path: &str| {
        [
            ("fs.read", json!([path])),
            ("fs.read_lines", json!([path])),
            ("fs.diff", json!([path, "mine"])),
            ("fs.copy", json!([path, "copied"])),
            ("fs.append", json!([path, "more\n"])),
            ("fs.replace", json!([path, "untouched", "x"])),
            ("fs.insert_at", json!([path, 1, "x"])),
            ("fs.write", json!([path, "x"])),
            ("fs.move", json!([path, "moved"])),
        ]
    };
    for path in [
        "out/canary",
        absolute.as_str(),
        "../canary",
        "in/../../canary",
    ] {
        for (name, args) in calls(path) {
            refused_on(&host, name, args);
        }
        refused_on(&host, "fs.remove", json!([path]));
    }
    assert_eq!(
        fs::read_to_string(&canary).expect("still there"),
        "untouched\n"
    );
    assert_eq!(
        call_on(&host, "fs.find", json!(["untouched"])),
        json!([{"path": "in/canary", "line": 1, "text": "untouched"}])
    );
    for (name, args) in calls("in/canary") {
        call_on(&host, name, args);
    }
}
