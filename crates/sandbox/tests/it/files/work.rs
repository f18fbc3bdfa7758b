//! Everyday use.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use tool_harness_sandbox::file::{FileError, FileKind, Jail, Omit, PathBounds};

use crate::files::world::{World, changing};

fn mode(world: &World, path: &str) -> u32 {
    fs::metadata(world.ws(path))
        .expect("facts")
        .permissions()
        .mode()
        & 0o7777
}

#[test]
fn a_file_is_written_read_extended_copied_moved_and_removed() {
    let world = World::new();
    let jail = &world.jail;
    assert!(jail.write("a/b/c.txt", b"one").expect("new"));
    assert!(!jail.write("a/b/c.txt", b"two").expect("replaced"));
    jail.append("a/b/c.txt", b"+").expect("extended");
    jail.append("a/log/d.txt", b"first").expect("made");
    assert_eq!(jail.read("a/b/c.txt", 4).expect("read"), b"two+");
    jail.copy("a/b/c.txt", "e/c.txt").expect("copied");
    jail.rename("a/b/c.txt", "f/c.txt").expect("moved");
    jail.rename("f/c.txt", "e/c.txt")
        .expect("moved over a file");
    assert_eq!(jail.stat("a/b/c.txt").expect("asked"), None);
    assert_eq!(jail.stat("e/c.txt/x").expect("asked"), None);
    let stat = jail.stat("e/c.txt").expect("asked").expect("there");
    assert_eq!(
        (stat.kind, stat.size, stat.mode & 0o400),
        (FileKind::File, 4, 0o400)
    );
    assert!(stat.modified_ms > 1_600_000_000_000);
    jail.remove("e/c.txt", false).expect("removed");
    jail.remove("e", false).expect("empty");
    jail.mkdir("a").expect("there already");
    jail.mkdir(".").expect("there already");
    jail.remove("a", true).expect("removed");
}

#[test]
fn permissions_survive_a_write_and_are_ordinary_on_a_new_file() {
    let world = World::new();
    fs::write(world.ws("plain"), "x").expect("a file");
    let umask_leaves = mode(&world, "plain");
    world.jail.write("new", b"x").expect("new");
    assert_eq!(mode(&world, "new"), umask_leaves & 0o644);
    for bits in [0o755, 0o600, 0o640] {
        fs::set_permissions(world.ws("new"), fs::Permissions::from_mode(bits)).expect("set");
        world.jail.write("new", b"y").expect("replaced");
        assert_eq!(mode(&world, "new"), bits);
        world.jail.append("new", b"z").expect("extended");
        assert_eq!(mode(&world, "new"), bits);
    }
    // Set-user-ID is not carried over to new content.
    fs::set_permissions(world.ws("new"), fs::Permissions::from_mode(0o4755)).expect("set");
    world.jail.write("new", b"y").expect("replaced");
    assert_eq!(mode(&world, "new"), 0o755);
    world.jail.copy("new", "copied").expect("copied");
    assert_eq!(mode(&world, "copied") & 0o100, 0o100);
}

#[test]
fn wrong_kinds_are_named() {
    let world = World::new();
    let jail = &world.jail;
    jail.write("full/x", b"x").expect("new");
    let check = |result: Result<(), FileError>, expected: &str| {
        let error = result.expect_err(expected);
        assert_eq!(error.to_string(), expected);
        assert!(!error.is_denial());
    };
    check(
        jail.read("src", 9).map(drop),
        "`src` is a directory; give the path of a file",
    );
    check(
        jail.write("src", b"").map(drop),
        "`src` is a directory; give the path of a file",
    );
    check(
        jail.copy("src", "x"),
        "`src` is a directory; give the path of a file",
    );
    check(
        jail.list("src/main.rs", 9).map(drop),
        "`src/main.rs`, or a part of it, is not a directory",
    );
    check(
        jail.write("src/main.rs/x", b"").map(drop),
        "`src/main.rs/x`, or a part of it, is not a directory",
    );
    check(
        jail.mkdir("src/main.rs"),
        "`src/main.rs`, or a part of it, is not a directory",
    );
    check(
        jail.remove("full", false),
        "`full` is not empty; empty it, or remove it recursively",
    );
    check(
        jail.remove(".", true),
        "`.` is the workspace itself; name something inside it",
    );
    check(
        jail.rename("src/..", "x"),
        "`src/..` is the workspace itself; name something inside it",
    );
    check(
        jail.read("nothing", 9).map(drop),
        "`nothing` does not exist",
    );
    check(jail.remove("nothing", true), "`nothing` does not exist");
    check(jail.rename("nothing", "x"), "`nothing` does not exist");
    check(
        jail.rename("full", "src"),
        "`src` is a directory; give the path of a file",
    );
    check(
        jail.read("", 9).map(drop),
        "`` is not a usable path: it is empty; `.` is the workspace",
    );
    check(
        jail.read("a\0b", 9).map(drop),
        "`a\\u{0}b` is not a usable path: it contains a zero byte",
    );
    assert!(matches!(
        jail.rename("full", "full/inner"),
        Err(FileError::Io { .. })
    ));
}

#[test]
fn a_listing_is_sorted_and_shows_links_and_foreign_names() {
    let world = World::new();
    for name in ["b", "a", "ü"] {
        fs::write(world.ws(name), "x").expect("a file");
    }
    fs::write(world.ws("").join(OsStr::from_bytes(b"\xff")), "x").expect("a file");
    world.link("../outside", "link");
    let entries = world.jail.list(".", 10).expect("a listing");
    let listed: Vec<_> = entries
        .iter()
        .map(|entry| (entry.name.as_str(), entry.stat.kind))
        .collect();
    let expected = [
        ("a", FileKind::File),
        ("b", FileKind::File),
        ("link", FileKind::Link),
        ("src", FileKind::Directory),
        ("ü", FileKind::File),
        ("\u{fffd}", FileKind::File),
    ];
    assert_eq!(listed, expected);
    assert!(matches!(
        world.jail.read("\u{fffd}", 9),
        Err(FileError::NotFound(_))
    ));
}

#[test]
fn patterns_find_regular_files_by_their_path() {
    let world = World::new();
    for path in [
        "README.md",
        "docs/a.md",
        "docs/deep/b.md",
        "docs/deep/c.txt",
        "src/lib.rs",
        ".env",
        ".git/x.md",
        "node/.git/y.md",
        "we[ird/z.md",
    ] {
        fs::create_dir_all(world.ws(path).parent().expect("a parent")).expect("a directory");
        fs::write(world.ws(path), "x").expect("a file");
    }
    world.link("docs", "linked");
    world.link("../outside", "out");
    world.link("docs/a.md", "alias.md");
    let ws = world.jail.root().display().to_string();
    let check = |pattern: &str, expected: &[&str]| {
        assert_eq!(
            world.glob(pattern, 100).expect(pattern),
            expected,
            "{pattern}"
        )
    };
    check("*.md", &["README.md"]);
    check(
        "**/*.md",
        &["README.md", "docs/a.md", "docs/deep/b.md", "we[ird/z.md"],
    );
    check("docs/*.md", &["docs/a.md"]);
    check(
        "docs/**",
        &["docs/a.md", "docs/deep/b.md", "docs/deep/c.txt"],
    );
    check(
        "./docs/**/*.{md,txt}",
        &["docs/a.md", "docs/deep/b.md", "docs/deep/c.txt"],
    );
    check(
        "{src,docs/deep}/*",
        &[
            "docs/deep/b.md",
            "docs/deep/c.txt",
            "src/lib.rs",
            "src/main.rs",
        ],
    );
    check("*/*/?.md", &["docs/deep/b.md"]);
    check("we\\[ird/*", &["we[ird/z.md"]);
    check("src/main.rs", &["src/main.rs"]);
    check("src/[a-l]*.rs", &["src/lib.rs"]);
    check(&format!("{ws}/src/*.rs"), &["src/lib.rs", "src/main.rs"]);
    check("**/.env", &[".env"]);
    check(".git/**", &[]);
    check("linked/*", &[]);
    check("out/**", &[]);
    check("missing/**", &[]);
    check("src/main.rs/*", &[]);
    for pattern in [
        "../**",
        "src/../../outside/*",
        "/etc/*",
        &format!("{ws}-evil/*"),
        "**/../../*",
    ] {
        assert!(
            matches!(world.glob(pattern, 100), Err(FileError::Outside(_))),
            "{pattern}"
        );
    }
    for pattern in ["", "src/[", "{a,b", "a\0", &"*".repeat(2000), "a\\"] {
        assert!(
            matches!(world.glob(pattern, 100), Err(FileError::BadPattern { .. })),
            "{pattern}"
        );
    }
    world.assert_unharmed();
}

#[test]
fn files_that_this_user_may_not_access_are_denied_or_skipped() {
    if rustix::process::geteuid().is_root() {
        println!(
            "skipped: needs an ordinary user; root may touch everything (run again as one by `the_same_holds_for_an_ordinary_user`)"
        );
        return;
    }
    let world = World::new();
    fs::create_dir(world.ws("closed")).expect("a directory");
    fs::write(world.ws("closed/x.rs"), "x").expect("a file");
    fs::write(world.ws("fixed"), "x").expect("a file");
    fs::set_permissions(world.ws("closed"), fs::Permissions::from_mode(0o000)).expect("set");
    fs::set_permissions(world.ws("fixed"), fs::Permissions::from_mode(0o444)).expect("set");
    for (operation, result) in [
        ("read", world.jail.read("closed/x.rs", 9).map(drop)),
        ("write", world.jail.write("closed/y", b"").map(drop)),
        ("list", world.jail.list("closed", 9).map(drop)),
        ("remove", world.jail.remove("closed", true)),
        (
            "move what cannot be looked through",
            world.jail.rename("closed", "x"),
        ),
        (
            "write to a read-only file",
            world.jail.write("fixed", b"").map(drop),
        ),
        (
            "append to a read-only file",
            world.jail.append("fixed", b"y"),
        ),
    ] {
        assert!(
            matches!(result, Err(FileError::Denied(_))),
            "{operation}: {result:?}"
        );
    }
    assert_eq!(
        world.glob("**/*.rs", 10).expect("a search"),
        ["src/main.rs"]
    );
    fs::set_permissions(world.ws("closed"), fs::Permissions::from_mode(0o700)).expect("set");
    assert_eq!(
        world.glob("**/*.rs", 10).expect("a search"),
        ["closed/x.rs", "src/main.rs"]
    );
}

#[test]
fn rules_about_ignored_files_come_from_inside_and_hidden_places_stay_hidden() {
    let world = World::new();
    fs::write(world.beside("outside/rules"), "main.rs\n").expect("a file");
    for (path, text) in [
        (".git/info/exclude", "*.tmp\n"),
        ("a.tmp", ""),
        ("src/b.tmp", ""),
        ("inner/.git/HEAD", ""),
        ("inner/c.tmp", ""),
        ("secret/.gitignore", "!*.tmp\n"),
        ("secret/d.tmp", ""),
    ] {
        fs::create_dir_all(world.ws(path).parent().expect("a parent")).expect("a directory");
        fs::write(world.ws(path), text).expect("a file");
    }
    // A link is not read, whether it leads outside or not.
    world.link("../outside/rules", ".gitignore");
    let omit = Omit {
        ignored: true,
        dotfiles: true,
    };
    let glob =
        |jail: &Jail, pattern: &str| jail.glob(pattern, omit, 99, &|| false).expect("found").0;
    assert_eq!(
        glob(&world.jail, "**/*"),
        ["inner/c.tmp", "secret/d.tmp", "src/main.rs"]
    );
    // A repository in the workspace has rules of its own, also where the search starts below it.
    assert_eq!(glob(&world.jail, "inner/*.tmp"), ["inner/c.tmp"]);
    assert_eq!(glob(&world.jail, "src/*.tmp"), Vec::<String>::new());
    let bounds = PathBounds {
        hidden: vec!["secret".into()],
        ..PathBounds::default()
    };
    let bounded = world.jail.with_bounds(bounds).expect("a jail");
    assert_eq!(glob(&bounded, "**/*"), ["inner/c.tmp", "src/main.rs"]);
    assert_eq!(glob(&bounded, "secret/**"), Vec::<String>::new());
}

#[test]
fn a_read_only_place_is_read_and_nothing_in_it_is_changed_made_or_moved() {
    let world = World::new();
    for name in ["infra/prod/main.tf", "infra/dev/main.tf", "staged/prod/x"] {
        let file = world.ws(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, "text").expect("a file");
    }
    world.link("infra/prod", "linked");
    let bounds = PathBounds {
        read_only: ["infra/prod", "missing/place"]
            .map(|place| {
                (
                    place.to_owned(),
                    "`sandbox.read_only` at harness.md:3:4".to_owned(),
                )
            })
            .into(),
        ..PathBounds::default()
    };
    let jail = world.jail.with_bounds(bounds).expect("a jail");
    for name in [
        "infra/prod/main.tf",
        "infra/prod/new",
        "linked/main.tf",
        "infra/PROD/x",
        "missing/place/x",
        "missing/place",
    ] {
        for (what, done) in changing(&jail, name) {
            let is_missing = matches!(done, Err(FileError::NotFound(_)));
            assert!(
                is_missing || matches!(done, Err(FileError::ReadOnly { .. })),
                "{what} {name}: {done:?}"
            );
        }
    }
    for done in [
        jail.remove("infra", true),
        jail.rename("infra", "moved"),
        jail.remove("infra/prod", true),
        // What would be in a read-only place afterwards.
        jail.rename("staged", "infra/prod/staged"),
        jail.mkdir("missing")
            .and_then(|()| jail.rename("staged/prod", "missing/place")),
        jail.remove("missing", false).and_then(|()| {
            jail.rename("staged/prod", "staged/place")?;
            jail.rename("staged", "missing")
        }),
    ] {
        assert!(matches!(done, Err(FileError::ReadOnly { .. })), "{done:?}");
    }
    let said = jail
        .write("infra/prod/new", b"x")
        .expect_err("refused")
        .to_string();
    assert_eq!(
        said,
        "`infra/prod/new` is read-only: `sandbox.read_only` at harness.md:3:4 lists `infra/prod`; a person can change it there"
    );
    assert_eq!(jail.read("linked/main.tf", 9).expect("read"), b"text");
    jail.write("infra/dev/main.tf", b"new")
        .expect("a neighbour");
    jail.mkdir("infra").expect("the folder around it");
    jail.rename("infra/dev", "infra/test").expect("a neighbour");
    assert_eq!(world.text("infra/prod/main.tf"), "text");
}

#[test]
fn a_workspace_that_is_a_home_is_used_without_what_is_private_in_it() {
    let world = World::new();
    let private = [
        ".ssh/id",
        ".claude/.credentials.json",
        ".config/gh/hosts.yml",
        ".npmrc",
        ".local/state/harness/x/artifacts/art_1",
        "keys/id",
    ];
    let plain = [
        ".profile",
        ".claude/CLAUDE.md",
        ".config/app.toml",
        "x/.npmrc",
    ];
    for name in private.iter().chain(&plain) {
        let file = world.ws(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, "text").expect("a file");
    }
    world.link("keys", ".gnupg");
    world.link(".npmrc", "linked");
    for name in private.iter().chain(&plain) {
        assert_eq!(world.jail.read(name, 9).expect("a file elsewhere"), b"text");
    }
    let open = || Jail::open(&world.ws("")).expect("a jail");
    let home = open().for_person(Some(&world.ws("")), None);
    let bounded = home
        .with_bounds(PathBounds {
            write: Some(vec![".".into()]),
            ..PathBounds::default()
        })
        .expect("a jail");
    for jail in [&home, &bounded] {
        for name in private
            .iter()
            .chain(&["linked", ".NPMRC", ".gnupg/id", ".ssh/new"])
        {
            let failed = |name: &str, done: Result<(), FileError>| {
                assert!(
                    matches!(
                        done,
                        Err(FileError::Private(_)
                            | FileError::NotFound(_)
                            | FileError::Protected(_))
                    ),
                    "{name}: {done:?}"
                );
            };
            failed(name, jail.read(name, 9).map(drop));
            failed(name, jail.copy(name, "copied"));
            // A link itself is a name like any other.
            if *name != "linked" {
                failed(name, jail.rename(name, "moved"));
                failed(name, jail.write(name, b"evil").map(drop));
                failed(name, jail.remove(name, false));
            }
        }
        assert!(matches!(
            jail.rename(".config", "c"),
            Err(FileError::Private(_))
        ));
        assert!(matches!(
            jail.remove(".config", true),
            Err(FileError::Private(_))
        ));
        let (found, ..) = jail
            .glob("**/*", Omit::default(), 99, &|| false)
            .expect("a search");
        assert_eq!(
            found,
            [
                ".claude/CLAUDE.md",
                ".config/app.toml",
                ".profile",
                "src/main.rs",
                "x/.npmrc"
            ]
        );
        let names = jail.list(".", 99).expect("a listing");
        assert!(
            names.iter().all(|entry| entry.name != ".npmrc"),
            "{names:?}"
        );
        for name in plain {
            assert_eq!(jail.read(name, 9).expect("a plain file"), b"text");
        }
        jail.write(".config/new/file", b"fine")
            .expect("a new folder");
        jail.remove(".config/new", true).expect("removed");
    }
    // A home in the workspace is hidden as a whole, and so is what harness keeps there.
    let around = open().for_person(Some(&world.ws("x")), Some(&world.ws("src")));
    assert!(matches!(
        around.read("x/.npmrc", 9),
        Err(FileError::Private(_))
    ));
    assert!(matches!(around.list("src", 9), Err(FileError::Private(_))));
    assert_eq!(around.read(".npmrc", 9).expect("not in the home"), b"text");
    world.assert_unharmed();
}
