//! Both stores make the same promises; the one on disk also keeps them over a crash.

mod excerpt;

use super::*;
use crate::redact::Redactor;
use crate::result::is_artifact_id;
use rustix::time::{ClockId, clock_gettime};
use std::io::Read as _;
use std::sync::Arc;
use std::time::SystemTime;

const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

fn keep(store: &dyn BlobStore, session: &str, text: &str) -> ArtifactRef {
    let mut writer = store.begin(session, "text/plain").expect("begun");
    text.as_bytes()
        .chunks(3)
        .for_each(|chunk| writer.write(chunk).expect("written"));
    writer.finish().expect("kept")
}

/// Runs a check on both stores.
fn both(check: impl Fn(&dyn BlobStore)) {
    check(&MemoryBlobs::default());
    let folder = tempfile::tempdir().expect("a folder");
    check(&DiskBlobs::new(folder.path().join("kept")));
}

#[test]
fn an_artifact_is_read_in_parts_by_its_own_session_and_by_no_other() {
    both(|store| {
        let first = keep(store, "one", "some long text");
        assert_eq!(
            first.digest,
            format!("blake3:{}", blake3::hash(b"some long text").to_hex())
        );
        assert!(is_artifact_id(&first.id) && first.bytes == 14);
        assert_eq!(store.find("one", &first.id), Ok(first.clone()));
        for (offset, length, expected) in [
            (0, 4, "some"),
            (5, 100, "long text"),
            (14, 1, ""),
            (99, 1, ""),
            (u64::MAX, u64::MAX, ""),
        ] {
            assert_eq!(
                store.read("one", &first.id, offset, length).expect("read"),
                expected.as_bytes()
            );
        }
        assert_eq!(
            store.find("two", &first.id),
            Err(BlobError::Unknown(first.id.clone()))
        );
        assert_eq!(
            store.read("two", &first.id, 0, 1),
            Err(BlobError::Unknown(first.id.clone()))
        );
        assert_eq!(store.list("two"), Ok(Vec::new()));
        let second = keep(store, "two", "some long text");
        assert!(
            second.digest == first.digest && second.id != first.id,
            "the same content, another handle"
        );
        assert_eq!(
            (store.list("one"), store.list("two")),
            (Ok(vec![first]), Ok(vec![second]))
        );
    });
}

#[test]
fn no_handle_and_no_session_leads_out_of_the_store() {
    both(|store| {
        for session in ["../../x", "/etc", "a/b", "", "\0", "ü"] {
            let kept = keep(store, session, "text");
            assert_eq!(store.read(session, &kept.id, 0, 9).expect("read"), b"text");
        }
        for id in [
            "",
            "art_",
            "..",
            "../lock",
            "art_../../../../etc/passwd",
            "/etc/passwd",
            "art_0123456789ABCDEF0123456789ABCDEF",
            "a\0b",
        ] {
            assert!(
                matches!(store.read("s", id, 0, 9), Err(BlobError::Unknown(_))),
                "{id}"
            );
        }
    });
}

#[test]
fn what_is_dropped_before_it_is_finished_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = DiskBlobs::new(folder.path());
    let mut writer = store.begin("s", "text/plain").expect("begun");
    writer.write(b"half").expect("written");
    drop(writer);
    assert_eq!(
        std::fs::read_dir(folder.path().join("new"))
            .expect("the folder")
            .count(),
        0
    );
    assert_eq!(store.list("s"), Ok(Vec::new()));
}

#[test]
fn what_a_crash_left_is_no_artifact_and_is_swept_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = DiskBlobs::new(folder.path());
    let kept = keep(&store, "s", "whole");
    std::fs::write(folder.path().join("new/new_torn"), b"ha").expect("a torn one");
    let orphan = folder.path().join("contents/ab").join("a".repeat(64));
    std::fs::create_dir_all(orphan.parent().expect("a folder")).expect("made");
    std::fs::write(&orphan, b"moved, and then the machine stopped").expect("an orphan");
    let torn = store
        .session_folder_of("s")
        .join(format!("art_{}", "0".repeat(32)));
    std::fs::write(&torn, b"{\"id\":").expect("a torn handle");
    assert_eq!(store.list("s"), Ok(vec![kept.clone()]));
    store.collect_at(SystemTime::now()).expect("collected");
    let unfinished = folder.path().join("new/new_torn");
    assert!(
        !orphan.exists() && !torn.exists() && unfinished.exists(),
        "what is not finished may still be written"
    );
    store
        .collect_at(SystemTime::now() + Duration::from_secs(2 * 3600))
        .expect("collected");
    assert!(!unfinished.exists());
    assert_eq!(store.read("s", &kept.id, 0, 9).expect("read"), b"whole");
}

#[test]
fn what_cannot_be_removed_is_skipped_and_does_not_fail_a_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = keep(&DiskBlobs::new(folder.path()), "s", "first");
    let stray = [
        DiskBlobs::new(folder.path()).session_folder_of("s"),
        folder.path().join("contents/ab"),
        folder.path().join("new"),
    ];
    for place in &stray {
        std::fs::create_dir_all(place.join("stray/deep")).expect("a stray folder");
    }
    let torn = stray[0].join(format!("art_{}", "0".repeat(32)));
    std::fs::write(&torn, "{").expect("a torn handle");
    // A store that has not collected garbage yet does so when it is written to.
    let store = DiskBlobs::new(folder.path());
    let another = keep(&store, "s", "second");
    assert!(!torn.exists(), "the rest is forgotten all the same");
    assert_eq!(store.list("s"), Ok(vec![kept, another]));
    let collected = store
        .collect_at(SystemTime::now() + 2 * WEEK)
        .expect("collected");
    assert_eq!((collected.artifacts, store.list("s")), (2, Ok(Vec::new())));
    assert!(stray.iter().all(|place| place.join("stray/deep").exists()));
}

#[test]
fn a_damaged_content_is_a_failure_until_the_same_is_stored_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = DiskBlobs::new(folder.path());
    let kept = keep(&store, "s", "the whole text");
    for damage in ["the who", "", "the whole text and more", "another text 1"] {
        std::fs::write(store.file(&kept).expect("a place"), damage).expect("damaged");
        for (offset, length) in [(0, 99), (3, 2), (14, 1)] {
            assert!(
                matches!(
                    store.read("s", &kept.id, offset, length),
                    Err(BlobError::Failed(_))
                ),
                "{damage}"
            );
        }
        let again = keep(&store, "s", "the whole text");
        for id in [&kept.id, &again.id] {
            assert_eq!(store.read("s", id, 0, 99).expect("read"), b"the whole text");
        }
    }
}

#[test]
fn links_and_files_of_others_are_not_touched_however_old_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let (inside, outside) = (folder.path().join("kept"), folder.path().join("outside"));
    let store = DiskBlobs::new(&inside);
    let kept = keep(&store, "s", "text");
    let of_others = [
        format!("outside/art_{}", "0".repeat(32)),
        format!("outside/{}", "a".repeat(64)),
        "outside/new_x".to_owned(),
    ];
    let unnamed = [
        "kept/sessions/mine/profile.json",
        "kept/contents/ab/notes.txt",
        "kept/new/plan.md",
    ]
    .map(str::to_owned);
    let theirs: Vec<PathBuf> = of_others
        .iter()
        .chain(&unnamed)
        .map(|path| folder.path().join(path))
        .collect();
    for path in &theirs {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, "theirs").expect("written");
    }
    for link in [
        format!("sessions/{}", "0".repeat(32)),
        "contents/aa".to_owned(),
    ] {
        std::os::unix::fs::symlink(&outside, inside.join(link)).expect("a link");
    }
    let collect = || {
        store
            .collect_at(SystemTime::now() + Duration::from_secs(2 * 3600))
            .expect("collected")
    };
    collect();
    assert_eq!(theirs.iter().find(|path| !path.exists()), None);
    std::fs::rename(inside.join("new"), inside.join("before")).expect("moved");
    std::os::unix::fs::symlink(&outside, inside.join("new")).expect("a link");
    collect();
    assert!(theirs[..3].iter().all(|path| path.exists()));
    assert!(
        matches!(store.begin("s", "text/plain").map(drop), Err(BlobError::Failed(why)) if why.contains("is a link"))
    );
    assert_eq!(store.read("s", &kept.id, 0, 9).expect("read"), b"text");
}

#[test]
fn what_has_expired_cannot_be_read_and_is_removed_by_the_next_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = DiskBlobs::new(folder.path().join("week"));
    let memory = MemoryBlobs::new(BlobLimits {
        bytes: 1 << 20,
        age: Duration::from_millis(20),
    });
    let stores = [&disk as &dyn BlobStore, &memory].map(|store| (store, keep(store, "s", "text")));
    assert_eq!(
        disk.read("s", &stores[0].1.id, 0, 9).expect("read"),
        b"text"
    );
    let handle = disk.session_folder_of("s").join(&stores[0].1.id);
    let handle = std::fs::OpenOptions::new()
        .write(true)
        .open(handle)
        .expect("a handle");
    handle
        .set_modified(SystemTime::now() - 2 * WEEK)
        .expect("made old");
    std::thread::sleep(Duration::from_millis(100));
    for (store, kept) in &stores {
        let unknown = || BlobError::Unknown(kept.id.clone());
        assert_eq!(
            (store.find("s", &kept.id), store.list("s")),
            (Err(unknown()), Ok(Vec::new()))
        );
        assert_eq!(store.read("s", &kept.id, 0, 9), Err(unknown()));
    }
    // It collects garbage when a write begins, so that a full disk gets its room back.
    let brief = DiskBlobs::with_limits(
        folder.path().join("brief"),
        BlobLimits {
            bytes: 1 << 20,
            age: Duration::from_millis(50),
        },
    );
    let content = brief.file(&keep(&brief, "s", "text")).expect("a place");
    std::thread::sleep(Duration::from_millis(100));
    drop(brief.begin("s", "text/plain").expect("begun"));
    assert!(!content.exists() && !brief.session_folder_of("s").exists());
}

#[test]
fn expired_artifacts_are_removed_and_then_the_oldest_until_the_rest_fits() {
    let folder = tempfile::tempdir().expect("a folder");
    // Two of them, their handles, and a little.
    let bytes = 2 * (40 + handle_bytes("text/plain")) + 200;
    let store = DiskBlobs::with_limits(folder.path(), BlobLimits { bytes, age: WEEK });
    let kept: Vec<ArtifactRef> = (0..5)
        .map(|index| {
            // Longer than a tick of the clock that files are stamped with.
            std::thread::sleep(Duration::from_millis(20));
            keep(&store, "s", &index.to_string().repeat(40))
        })
        .collect();
    assert_eq!(store.list("s"), Ok(kept[3..].to_vec()));
    assert_eq!(
        store.find("s", &kept[0].id),
        Err(BlobError::Unknown(kept[0].id.clone()))
    );
    let collected = store
        .collect_at(SystemTime::now() + 2 * WEEK)
        .expect("collected");
    assert_eq!(
        collected,
        GcStats {
            artifacts: 2,
            bytes: 80
        }
    );
    assert_eq!(store.list("s"), Ok(Vec::new()));

    let memory = MemoryBlobs::new(BlobLimits { bytes, age: WEEK });
    let kept: Vec<ArtifactRef> = (0..5)
        .map(|index| keep(&memory, "s", &index.to_string().repeat(40)))
        .collect();
    assert_eq!(memory.list("s"), Ok(kept[3..].to_vec()));
    let brief = MemoryBlobs::new(BlobLimits {
        bytes,
        age: Duration::ZERO,
    });
    keep(&brief, "s", "text");
    assert_eq!(brief.list("s"), Ok(Vec::new()));
}

#[test]
fn what_is_longer_than_all_that_a_store_holds_is_refused_as_it_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let bounds = BlobLimits {
        bytes: 4096,
        age: WEEK,
    };
    let most = 4096 - handle_bytes("text/plain") - 1;
    for store in [
        Box::new(MemoryBlobs::new(bounds)) as Box<dyn BlobStore>,
        Box::new(DiskBlobs::with_limits(folder.path(), bounds)),
    ] {
        let mut writer = store.begin("s", "text/plain").expect("begun");
        assert!(matches!(
            writer.write(&[b'x'; 4096]),
            Err(BlobError::TooLarge(_))
        ));
        drop(writer);
        let older = keep(&*store, "s", "older");
        let kept = keep(
            &*store,
            "s",
            &"x".repeat(usize::try_from(most).expect("a size")),
        );
        assert_eq!(
            store
                .read("s", &kept.id, 0, 9999)
                .map(|read| read.len() as u64),
            Ok(most),
            "as much as fits stays"
        );
        assert_eq!(
            store.find("s", &older.id),
            Err(BlobError::Unknown(older.id.clone()))
        );
        let tiny: &dyn BlobStore = &MemoryBlobs::new(BlobLimits {
            bytes: 100,
            age: WEEK,
        });
        assert!(matches!(
            tiny.begin("s", "text/plain").map(drop),
            Err(BlobError::TooLarge(0))
        ));
    }
}

#[test]
fn handles_are_bounded_with_the_bytes_also_where_they_share_a_content() {
    let bounds = BlobLimits {
        bytes: 1 << 20,
        age: WEEK,
    };
    let store = MemoryBlobs::new(bounds);
    let kept: Vec<ArtifactRef> = (0..10_000).map(|_| keep(&store, "s", "")).collect();
    let listed = store.list("s").expect("a list");
    assert!(
        listed.len() <= (1 << 20) / 512 && listed[..] == kept[kept.len() - listed.len()..],
        "{}",
        listed.len()
    );
    assert!(
        listed
            .iter()
            .all(|one| store.find("s", &one.id).as_ref() == Ok(one))
    );
}

#[test]
fn a_full_store_on_disk_does_not_collect_garbage_for_each_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let each = 40 + handle_bytes("text/plain");
    let store = DiskBlobs::with_limits(
        folder.path(),
        BlobLimits {
            bytes: 24 * each,
            age: WEEK,
        },
    );
    let (mut before, mut looks) = (0, 0);
    for index in 0..60 {
        keep(&store, "s", &format!("{index:040}"));
        let there = store.list("s").expect("a list").len();
        assert!(there <= 24);
        looks += usize::from(there <= before);
        before = there;
    }
    assert!(
        (1..=36 / 3).contains(&looks),
        "36 artifacts were written to a full store, and it collected {looks} times"
    );
}

/// The shortest of several runs in this thread's CPU time, which a busy machine disturbs least.
fn shortest(mut work: impl FnMut()) -> Duration {
    let used = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("a time");
    let time = |_| {
        let started = used();
        work();
        used() - started
    };
    (0..5).map(time).min().unwrap_or_default()
}

#[test]
fn collecting_takes_time_in_proportion_to_what_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let took = [250, 2000].map(|count| {
        let store = DiskBlobs::with_limits(
            folder.path().join(count.to_string()),
            BlobLimits {
                bytes: 1 << 30,
                age: WEEK,
            },
        );
        let session = store.session_folder_of("s");
        std::fs::create_dir_all(&session).expect("made");
        for index in 0..count {
            let artifact = handle(
                "text/plain",
                4,
                &blake3::hash(format!("{index:4}").as_bytes()),
            );
            let content = store.file(&artifact).expect("a place");
            std::fs::create_dir_all(content.parent().expect("a folder")).expect("made");
            std::fs::write(content, format!("{index:4}")).expect("a content");
            std::fs::write(session.join(&artifact.id), artifact.to_json().to_string())
                .expect("a handle");
        }
        shortest(|| assert_eq!(store.collect(), Ok(GcStats::default())))
    });
    // Eight times as many take eight times as long in one pass, and 64 times if it were quadratic.
    assert!(took[1] < took[0] * 24, "{took:?}");
}

#[test]
fn many_write_the_same_and_different_things_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    std::thread::scope(|scope| {
        for index in 0..8 {
            let store = DiskBlobs::with_limits(
                folder.path(),
                BlobLimits {
                    bytes: 1 << 20,
                    age: WEEK,
                },
            );
            scope.spawn(move || {
                for turn in 0..10 {
                    let text = format!("text {}", (index + turn) % 3).repeat(5);
                    let kept = keep(&store, &format!("s{index}"), &text);
                    assert_eq!(
                        store
                            .read(&format!("s{index}"), &kept.id, 0, 999)
                            .expect("read"),
                        text.as_bytes()
                    );
                }
            });
        }
    });
}

#[test]
fn session_blobs_write_no_secret_and_no_more_than_they_may() {
    let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let folder = tempfile::tempdir().expect("a folder");
    let blobs = SessionBlobs::new(
        Arc::new(DiskBlobs::new(folder.path())),
        Redactor::default(),
        None,
        "s",
    );
    let text = format!("{}{token}.{}", "x".repeat(64 * 1024 - 10), "y".repeat(1000));
    let kept = blobs.write(text.as_bytes(), "text/plain").expect("kept");
    let read = String::from_utf8(blobs.read(&kept.id, 0, u64::MAX).expect("read")).expect("text");
    assert!(
        read == text.replace(token, "[redacted]"),
        "it lies over the edge of two chunks"
    );
    let sample = blobs
        .write_from(
            std::io::repeat(b'z').take(MAX_BLOB_BYTES + 5),
            "text/plain",
            4,
        )
        .expect("kept");
    assert_eq!(
        (
            sample.artifact.bytes,
            sample.preview.bytes,
            sample.preview.head.len(),
            sample.preview.tail.len()
        ),
        (MAX_BLOB_BYTES, MAX_BLOB_BYTES + 5, 4, 4)
    );
}
