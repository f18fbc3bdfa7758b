//! Files on a real disk: each oddity is a diagnostic, and the rest loads.

use super::codes;
use crate::artifact::{Artifacts, load};
use crate::diagnostic::Severity;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use tempfile::TempDir;

const GOOD: &str = "---\n---\nDoes it.\n";

/// A project with a good tool and a good hook, and the files that `odd` adds.
fn check(odd: impl FnOnce(&Path)) -> Artifacts {
    let project = TempDir::new().expect("a folder");
    for folder in ["tools", "hooks"] {
        fs::create_dir_all(project.path().join(".harness").join(folder)).expect("a folder");
    }
    fs::write(project.path().join(".harness/tools/good.md"), GOOD).expect("a file");
    fs::write(
        project.path().join(".harness/hooks/good.md"),
        "---\nevent: tool.pre\n---\n",
    )
    .expect("a file");
    odd(project.path());
    let artifacts = load(project.path());
    assert!(
        artifacts.tools.iter().any(|tool| tool.name == "good"),
        "the rest loads"
    );
    assert!(
        artifacts.hooks.iter().any(|hook| hook.name == "good"),
        "the rest loads"
    );
    artifacts
}

#[test]
fn a_guard_in_the_wrong_place_is_noticed() {
    for (path, words) in [
        (
            ".harness/hooks/team/guard.md",
            "only files directly in `.harness/hooks`",
        ),
        (".harness/hook/guard.md", "did you mean `.harness/hooks`"),
        (".harness/guard.md", "a file directly in `.harness`"),
        (
            ".harness/hooks/guard.markdown",
            "only names that end in `.md` are read from `.harness/hooks`",
        ),
        (
            ".harness/hooks/guard.md.bak",
            "only names that end in `.md`",
        ),
        (".harness/hooks/guard.txt", "only names that end in `.md`"),
        (".harness/hooks/guard", "only names that end in `.md`"),
        (
            ".harness/tools/read.yaml",
            "only names that end in `.md` are read from `.harness/tools`",
        ),
    ] {
        let artifacts = check(|project| {
            let path = project.join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            fs::write(path, GOOD).expect("a file");
        });
        assert_eq!(codes(&artifacts), ["FILE_PASSED_OVER"], "{path}");
        assert!(
            artifacts.problems[0].message.contains(words),
            "{path}: {}",
            artifacts.problems[0].message
        );
    }
}

#[test]
fn a_guard_that_was_set_aside_is_noted_and_one_in_capitals_counts() {
    let artifacts =
        check(|project| fs::write(project.join(".harness/hooks/_guard.md"), GOOD).expect("a file"));
    assert_eq!(codes(&artifacts), ["FILE_SET_ASIDE"]);
    assert_eq!(artifacts.problems[0].severity, Severity::Note);
    let artifacts = check(|project| {
        fs::write(
            project.join(".harness/hooks/guard.MD"),
            "---\nevent: tool.pre\n---\n",
        )
        .expect("a file")
    });
    assert_eq!(codes(&artifacts), [""; 0]);
    assert!(artifacts.hooks.iter().any(|hook| hook.name == "guard"));
}

#[test]
fn a_clean_project_loads_without_problems_in_the_order_of_names() {
    let artifacts = check(|project| {
        for name in ["b", "a", ".hidden"] {
            fs::write(project.join(format!(".harness/tools/{name}.md")), GOOD).expect("a file");
        }
        fs::write(project.join(".harness/tools/README.md"), "What is here.\n").expect("a file");
        fs::write(project.join(".harness/hooks/.gitkeep"), "").expect("a file");
        fs::write(project.join(".harness/notes.txt"), "x").expect("a file");
        fs::create_dir(project.join(".harness/tools/_sub")).expect("a folder");
        fs::write(project.join(".harness/tools/_sub/deep.md"), GOOD).expect("a file");
        fs::write(project.join("harness.yaml"), "limits: { memory_mb: 8 }\n").expect("a file");
    });
    assert_eq!(codes(&artifacts), [""; 0]);
    assert_eq!(
        artifacts
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect::<Vec<_>>(),
        ["a", "b", "good"]
    );
    assert_eq!(
        &*artifacts.tools[0].origin.source.path,
        ".harness/tools/a.md"
    );
    assert_eq!(artifacts.root.limits.memory_mb, Some(8));
}

#[test]
fn a_folder_without_a_project_gives_no_artifacts_and_no_problems() {
    let empty = TempDir::new().expect("a folder");
    let artifacts = load(empty.path());
    assert_eq!(
        (
            artifacts.tools.len(),
            artifacts.problems.len(),
            artifacts.root_broken
        ),
        (0, 0, false)
    );
    assert_eq!(load(&empty.path().join("absent")).problems, []);
}

#[test]
fn a_file_of_100_mb_is_too_large_and_is_not_read() {
    let artifacts = check(|project| {
        let file = fs::File::create(project.join(".harness/tools/large.md")).expect("a file");
        file.set_len(100 << 20).expect("a sparse file");
        fs::write(
            project.join(".harness/hooks/large.md"),
            vec![b'x'; (2 << 20) + 1],
        )
        .expect("a file");
    });
    assert_eq!(codes(&artifacts), ["FILE_TOO_LARGE"; 2]);
    assert_eq!(artifacts.broken_hooks[0].event, None);
    assert_eq!(artifacts.broken_tools[0].name, "large");
}

#[test]
fn a_binary_file_is_not_text() {
    let artifacts = check(|project| {
        fs::write(project.join(".harness/tools/a.md"), b"---\n\xff\xfe\n---\n").expect("a file");
        fs::write(project.join(".harness/tools/b.md"), b"\x7fELF\0\0").expect("a file");
    });
    assert_eq!(codes(&artifacts), ["FILE_NOT_TEXT"; 2]);
    assert_eq!(
        artifacts.problems[0].message,
        "the file is not text: byte 4 is not utf-8"
    );
}

#[test]
fn folders_links_and_pipes_are_unreadable() {
    let artifacts = check(|project| {
        let tools = project.join(".harness/tools");
        fs::create_dir(tools.join("a_folder.md")).expect("a folder");
        symlink("b_loop.md", tools.join("b_loop.md")).expect("a link");
        symlink("gone.md", tools.join("c_dangling.md")).expect("a link");
        symlink("/dev/zero", tools.join("d_device.md")).expect("a link");
        drop(std::os::unix::net::UnixListener::bind(tools.join("e_socket.md")).expect("a socket"));
    });
    assert_eq!(codes(&artifacts), ["FILE_UNREADABLE"; 5]);
    let messages: Vec<_> = artifacts
        .problems
        .iter()
        .map(|problem| problem.message.as_str())
        .collect();
    assert_eq!(messages[0], "this is a folder, not a file");
    assert!(
        messages[1].starts_with("cannot read this file: Too many levels of symbolic links"),
        "{}",
        messages[1]
    );
    assert!(
        messages[2].starts_with("cannot read this file: No such file or directory"),
        "{}",
        messages[2]
    );
    assert_eq!(messages[3], "this is a pipe, socket or device, not a file");
    assert_eq!(messages[4], messages[3]);
}

#[test]
fn a_link_to_a_good_file_is_read() {
    let artifacts = check(|project| {
        symlink("good.md", project.join(".harness/tools/linked.md")).expect("a link")
    });
    assert_eq!((codes(&artifacts).len(), artifacts.tools.len()), (0, 2));
}

#[test]
fn a_file_without_permission_is_unreadable_unless_root_may_read_it() {
    let artifacts = check(|project| {
        let path = project.join(".harness/hooks/locked.md");
        fs::write(&path, "---\nevent: tool.pre\n---\n").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("permissions");
    });
    // The superuser reads any file, so there the hook simply loads.
    let loaded = artifacts.hooks.iter().any(|hook| hook.name == "locked");
    let blocked = artifacts
        .broken_hooks
        .iter()
        .any(|hook| hook.name == "locked" && hook.event.is_none());
    assert!(loaded != blocked);
    assert_eq!(
        codes(&artifacts),
        vec!["FILE_UNREADABLE"; usize::from(blocked)]
    );
}

#[test]
fn a_folder_of_hooks_that_cannot_be_listed_blocks() {
    let project = TempDir::new().expect("a folder");
    fs::create_dir(project.path().join(".harness")).expect("a folder");
    fs::write(project.path().join(".harness/hooks"), "not a folder").expect("a file");
    let artifacts = load(project.path());
    assert_eq!(codes(&artifacts), ["FILE_UNREADABLE"]);
    assert_eq!(
        (
            artifacts.broken_hooks.len(),
            artifacts.broken_hooks[0].event.as_deref()
        ),
        (1, None)
    );
}

#[test]
fn a_root_that_cannot_be_read_is_broken() {
    let artifacts = check(|project| fs::create_dir(project.join("harness.md")).expect("a folder"));
    assert_eq!(codes(&artifacts), ["FILE_UNREADABLE"]);
    assert!(artifacts.root_broken);
    let artifacts = check(|project| {
        fs::write(project.join("harness.md"), GOOD).expect("a file");
        symlink("nowhere", project.join("harness.yml")).expect("a link");
    });
    assert_eq!(
        codes(&artifacts),
        ["ROOT_TWICE"],
        "a broken link is there too"
    );
}

#[test]
fn a_file_that_vanishes_while_loading_is_a_diagnostic_and_nothing_else() {
    let project = TempDir::new().expect("a folder");
    let tools = project.path().join(".harness/tools");
    fs::create_dir_all(&tools).expect("a folder");
    for index in 0..300 {
        fs::write(tools.join(format!("t{index:03}.md")), GOOD).expect("a file");
    }
    let removing = std::thread::spawn(move || {
        for index in (0..300).rev() {
            fs::remove_file(tools.join(format!("t{index:03}.md"))).expect("removed once");
        }
    });
    let artifacts = load(project.path());
    removing.join().expect("the other thread ends");
    assert!(artifacts.tools.len() + artifacts.broken_tools.len() <= 300);
    assert!(
        codes(&artifacts)
            .iter()
            .all(|&code| code == "FILE_UNREADABLE")
    );
    assert_eq!(artifacts.problems.len(), artifacts.broken_tools.len());
}
