//! What happens to the files of a client.

use super::{JSON, World, write};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

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

fn texts(file: &str) -> &'static [&'static str] {
    match file.rsplit('.').next() {
        Some("toml") => TOML,
        Some("yaml") => YAML,
        _ => JSON,
    }
}

/// Whether `whole` is `part` with one insertion.
fn contains_in_order(whole: &str, part: &str) -> bool {
    let mut rest = whole.chars();
    part.chars().all(|wanted| rest.any(|found| found == wanted))
}

#[test]
fn install_and_uninstall_restore_every_file_byte_for_byte() {
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
fn uninstall_removes_the_files_and_folders_that_install_created() {
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
                "only its owner may write it"
            );
        }
        world
            .install(&[client, "--scope", scope, "--yes", "--uninstall"])
            .ends(0);
        assert_eq!(world.tree(scope), before, "{client} {scope}");
    }
}

#[test]
fn changes_made_between_install_and_uninstall_stay() {
    let world = World::new();
    let (servers, settings) = (
        world.project().join(".mcp.json"),
        world.project().join(".claude/settings.json"),
    );
    write(&settings, "{\n  // mine\n  \"model\": \"x\"\n}\n");
    world.install(&["claude-code", "--yes"]).ends(0);
    // A person adds to a file that harness created; the client rewrites the other one without comments, in its own layout.
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
    // Without its record, harness still finds its entries.
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
fn a_personal_hook_in_our_group_stays_after_uninstall() {
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
fn install_refuses_unsafe_changes_and_writes_nothing() {
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
        assert_eq!(remembered, 0, "no record is left of a failed installation");
    };
    let claude = ["claude-code", "--yes"];
    // The second file is broken, so the first must not be written either.
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
    // Writing the second file fails, so the first is restored.
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
fn if_one_file_is_read_only_the_files_before_it_are_restored() {
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
fn links_inside_the_home_are_followed_and_file_modes_kept() {
    let world = World::new();
    let real = world.home().join("dotfiles/cursor.json");
    write(&real, "{}");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).expect("set");
    // Only root can change a file's owner; for others the owner is the same anyway.
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
