//! Submodules in an index, against `git ls-files`.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tempfile::TempDir;
use tool_harness_sandbox::git::{Gitlinks, ObjectFormat, gitlinks};

use super::world::{GitWorld, has_git};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// The submodules that Git lists.
fn by_git(world: &GitWorld, folder: &str) -> Vec<Vec<u8>> {
    let listed = world.git(folder, &["ls-files", "-s", "-z"]);
    let links = listed.split('\0').filter(|line| line.starts_with("160000"));
    links
        .map(|line| {
            let (_, path) = line.split_once('\t').expect("a path");
            path.as_bytes().to_vec()
        })
        .collect()
}

fn add_link(world: &GitWorld, folder: &str, path: &str, commit: &str) {
    let entry = format!("160000,{commit},{path}");
    world.git(folder, &["update-index", "--add", "--cacheinfo", &entry]);
}

#[test]
fn submodules_are_found_in_every_version_of_an_index() {
    if !has_git() {
        return;
    }
    for version in ["2", "3", "4"] {
        let world = GitWorld::new();
        fs::create_dir(world.at("ws")).expect("a folder");
        world.git("ws", &["init", "-q"]);
        for n in 0..40 {
            world.write(&format!("ws/a/{}/file-{n}", "d".repeat(n)), "x");
        }
        world.git("ws", &["add", "."]);
        for path in ["x", "node_modules/x", "a/ddd/link", "z z/\u{e4}"] {
            add_link(&world, "ws", path, COMMIT);
        }
        world.git("ws", &["update-index", "--index-version", version]);
        if version == "3" {
            world.write("ws/later", "x");
            world.git("ws", &["add", "-N", "later"]);
        }
        let index = world.at("ws/.git/index");
        assert_eq!(
            fs::read(&index).expect("an index")[7].to_string(),
            version,
            "the version that was asked for"
        );
        let found = gitlinks(&index, ObjectFormat::Sha1);
        assert_eq!(found.gap, None);
        let mut expected = by_git(&world, "ws");
        expected.sort();
        let mut paths = found.paths;
        paths.sort();
        assert_eq!((paths.len(), paths), (4, expected), "version {version}");
        // A version that a later Git writes is not taken for an empty one.
        let mut bytes = fs::read(&index).expect("an index");
        bytes[7] = 5;
        fs::write(world.at("later"), bytes).expect("a file");
        assert!(
            gitlinks(&world.at("later"), ObjectFormat::Sha1)
                .gap
                .is_some()
        );
    }
}

#[test]
fn a_large_index_with_a_table_and_long_names_is_read() {
    if !has_git() {
        return;
    }
    let world = GitWorld::new();
    fs::create_dir(world.at("ws")).expect("a folder");
    world.git("ws", &["init", "-q"]);
    world.git("ws", &["config", "index.threads", "4"]);
    world.git("ws", &["config", "index.version", "4"]);
    let mut entries = String::new();
    for n in 0..30_000 {
        entries += &format!("100644 {COMMIT} 0\tfolder-{}/file-{n}\n", n / 100);
    }
    entries += &format!("160000 {COMMIT} 0\t{}link\n", "long/".repeat(818));
    entries += &format!("160000 {COMMIT} 0\tnode_modules/x\n");
    world.write("entries", &entries);
    let feed = format!(
        "git update-index --index-info < {}",
        world.at("entries").display()
    );
    world.git("ws", &["-c", &format!("alias.feed=!{feed}"), "feed"]);
    let index = world.at("ws/.git/index");
    let bytes = fs::read(&index).expect("an index");
    let has = |name: &[u8]| bytes.windows(4).any(|part| part == name);
    assert!(has(b"IEOT") && has(b"EOIE"), "Git wrote its table");
    let found = gitlinks(&index, ObjectFormat::Sha1);
    assert_eq!(by_git(&world, "ws").len(), 2);
    assert_eq!((found.gap, found.paths.len()), (None, 2));
    // A table that leads Git to other entries is noticed.
    let at = bytes
        .windows(4)
        .position(|part| part == b"IEOT")
        .expect("a table");
    for byte in [at + 15, at + 19] {
        let mut other = bytes.clone();
        other[byte] ^= 8;
        fs::write(world.at("other"), other).expect("a file");
        assert!(
            gitlinks(&world.at("other"), ObjectFormat::Sha1)
                .gap
                .is_some()
        );
    }
}

#[test]
fn a_split_a_sparse_and_a_sha256_index_are_read_or_have_a_gap() {
    if !has_git() {
        return;
    }
    let world = GitWorld::new();
    fs::create_dir(world.at("ws")).expect("a folder");
    world.git("ws", &["init", "-q"]);
    for file in ["a/x", "b/y"] {
        world.write(&format!("ws/{file}"), "x");
    }
    world.git("ws", &["add", "."]);
    add_link(&world, "ws", "one", COMMIT);
    world.git("ws", &["commit", "-qm", "x"]);
    let index = world.at("ws/.git/index");
    world.git("ws", &["update-index", "--split-index"]);
    add_link(&world, "ws", "two", COMMIT);
    let found = gitlinks(&index, ObjectFormat::Sha1);
    let mut paths: Vec<&[u8]> = found.paths.iter().map(Vec::as_slice).collect();
    paths.sort_unstable();
    assert_eq!(
        (found.gap.as_ref(), paths),
        (None, vec![&b"one"[..], b"two"])
    );
    let bytes = fs::read(&index).expect("an index");
    assert!(bytes.windows(4).any(|part| part == b"link"), "it is split");
    add_link(&world, "ws", "a/x", COMMIT);
    let found = gitlinks(&index, ObjectFormat::Sha1);
    assert!(found.gap.is_some(), "an entry without a name: {found:?}");
    world.git("ws", &["update-index", "--no-split-index"]);
    world.git("ws", &["reset", "-q", "--hard"]);
    assert_eq!(gitlinks(&index, ObjectFormat::Sha1).gap, None);
    world.git(
        "ws",
        &["sparse-checkout", "set", "--cone", "--sparse-index", "a"],
    );
    assert!(gitlinks(&index, ObjectFormat::Sha1).gap.is_some());

    fs::create_dir(world.at("long")).expect("a folder");
    if !world
        .try_git("long", &["init", "-q", "--object-format=sha256"])
        .status
        .success()
    {
        println!("skipped: no git with SHA-256");
        return;
    }
    add_link(&world, "long", "x", &format!("{COMMIT}{}", &COMMIT[..24]));
    world.write("long/y", "x");
    world.git("long", &["add", "y"]);
    let index = world.at("long/.git/index");
    let found = gitlinks(&index, world.look("long").repositories[0].format);
    assert_eq!((found.gap, found.paths), (None, vec![b"x".to_vec()]));
    assert!(gitlinks(&index, ObjectFormat::Sha1).gap.is_some());
}

#[test]
fn a_missing_index_has_no_submodules() {
    let none = gitlinks(Path::new("/no/such/index"), ObjectFormat::Sha1);
    assert_eq!(none, Gitlinks::default());
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("index");
    // Git works with none of these, so they hide nothing from it.
    for text in ["", "DIRC", "not an index at all"] {
        fs::write(&file, text).expect("a file");
        assert_eq!(gitlinks(&file, ObjectFormat::Sha1), Gitlinks::default());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn no_bytes_make_the_reader_panic(
        version in 2_u8..5,
        count in 0_u8..4,
        bytes in prop::collection::vec(prop_oneof![3 => Just(0_u8), 1 => any::<u8>()], 0..300),
    ) {
        let folder = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).expect("a folder");
        let file = folder.path().join("index");
        let header = [b"DIRC\0\0\0", &[version][..], b"\0\0\0", &[count]].concat();
        fs::write(&file, [&header[..], &bytes].concat()).expect("a file");
        let _ = gitlinks(&file, ObjectFormat::Sha1);
        let _ = gitlinks(&file, ObjectFormat::Sha256);
    }
}
