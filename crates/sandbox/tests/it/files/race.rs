//! Another thread keeps swapping what a path means while it is used.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use tool_harness_sandbox::file::{FileError, Jail, JudgedPath, Omit, Opened, Visitor, WalkedFile};

use crate::files::world::{SECRET, World};

const TRIES: usize = 10_000;
/// For attempts that create and remove whole trees.
const TREE_TRIES: usize = 3_000;

/// Runs `attempt` again and again while `swap` runs in another thread. Continues beyond the tries
/// until both outcomes occurred.
fn while_swapping(
    tries: usize,
    swap: impl Fn() + Sync,
    mut attempt: impl FnMut(usize) -> Result<(), FileError>,
) {
    let stop = AtomicBool::new(false);
    let swaps = AtomicUsize::new(0);
    let (mut done, mut denied) = (0_usize, 0_usize);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                swap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        // Also if an attempt panics: the scope waits for the other thread.
        let _stop = StopAtEnd(&stop);
        for index in 0..tries * 10 {
            match attempt(index) {
                Ok(()) => done += 1,
                Err(_) => denied += 1,
            }
            if index + 1 >= tries && done > 0 && denied > 0 {
                break;
            }
        }
    });
    let swaps = swaps.load(Ordering::Relaxed);
    println!(
        "{} tries, {done} done, {denied} refused, {swaps} swaps",
        done + denied
    );
    // The scheduler decides whether an attempt meets the link; what matters is that none of them
    // led outside.
    assert!(
        done + denied >= tries && swaps > 100,
        "the race did not take place"
    );
}

struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn exchange(a: &Path, b: &Path) {
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).expect("an exchange");
}

/// `d` alternates between a directory inside and a link to the directory outside; both hold
/// `canary`.
fn swapped_directory() -> World {
    let world = World::quick();
    fs::create_dir_all(world.ws("d/sub")).expect("a directory");
    fs::write(world.ws("d/canary"), "inside").expect("a file");
    world.link("../outside", "other");
    world
}

#[test]
fn a_directory_that_is_swapped_for_a_link_never_leads_a_read_outside() {
    let world = swapped_directory();
    let (d, other) = (world.ws("d"), world.ws("other"));
    while_swapping(
        TRIES,
        || exchange(&d, &other),
        |index| {
            let entries = world.jail.list("d", 100);
            let bytes = world.jail.read("d/canary", 100)?;
            assert_ne!(bytes, SECRET.as_bytes(), "escaped at try {index}");
            assert!(
                !world
                    .jail
                    .real("d/canary")
                    .is_ok_and(|real| real.contains("outside"))
            );
            entries.map(drop)
        },
    );
}

#[test]
fn a_directory_that_is_swapped_for_a_link_never_leads_a_change_outside() {
    let world = swapped_directory();
    let (d, other) = (world.ws("d"), world.ws("other"));
    let jail = &world.jail;
    while_swapping(
        TRIES,
        || exchange(&d, &other),
        |index| match index % 7 {
            0 => jail.write("d/canary", b"inside").map(drop),
            1 => jail.write(&format!("d/new{}", index % 70), b"x").map(drop),
            2 => jail.append("d/canary", b"."),
            3 => jail.mkdir(&format!("d/made{}/deep", index % 70)),
            4 => jail.copy("src/main.rs", &format!("d/copied{}", index % 70)),
            5 => jail.remove("d/sub", true).or_else(|_| jail.mkdir("d/sub")),
            _ => jail
                .write("moving", b"x")
                .and_then(|_| jail.rename("moving", "d/moved")),
        },
    );
    world.assert_unharmed();
    world.assert_tidy();
}

#[test]
fn a_directory_that_is_swapped_while_it_is_removed_takes_nothing_outside() {
    let world = World::quick();
    fs::create_dir_all(world.ws("side")).expect("a directory");
    world.link("../outside", "side/other");
    let (d, other) = (world.ws("tree/d"), world.ws("side/other"));
    while_swapping(
        TREE_TRIES,
        // Missing while the tree is being recreated: then there is nothing to swap.
        || {
            let _ = renameat_with(CWD, &d, CWD, &other, RenameFlags::EXCHANGE);
            // Without a pause, failing renames hold the kernel's locks nearly all the time.
            thread::sleep(Duration::from_micros(20));
        },
        |_| {
            // The swap may have left a link or a directory; either is an entry of the tree.
            let _ = world.jail.write("tree/d/canary", b"inside");
            world.jail.remove("tree", true)
        },
    );
    world.assert_unharmed();
}

#[test]
fn a_file_that_is_swapped_for_a_link_is_never_followed() {
    let world = World::quick();
    fs::write(world.ws("f"), "inside").expect("a file");
    world.link("../outside/canary", "other");
    let (f, other) = (world.ws("f"), world.ws("other"));
    while_swapping(
        TRIES,
        || exchange(&f, &other),
        |index| match index % 3 {
            0 => world
                .jail
                .read("f", 1 << 20)
                .map(|bytes| assert_ne!(bytes, SECRET.as_bytes(), "escaped at try {index}")),
            1 => world.jail.append("f", b"."),
            // Copied elsewhere, because a write would replace the link for good.
            _ => world.jail.copy("f", "copied").map(|()| {
                assert!(
                    !world.text("copied").contains(SECRET),
                    "escaped at try {index}"
                )
            }),
        },
    );
    world.assert_unharmed();
    world.assert_tidy();
}

#[test]
fn a_hard_link_that_comes_and_goes_is_never_written() {
    let world = World::quick();
    let (h, canary) = (world.ws("h"), world.beside("outside/canary"));
    while_swapping(
        TRIES,
        || {
            // Removed after it was opened, so that the canary's only link is the one outside.
            let _ = fs::remove_file(&h);
            let _ = fs::hard_link(&canary, &h);
            let _ = fs::remove_file(&h);
            let _ = fs::write(&h, "inside");
        },
        |index| {
            if index % 8 == 0 {
                world.jail.write("h", b"x").map(drop)
            } else {
                world.jail.append("h", b"evil")
            }
        },
    );
    let _ = fs::remove_file(&h);
    world.assert_unharmed();
    world.assert_tidy();
}

#[test]
fn a_directory_that_is_swapped_for_a_link_to_a_protected_one_is_never_written_there() {
    let world = World::quick();
    fs::create_dir_all(world.ws("p")).expect("a directory");
    fs::create_dir_all(world.ws(".harness")).expect("a directory");
    world.link(".harness", "other");
    let (p, other) = (world.ws("p"), world.ws("other"));
    while_swapping(
        TRIES,
        || exchange(&p, &other),
        |index| {
            if index % 2 == 0 {
                world.jail.write("p/x.md", b"evil").map(drop)
            } else {
                world.jail.mkdir(&format!("p/deep{}/x", index % 50))
            }
        },
    );
    assert_eq!(
        fs::read_dir(world.ws(".harness"))
            .expect("a directory")
            .count(),
        0
    );
}

/// Reads every file, and remembers whether one was the canary outside.
struct Reader {
    files: AtomicUsize,
    escaped: AtomicBool,
}

impl Visitor for Reader {
    type Scratch = Vec<u8>;

    fn is_over(&self) -> bool {
        false
    }

    fn wants(&self, _: &str) -> bool {
        true
    }

    fn visit(&self, buffer: &mut Vec<u8>, file: &WalkedFile<'_>) {
        if let Some(bytes) = file.read(100, buffer) {
            self.files.fetch_add(1, Ordering::Relaxed);
            if bytes == SECRET.as_bytes() {
                self.escaped.store(true, Ordering::Relaxed);
            }
        }
    }
}

#[test]
fn a_directory_that_is_swapped_for_a_link_never_leads_a_walk_outside() {
    let world = swapped_directory();
    fs::write(world.ws("d/sub/canary"), "inside").expect("a file");
    let (d, other) = (world.ws("d"), world.ws("other"));
    while_swapping(
        TREE_TRIES,
        || exchange(&d, &other),
        |index| {
            let reader = Reader {
                files: AtomicUsize::new(0),
                escaped: AtomicBool::new(false),
            };
            world.jail.walk("**/*", Omit::default(), &reader)?;
            world.jail.walk("d/**", Omit::default(), &reader)?;
            assert!(
                !reader.escaped.load(Ordering::Relaxed),
                "escaped at try {index}"
            );
            // The inner file is there both times, under one name or the other.
            match reader.files.load(Ordering::Relaxed) {
                0 => panic!("nothing was read at try {index}"),
                1 => Err(FileError::NotFound("d".into())),
                _ => Ok(()),
            }
        },
    );
}

#[test]
fn writers_at_the_same_time_leave_one_whole_text() {
    let world = World::quick();
    thread::scope(|scope| {
        for letter in *b"abcd" {
            let jail = &world.jail;
            scope.spawn(move || {
                for _ in 0..200 {
                    jail.write("shared", &[letter; 4096]).expect("a write");
                    jail.append("log", &[letter]).expect("an append");
                }
            });
        }
    });
    let text = world.text("shared");
    assert!(text.len() == 4096 && text.bytes().all(|byte| Some(byte) == text.bytes().next()));
    assert_eq!(world.text("log").len(), 800);
    world.assert_tidy();
}

#[test]
fn what_is_opened_is_judged_by_where_it_is_and_not_by_its_name() {
    let world = World::quick();
    for folder in ["allowed/d", "closed"] {
        fs::create_dir_all(world.ws(folder)).expect("a directory");
        fs::write(world.ws(folder).join("file"), "text").expect("a file");
    }
    world.link("../closed", "allowed/other");
    let (d, other) = (world.ws("allowed/d"), world.ws("allowed/other"));
    let judged = |path: &str| {
        let objection = |real: &str, _: Opened| {
            (!real.starts_with("allowed/")).then(|| "only in `allowed`".to_owned())
        };
        let jail = Jail::open(&world.ws("")).expect("a jail");
        jail.judging(&[JudgedPath::new(path, objection)])
    };
    let before = fs::read_dir(world.ws("closed"))
        .expect("a directory")
        .count();
    while_swapping(
        TREE_TRIES,
        || exchange(&d, &other),
        |index| {
            let path = |name: &str| format!("allowed/d/{name}{}", index % 70);
            match index % 7 {
                0 => judged("allowed/d/file")
                    .write("allowed/d/file", b"text")
                    .map(drop),
                1 => judged("allowed/d").append(&path("new"), b"x"),
                2 => judged(&path("a/b")).mkdir(&path("a/b")),
                3 => {
                    let file = format!("{}/file", path("made"));
                    judged(&file).write(&file, b"x").map(drop)
                }
                4 => judged("allowed").copy("src/main.rs", &path("copied")),
                // A folder is made first: it is judged by what will be in it.
                5 => judged(&format!("{}/x", path("c"))).mkdir(&path("c")),
                _ => judged(".")
                    .rename("allowed/d/file", "allowed/d/moved")
                    .or_else(|_| judged(".").rename("allowed/d/moved", "allowed/d/file")),
            }
        },
    );
    let left = fs::read_dir(world.ws("closed"))
        .expect("a directory")
        .count();
    assert_eq!(left, before, "something was written there");
    assert_eq!(world.text("closed/file"), "text");
    world.assert_tidy();
}
