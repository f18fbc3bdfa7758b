//! Both stores keep the same promises; the disk also keeps them over a crash.

use super::*;
use crate::redact::Redactor;
use crate::result::is_artifact_id;
use rustix::time::{ClockId, clock_gettime};
use std::io::Read as _;
use std::sync::Arc;
use std::time::SystemTime;

const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

fn keep(store: &dyn KeptStore, session: &str, text: &str) -> ArtifactRef {
    let mut keeping = store.begin(session, "text/plain").expect("begun");
    text.as_bytes()
        .chunks(3)
        .for_each(|chunk| keeping.write(chunk).expect("written"));
    keeping.finish().expect("kept")
}

/// Runs a check on both stores.
fn both(check: impl Fn(&dyn KeptStore)) {
    check(&KeptInMemory::default());
    let folder = tempfile::tempdir().expect("a folder");
    check(&DiskStore::new(folder.path().join("kept")));
}

#[test]
fn what_is_kept_is_read_in_parts_by_its_own_session_and_by_no_other() {
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
            Err(KeptError::Unknown(first.id.clone()))
        );
        assert_eq!(
            store.read("two", &first.id, 0, 1),
            Err(KeptError::Unknown(first.id.clone()))
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
                matches!(store.read("s", id, 0, 9), Err(KeptError::Unknown(_))),
                "{id}"
            );
        }
    });
}

#[test]
fn what_is_dropped_before_it_is_finished_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = DiskStore::new(folder.path());
    let mut keeping = store.begin("s", "text/plain").expect("begun");
    keeping.write(b"half").expect("written");
    drop(keeping);
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
    let store = DiskStore::new(folder.path());
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
fn what_cannot_be_removed_is_passed_over_and_fails_nobody_who_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = keep(&DiskStore::new(folder.path()), "s", "first");
    let stray = [
        DiskStore::new(folder.path()).session_folder_of("s"),
        folder.path().join("contents/ab"),
        folder.path().join("new"),
    ];
    for place in &stray {
        std::fs::create_dir_all(place.join("stray/deep")).expect("a stray folder");
    }
    let torn = stray[0].join(format!("art_{}", "0".repeat(32)));
    std::fs::write(&torn, "{").expect("a torn handle");
    // It has not looked yet, so it does as it writes.
    let store = DiskStore::new(folder.path());
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
fn a_content_that_is_not_whole_any_more_is_a_failure_until_the_same_is_kept_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = DiskStore::new(folder.path());
    let kept = keep(&store, "s", "the whole text");
    for damage in ["the who", "", "the whole text and more", "another text 1"] {
        std::fs::write(store.file(&kept).expect("a place"), damage).expect("damaged");
        for (offset, length) in [(0, 99), (3, 2), (14, 1)] {
            assert!(
                matches!(
                    store.read("s", &kept.id, offset, length),
                    Err(KeptError::Failed(_))
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
fn no_link_and_no_name_of_others_is_touched_however_old_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let (inside, outside) = (folder.path().join("kept"), folder.path().join("outside"));
    let store = DiskStore::new(&inside);
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
        matches!(store.begin("s", "text/plain").map(drop), Err(KeptError::Failed(why)) if why.contains("is a link"))
    );
    assert_eq!(store.read("s", &kept.id, 0, 9).expect("read"), b"text");
}

#[test]
fn what_is_too_old_cannot_be_read_before_it_is_forgotten_and_is_as_soon_as_something_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = DiskStore::new(folder.path().join("week"));
    let memory = KeptInMemory::new(Bounds {
        bytes: 1 << 20,
        age: Duration::from_secs(1),
    });
    let stores = [&disk as &dyn KeptStore, &memory].map(|store| (store, keep(store, "s", "text")));
    for (store, kept) in &stores {
        assert_eq!(store.read("s", &kept.id, 0, 9).expect("read"), b"text");
    }
    let handle = disk.session_folder_of("s").join(&stores[0].1.id);
    let handle = std::fs::OpenOptions::new()
        .write(true)
        .open(handle)
        .expect("a handle");
    handle
        .set_modified(SystemTime::now() - 2 * WEEK)
        .expect("made old");
    std::thread::sleep(Duration::from_millis(1100));
    for (store, kept) in &stores {
        let unknown = || KeptError::Unknown(kept.id.clone());
        assert_eq!(
            (store.find("s", &kept.id), store.list("s")),
            (Err(unknown()), Ok(Vec::new()))
        );
        assert_eq!(store.read("s", &kept.id, 0, 9), Err(unknown()));
    }
    // It looks when something begins, so that a full disk gets its room back, and as often as things become too old.
    let brief = DiskStore::with_bounds(
        folder.path().join("brief"),
        Bounds {
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
fn the_old_are_forgotten_and_the_oldest_while_there_is_too_much() {
    let folder = tempfile::tempdir().expect("a folder");
    // Two of them, their handles, and a little.
    let bytes = 2 * (40 + handle_bytes("text/plain")) + 200;
    let store = DiskStore::with_bounds(folder.path(), Bounds { bytes, age: WEEK });
    let kept: Vec<ArtifactRef> = (0..5)
        .map(|index| {
            std::thread::sleep(Duration::from_millis(5));
            keep(&store, "s", &index.to_string().repeat(40))
        })
        .collect();
    assert_eq!(store.list("s"), Ok(kept[3..].to_vec()));
    assert_eq!(
        store.find("s", &kept[0].id),
        Err(KeptError::Unknown(kept[0].id.clone()))
    );
    let collected = store
        .collect_at(SystemTime::now() + 2 * WEEK)
        .expect("collected");
    assert_eq!(
        collected,
        Collected {
            artifacts: 2,
            bytes: 80
        }
    );
    assert_eq!(store.list("s"), Ok(Vec::new()));

    let memory = KeptInMemory::new(Bounds { bytes, age: WEEK });
    let kept: Vec<ArtifactRef> = (0..5)
        .map(|index| keep(&memory, "s", &index.to_string().repeat(40)))
        .collect();
    assert_eq!(memory.list("s"), Ok(kept[3..].to_vec()));
    let brief = KeptInMemory::new(Bounds {
        bytes,
        age: Duration::ZERO,
    });
    keep(&brief, "s", "text");
    assert_eq!(brief.list("s"), Ok(Vec::new()));
}

#[test]
fn what_is_longer_than_all_that_a_store_holds_is_refused_as_it_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let bounds = Bounds {
        bytes: 4096,
        age: WEEK,
    };
    let most = 4096 - handle_bytes("text/plain") - 1;
    for store in [
        Box::new(KeptInMemory::new(bounds)) as Box<dyn KeptStore>,
        Box::new(DiskStore::with_bounds(folder.path(), bounds)),
    ] {
        let mut keeping = store.begin("s", "text/plain").expect("begun");
        assert!(matches!(
            keeping.write(&[b'x'; 4096]),
            Err(KeptError::TooLarge(_))
        ));
        drop(keeping);
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
            Err(KeptError::Unknown(older.id.clone()))
        );
        let tiny: &dyn KeptStore = &KeptInMemory::new(Bounds {
            bytes: 100,
            age: WEEK,
        });
        assert!(matches!(
            tiny.begin("s", "text/plain").map(drop),
            Err(KeptError::TooLarge(0))
        ));
    }
}

#[test]
fn handles_are_bounded_with_the_bytes_also_where_they_share_a_content() {
    let bounds = Bounds {
        bytes: 1 << 20,
        age: WEEK,
    };
    let store = KeptInMemory::new(bounds);
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
fn a_full_store_on_disk_does_not_look_at_everything_for_each_thing_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let each = 40 + handle_bytes("text/plain");
    let store = DiskStore::with_bounds(
        folder.path(),
        Bounds {
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
        "36 were written to a full store, and it looked {looks} times"
    );
}

/// The shortest of a few times, of this thread's own: a busy machine disturbs it least.
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
        let store = DiskStore::with_bounds(
            folder.path().join(count.to_string()),
            Bounds {
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
        shortest(|| assert_eq!(store.collect(), Ok(Collected::default())))
    });
    // Eight times as many: a pass takes eight times as long, and a look at each for each sixty-four times.
    assert!(took[1] < took[0] * 24, "{took:?}");
}

#[test]
fn a_search_looks_at_each_byte_once_also_without_lines_and_for_a_long_text() {
    let store = KeptInMemory::default();
    let shelf = Shelf::new(Arc::new(store.clone()), Redactor::default(), None, "s");
    let mut keeping = store.begin("s", "text/plain").expect("begun");
    keeping.write(&vec![b'a'; 2 << 20]).expect("written");
    let id = keeping.finish().expect("kept").id;
    let search = |wanted: &Wanted| {
        assert!(
            look(&shelf, &id, wanted, 1000)
                .expect("a look")
                .starts_with(&format!("[{id}: 0 lines"))
        )
    };
    search(&Wanted::Search("b".into()));
    assert_eq!(super::look::LOOKED_AT.get(), 2 << 20);
    let [short, long] = [500, 50_000].map(|length| {
        let wanted = Wanted::Search(format!("{}b", "a".repeat(length)));
        shortest(|| search(&wanted))
    });
    assert!(
        long < short * 10,
        "for a text a hundred times as long: {short:?}, {long:?}"
    );
}

#[test]
fn many_write_the_same_and_different_things_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    std::thread::scope(|scope| {
        for index in 0..8 {
            let store = DiskStore::with_bounds(
                folder.path(),
                Bounds {
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
fn a_shelf_writes_no_secret_and_no_more_than_it_may() {
    let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let folder = tempfile::tempdir().expect("a folder");
    let shelf = Shelf::new(
        Arc::new(DiskStore::new(folder.path())),
        Redactor::default(),
        None,
        "s",
    );
    let text = format!("{}{token}.{}", "x".repeat(64 * 1024 - 10), "y".repeat(1000));
    let kept = shelf.write(text.as_bytes(), "text/plain").expect("kept");
    let read = String::from_utf8(shelf.read(&kept.id, 0, u64::MAX).expect("read")).expect("text");
    assert!(
        read == text.replace(token, "[redacted]"),
        "it lies over the edge of two chunks"
    );
    let sample = shelf
        .write_from(std::io::repeat(b'z').take(MOST_BYTES + 5), "text/plain", 4)
        .expect("kept");
    assert_eq!(
        (
            sample.artifact.bytes,
            sample.shown.bytes,
            sample.shown.head.len(),
            sample.shown.tail.len()
        ),
        (MOST_BYTES, MOST_BYTES + 5, 4, 4)
    );
}

#[test]
fn a_look_shows_parts_lines_and_what_is_searched_for() {
    let shelf = Shelf::new(
        Arc::new(KeptInMemory::default()),
        Redactor::default(),
        None,
        "s",
    );
    let text: String = (1..=1000).map(|line| format!("line {line} é\n")).collect();
    let id = shelf.write(text.as_bytes(), "text/plain").expect("kept").id;
    let look = |wanted: Wanted| look(&shelf, &id, &wanted, 1000).expect("a look");
    let total = text.len();
    let part = look(Wanted::Part {
        offset: 0,
        length: 7,
    });
    assert_eq!(
        part,
        format!("[{id}: bytes 0 to 7 of {total}; go on with offset=7]\nline 1 ")
    );
    let end = look(Wanted::Part {
        offset: total as u64 - 3,
        length: 500,
    });
    assert_eq!(
        end,
        format!(
            "[{id}: bytes {} to {total} of {total}; this is the end]\né\n",
            total - 3
        )
    );
    let lines = look(Wanted::Lines {
        first: 999,
        count: 5,
    });
    assert_eq!(
        lines,
        format!("[{id}: lines 999 to 1000; this is the end]\nline 999 é\nline 1000 é\n")
    );
    let some = look(Wanted::Lines { first: 2, count: 2 });
    assert_eq!(
        some,
        format!("[{id}: lines 2 to 3; go on with line=4]\nline 2 é\nline 3 é\n")
    );
    assert!(
        look(Wanted::Lines {
            first: 1,
            count: 1000
        })
        .len()
            <= 1000
    );
    let found = look(Wanted::Search("line 77".into()));
    assert!(
        found.starts_with(&format!("[{id}: 11 lines hold that text;"))
            && found.contains("\n77 (offset 827): line 77 é\n"),
        "{found}"
    );
    assert!(look(Wanted::Search("line".into())).len() <= 1000);
    // All of it, from part to part, is the text.
    let (mut whole, mut offset) = (String::new(), 0);
    loop {
        let shown = look(Wanted::Part {
            offset,
            length: 500,
        });
        let (head, body) = shown.split_once('\n').expect("a line above");
        whole.push_str(body);
        let Some(next) = head.split("offset=").nth(1) else {
            break;
        };
        offset = next.trim_end_matches(']').parse().expect("a number");
    }
    assert_eq!(whole, text);
}

/// What a look says above what it shows, and that.
fn looked(shelf: &Shelf, id: &str, wanted: &Wanted) -> (String, String) {
    let shown = look(shelf, id, wanted, 1000).expect("a look");
    assert!(shown.len() <= 1000, "{}", shown.len());
    let (head, body) = shown.split_once('\n').expect("a line above");
    (head.replace(id, "it"), body.to_owned())
}

#[test]
fn a_look_says_that_a_line_is_cut_and_where_its_rest_is() {
    let shelf = Shelf::new(
        Arc::new(KeptInMemory::default()),
        Redactor::default(),
        None,
        "s",
    );
    let long = "long ".repeat(400);
    let id = shelf
        .write(format!("short\n{long}\nlast").as_bytes(), "text/plain")
        .expect("kept")
        .id;
    let lines = |first, count| looked(&shelf, &id, &Wanted::Lines { first, count });
    assert_eq!(
        lines(1, 9),
        (
            "[it: lines 1 to 1; go on with line=2]".to_owned(),
            "short\n".to_owned()
        )
    );
    for count in [1, 9] {
        let (head, body) = lines(2, count);
        assert_eq!(
            head,
            "[it: lines 2 to 2; line 2 is cut: go on with offset=805, or with line=3]"
        );
        let (_, rest) = looked(
            &shelf,
            &id,
            &Wanted::Part {
                offset: 805,
                length: 9,
            },
        );
        assert!(
            long.starts_with(&format!("{}{rest}", body.trim_end_matches('\n'))),
            "{body}{rest}"
        );
    }
    assert_eq!(
        lines(3, 9),
        (
            "[it: lines 3 to 3; this is the end]".to_owned(),
            "last\n".to_owned()
        )
    );
    let id = shelf.write(long.as_bytes(), "text/plain").expect("kept").id;
    let (head, _) = looked(&shelf, &id, &Wanted::Lines { first: 1, count: 9 });
    assert_eq!(
        head,
        "[it: lines 1 to 1; line 1 is cut, and is the last: go on with offset=799]"
    );
}

#[test]
fn all_of_what_is_no_text_is_shown_from_part_to_part() {
    let shelf = Shelf::new(
        Arc::new(KeptInMemory::default()),
        Redactor::default(),
        None,
        "s",
    );
    // Each byte that is no text takes three as text.
    let bytes: Vec<u8> = (0..1500_u32)
        .flat_map(|index| [0xff, b'a' + u8::try_from(index % 26).expect("a letter")])
        .collect();
    let id = shelf
        .write(&bytes, "application/octet-stream")
        .expect("kept")
        .id;
    let (mut whole, mut offset) = (String::new(), 0);
    loop {
        let (head, body) = looked(
            &shelf,
            &id,
            &Wanted::Part {
                offset,
                length: 5000,
            },
        );
        whole.push_str(&body);
        let Some(next) = head.split("offset=").nth(1) else {
            break;
        };
        offset = next.trim_end_matches(']').parse().expect("a number");
    }
    assert!(
        whole == String::from_utf8_lossy(&bytes),
        "{} of {}",
        whole.len(),
        2 * bytes.len()
    );
    let (head, _) = looked(&shelf, &id, &Wanted::Lines { first: 1, count: 1 });
    assert_eq!(
        head,
        "[it: lines 1 to 1; line 1 is cut, and is the last: go on with offset=399]"
    );
}
