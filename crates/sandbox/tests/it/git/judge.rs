//! What Git's own commands write passes, and what makes Git run a program does not.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::world::{GitWorld, has_git};
use tool_harness_sandbox::git::{Objection, objections};

fn config(world: &GitWorld, path: &str) -> Vec<u8> {
    fs::read(world.at(path)).expect("a configuration")
}

#[test]
fn what_everyday_commands_write_has_nothing_against_it() {
    if !has_git() {
        return;
    }
    let world = GitWorld::new();
    for folder in ["ws", "library"] {
        fs::create_dir(world.at(folder)).expect("a folder");
        world.git(folder, &["init", "-q", "-b", "main"]);
        world.write(&format!("{folder}/src/x"), "x");
        world.git(folder, &["add", "."]);
        world.git(folder, &["commit", "-qm", "x"]);
    }
    let library = world.at("library").to_string_lossy().into_owned();
    assert_eq!(objections(b"", &config(&world, "ws/.git/config")), []);
    let allow = ["-c", "protocol.file.allow=always"];
    let commands: [&[&str]; 16] = [
        &["remote", "add", "origin", &library],
        &["fetch", "-q", "origin"],
        &["branch", "-q", "--track", "topic", "origin/main"],
        &[
            "remote",
            "add",
            "-t",
            "main",
            "other",
            "git@example.org:x/y.git",
        ],
        &["remote", "rename", "other", "third"],
        &["remote", "remove", "third"],
        &["branch", "-m", "topic", "renamed"],
        &["config", "branch.renamed.description", "what it is for"],
        &["worktree", "add", "-q", "../linked"],
        &["submodule", "--quiet", "add", &library, "vendor/library"],
        &["submodule", "--quiet", "deinit", "-f", "vendor/library"],
        &["config", "user.name", "A"],
        &["config", "user.email", "a@a.test"],
        &["config", "pull.rebase", "true"],
        &["maintenance", "run", "--task=gc"],
        &["push", "-q", "-u", "origin", "HEAD:refs/heads/new"],
    ];
    for words in commands {
        let before = config(&world, "ws/.git/config");
        world.git("ws", &[&allow, words].concat());
        let found = objections(&before, &config(&world, "ws/.git/config"));
        assert_eq!(found, [], "{words:?}");
    }
    for words in [
        &["clone", "-q", &library, "plain"][..],
        &["clone", "-q", "--bare", &library, "bare"],
        &[
            "clone",
            "-q",
            "--filter=blob:none",
            "--no-local",
            &library,
            "partial",
        ],
        &[
            "clone",
            "-q",
            "--depth=1",
            "--no-local",
            &library,
            "shallow",
        ],
        &["init", "-q", "--initial-branch=x", "new"],
    ] {
        let folder = words.last().expect("a folder");
        world.git("", &[&allow, words].concat());
        let file = [format!("{folder}/.git/config"), format!("{folder}/config")];
        let file = file.iter().find(|file| world.at(file).exists());
        let found = objections(b"", &config(&world, file.expect("a configuration")));
        assert_eq!(found, [], "{words:?}");
    }
    // Sparse working trees have settings of their own, which are judged as well.
    let before = config(&world, "ws/.git/config");
    world.git("ws", &["sparse-checkout", "set", "src"]);
    let found = objections(&before, &config(&world, "ws/.git/config"));
    let names: Vec<&str> = found
        .iter()
        .map(|objection| objection.name.as_str())
        .collect();
    assert_eq!(names, ["extensions.worktreeconfig"]);
    let own = config(&world, "ws/.git/config.worktree");
    assert_eq!(objections(b"", &own), []);
}

#[test]
fn every_setting_that_ran_a_program_has_something_against_it() {
    if !has_git() {
        return;
    }
    let world = GitWorld::new();
    world.write(
        "canary.sh",
        "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\nexit 1\n",
    );
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(world.at("canary.sh"), open).expect("set");
    let canary = world.at("canary.sh").to_string_lossy().into_owned();
    world.write(
        "hooks/pre-commit",
        &format!("#!/bin/sh\n{canary} </dev/null\n"),
    );
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(world.at("hooks/pre-commit"), open).expect("set");
    let hooks = world.at("hooks").to_string_lossy().into_owned();
    world.write("included", &format!("[core]\nfsmonitor = {canary}\n"));
    let included = world.at("included").to_string_lossy().into_owned();
    let ext = format!("ext::{canary}");
    let settings: [(&str, &str, &[&str]); 12] = [
        ("core.fsmonitor", &canary, &["status"]),
        (
            "core.hooksPath",
            &hooks,
            &["commit", "-q", "--allow-empty", "-m", "y"],
        ),
        ("include.path", &included, &["status"]),
        ("includeIf.gitdir:/.path", &included, &["status"]),
        ("filter.c.clean", &canary, &["add", "--renormalize", "."]),
        ("filter.c.process", &canary, &["add", "--renormalize", "."]),
        ("diff.c.textconv", &canary, &["diff"]),
        ("diff.c.command", &canary, &["diff"]),
        ("diff.external", &canary, &["diff"]),
        ("alias.x", &format!("!{canary}"), &["x"]),
        (
            "core.sshCommand",
            &canary,
            &["ls-remote", "git@example.org:x"],
        ),
        (
            "remote.r.url",
            &ext,
            &["-c", "protocol.ext.allow=always", "fetch", "r"],
        ),
    ];
    for (name, value, command) in settings {
        let folder = name.replace(['.', ':', '/'], "-");
        fs::create_dir(world.at(&folder)).expect("a folder");
        world.git(&folder, &["init", "-q"]);
        world.write(&format!("{folder}/x"), "x");
        world.write(&format!("{folder}/.gitattributes"), "x filter=c diff=c\n");
        world.git(&folder, &["add", "."]);
        world.git(&folder, &["commit", "-qm", "x"]);
        let file = format!("{folder}/.git/config");
        let before = config(&world, &file);
        world.git(&folder, &["config", name, value]);
        world.write(&format!("{folder}/x"), "y");
        let _ = fs::remove_file(world.at("ran"));
        world.try_git(&folder, command);
        assert!(world.at("ran").exists(), "Git runs what `{name}` says");
        let found: Vec<Objection> = objections(&before, &config(&world, &file));
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        assert!(
            found[0].name.eq_ignore_ascii_case(name),
            "{name}: {found:?}"
        );
    }
}
