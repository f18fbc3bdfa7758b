//! What Git would obey, against Git's own word.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::world::{GitWorld, has_git, hooks_by_git};
use tool_harness_sandbox::git::{AnswerCache, GitAnswer, PlaceKind, look_at};

fn of_kind(answer: &GitAnswer, kind: PlaceKind) -> Vec<PathBuf> {
    let places = answer.places.iter().filter(|place| place.kind == kind);
    places.map(|place| place.path.clone()).collect()
}

fn with_repository() -> GitWorld {
    let world = GitWorld::new();
    fs::create_dir(world.at("ws")).expect("a folder");
    world.git("ws", &["init", "-q"]);
    world.git("ws", &["commit", "-q", "--allow-empty", "-m", "x"]);
    world
}

/// The hooks folder that Git names is among those of the answer.
fn check_hooks(world: &GitWorld, workspace: &str, folder: &str, expected: &str) {
    let (by_git, answer) = (hooks_by_git(world, folder), world.look(workspace));
    assert_eq!(by_git, world.at(expected), "what Git says in {folder}");
    let hooks = of_kind(&answer, PlaceKind::Hooks);
    assert!(hooks.contains(&by_git), "{by_git:?} in {hooks:?}");
    assert_eq!(answer.gaps, [], "nothing is unseen");
}

#[test]
fn hooks_are_found_where_git_finds_them() {
    if !has_git() {
        return;
    }
    let world = with_repository();
    check_hooks(&world, "ws", "ws", "ws/.git/hooks");
    fs::create_dir_all(world.at("ws/sub/deep")).expect("folders");
    check_hooks(&world, "ws/sub/deep", "ws/sub/deep", "ws/.git/hooks");

    world.git("ws", &["config", "core.hooksPath", "sub/own hooks"]);
    check_hooks(&world, "ws", "ws", "ws/sub/own hooks");
    check_hooks(&world, "ws/sub", "ws/sub", "ws/sub/own hooks");
    world.git("ws", &["config", "--unset", "core.hooksPath"]);

    world.write(
        "ws/.git/config.more",
        "[core]\nhooksPath = \"sub\\\n/more\" ; x\n",
    );
    world.git("ws", &["config", "include.path", "config.more"]);
    check_hooks(&world, "ws", "ws", "ws/sub/more");
    world.git("ws", &["config", "--unset", "include.path"]);

    world.write("home/.gitconfig", "[core]\nhooksPath = .githooks\n");
    check_hooks(&world, "ws", "ws", "ws/.githooks");
    world.write("home/.gitconfig", "[include]\npath = ~/more\n");
    world.write("home/more", "[core]\nhooksPath = ~/../ws/far\n");
    fs::create_dir(world.at("ws/far")).expect("a folder");
    check_hooks(&world, "ws", "ws", "ws/far");
    world.write("home/.gitconfig", "[core]\nhooksPath = .githooks\n");

    world.git("ws", &["worktree", "add", "-q", "../linked"]);
    check_hooks(&world, "ws", "linked", "linked/.githooks");
    check_hooks(&world, "linked", "ws", "ws/.githooks");
    world.write("home/.gitconfig", "");
    world.git("ws", &["config", "extensions.worktreeConfig", "true"]);
    world.git("linked", &["config", "--worktree", "core.hooksPath", ".wt"]);
    check_hooks(&world, "ws", "linked", "linked/.wt");
    check_hooks(&world, "linked", "linked", "linked/.wt");
    check_hooks(&world, "linked", "ws", "ws/.git/hooks");

    symlink("../links", world.at("ws/.git/linked-hooks")).expect("a link");
    fs::create_dir(world.at("ws/links")).expect("a folder");
    world.git("ws", &["config", "core.hooksPath", ".git/linked-hooks"]);
    check_hooks(&world, "ws", "ws", "ws/links");
    let answer = world.look("ws");
    let place = answer.place_of(&world.at("ws/links/pre-commit"));
    let place = place.expect("a place");
    assert_eq!(place.links, [world.at("ws/.git/linked-hooks")]);
    assert_eq!(
        place.reason.to_string(),
        format!(
            "`core.hookspath` in line 6 of `{}` leads Git there",
            world.at("ws/.git/config").display()
        )
    );
}

#[test]
fn submodules_are_found_by_their_declaration_and_in_the_folder_of_git() {
    if !has_git() {
        return;
    }
    let world = with_repository();
    fs::create_dir(world.at("library")).expect("a folder");
    world.git("library", &["init", "-q"]);
    world.git("library", &["commit", "-q", "--allow-empty", "-m", "x"]);
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "../library",
        "vendor/library",
    ];
    world.git("ws", &add);
    check_hooks(
        &world,
        "ws",
        "ws/vendor/library",
        "ws/.git/modules/vendor/library/hooks",
    );
    world.git("ws/vendor/library", &["config", "core.hooksPath", ".own"]);
    check_hooks(&world, "ws", "ws/vendor/library", "ws/vendor/library/.own");
    // A repository in the tree that is a submodule without being kept in Git's folder.
    world.write(
        "ws/.gitmodules",
        "[submodule \"a\"]\npath = node_modules/a\n[submodule \"b\"]\npath = gone\n",
    );
    fs::create_dir_all(world.at("ws/node_modules/a")).expect("a folder");
    world.git("ws/node_modules/a", &["init", "-q"]);
    world.git("ws/node_modules/a", &["config", "core.hooksPath", ".in"]);
    check_hooks(&world, "ws", "ws/node_modules/a", "ws/node_modules/a/.in");
    let answer = world.look("ws");
    assert!(answer.place_of(&world.at("ws/gone/.git")).is_some());
}

#[test]
fn bare_and_separate_repositories_are_found() {
    if !has_git() {
        return;
    }
    let world = GitWorld::new();
    fs::create_dir(world.at("ws")).expect("a folder");
    world.git("", &["init", "-q", "--bare", "bare.git"]);
    check_hooks(&world, "bare.git/refs", "bare.git", "bare.git/hooks");
    assert_eq!(
        world.look("bare.git").repositories[0].tops,
        [] as [&Path; 0]
    );
    world.git("ws", &["init", "-q", "--separate-git-dir", "../data"]);
    check_hooks(&world, "ws", "ws", "data/hooks");
    let answer = world.look("ws");
    for file in [
        "ws/.git",
        "data/config",
        "data/config.worktree",
        "data/commondir",
    ] {
        assert!(answer.place_of(&world.at(file)).is_some(), "{file}");
    }
    for file in ["data/HEAD", "data/index", "ws/file", "data/info/attributes"] {
        assert!(answer.place_of(&world.at(file)).is_none(), "{file}");
    }
    let own = look_at(&world.at("bare.git"), &world.person());
    assert!(own.place_of(&world.at("bare.git/config")).is_some());
    let own = look_at(&world.at("ws/.git"), &world.person());
    assert!(own.place_of(&world.at("data/config")).is_some());
}

#[test]
fn programs_that_settings_name_are_found_if_they_are_files() {
    if !has_git() {
        return;
    }
    let world = with_repository();
    for file in ["tools/argument", "plain", "docs/readme"] {
        world.write(&format!("ws/{file}"), "x");
    }
    use std::os::unix::fs::PermissionsExt as _;
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(world.at("ws/tools/argument"), open).expect("set");
    for (name, value) in [
        ("core.fsmonitor", "./scripts/monitor"),
        ("filter.x.clean", "tools/clean.sh %f"),
        ("diff.x.textconv", "python3 convert.py"),
        (
            "alias.x",
            "!\"$(git rev-parse --show-toplevel)\"/scripts/alias",
        ),
        ("alias.read", "!less docs/readme"),
        ("core.editor", "wrap tools/argument plain"),
        ("credential.helper", "!scripts/helper"),
        ("core.pager", "less -R"),
        ("unknown.key", "some/program"),
        ("user.name", "some/name"),
    ] {
        world.git("ws", &["config", name, value]);
    }
    let programs = of_kind(&world.look("ws"), PlaceKind::Program);
    let mut expected: Vec<PathBuf> = [
        "scripts/monitor",
        "tools/clean.sh",
        "convert.py",
        "scripts/alias",
        "tools/argument",
        "scripts/helper",
        "some/program",
    ]
    .map(|path| world.at("ws").join(path))
    .into();
    expected.sort();
    let mut found = programs;
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn loops_end_and_folders_that_hold_everything_are_taken_by_name() {
    if !has_git() {
        return;
    }
    for hooks in [".git", ".", "..", ".git/.."] {
        let world = with_repository();
        world.git("ws", &["config", "core.hooksPath", hooks]);
        let answer = world.look("ws");
        let hook = world.at("ws").join(hooks).join("pre-commit");
        let hook = hook
            .parent()
            .expect("a folder")
            .canonicalize()
            .expect("it")
            .join("pre-commit");
        assert!(answer.place_of(&hook).is_some(), "{hooks}: {hook:?}");
        for free in ["ws/.git/HEAD", "ws/src/main.rs", "ws/.git/index"] {
            assert!(
                answer.place_of(&world.at(free)).is_none(),
                "{hooks}: {free}"
            );
        }
    }
    let world = with_repository();
    world.write("ws/.git/config", "[include]\npath = config\npath = other\n");
    world.write(
        "ws/.git/other",
        "[include]\npath = config\npath = other\n[core]\nhooksPath = x\n",
    );
    let answer = world.look("ws");
    assert!(answer.place_of(&world.at("ws/x/y")).is_some());
    assert_eq!(answer.gaps, []);
    // A repository that leads to itself.
    world.write("ws/a/.git", "gitdir: .\n");
    world.write("ws/a/HEAD", "ref: refs/heads/x\n");
    world.write("ws/a/commondir", ".\n");
    world.write("ws/a/config", "[core]\nworktree = .\nhooksPath = .\n");
    world.look("ws/a");
    symlink("round", world.at("ws/round")).expect("a link");
    world.write("ws/.git/config", "[core]\nhooksPath = round/x\n");
    assert!(!world.look("ws").is_complete(), "a loop of links");
}

#[test]
fn what_is_beyond_a_bound_is_a_gap() {
    if !has_git() {
        return;
    }
    let check = |what: &str, prepare: &dyn Fn(&GitWorld)| {
        let world = with_repository();
        prepare(&world);
        let answer = world.look("ws");
        assert!(!answer.is_complete(), "{what}");
        assert!(answer.gaps.len() <= 10, "{what}: {:?}", answer.gaps.len());
    };
    check("a mistake", &|world| {
        world.write("ws/.git/config", "[core\n")
    });
    check("an include that is no file", &|world| {
        world.write("ws/.git/config", "[include]\npath = ../src\n");
        fs::create_dir(world.at("ws/src")).expect("a folder");
    });
    check("an include that is a pipe", &|world| {
        world.write("ws/.git/config", "[include]\npath = pipe\n");
        let made = std::process::Command::new("mkfifo")
            .arg(world.at("ws/.git/pipe"))
            .status();
        assert!(made.is_ok_and(|made| made.success()));
    });
    check("a large file", &|world| {
        world.write("ws/.git/config", &"# x\n".repeat(500_000));
    });
    check("many files", &|world| {
        let includes: String = (0..8500)
            .map(|n| format!("[include]\npath = i/{n}\n"))
            .collect();
        world.write("ws/.git/config", &includes);
        for n in 0..8500 {
            world.write(&format!("ws/.git/i/{n}"), "");
        }
    });
    check("many submodules", &|world| {
        for n in 0..4500 {
            fs::create_dir_all(world.at(&format!("ws/.git/modules/{n}"))).expect("a folder");
        }
    });
    check("a home that is not known", &|world| {
        world.write("ws/.git/config", "[core]\nhooksPath = ~no-such-user/x\n");
    });
}

#[test]
fn an_answer_is_kept_until_something_it_depends_on_changes() {
    if !has_git() {
        return;
    }
    let world = with_repository();
    world.write("home/.gitconfig", "[core]\nhooksPath = hooks\n");
    let cache = AnswerCache::default();
    let settle = || std::thread::sleep(Duration::from_millis(80));
    let folder = world.at("ws");
    let changes: [&dyn Fn(); 7] = [
        &|| drop(world.git("ws", &["config", "core.hooksPath", "one"])),
        &|| world.write("home/.gitconfig", ""),
        &|| world.write("home/.config/git/config", "[core]\nhooksPath = two\n"),
        &|| world.write("ws/.git/config.worktree", "[core]\nhooksPath = three\n"),
        &|| drop(world.git("ws", &["worktree", "add", "-q", "../linked"])),
        &|| world.write("ws/.gitmodules", "[submodule \"a\"]\npath = a\n"),
        &|| fs::create_dir_all(world.at("ws/.git/modules/x")).expect("a folder"),
    ];
    for (n, change) in changes.iter().enumerate() {
        settle();
        let before = cache.look(&folder, &world.person());
        settle();
        assert!(
            before.is_current()
                && std::sync::Arc::ptr_eq(&before, &cache.look(&folder, &world.person()))
        );
        // Everyday work changes nothing that counts.
        world.git("ws", &["commit", "-q", "--allow-empty", "-m", "y"]);
        assert!(before.is_current(), "a commit before change {n}");
        change();
        assert!(!before.is_current(), "change {n}");
        assert!(
            !std::sync::Arc::ptr_eq(&before, &cache.look(&folder, &world.person())),
            "change {n}"
        );
    }
}
