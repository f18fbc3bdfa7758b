//! What a command sees and may do; `harness doctor`.

use super::{exec, project};
use crate::support::Project;
use crate::support::program::{Ran, command, harness, harness_reading, prepared, write_program};
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::Stdio;

#[test]
fn a_command_streams_and_harness_exits_with_its_code() {
    let project = project();
    let ran = exec(
        &project,
        &["sh", "-c", "echo out; echo err >&2; cat src/a.txt; exit 7"],
    )
    .ends(7);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("out\na\n", "err\n"));
    assert_eq!(
        exec(&project, &["sh", "-c", "kill -TERM $$"]).code,
        Some(128 + 15)
    );
    assert_eq!(
        harness_reading(project.path(), &["exec", "--", "tr", "a-z", "A-Z"], "abc")
            .ends(0)
            .out,
        "ABC"
    );
    let missing = exec(&project, &["no-such-program"]).ends(127);
    assert!(
        missing.out.is_empty() && missing.err.contains("no-such-program"),
        "{}",
        missing.err
    );
    for (words, why) in [(["src/a.txt"], "chmod +x"), (["./src"], "folder")] {
        let refused = exec(&project, &words).ends(126);
        assert!(
            refused.out.is_empty() && refused.err.contains(why),
            "{}",
            refused.err
        );
    }
    // Options after the command belong to it.
    assert_eq!(
        harness(project.path(), &["exec", "echo", "--json", "-n"])
            .ends(0)
            .out,
        "--json -n\n"
    );
    harness(project.path(), &["exec"]).ends(2);
}

#[test]
fn a_command_writes_only_in_the_workspace_and_never_to_protected_files() {
    let project = project();
    let outside = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let canary = outside.path().join("canary");
    fs::write(&canary, "alive").expect("a canary");
    let script = format!(
        "echo x > src/b.txt; rm -f {0}; echo x > {0}; mkdir .harness; echo x > .harness/y; echo x >> harness.md",
        canary.display()
    );
    exec(&project, &["sh", "-c", &script]);
    assert_eq!(
        fs::read_to_string(project.path().join("src/b.txt")).expect("written"),
        "x\n"
    );
    assert_eq!(fs::read_to_string(&canary).expect("it is there"), "alive");
    assert_eq!(
        fs::read_to_string(project.path().join("harness.md")).expect("it is there"),
        "---\nformat: 1\n---\n"
    );
    assert!(!project.path().join(".harness/y").exists());
}

#[test]
fn a_login_shell_finds_a_toolchain_in_the_home_if_the_path_names_it() {
    let (project, home) = (project(), tempfile::tempdir_in("/var/tmp").expect("a home"));
    let bin = home.path().join(".cargo/bin");
    fs::create_dir_all(&bin).expect("folders");
    write_program(&bin.join("cargo"), "#!/bin/sh\necho cargo of the home\n");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    for (words, expected) in [
        (["bash", "-lc", "cargo"], "cargo of the home\n"),
        (["bash", "-c", "cargo"], "cargo of the home\n"),
    ] {
        let words = [&["exec", "--"], &words[..]].concat();
        let ran = prepared(project.path(), &words)
            .env("HOME", home.path())
            .env("PATH", &path)
            .output()
            .expect("it starts");
        assert_eq!(Ran::from(ran).ends(0).out, expected, "{words:?}");
    }
}

#[test]
fn without_a_valid_project_nothing_runs() {
    let empty = tempfile::tempdir().expect("a folder");
    let ran = harness(empty.path(), &["exec", "--", "touch", "canary"]).ends(2);
    assert!(ran.err.contains("no harness project here"), "{}", ran.err);
    let broken = Project::new(&[("harness.md", "---\nformat: [\n---\n")]);
    harness(broken.path(), &["exec", "--", "touch", "canary"]).ends(2);
    assert!(!broken.path().join("canary").exists() && !empty.path().join("canary").exists());
}

#[test]
fn doctor_shows_the_tier_each_layer_and_the_plan() {
    let project = project();
    let document = harness(project.path(), &["doctor", "--json"])
        .ends(0)
        .document();
    assert!(
        ["A", "B"].iter().any(|tier| document["tier"] == *tier),
        "{document}"
    );
    let layers: Vec<&str> = document["layers"]
        .as_array()
        .expect("layers")
        .iter()
        .filter_map(|layer| layer["name"].as_str())
        .collect();
    assert_eq!(layers, ["namespaces", "landlock", "seccomp", "cgroups"]);
    assert!(
        document["scripts"]["works"] == true && document["project"]["plan"].is_object(),
        "{document}"
    );
    let words = harness(project.path(), &["doctor"]).ends(0).out;
    assert!(
        words.contains("processes: tier")
            && words.contains("landlock")
            && words.contains("a client whose hook times out"),
        "{words}"
    );
    let empty = tempfile::tempdir().expect("a folder");
    assert_eq!(
        harness(empty.path(), &["doctor", "--json"])
            .ends(0)
            .document()["project"]["found"],
        false
    );
    let broken = Project::new(&[("harness.md", "---\nformat: [\n---\n")]);
    assert!(
        harness(broken.path(), &["doctor"])
            .ends(1)
            .out
            .contains("nothing runs")
    );
}

/// Runs the program as root of a user namespace that maps `users` of the machine's users, with no other new namespace.
fn as_root_of(project: &Project, users: u32, words: &[&str]) -> Option<Ran> {
    let line = [
        "-U",
        "sh",
        "-c",
        "echo; read -r go; exec \"$@\"",
        "sh",
        env!("CARGO_BIN_EXE_harness"),
    ];
    let mut inside = command("unshare", project.path(), &[&line, words].concat());
    let mut inside = inside
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("unshare starts");
    if inside
        .stdout
        .as_mut()
        .expect("its output")
        .read_exact(&mut [0])
        .is_err()
    {
        inside.wait().expect("it ends");
        return None;
    }
    for map in ["uid_map", "gid_map"] {
        fs::write(
            format!("/proc/{}/{map}", inside.id()),
            format!("0 0 {users}"),
        )
        .expect("a map");
    }
    inside
        .stdin
        .take()
        .expect("its input")
        .write_all(b"go\n")
        .expect("written");
    Some(Ran::from(inside.wait_with_output().expect("it ends")))
}

#[test]
fn root_in_a_user_namespace_gets_a_lower_tier_and_doctor_says_why() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root, to give users to a namespace");
        return;
    }
    let project = project();
    let Some(told) = as_root_of(&project, 65536, &["doctor", "--json"]) else {
        println!("skipped: no user namespaces");
        return;
    };
    let told = told.document();
    assert!(
        told["tier"] != "A"
            && told["layers"][0]["fix"]
                .as_str()
                .is_some_and(|fix| fix.contains("mounts")),
        "{told}"
    );
    // What doctor promises really runs.
    let ran =
        as_root_of(&project, 65536, &["exec", "--", "cat", "src/a.txt"]).expect("a namespace");
    assert_eq!(ran.out == "a\n", told["tier"] == "B", "{ran:?}");
    let alone = as_root_of(&project, 1, &["doctor", "--json"])
        .expect("a namespace")
        .document();
    assert!(
        alone["tier"] != "A" && alone.to_string().contains("has only root"),
        "{alone}"
    );
}

#[test]
fn arguments_that_are_not_utf_8_are_passed_on_unchanged() {
    let project = project();
    let word = std::ffi::OsStr::from_bytes(b"caf\xe9 \xff");
    let ran = prepared(project.path(), &["exec", "--", "printf", "%s"])
        .arg(word)
        .output()
        .expect("it runs");
    assert_eq!(
        (ran.status.code(), ran.stdout.as_slice()),
        (Some(0), word.as_bytes())
    );
}
