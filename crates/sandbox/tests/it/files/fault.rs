//! A faulty system: a filter makes single system calls fail on one thread.

use std::collections::BTreeMap;
use std::fs::File;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use tool_harness_sandbox::file::{FileError, Jail};

use crate::files::world::World;

/// Runs `body` where `call` fails with `errno`. The filter ends with the thread.
fn where_it_fails<T: Send>(call: i64, errno: i32, body: impl FnOnce() -> T + Send) -> T {
    let rules = BTreeMap::from([(call, vec![])]);
    let target = std::env::consts::ARCH.try_into().expect("a known machine");
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(errno.unsigned_abs()),
        target,
    )
    .expect("a filter");
    let program: BpfProgram = filter.try_into().expect("a program");
    thread::scope(|scope| {
        let filtered = scope.spawn(|| {
            apply_filter(&program).expect("the filter is taken");
            body()
        });
        filtered.join().expect("the thread ends well")
    })
}

#[test]
fn without_openat2_nothing_is_opened() {
    let world = World::new();
    for errno in [libc::ENOSYS, libc::EPERM] {
        let opened = where_it_fails(libc::SYS_openat2, errno, || Jail::open(world.jail.root()));
        assert!(
            matches!(opened, Err(FileError::Unavailable(_))),
            "{opened:?}"
        );
    }
    let (read, write) = where_it_fails(libc::SYS_openat2, libc::ENOSYS, || {
        (
            world.jail.read("src/main.rs", 10),
            world.jail.write("x", b""),
        )
    });
    assert!(matches!(read, Err(FileError::Unavailable(_))), "{read:?}");
    assert!(matches!(write, Err(FileError::Unavailable(_))), "{write:?}");
    assert!(Jail::open(world.jail.root()).is_ok());
}

#[test]
fn nothing_is_changed_where_the_real_path_is_unknown() {
    let world = World::new();
    let call = libc::SYS_readlinkat;
    let opened = where_it_fails(call, libc::EACCES, || Jail::open(world.jail.root()));
    assert!(
        matches!(opened, Err(FileError::Unavailable(_))),
        "{opened:?}"
    );
    let results = where_it_fails(call, libc::EACCES, || {
        let jail = &world.jail;
        [
            jail.write("x", b"").map(drop),
            jail.append("src/main.rs", b"x"),
            jail.mkdir("a/b"),
            jail.remove("src", true),
            jail.rename("src", "y"),
            jail.copy("src/main.rs", "z"),
        ]
    });
    for result in results {
        assert!(
            matches!(result, Err(FileError::Unavailable(_))),
            "{result:?}"
        );
    }
    assert_eq!(
        where_it_fails(call, libc::EACCES, || world.jail.read("src/main.rs", 10))
            .expect("reading does not need it"),
        b"inside"
    );
    assert_eq!(world.jail.list(".", 10).expect("a listing").len(), 1);
}

#[test]
fn an_open_that_must_always_be_retried_gives_up() {
    let world = World::new();
    let read = where_it_fails(libc::SYS_openat2, libc::EAGAIN, || {
        world.jail.read("src/main.rs", 10)
    });
    assert!(matches!(read, Err(FileError::Busy(_))), "{read:?}");
}

#[test]
fn a_full_disk_leaves_the_old_file_and_nothing_else() {
    let world = World::new();
    let results = where_it_fails(libc::SYS_write, libc::ENOSPC, || {
        [
            world.jail.write("src/main.rs", b"new").map(drop),
            world.jail.append("src/main.rs", b"new"),
            world.jail.write("fresh", b"new").map(drop),
            world.jail.append("added", b"new"),
        ]
    });
    for result in results {
        let error = result.expect_err("no space");
        assert!(matches!(error, FileError::Io { .. }) && !error.is_denial());
        assert!(
            error.to_string().contains("No space left on device"),
            "{error}"
        );
    }
    assert_eq!(world.text("src/main.rs"), "inside");
    assert!(!world.ws("fresh").exists() && !world.ws("added").exists());
    world.assert_tidy();
}

#[test]
fn a_rename_that_fails_leaves_the_old_file_and_nothing_else() {
    let world = World::new();
    let mut failed = 0;
    for (call, fresh) in [
        (libc::SYS_renameat, "fresh"),
        (libc::SYS_renameat2, "other"),
    ] {
        let results = where_it_fails(call, libc::EIO, || {
            [
                world.jail.write("src/main.rs", b"inside"),
                world.jail.write(fresh, b"new"),
            ]
        });
        failed += results
            .iter()
            .filter(|result| matches!(result, Err(FileError::Io { .. })))
            .count();
        world.assert_tidy();
    }
    assert!(failed >= 2, "each of the two writes needs one of the calls");
    assert_eq!(world.text("src/main.rs"), "inside");
}

#[test]
fn an_append_gives_up_on_a_lock_that_is_never_released() {
    let world = World::new();
    let held = File::open(world.ws("src")).expect("a directory");
    flock(&held, FlockOperation::LockExclusive).expect("a lock");
    let started = Instant::now();
    assert!(matches!(
        world.jail.append("src/main.rs", b"x"),
        Err(FileError::Busy(_))
    ));
    assert!(started.elapsed() < Duration::from_secs(60));
    assert!(
        !world
            .jail
            .write("src/main.rs", b"written")
            .expect("a write does not wait")
    );
    drop(held);
    world
        .jail
        .append("src/main.rs", b"+")
        .expect("the lock is free");
    assert_eq!(world.text("src/main.rs"), "written+");
}
