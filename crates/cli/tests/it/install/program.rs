//! What the command prints, and what its entries do.

use super::{World, ran, write};
use crate::support::program::{command, copy_program, repository, write_program};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

#[test]
fn install_says_what_it_did() {
    let world = World::new();
    // The next steps do not mention a guard that the project does not have.
    let said = world.install(&["claude-code", "--yes"]).ends(0);
    assert!(
        !said.out.contains("the guard stops it") && said.out.contains("harness validate"),
        "{}",
        said.out
    );
    let new = world.folder.path().join("new");
    let said = world
        .install(&["cursor", "--yes", "--project", &new.to_string_lossy()])
        .ends(2);
    assert!(
        said.err.contains("there is no folder") && !new.exists(),
        "{}",
        said.err
    );
    for (home, expected) in [
        ("", "`HOME` is empty"),
        ("here", "`HOME` is `here`, which is not an absolute path"),
    ] {
        let with_home = |words: &[&str], state: Option<&Path>| {
            let mut program = world.prepared(words);
            program
                .env("HOME", home)
                .envs(state.map(|state| ("XDG_STATE_HOME", state)));
            ran(program.output().expect("it runs"))
        };
        assert!(
            with_home(&["cursor", "--scope", "user", "--yes"], None)
                .ends(2)
                .err
                .contains(expected)
        );
        assert!(
            with_home(&["cursor", "--yes"], None)
                .ends(2)
                .err
                .contains("XDG_STATE_HOME")
        );
        with_home(
            &["cursor", "--yes"],
            Some(&world.folder.path().join("state")),
        )
        .ends(0);
    }
    // If harness cannot write its record, it says so.
    fs::remove_dir_all(world.home().join(".local")).expect("removed");
    write(&world.home().join(".local"), "a file");
    let said = world.install(&["vscode", "--yes"]).ends(2);
    assert!(
        said.err.contains(".local/state/harness/installed`"),
        "{}",
        said.err
    );
}

#[test]
fn a_moved_harness_replaces_its_entries_and_uninstalls_to_the_original_state() {
    let world = World::new();
    let files = [
        (".codex/config.toml", "a = 1"),
        (".codex/hooks.json", "{\n}"),
    ];
    files
        .iter()
        .for_each(|(file, text)| write(&world.home().join(file), text));
    world
        .install(&["codex", "--scope", "user", "--yes"])
        .ends(0);
    let here = env!("CARGO_BIN_EXE_harness");
    let moved = world.folder.path().join("harness");
    copy_program(Path::new(here), &moved);
    let moved_install = |words: &[&str]| {
        let mut program = command(
            &moved,
            &world.project(),
            &[&["install", "codex", "--scope", "user", "--yes"], words].concat(),
        );
        program
            .env("HOME", world.home())
            .env_remove("XDG_STATE_HOME")
            .env_remove("CODEX_HOME");
        // A concurrent test that starts a program at the wrong moment holds the copy open for writing.
        let busy = |output: &std::io::Result<std::process::Output>| {
            output
                .as_ref()
                .is_err_and(|problem| problem.kind() == std::io::ErrorKind::ExecutableFileBusy)
        };
        let mut output = program.output();
        for _ in 0..100 {
            if !busy(&output) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
            output = program.output();
        }
        ran(output.expect("it runs"))
    };
    moved_install(&[]).ends(0);
    for (file, _) in files {
        let text = fs::read_to_string(world.home().join(file)).expect("text");
        assert!(
            text.contains(moved.to_str().expect("text")) && !text.contains(here),
            "{text}"
        );
    }
    world
        .install(&["codex", "--scope", "user", "--yes", "--uninstall"])
        .ends(0);
    for (file, text) in files {
        assert_eq!(
            fs::read_to_string(world.home().join(file)).expect("text"),
            text
        );
    }
}

#[test]
fn without_a_project_install_creates_one_whose_guard_works() {
    let world = World::new();
    fs::remove_dir(world.project().join(".harness")).expect("removed");
    let shown = world.install(&["claude-code", "--dry-run"]).ends(0).out;
    assert!(
        shown.contains("there is no project here: creating one in"),
        "{shown}"
    );
    assert_eq!(world.tree("project"), []);
    let ran = world.install(&["claude-code", "--yes"]).ends(0);
    let next: Vec<&str> = ran
        .out
        .lines()
        .skip_while(|line| *line != "try next:")
        .skip(1)
        .map(str::trim)
        .collect();
    assert_eq!(next.len(), 2, "{}", ran.out);
    let line = next[0]
        .split("     #")
        .next()
        .and_then(|line| line.strip_prefix("harness "))
        .expect("a command");
    let script = format!("'{}' {line}", env!("CARGO_BIN_EXE_harness"));
    let stopped = command("sh", &world.project(), &["-c", &script])
        .output()
        .expect("it runs");
    assert_eq!(stopped.status.code(), Some(3), "{script}");
    assert!(String::from_utf8_lossy(&stopped.stderr).contains("guard_commands"));
    let document = world.install(&["claude-code", "--json"]).ends(0).document();
    assert_eq!(
        (
            &document["written"],
            &document["files"],
            &document["new_project"]
        ),
        (&json!(false), &json!([]), &Value::Null)
    );
    let user = World::new();
    fs::remove_dir(user.project().join(".harness")).expect("removed");
    let out = user
        .install(&["codex", "--scope", "user", "--yes"])
        .ends(0)
        .out;
    assert!(
        out.contains("harness init") && user.tree("project").is_empty(),
        "{out}"
    );
}

#[test]
fn the_json_document_says_what_changes_and_whether_it_was_written() {
    let world = World::new();
    let dry = world
        .install(&["codex", "--json", "--dry-run"])
        .ends(0)
        .document();
    let done = world
        .install(&["codex", "--json", "--yes"])
        .ends(0)
        .document();
    for (document, written) in [(&dry, false), (&done, true)] {
        assert_eq!(
            (&document["client"], &document["scope"], &document["action"]),
            (&json!("codex"), &json!("project"), &json!("install"))
        );
        assert_eq!(document["written"], json!(written));
        assert_eq!(document["files"].as_array().map(Vec::len), Some(2));
        assert_eq!(document["files"][0]["change"], "create");
        assert!(
            document["files"][0]["diff"]
                .as_str()
                .is_some_and(|diff| diff.contains("+[mcp_servers.harness]"))
        );
    }
    let gone = world
        .install(&["codex", "--json", "--yes", "--uninstall"])
        .ends(0)
        .document();
    assert_eq!(gone["files"][1]["change"], "remove");
}

#[test]
fn on_a_terminal_install_asks_and_only_yes_writes() {
    let world = World::new();
    let on_terminal = |answer: &str| {
        let line = format!("'{}' install cursor", env!("CARGO_BIN_EXE_harness"));
        let mut child = command("script", &world.project(), &["-qec", &line, "/dev/null"])
            .env("HOME", world.home())
            .env_remove("XDG_STATE_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        std::io::Write::write_all(&mut child.stdin.take()?, answer.as_bytes()).ok()?;
        Some(ran(child.wait_with_output().ok()?))
    };
    let Some(no) = on_terminal("n\n") else {
        println!("skipped: no `script` to make a terminal");
        return;
    };
    assert!(no.ends(2).out.contains("write this? [y/N]"));
    assert!(!world.project().join(".cursor").exists());
    on_terminal("y\n").expect("it ran").ends(0);
    assert!(world.project().join(".cursor/mcp.json").exists());
}

/// The command of the first hook in a file.
fn hook_command(path: &Path) -> String {
    let document: Value =
        serde_json::from_str(&fs::read_to_string(path).expect("text")).expect("JSON");
    let hooks = document["hooks"].as_object().expect("hooks");
    // Claude Code reports failed calls with a separate event; without it they would never end in the record.
    let events: &[&str] = if path.ends_with("settings.json") {
        &["PreToolUse", "PostToolUse", "PostToolUseFailure"]
    } else {
        &["PreToolUse", "PostToolUse"]
    };
    assert_eq!(hooks.keys().collect::<Vec<_>>(), events);
    assert!(
        hooks
            .values()
            .all(|hook| *hook == document["hooks"]["PreToolUse"])
    );
    document["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
        .as_str()
        .expect("a command")
        .to_owned()
}

#[test]
fn the_entries_to_write_by_hand_are_those_that_install_writes() {
    for (client, file) in [
        ("claude-code", ".claude/settings.json"),
        ("codex", ".codex/hooks.json"),
    ] {
        let page = repository(&format!("docs/guide/{client}.md"));
        let page = fs::read_to_string(page).expect("a page");
        let shown = page.split("```json\n").nth(1).expect("a block");
        let shown = shown.split("```").next().expect("its text");
        let world = World::new();
        let by_hand = world
            .folder
            .path()
            .join(file.rsplit('/').next().expect("a name"));
        fs::write(&by_hand, shown).expect("written");
        world.install(&[client, "--yes"]).ends(0);
        let written = hook_command(&world.project().join(file));
        assert_eq!(
            hook_command(&by_hand),
            written.replace(env!("CARGO_BIN_EXE_harness"), "/usr/local/bin/harness")
        );
    }
}

#[test]
fn a_hook_with_a_missing_or_broken_program_stops_the_call() {
    for (client, file) in [
        ("claude-code", ".claude/settings.json"),
        ("codex", ".codex/hooks.json"),
    ] {
        let world = World::new();
        world.install(&[client, "--yes"]).ends(0);
        let written = hook_command(&world.project().join(file));
        let program = world.folder.path().join("it's a harness");
        let quoted = program.to_str().expect("text").replace('\'', "'\\''");
        let line = written.replace(env!("CARGO_BIN_EXE_harness"), &quoted);
        assert_ne!(line, written);
        let run = |shell: &str| {
            ran(command(shell, &world.project(), &["-c", &line])
                .output()
                .expect("it runs"))
        };
        for shell in ["sh", "bash"] {
            // Codex ignores a refusal without text, so there always is some.
            let said = "stopped by harness\n";
            assert!(run(shell).ends(2).err.ends_with(said));
            for (body, code, said) in [
                ("exit 0", 0, ""),
                ("echo '{}'; exit 0", 0, ""),
                (
                    "echo the reason >&2; exit 2",
                    2,
                    "the reason\nstopped by harness\n",
                ),
                ("exit 2", 2, said),
                ("exit 1", 2, said),
                ("exit 127", 2, said),
                ("kill -9 $$", 2, said),
                ("kill -SEGV $$", 2, said),
                ("[ \"$1 $2\" = \"hook CLIENT\" ]", 0, ""),
            ] {
                write_program(
                    &program,
                    &format!("#!/bin/sh\n{}\n", body.replace("CLIENT", client)),
                );
                let ran = run(shell).ends(code);
                assert!(
                    ran.err.ends_with(said) && (code != 0 || ran.err.is_empty()),
                    "{body}: {}",
                    ran.err
                );
            }
            write_program(&program, "\u{0}no program");
            run(shell).ends(2);
            fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).expect("set");
            run(shell).ends(2);
            fs::remove_file(&program).expect("removed");
        }
    }
}
