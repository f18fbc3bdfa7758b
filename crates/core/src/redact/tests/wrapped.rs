//! Base64 that is wrapped into lines of any width.

use super::*;

/// The text in lines of this width, each indented.
fn lines(text: &str, width: usize, end: &str) -> String {
    let lines: Vec<_> = text.as_bytes().chunks(width).collect();
    let lines = lines.iter().map(|line| String::from_utf8_lossy(line));
    lines.collect::<Vec<_>>().join(end)
}

#[test]
fn a_value_in_base64_is_found_whatever_the_width_of_its_lines() {
    let redactor = redactor(&[]);
    for before in ["", "x", "xy"] {
        let whole = format!("{before}{VALUE}, and so on");
        for encoded in [STANDARD.encode(&whole), URL_SAFE_NO_PAD.encode(&whole)] {
            for (width, end) in (1..80)
                .flat_map(|width| ["\n", "\r\n", "\n    ", "\\n", "%0A"].map(|end| (width, end)))
            {
                let text = format!("before: {} :after", lines(&encoded, width, end));
                let clean = redactor.text(&text);
                assert!(clean.contains(MARK), "{width} {end:?}: {clean}");
                // The letters around the value may stay, and no more.
                let kept = clean.replace(end, "");
                let kept = kept.bytes().filter(u8::is_ascii_alphanumeric).count();
                let around = "before after redacted".len() + STANDARD.encode(", and so on").len();
                assert!(kept < around + 12, "{width} {end:?}: {clean}");
                let mut value = json!({ "x": [text.as_str()] });
                redactor.pass(None).value(&mut value);
                assert_eq!(value, json!({ "x": [clean] }));
                for size in [1, 1000].into_iter().filter(|_| width % 9 == 1) {
                    let (out, _) = in_pieces(&redactor, text.as_bytes(), &[size]);
                    assert_eq!(
                        String::from_utf8_lossy(&out),
                        clean,
                        "{width} {end:?} {size}"
                    );
                }
            }
        }
    }
}

#[test]
fn lines_that_are_not_base64_of_a_value_stay() {
    let redactor = redactor(&[]);
    let image = STANDARD.encode(
        (0..2000_u32)
            .map(|n| (n * 7919 % 251) as u8)
            .collect::<Vec<_>>(),
    );
    for text in [
        "name      size\nharness   1024\nreadme      17\n".to_owned(),
        "2b4f0c1e-7d1a-4e0b-9a33-0c8c5d2f9e11\n8f14e45f-ceea-467f-a8c9-1b2c3d4e5f60\n".repeat(20),
        "707fb2679ab3f1c5d1b5b1b8f0e7a3c2d4e5f607\n0749af3\n0bf0b85\n".repeat(20),
        lines(&image, 20, "\n"),
        lines(&image, 76, "\n"),
        // The value itself, wrapped, is another text.
        lines("correct horse and a battery, a staple", 9, "\n"),
        "Y29y\n\n\ncmVjdCBob3JzZS9iYXR0ZXJ5K3N0YXBsZQ".to_owned(),
    ] {
        assert_eq!(redactor.text(&text), text);
        let (out, count) = in_pieces(&redactor, text.as_bytes(), &[5]);
        assert_eq!((out.as_slice(), count), (text.as_bytes(), 0));
    }
}

#[test]
fn lines_without_end_take_little_room_and_one_look_each() {
    let redactor = redactor(&[]);
    let encoded = STANDARD.encode(VALUE);
    let start = &encoded[..8];
    // So many that quadratic time would be minutes.
    for part in ["Y\n", "Y\r\r\r\n", "Y29y\n ", "Y29ycmVjdA\n", "\n"] {
        let text = part.repeat(400_000);
        let (mut stream, mut out) = (redactor.stream(), Vec::new());
        let mut most = 0;
        for piece in text.as_bytes().chunks(10_000) {
            stream.push(piece, &mut out);
            most = most.max(stream.pending());
        }
        assert_eq!(stream.finish(&mut out), 0, "{part:?}");
        assert_eq!(out, text.as_bytes(), "{part:?}");
        assert!(most < 200_000, "{part:?}: {most} bytes were held back");
    }
    // A gap that never ends is no wrapped line.
    for gap in [" ", "\r"] {
        let text = format!("{start}\n{}", gap.repeat(1 << 20));
        let (mut stream, mut out) = (redactor.stream(), Vec::new());
        stream.push(text.as_bytes(), &mut out);
        assert!(stream.pending() < 10_000, "{gap:?}: {}", stream.pending());
    }
}
