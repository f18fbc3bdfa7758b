//! Excerpts of artifacts.

use super::*;

fn in_memory(store: MemoryBlobs) -> SessionBlobs {
    SessionBlobs::new(Arc::new(store), Redactor::default(), None, "s")
}

#[test]
fn a_search_looks_at_each_byte_once_also_without_lines_and_for_a_long_text() {
    let store = MemoryBlobs::default();
    let blobs = in_memory(store.clone());
    let mut writer = store.begin("s", "text/plain").expect("begun");
    writer.write(&vec![b'a'; 2 << 20]).expect("written");
    let id = writer.finish().expect("kept").id;
    let search = |query: &BlobQuery| {
        assert!(
            blobs
                .excerpt(&id, query, 1000)
                .expect("an excerpt")
                .starts_with(&format!("[{id}: 0 lines"))
        )
    };
    search(&BlobQuery::Search("b".into()));
    assert_eq!(super::super::excerpt::LOOKED_AT.get(), 2 << 20);
    let [short, long] = [500, 50_000].map(|length| {
        let wanted = BlobQuery::Search(format!("{}b", "a".repeat(length)));
        shortest(|| search(&wanted))
    });
    assert!(
        long < short * 10,
        "for a text a hundred times as long: {short:?}, {long:?}"
    );
}

#[test]
fn an_excerpt_shows_bytes_lines_and_what_is_searched_for() {
    let blobs = in_memory(MemoryBlobs::default());
    let text: String = (1..=1000).map(|line| format!("line {line} é\n")).collect();
    let id = blobs.write(text.as_bytes(), "text/plain").expect("kept").id;
    let excerpt = |query: BlobQuery| blobs.excerpt(&id, &query, 1000).expect("an excerpt");
    let total = text.len();
    let part = excerpt(BlobQuery::Bytes {
        offset: 0,
        length: 7,
    });
    assert_eq!(
        part,
        format!("[{id}: bytes 0 to 7 of {total}; go on with offset=7]\nline 1 ")
    );
    let end = excerpt(BlobQuery::Bytes {
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
    let lines = excerpt(BlobQuery::Lines {
        first: 999,
        count: 5,
    });
    assert_eq!(
        lines,
        format!("[{id}: lines 999 to 1000; this is the end]\nline 999 é\nline 1000 é\n")
    );
    let some = excerpt(BlobQuery::Lines { first: 2, count: 2 });
    assert_eq!(
        some,
        format!("[{id}: lines 2 to 3; go on with line=4]\nline 2 é\nline 3 é\n")
    );
    assert!(
        excerpt(BlobQuery::Lines {
            first: 1,
            count: 1000
        })
        .len()
            <= 1000
    );
    let found = excerpt(BlobQuery::Search("line 77".into()));
    assert!(
        found.starts_with(&format!("[{id}: 11 lines contain that text;"))
            && found.contains("\n77 (offset 827): line 77 é\n"),
        "{found}"
    );
    assert!(excerpt(BlobQuery::Search("line".into())).len() <= 1000);
    // All of it, from part to part, is the text.
    let (mut whole, mut offset) = (String::new(), 0);
    loop {
        let shown = excerpt(BlobQuery::Bytes {
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

/// The header and the text of an excerpt.
fn split_excerpt(blobs: &SessionBlobs, id: &str, query: &BlobQuery) -> (String, String) {
    let shown = blobs.excerpt(id, query, 1000).expect("an excerpt");
    assert!(shown.len() <= 1000, "{}", shown.len());
    let (head, body) = shown.split_once('\n').expect("a line above");
    (head.replace(id, "it"), body.to_owned())
}

#[test]
fn an_excerpt_says_that_a_line_is_cut_and_where_its_rest_is() {
    let blobs = in_memory(MemoryBlobs::default());
    let long = "long ".repeat(400);
    let id = blobs
        .write(format!("short\n{long}\nlast").as_bytes(), "text/plain")
        .expect("kept")
        .id;
    let lines = |first, count| split_excerpt(&blobs, &id, &BlobQuery::Lines { first, count });
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
        let (_, rest) = split_excerpt(
            &blobs,
            &id,
            &BlobQuery::Bytes {
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
    let id = blobs.write(long.as_bytes(), "text/plain").expect("kept").id;
    let (head, _) = split_excerpt(&blobs, &id, &BlobQuery::Lines { first: 1, count: 9 });
    assert_eq!(
        head,
        "[it: lines 1 to 1; line 1 is cut, and is the last: go on with offset=799]"
    );
}

#[test]
fn excerpts_of_bytes_that_are_no_text_show_all_of_them() {
    let blobs = in_memory(MemoryBlobs::default());
    // Each byte that is no text takes three as text.
    let bytes: Vec<u8> = (0..1500_u32)
        .flat_map(|index| [0xff, b'a' + u8::try_from(index % 26).expect("a letter")])
        .collect();
    let id = blobs
        .write(&bytes, "application/octet-stream")
        .expect("kept")
        .id;
    let (mut whole, mut offset) = (String::new(), 0);
    loop {
        let (head, body) = split_excerpt(
            &blobs,
            &id,
            &BlobQuery::Bytes {
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
    let (head, _) = split_excerpt(&blobs, &id, &BlobQuery::Lines { first: 1, count: 1 });
    assert_eq!(
        head,
        "[it: lines 1 to 1; line 1 is cut, and is the last: go on with offset=399]"
    );
}
