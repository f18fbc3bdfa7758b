//! `harness install` with real files of clients, in a home of its own.

use crate::support::program::{Ran, command, copy_program, prepared};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::TempDir;

/// Client, scope, and its files below the project or the home.
const FILES: &[(&str, &str, &[&str])] = &[
    (
        "claude-code",
        "project",
        &[".mcp.json", ".claude/settings.json"],
    ),
    (
        "claude-code",
        "user",
        &[".claude.json", ".claude/settings.json"],
    ),
    (
        "codex",
        "project",
        &[".codex/config.toml", ".codex/hooks.json"],
    ),
    (
        "codex",
        "user",
        &[".codex/config.toml", ".codex/hooks.json"],
    ),
    ("cursor", "project", &[".cursor/mcp.json"]),
    ("cursor", "user", &[".cursor/mcp.json"]),
    ("vscode", "project", &[".vscode/mcp.json"]),
    ("vscode", "user", &[".config/Code/User/mcp.json"]),
    ("gemini", "project", &[".gemini/settings.json"]),
    ("gemini", "user", &[".gemini/settings.json"]),
    ("goose", "user", &[".config/goose/config.yaml"]),
];

/// Files as people have them: comments, tabs, carriage returns, no end of line.
const JSON: &[&str] = &[
    "// mine\r\n{\r\n\t\"theme\": \"dark\", // é\r\n\t\"mcpServers\": { /* none */ },\r\n\t\"servers\": {},\r\n\t\"hooks\": {\r\n\t\t\"PreToolUse\": [\r\n\t\t\t// first\r\n\t\t\t{ \"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"true\"}] },\r\n\t\t],\r\n\t},\r\n}",
    "{\"mcpServers\":{\"other\":{\"command\":\"x\"}},\"servers\":{\"other\":{\"command\":\"x\"}}}\n\n",
    "{}",
    "",
];
const TOML: &[&str] = &[
    "# mine\r\nmodel = \"o\" # x\r\n\r\n[mcp_servers.other]\r\ncommand = 'y'",
    "a=1\n\n\n",
    "",
];
const YAML: &[&str] = &[
    "# mine\r\nGOOSE_MODE: auto\r\nextensions:   # all\r\n     developer:\r\n          enabled: true # é",
    "extensions: {}\n",
    "",
];

struct World {
    folder: TempDir,
}

impl World {
    /// A home and a project.
    fn new() -> Self {
        let world = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        fs::create_dir_all(world.home()).expect("a home");
        fs::create_dir_all(world.project().join(".harness")).expect("a project");
        world
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn root(&self, scope: &str) -> PathBuf {
        if scope == "project" {
            self.project()
        } else {
            self.home()
        }
    }

    fn prepared(&self, words: &[&str]) -> std::process::Command {
        let mut program = prepared(&self.project(), &[&["install"], words].concat());
        for name in [
            "XDG_STATE_HOME",
            "XDG_CONFIG_HOME",
            "CODEX_HOME",
            "CLAUDE_CONFIG_DIR",
        ] {
            program.env_remove(name);
        }
        program.env("HOME", self.home());
        program
    }

    fn install(&self, words: &[&str]) -> Ran {
        ran(self.prepared(words).output().expect("it runs"))
    }

    /// Every file and folder below a root, without what harness remembers.
    fn tree(&self, scope: &str) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        walk(&self.root(scope), &self.root(scope), &mut found);
        found.retain(|(path, _)| !path.starts_with(".local"));
        found.sort();
        found
    }
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = path
            .strip_prefix(root)
            .expect("below")
            .to_string_lossy()
            .into_owned();
        if path.is_symlink() {
            found.push((
                name,
                fs::read_link(&path)
                    .expect("a link")
                    .into_os_string()
                    .into_encoded_bytes(),
            ));
        } else if path.is_dir() {
            found.push((name, Vec::new()));
            walk(root, &path, found);
        } else {
            found.push((name, fs::read(&path).expect("a file")));
        }
    }
}

fn ran(output: std::process::Output) -> Ran {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Ran {
        code: output.status.code(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
    fs::write(path, text).expect("written");
}

fn texts(file: &str) -> &'static [&'static str] {
    match file.rsplit('.').next() {
        Some("toml") => TOML,
        Some("yaml") => YAML,
        _ => JSON,
    }
}

/// Whether `whole` is `part` with something put in between.
fn contains_in_order(whole: &str, part: &str) -> bool {
    let mut rest = whole.chars();
    part.chars().all(|wanted| rest.any(|found| found == wanted))
}

#[test]
fn every_client_and_scope_keeps_what_is_there_and_gives_it_back_byte_for_byte() {
    for (client, scope, files) in FILES {
        for round in 0..JSON.len() {
            let world = World::new();
            for file in *files {
                let all = texts(file);
                write(&world.root(scope).join(file), all[round % all.len()]);
            }
            let before = world.tree(scope);
            let words = [*client, "--scope", scope, "--yes"];
            let shown = world
                .install(&[client, "--scope", scope, "--dry-run"])
                .ends(0)
                .out;
            assert!(
                shown.contains("+++ ")
                    && shown.contains("harness")
                    && shown.ends_with("nothing was written\n"),
                "{shown}"
            );
            assert_eq!(
                world.tree(scope),
                before,
                "a dry run of {client} wrote something"
            );
            world.install(&words).ends(0);
            for file in *files {
                let all = texts(file);
                let now = fs::read_to_string(world.root(scope).join(file)).expect("text");
                let was = all[round % all.len()];
                assert!(
                    now.len() > was.len() && contains_in_order(&now, was),
                    "{client} {scope} {file}\n{now}"
                );
                assert!(now.contains(env!("CARGO_BIN_EXE_harness")), "{now}");
                assert_eq!(
                    was.contains("\r\n"),
                    now.replace("\r\n", "").contains('\r') || now.contains("\r\n"),
                    "{now:?}"
                );
            }
            let installed = world.tree(scope);
            let again = world.install(&words).ends(0).out;
            assert!(again.contains("is already in the configuration"), "{again}");
            assert_eq!(world.tree(scope), installed, "installing {client} twice");
            world
                .install(&[*client, "--scope", scope, "--yes", "--uninstall"])
                .ends(0);
            assert_eq!(world.tree(scope), before, "{client} {scope} {round}");
            world
                .install(&[*client, "--scope", scope, "--yes", "--uninstall"])
                .ends(0);
            assert_eq!(world.tree(scope), before);
        }
    }
}

#[test]
fn what_was_not_there_is_gone_again_with_its_folders() {
    for (client, scope, files) in FILES {
        let world = World::new();
        let before = world.tree(scope);
        world.install(&[client, "--scope", scope, "--yes"]).ends(0);
        for file in *files {
            assert_eq!(
                fs::metadata(world.root(scope).join(file))
                    .expect("made")
                    .permissions()
                    .mode()
                    & 0o133,
                0,
                "nobody else may write it"
            );
        }
        world
            .install(&[client, "--scope", scope, "--yes", "--uninstall"])
            .ends(0);
        assert_eq!(world.tree(scope), before, "{client} {scope}");
    }
}

#[test]
fn what_a_person_or_the_client_changed_in_between_stays() {
    let world = World::new();
    let (servers, settings) = (
        world.project().join(".mcp.json"),
        world.project().join(".claude/settings.json"),
    );
    write(&settings, "{\n  // mine\n  \"model\": \"x\"\n}\n");
    world.install(&["claude-code", "--yes"]).ends(0);
    // A person adds to a file that harness made; the client writes the other one anew, without comments, in its own layout.
    let edited = fs::read_to_string(&servers).expect("text").replacen(
        "\"mcpServers\": {",
        "\"mcpServers\": {\n    \"mine\": {\"command\": \"m\"},",
        1,
    );
    fs::write(&servers, edited).expect("written");
    let text = fs::read_to_string(&settings)
        .expect("text")
        .replace("// mine", "");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    document["hooks"]["Stop"] = json!([1]);
    fs::write(&settings, document.to_string()).expect("written");
    world
        .install(&["claude-code", "--yes", "--uninstall"])
        .ends(0);
    let read = |path| {
        serde_json::from_str::<Value>(&fs::read_to_string(path).expect("text")).expect("JSON")
    };
    assert_eq!(
        read(&servers),
        json!({"mcpServers": {"mine": {"command": "m"}}})
    );
    assert_eq!(
        read(&settings),
        json!({"model": "x", "hooks": {"Stop": [1]}})
    );
    // Without what harness remembers, its entries are still found.
    world.install(&["claude-code", "--yes"]).ends(0);
    fs::remove_dir_all(world.home().join(".local")).expect("forgotten");
    world
        .install(&["claude-code", "--yes", "--uninstall"])
        .ends(0);
    assert_eq!(
        read(&servers),
        json!({"mcpServers": {"mine": {"command": "m"}}})
    );
    assert_eq!(read(&settings)["hooks"]["Stop"], json!([1]));
}

#[test]
fn a_hook_of_a_persons_in_our_group_stays_when_ours_goes() {
    let world = World::new();
    let settings = world.project().join(".claude/settings.json");
    let read = || {
        serde_json::from_str::<Value>(&fs::read_to_string(&settings).expect("text")).expect("JSON")
    };
    world.install(&["claude-code", "--yes"]).ends(0);
    let mut document = read();
    let hooks = document["hooks"]["PreToolUse"][0]["hooks"]
        .as_array_mut()
        .expect("a list");
    hooks.insert(0, json!({"type": "command", "command": "first"}));
    hooks.push(json!({"type": "command", "command": "last"}));
    fs::write(&settings, document.to_string()).expect("written");
    world
        .install(&["claude-code", "--yes", "--uninstall"])
        .ends(0);
    let mine = json!([{"matcher": "*", "hooks": [{"type": "command", "command": "first"}, {"type": "command", "command": "last"}]}]);
    assert_eq!(read(), json!({"hooks": {"PreToolUse": mine}}));
}

#[test]
fn what_is_said_is_what_is_so() {
    let world = World::new();
    // A project without the guard is not promised one.
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
    // Where it cannot be remembered, that is what is said.
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
fn a_harness_that_moved_replaces_its_own_entries_and_uninstalls_to_the_first_state() {
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
        // A test beside this one that starts a program at the wrong moment holds the copy open for writing.
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
fn what_cannot_be_changed_safely_is_refused_and_nothing_is_written() {
    let refused = |prepare: &dyn Fn(&World), words: &[&str], expected: &str| {
        let world = World::new();
        prepare(&world);
        let before = (world.tree("project"), world.tree("user"));
        let ran = world.install(words).ends(2);
        assert!(ran.err.contains(expected), "{expected} not in {}", ran.err);
        assert_eq!(
            (world.tree("project"), world.tree("user")),
            before,
            "{expected}"
        );
        let remembered = fs::read_dir(world.home().join(".local/state/harness/installed"))
            .into_iter()
            .flatten()
            .count();
        assert_eq!(remembered, 0, "nothing is remembered of what was not done");
    };
    let claude = ["claude-code", "--yes"];
    // The second file is the broken one, so the first must not be written either.
    refused(
        &|world| {
            write(
                &world.project().join(".claude/settings.json"),
                "{\"hooks\": ",
            )
        },
        &claude,
        "settings.json",
    );
    refused(
        &|world| {
            write(
                &world.project().join(".claude/settings.json"),
                "{\"hooks\": []}",
            )
        },
        &claude,
        "`hooks` is not an object",
    );
    refused(
        &|world| write(&world.project().join(".mcp.json"), "[1]"),
        &claude,
        "the document is not an object",
    );
    refused(
        &|world| {
            fs::write(world.project().join(".mcp.json"), b"{\"a\": \"\xff\"}").expect("written")
        },
        &claude,
        "not UTF-8",
    );
    refused(
        &|world| write(&world.project().join(".mcp.json"), "\u{feff}{}"),
        &claude,
        "byte order mark (BOM)",
    );
    refused(
        &|world| fs::create_dir(world.project().join(".mcp.json")).expect("made"),
        &claude,
        "is not a file",
    );
    let mine = "{\"mcpServers\": {\"harness\": {\"command\": \"mine\"}}}";
    refused(
        &|world| write(&world.project().join(".mcp.json"), mine),
        &claude,
        "harness did not write",
    );
    refused(
        &|world| write(&world.project().join(".mcp.json"), mine),
        &["claude-code", "--yes", "--uninstall"],
        "harness did not write",
    );
    refused(
        &|world| write(&world.home().join(".codex/config.toml"), "x = ["),
        &["codex", "--scope", "user", "--yes"],
        "config.toml",
    );
    refused(
        &|world| write(&world.home().join(".config/goose/config.yaml"), "a: ["),
        &["goose", "--yes"],
        "config.yaml",
    );
    refused(
        &|world| symlink("/nowhere/at/all", world.project().join(".mcp.json")).expect("a link"),
        &claude,
        "is a broken link",
    );
    refused(
        &|world| symlink(world.home(), world.project().join(".claude")).expect("a link"),
        &claude,
        "leads out of",
    );
    refused(
        &|world| symlink("..", world.project().join(".claude")).expect("a link"),
        &claude,
        "leads out of",
    );
    // Found out only when the second file is written: the first is put back.
    refused(
        &|world| write(&world.project().join(".claude"), "a file"),
        &claude,
        "cannot write",
    );
    refused(
        &|_| {},
        &["goose", "--scope", "project", "--yes"],
        "cannot be configured for a project",
    );
    refused(
        &|_| {},
        &["emacs", "--yes"],
        "[possible values: claude-code, codex, cursor, vscode, goose, gemini]",
    );
    refused(&|_| {}, &["claude-code"], "nothing was written");
    refused(&|_| {}, &["claude-code", "--json"], "nothing was written");
}

#[test]
fn a_file_that_may_not_be_written_stays_and_the_one_before_it_is_put_back() {
    if fs::metadata("/proc/self")
        .map(|about| std::os::unix::fs::MetadataExt::uid(&about))
        .ok()
        == Some(0)
    {
        println!("skipped: the user root may write everything");
        return;
    }
    let world = World::new();
    write(&world.project().join(".claude/settings.json"), "{}");
    let mode = |mode| {
        fs::set_permissions(
            world.project().join(".claude/settings.json"),
            fs::Permissions::from_mode(mode),
        )
        .expect("set")
    };
    mode(0o444);
    let before = world.tree("project");
    let ran = world.install(&["claude-code", "--yes"]).ends(2);
    assert!(ran.err.contains("cannot write"), "{}", ran.err);
    assert_eq!(world.tree("project"), before);
}

#[test]
fn a_link_inside_the_home_is_followed_and_a_mode_is_kept() {
    let world = World::new();
    let real = world.home().join("dotfiles/cursor.json");
    write(&real, "{}");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).expect("set");
    // Only root can give a file away; for others it keeps its owner anyway.
    let _ = std::os::unix::fs::chown(&real, Some(12345), Some(12345));
    let owner = || {
        fs::metadata(&real)
            .map(|about| (about.uid(), about.gid()))
            .expect("there")
    };
    let owned_by = owner();
    fs::create_dir(world.home().join(".cursor")).expect("made");
    symlink(
        "../dotfiles/cursor.json",
        world.home().join(".cursor/mcp.json"),
    )
    .expect("a link");
    world
        .install(&["cursor", "--scope", "user", "--yes"])
        .ends(0);
    assert!(
        fs::symlink_metadata(world.home().join(".cursor/mcp.json"))
            .expect("there")
            .is_symlink()
    );
    assert_eq!(
        fs::metadata(&real).expect("there").permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(owner(), owned_by);
    assert!(
        fs::read_to_string(&real)
            .expect("text")
            .contains("\"harness\"")
    );
    world
        .install(&["cursor", "--scope", "user", "--yes", "--uninstall"])
        .ends(0);
    assert_eq!(fs::read_to_string(&real).expect("text"), "{}");
}

#[test]
fn without_a_project_one_is_made_whose_guard_stops_a_bad_command() {
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
fn the_document_says_what_changes_and_whether_it_was_written() {
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
fn on_a_terminal_it_asks_and_only_a_yes_writes() {
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
    // Claude Code tells of calls that failed by an event of their own; without it they would never end in the record.
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
fn a_hook_whose_program_is_gone_or_broken_stops_the_call() {
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
            // A refusal without a word is none for Codex, so there always is one.
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
                fs::write(
                    &program,
                    format!("#!/bin/sh\n{}\n", body.replace("CLIENT", client)),
                )
                .expect("written");
                fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("set");
                let ran = run(shell).ends(code);
                assert!(
                    ran.err.ends_with(said) && (code != 0 || ran.err.is_empty()),
                    "{body}: {}",
                    ran.err
                );
            }
            fs::write(&program, "\u{0}no program").expect("written");
            run(shell).ends(2);
            fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).expect("set");
            run(shell).ends(2);
            fs::remove_file(&program).expect("removed");
        }
    }
}
