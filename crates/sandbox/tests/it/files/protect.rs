//! Protected names.

use std::fs;

use tool_harness_sandbox::file::FileError;

use crate::files::world::{World, changing};

fn assert_all_protected(world: &World, path: &str) {
    for (operation, result) in changing(&world.jail, path) {
        assert!(
            matches!(result, Err(FileError::Protected(_))),
            "{operation} {path}: {result:?}"
        );
    }
}

#[test]
fn protected_names_that_do_not_exist_yet_cannot_be_made() {
    let world = World::new();
    let paths = [
        ".harness",
        ".harness/tools/x.md",
        "src/.harness/x",
        "harness.md",
        "sub/harness.yaml",
        "harness.yml",
        "harness.lock",
        ".claude/settings.json",
        ".codex/config.toml",
        ".cursor/mcp.json",
        ".gemini/settings.json",
        ".goose/x",
        ".mcp.json",
        ".vscode/mcp.json",
        ".vscode/settings.json",
        ".git",
        "src/.git",
        ".git/hooks/pre-commit",
        ".git/config",
        ".git/modules/x/hooks/update",
        ".git/worktrees/w/config.worktree",
        ".Harness/x",
        "src/../.harness/x",
        "./harness.md",
    ];
    for path in paths {
        assert_all_protected(&world, path);
        assert_all_protected(&world, &format!("{}/{path}", world.jail.root().display()));
    }
    let names: Vec<_> = world
        .jail
        .list(".", 100)
        .expect("a listing")
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    assert_eq!(names, ["src"], "refused before any parent was made");
    let message = world
        .jail
        .write("harness.md", b"")
        .expect_err("protected")
        .to_string();
    assert_eq!(
        message,
        "`harness.md` is protected from tools; a person must edit it"
    );
}

#[test]
fn protected_names_that_exist_stay_as_they_are_and_can_be_read() {
    let world = World::new();
    for path in [
        ".harness/tools/x.md",
        "harness.md",
        ".claude/settings.json",
        ".git/hooks/pre-commit",
        ".git/config",
        ".vscode/mcp.json",
    ] {
        fs::create_dir_all(world.ws(path).parent().expect("a parent")).expect("a directory");
        fs::write(world.ws(path), "person").expect("a file");
        assert_all_protected(&world, path);
        assert_eq!(world.jail.read(path, 100).expect("readable"), b"person");
        assert_eq!(
            world.glob(path, 10).expect("a search").is_empty(),
            path.starts_with(".git/")
        );
    }
    assert_all_protected(&world, ".harness");
    assert_all_protected(&world, ".git");
    world
        .jail
        .copy(".harness/tools/x.md", "copy.md")
        .expect("what can be read can be copied");
}

#[test]
fn names_that_only_look_similar_are_free() {
    let world = World::new();
    for path in [
        "harness.md.bak",
        "docs/my-harness.md",
        ".vscode/launch.json",
        "hooks/pre-commit",
        "config",
        ".gitignore",
        ".github/x.yml",
        "claude/x",
    ] {
        assert!(world.jail.write(path, b"x").expect(path), "{path}");
        world.jail.append(path, b"y").expect(path);
        world.jail.rename(path, "free/moved").expect(path);
        world.jail.remove("free/moved", false).expect(path);
    }
    fs::create_dir_all(world.ws(".git/info")).expect("a directory");
    assert!(world.jail.write(".git/info/exclude", b"x").expect("free"));
}

#[test]
fn links_are_no_way_around_a_protected_name() {
    let world = World::new();
    fs::create_dir_all(world.ws(".harness/tools")).expect("a directory");
    fs::create_dir_all(world.ws(".git/hooks")).expect("a directory");
    world.link(".harness", "innocent");
    world.link(".harness/tools", "src/tools");
    world.link(".git", "repository");
    world.link("../.git/hooks", "src/hooks");
    world.link("harness.md", "notes.md");
    for path in [
        "innocent/x.md",
        "innocent/tools/x.md",
        "innocent/tools",
        "repository/hooks",
        "repository/hooks/x",
        "repository/config",
        "src/hooks/x",
    ] {
        assert_all_protected(&world, path);
    }
    assert!(matches!(
        world.jail.write("notes.md", b"evil"),
        Err(FileError::Link(_))
    ));
    assert!(!world.ws("harness.md").exists());
    // Followed from `src`, this link leads nowhere.
    assert!(matches!(
        world.jail.write("src/tools/x", b"evil"),
        Err(FileError::NotFound(_))
    ));
    assert!(
        world
            .jail
            .write("repository/info/exclude", b"fine")
            .expect("a free name behind a link")
    );
}

#[test]
fn where_a_protected_name_is_a_link_the_place_it_leads_to_is_protected() {
    let world = World::new();
    for directory in ["conf/claude", "conf/other", "bare/hooks"] {
        fs::create_dir_all(world.ws(directory)).expect("a directory");
    }
    world.link("conf/claude", ".claude");
    fs::write(world.ws("conf/person.md"), "person").expect("a file");
    world.link("conf/person.md", "harness.md");
    fs::write(world.ws(".git"), "gitdir: ./bare\n").expect("a file");
    for path in [
        "conf/claude/settings.json",
        "conf/person.md",
        "bare/hooks/pre-commit",
        "bare/config",
        "conf/claude",
    ] {
        assert_all_protected(&world, path);
    }
    for path in ["conf", "bare"] {
        for result in [
            world.jail.remove(path, true),
            world.jail.rename(path, "elsewhere"),
        ] {
            assert!(
                matches!(result, Err(FileError::Protected(_))),
                "{path}: {result:?}"
            );
        }
    }
    assert!(world.jail.write("conf/other/x", b"free").expect("free"));
    assert!(world.jail.write("conf/claude2", b"free").expect("free"));
}

#[test]
fn a_directory_that_holds_a_protected_name_is_neither_moved_nor_removed() {
    let world = World::new();
    for (path, protected) in [
        ("a/b/.harness/x", "a"),
        ("c/.git/config", "c"),
        ("d/.vscode/mcp.json", "d/.vscode"),
        ("e/harness.md", "e"),
    ] {
        fs::create_dir_all(world.ws(path).parent().expect("a parent")).expect("a directory");
        fs::write(world.ws(path), "person").expect("a file");
        fs::write(world.ws(protected).join("0-first"), "kept").expect("a file");
        for result in [
            world.jail.remove(protected, true),
            world.jail.rename(protected, "elsewhere"),
        ] {
            assert!(
                matches!(result, Err(FileError::Protected(_))),
                "{path}: {result:?}"
            );
        }
        assert_eq!(world.text(path), "person");
        assert!(
            world.ws(protected).join("0-first").exists(),
            "nothing is removed before all is judged"
        );
    }
    // A link to such a directory holds nothing itself.
    world.link("a", "to-a");
    world
        .jail
        .rename("to-a", "still-to-a")
        .expect("a link may be moved");
    world
        .jail
        .remove("still-to-a", true)
        .expect("a link may be removed");
    assert_eq!(world.text("a/b/.harness/x"), "person");
    // A directory without one may go.
    world.jail.write("f/g/h", b"x").expect("inside");
    world.jail.rename("f/g", "i/j").expect("inside");
    assert_eq!(world.text("i/j/h"), "x");
    world.jail.remove("i", true).expect("inside");
    assert!(!world.ws("i").exists());
}

#[test]
fn a_directory_cannot_be_prepared_and_then_renamed_into_a_protected_one() {
    let world = World::new();
    world.jail.write("x/mcp.json", b"evil").expect("free here");
    world
        .jail
        .write("x/hooks/pre-commit", b"evil")
        .expect("free here");
    fs::create_dir_all(world.ws(".git/modules")).expect("a directory");
    world.link("x", "link");
    for (from, to) in [
        ("x", ".vscode"),
        ("x", "src/.vscode"),
        ("x", ".git"),
        ("x", ".git/modules/x"),
        ("x", ".harness"),
        ("link", ".vscode"),
        ("link", ".claude"),
    ] {
        let result = world.jail.rename(from, to);
        assert!(
            matches!(result, Err(FileError::Protected(_))),
            "{to}: {result:?}"
        );
    }
    assert_eq!(world.text("x/mcp.json"), "evil");
    // The same in two steps, with the directory moved away first.
    world
        .jail
        .write(".vscode/launch.json", b"{}")
        .expect("free");
    world
        .jail
        .rename(".vscode", "y")
        .expect("it holds nothing protected");
    world.jail.write("y/mcp.json", b"evil").expect("free here");
    assert!(matches!(
        world.jail.rename("y", ".vscode"),
        Err(FileError::Protected(_))
    ));
    world.jail.rename("y", "vscode").expect("a free name");
}

#[test]
fn a_hard_link_to_a_protected_file_is_not_written() {
    let world = World::new();
    fs::write(world.ws("harness.md"), "person").expect("a file");
    fs::hard_link(world.ws("harness.md"), world.ws("copy.md")).expect("a hard link");
    assert!(matches!(
        world.jail.write("copy.md", b"evil"),
        Err(FileError::HardLinked(_))
    ));
    assert!(matches!(
        world.jail.append("copy.md", b"evil"),
        Err(FileError::HardLinked(_))
    ));
    assert_eq!(world.text("harness.md"), "person");
}
