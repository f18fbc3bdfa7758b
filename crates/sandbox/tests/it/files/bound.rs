//! Everything has a limit.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use tool_harness_sandbox::file::{FileError, Jail, Omit};

use crate::files::world::World;

#[test]
fn a_read_stops_at_its_limit_whatever_the_size_says() {
    let world = World::new();
    assert_eq!(
        world.jail.read("src/main.rs", 6).expect("just fits"),
        b"inside"
    );
    assert!(matches!(
        world.jail.read("src/main.rs", 5),
        Err(FileError::TooLarge { max: 5, .. })
    ));
    assert_eq!(
        world.jail.read("src/main.rs", u64::MAX).expect("no limit"),
        b"inside"
    );
    // A sparse file of a terabyte costs nothing to make and must cost nothing to refuse.
    fs::File::create(world.ws("huge"))
        .and_then(|file| file.set_len(1 << 40))
        .expect("a sparse file");
    assert!(matches!(
        world.jail.read("huge", 1 << 20),
        Err(FileError::TooLarge { .. })
    ));
    assert!(matches!(
        world.jail.copy("huge", "copied"),
        Err(FileError::TooLarge { .. })
    ));
    world.assert_tidy();
    // The size of these is zero until they are read.
    let process = Jail::open(Path::new("/proc/self")).expect("a jail");
    assert!(matches!(
        process.read("status", 10),
        Err(FileError::TooLarge { max: 10, .. })
    ));
    assert!(process.read("status", 1 << 20).expect("fits").len() > 10);
}

#[test]
fn a_file_that_grows_while_it_is_read_is_bounded() {
    let world = World::new();
    fs::write(world.ws("log"), "").expect("a file");
    let mut log = fs::OpenOptions::new()
        .append(true)
        .open(world.ws("log"))
        .expect("a file");
    std::thread::scope(|scope| {
        let writer = scope
            .spawn(move || (0..2000).for_each(|_| log.write_all(&[b'x'; 1024]).expect("a write")));
        while !writer.is_finished() {
            match world.jail.read("log", 100_000) {
                Ok(bytes) => assert!(bytes.len() <= 100_000),
                Err(error) => assert!(matches!(error, FileError::TooLarge { .. }), "{error}"),
            }
        }
    });
    assert!(matches!(
        world.jail.read("log", 100_000),
        Err(FileError::TooLarge { .. })
    ));
}

#[test]
fn listings_and_patterns_stop_at_their_limit() {
    let world = World::new();
    for index in 0..20 {
        fs::write(world.ws(&format!("src/{index}.txt")), "x").expect("a file");
    }
    assert!(matches!(
        world.jail.list("src", 20),
        Err(FileError::TooMany { max: 20, .. })
    ));
    assert_eq!(world.jail.list("src", 21).expect("fits").len(), 21);
    let glob = |max| {
        let found = world.jail.glob("**/*.txt", Omit::default(), max, &|| false);
        let (paths, more, _) = found.expect("a search");
        (paths.len(), more)
    };
    assert_eq!(
        (glob(19), glob(20), glob(0)),
        ((19, true), (20, false), (0, true))
    );
}

#[test]
fn a_search_over_many_entries_gives_the_same_first_results_every_time() {
    let world = World::quick();
    let first = world.ws("many/0");
    fs::create_dir_all(world.ws("many")).expect("a directory");
    fs::write(&first, "").expect("a file");
    // Hard links are cheaper than files; a file system allows some ten thousand for each.
    let mut source = first;
    for index in 1..=20_000_u32 {
        let folder = world.ws(&format!("many/{}", index % 50 + 100_000));
        if index <= 50 {
            fs::create_dir_all(&folder).expect("a directory");
        }
        let name = folder.join(index.to_string());
        if index % 30_000 == 0 || fs::hard_link(&source, &name).is_err() {
            fs::write(&name, "").expect("a file");
            source = name;
        }
    }
    let all = world.glob("**/*", 100_000).expect("a search");
    assert_eq!(all.len(), 20_002);
    assert!(all.is_sorted());
    for max in [1, 7, 1000] {
        assert_eq!(world.glob("**/*", max).expect("a search"), all[..max]);
    }
    assert_eq!(
        world.glob("src/**/*.rs", 10).expect("narrow"),
        ["src/main.rs"]
    );
    assert_eq!(
        world.glob("*.rs", 10).expect("the top"),
        Vec::<String>::new()
    );
}

#[test]
fn a_tree_that_is_too_deep_is_refused_before_anything_is_removed() {
    let world = World::new();
    let deep = |levels: usize| ["d"; 200][..levels].join("/");
    fs::create_dir_all(world.ws(&deep(129))).expect("directories");
    fs::write(world.ws("d/file"), "kept").expect("a file");
    for result in [world.jail.remove("d", true), world.jail.rename("d", "e")] {
        assert!(
            matches!(result, Err(FileError::TooMany { max: 128, .. })),
            "{result:?}"
        );
    }
    assert_eq!(world.text("d/file"), "kept");
    world.jail.remove("d/d", true).expect("just deep enough");
    world.jail.remove("d", true).expect("shallow");
}

#[test]
fn hostile_patterns_end_quickly() {
    let world = World::new();
    let started = std::time::Instant::now();
    for pattern in [
        "{".repeat(1000),
        format!("{}{}", "{a,".repeat(200), "}".repeat(200)),
        "*a".repeat(500),
        "**/".repeat(300),
        "[!a]".repeat(250),
        "?".repeat(250),
    ] {
        // An answer or a refusal, but no panic and no long wait.
        let answer = world.glob(&pattern, 10);
        assert!(answer.is_err() || answer.is_ok_and(|found| found.len() <= 10));
    }
    assert!(
        started.elapsed() < std::time::Duration::from_secs(60),
        "{:?}",
        started.elapsed()
    );
}
