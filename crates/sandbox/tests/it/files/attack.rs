//! Leaving the workspace.

use std::fs;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tool_harness_sandbox::file::{FileError, FileKind, Jail};

use crate::files::world::{SECRET, World, changing, every_operation};

fn assert_all_outside(world: &World, path: &str) {
    for (operation, result) in every_operation(&world.jail, path) {
        assert!(
            matches!(result, Err(FileError::Outside(_))),
            "{operation} {path}: {result:?}"
        );
        assert!(
            result.is_err_and(|error| error.is_denial()),
            "{operation} {path}"
        );
    }
    world.assert_unharmed();
}

#[test]
fn steps_upwards_are_refused_by_every_operation() {
    let world = World::new();
    let ws = world.jail.root().display().to_string();
    for path in [
        "../outside/canary",
        "..",
        "src/../../outside/canary",
        "../ws/src/main.rs",
        "./.././outside",
        "../../../../../../etc/passwd",
    ] {
        assert_all_outside(&world, path);
    }
    for path in [
        "/../outside/canary",
        "/../../../etc/passwd",
        "/src/../../outside/canary",
        "/../ws/src/main.rs",
    ] {
        assert_all_outside(&world, &format!("{ws}{path}"));
    }
    assert_all_outside(&world, "/etc/passwd");
    assert_all_outside(
        &world,
        &world.beside("outside/canary").display().to_string(),
    );
}

#[test]
fn steps_upwards_that_stay_inside_are_fine() {
    let world = World::new();
    let ws = world.jail.root().display().to_string();
    for path in [
        "src/../src/main.rs",
        "./src/./main.rs",
        "nowhere/../src/main.rs",
        "src//main.rs",
    ] {
        assert_eq!(world.jail.read(path, 100).expect(path), b"inside");
        assert_eq!(
            world.jail.read(&format!("{ws}/{path}"), 100).expect(path),
            b"inside"
        );
    }
}

#[test]
fn a_sibling_whose_name_begins_like_the_workspace_is_outside() {
    let world = World::new();
    let ws = world.jail.root().display().to_string();
    assert_all_outside(&world, &format!("{ws}-evil/canary"));
    assert_all_outside(&world, "../ws-evil/canary");
    let message = world.jail.read("../x", 1).expect_err("outside").to_string();
    assert_eq!(
        message,
        "`../x` is outside the workspace; give a path inside it"
    );
    // A directory of that name inside the workspace is fine.
    assert!(world.jail.write("ws-evil/canary", b"mine").expect("inside"));
    world.assert_unharmed();
}

#[test]
fn the_kernels_own_links_are_no_way_out() {
    let world = World::new();
    let open = fs::File::open(world.beside("outside/canary")).expect("a canary");
    let canary = world.beside("outside/canary").display().to_string();
    let paths = [
        format!("/proc/self/root{canary}"),
        "/proc/self/cwd/..".into(),
        format!("/proc/self/fd/{}", open.as_raw_fd()),
        "/dev/fd/0".into(),
    ];
    for (index, path) in paths.iter().enumerate() {
        assert_all_outside(&world, path);
        let name = format!("magic{index}");
        world.link(path, &name);
        assert_all_outside_but_the_link_itself(&world, &name);
    }
    // The kernel's magic links are not followed, even if they are inside the jail.
    let process = Jail::open(std::path::Path::new("/proc/self")).expect("a jail");
    for path in [
        format!("root{canary}"),
        "cwd".into(),
        "exe".into(),
        format!("fd/{}", open.as_raw_fd()),
    ] {
        assert!(
            matches!(process.read(&path, 1 << 30), Err(FileError::Loop(_))),
            "{path}"
        );
    }
    assert!(
        !process
            .read("status", 1 << 20)
            .expect("an ordinary file there")
            .is_empty()
    );
}

/// A link is an entry of the workspace: it may be removed or moved, but nothing goes through it.
fn assert_all_outside_but_the_link_itself(world: &World, link: &str) {
    for (operation, result) in every_operation(&world.jail, link) {
        match operation {
            "rename from" => result.expect("a link may be moved"),
            "remove" | "remove all" => assert!(
                matches!(result, Err(FileError::NotFound(_))),
                "it was moved: {result:?}"
            ),
            _ => assert!(
                matches!(result, Err(FileError::Outside(_))),
                "{operation} {link}: {result:?}"
            ),
        }
    }
    world
        .jail
        .remove("free/moved", true)
        .expect("a link may be removed");
    world.assert_unharmed();
    world.assert_tidy();
}

#[test]
fn links_that_leave_are_refused_by_every_operation() {
    let world = World::new();
    let canary = world.beside("outside/canary");
    world.link(&canary, "absolute");
    world.link("../outside/canary", "relative");
    world.link("../outside/missing", "dangling");
    world.link("../outside", "directory");
    world.link("relative", "second");
    world.link("../ws/src", "returning");
    for link in [
        "absolute",
        "second",
        "relative",
        "dangling",
        "directory",
        "returning",
    ] {
        assert_all_outside_but_the_link_itself(&world, link);
    }
}

#[test]
fn a_link_as_a_parent_is_no_way_out() {
    let world = World::new();
    world.link("../outside", "dir");
    world.link(world.beside("outside"), "src/deep");
    world.link("src/deep", "chain");
    for path in [
        "dir/canary",
        "dir/new",
        "dir/sub/new",
        "src/deep/canary",
        "src/deep/a/b/c",
        "chain/new",
        "chain/sub/canary",
    ] {
        assert_all_outside(&world, path);
    }
}

#[test]
fn links_that_stay_inside_are_followed_for_reading_and_as_parents() {
    let world = World::new();
    world.link("src/main.rs", "file");
    world.link("src", "dir");
    world.link("../dir", "src/up");
    assert_eq!(world.jail.read("file", 100).expect("inside"), b"inside");
    assert_eq!(
        world.jail.read("src/up/main.rs", 100).expect("inside"),
        b"inside"
    );
    assert_eq!(
        world.jail.stat("dir").expect("inside").expect("there").kind,
        FileKind::Directory
    );
    assert_eq!(
        world.jail.real("src/up/main.rs").expect("inside"),
        "src/main.rs"
    );
    assert_eq!(
        world.jail.real("dir/new/file").expect("inside"),
        "src/new/file"
    );
    assert!(world.jail.write("dir/new.rs", b"new").expect("inside"));
    assert_eq!(world.text("src/new.rs"), "new");
    world.jail.append("src/up/new.rs", b"er").expect("inside");
    assert_eq!(world.text("src/new.rs"), "newer");
    // Nothing is written through the last component, even if it stays inside.
    for (operation, result) in changing(&world.jail, "file").into_iter().take(2) {
        assert!(
            matches!(result, Err(FileError::Link(_))),
            "{operation}: {result:?}"
        );
    }
}

#[test]
fn links_in_a_circle_end() {
    let world = World::new();
    world.link("b", "a");
    world.link("a", "b");
    assert!(matches!(world.jail.read("a", 1), Err(FileError::Loop(_))));
    assert!(matches!(
        world.jail.write("a/x", b""),
        Err(FileError::Loop(_))
    ));
    assert!(matches!(
        world.jail.write("a", b""),
        Err(FileError::Link(_))
    ));
}

#[test]
fn a_link_put_in_place_after_approval_is_refused() {
    let world = World::new();
    world.jail.mkdir("plan").expect("inside");
    assert_eq!(
        world.jail.real("plan/notes.md").expect("inside"),
        "plan/notes.md"
    );
    fs::remove_dir(world.ws("plan")).expect("gone");
    world.link("../outside", "plan");
    assert!(matches!(
        world.jail.write("plan/notes.md", b"evil"),
        Err(FileError::Outside(_))
    ));
    assert!(matches!(
        world.jail.read("plan/canary", 100),
        Err(FileError::Outside(_))
    ));
    world.assert_unharmed();
    // A person who approves sees a link to another place inside.
    fs::remove_file(world.ws("plan")).expect("gone");
    world.link("src", "plan");
    assert_eq!(
        world.jail.real("plan/notes.md").expect("inside"),
        "src/notes.md"
    );
}

#[test]
fn a_hard_link_to_a_file_outside_is_not_written() {
    let world = World::new();
    fs::hard_link(world.beside("outside/canary"), world.ws("hard")).expect("a hard link");
    let refused = [
        world.jail.write("hard", b"evil").map(drop),
        world.jail.append("hard", b"evil"),
        world.jail.copy("src/main.rs", "hard"),
        world.jail.rename("src/main.rs", "hard"),
    ];
    for result in refused {
        assert!(
            matches!(result, Err(FileError::HardLinked(_))),
            "{result:?}"
        );
    }
    assert_eq!(
        fs::read_to_string(world.beside("outside/canary")).expect("there"),
        SECRET
    );
    world.assert_tidy();
    // Removing a name changes nothing outside, and frees the name.
    world.jail.remove("hard", false).expect("the name goes");
    assert!(world.jail.write("hard", b"mine").expect("inside"));
    assert!(!world.jail.write("hard", b"mine again").expect("inside"));
    assert_eq!(
        fs::read_to_string(world.beside("outside/canary")).expect("there"),
        SECRET
    );
}

#[test]
fn removing_a_directory_takes_links_and_not_what_they_lead_to() {
    let world = World::new();
    world.jail.mkdir("build/deep").expect("inside");
    world.link("../../outside", "build/out");
    world.link(world.beside("outside/canary"), "build/deep/canary");
    world.link("../src", "build/src");
    world
        .jail
        .remove("build", true)
        .expect("all of it is the workspace's");
    assert!(!world.ws("build").exists());
    assert_eq!(world.text("src/main.rs"), "inside");
    world.assert_unharmed();
}

#[test]
fn pipes_sockets_and_devices_are_refused_without_waiting() {
    let world = World::new();
    let started = Instant::now();
    mknodat(
        CWD,
        world.ws("pipe"),
        FileType::Fifo,
        Mode::from_raw_mode(0o666),
        0,
    )
    .expect("a pipe");
    let _socket = UnixListener::bind(world.ws("socket")).expect("a socket");
    let mut names = vec!["pipe", "socket"];
    match mknodat(
        CWD,
        world.ws("null"),
        FileType::CharacterDevice,
        Mode::from_raw_mode(0o666),
        rustix::fs::makedev(1, 3),
    ) {
        Ok(()) => names.push("null"),
        Err(errno) => println!("skipped: 1 device: {errno}"),
    }
    for name in names {
        for (operation, result) in every_operation(&world.jail, name) {
            match operation {
                "stat" | "real" | "remove" => result.expect("naming and removing open nothing"),
                "list" | "mkdir" => assert!(
                    matches!(result, Err(FileError::NotDirectory(_))),
                    "{operation} {name}: {result:?}"
                ),
                "remove all" => assert!(
                    matches!(result, Err(FileError::NotFound(_))),
                    "{operation} {name}: {result:?}"
                ),
                _ => assert!(
                    matches!(result, Err(FileError::NotRegular(_))),
                    "{operation} {name}: {result:?}"
                ),
            }
        }
    }
    world.link("pipe2", "to-pipe");
    mknodat(
        CWD,
        world.ws("pipe2"),
        FileType::Fifo,
        Mode::from_raw_mode(0o666),
        0,
    )
    .expect("a pipe");
    assert!(matches!(
        world.jail.read("to-pipe", 1),
        Err(FileError::NotRegular(_))
    ));
    assert_eq!(
        world
            .jail
            .stat("pipe2")
            .expect("inside")
            .expect("there")
            .kind,
        FileKind::Other
    );
    assert!(started.elapsed() < Duration::from_secs(60));
    assert_eq!(world.text("src/main.rs"), "inside");
}

#[test]
fn a_workspace_that_is_reached_through_a_link_knows_its_real_place() {
    let world = World::new();
    std::os::unix::fs::symlink(world.ws(""), world.beside("alias")).expect("a link");
    let jail = Jail::open(&world.beside("alias")).expect("a jail");
    assert_eq!(jail.root(), world.jail.root());
    assert!(
        jail.read(&format!("{}/src/main.rs", jail.root().display()), 100)
            .is_ok()
    );
    assert!(matches!(
        jail.read(
            &world.beside("alias/src/main.rs").display().to_string(),
            100
        ),
        Err(FileError::Outside(_))
    ));
    assert!(matches!(
        Jail::open(&world.beside("missing")),
        Err(FileError::NotFound(_))
    ));
    assert!(matches!(
        Jail::open(&world.ws("src/main.rs")),
        Err(FileError::NotDirectory(_))
    ));
}

#[test]
fn opened_files_are_not_handed_to_programs() {
    let world = World::new();
    let listed = Command::new("ls")
        .args(["-l", "/proc/self/fd"])
        .output()
        .expect("ls runs");
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.status.success() && text.contains("/proc/"), "{text}");
    assert!(
        !text.contains(&world.jail.root().display().to_string()),
        "{text}"
    );
}
