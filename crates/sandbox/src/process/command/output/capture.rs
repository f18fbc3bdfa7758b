//! Capturing the output of one stream: its start and its end in memory, and all of it in a file if
//! that is not enough.

use super::text;
use crate::process::command::CapturedOutput;
use rustix::fs::{Mode, OFlags};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Seek as _, Write as _};

pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    bytes: u64,
    spill: Option<File>,
}

impl Capture {
    pub(crate) fn new(output_bytes: u64) -> Self {
        let half = usize::try_from(output_bytes / 2)
            .unwrap_or(usize::MAX)
            .max(1);
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            half,
            bytes: 0,
            spill: None,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes the next bytes.
    pub(crate) fn take(&mut self, chunk: &[u8]) {
        self.bytes += chunk.len() as u64;
        let fits = self.head.len() + self.tail.len() + chunk.len() <= 2 * self.half;
        if !fits || self.spill.is_some() {
            self.spill_over(chunk);
        }
        let (start, rest) = chunk.split_at(chunk.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(start);
        // Of a chunk longer than the tail, only the end stays.
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// Writes to the file; the first time also what came before, which is still complete in memory.
    fn spill_over(&mut self, chunk: &[u8]) {
        if self.spill.is_none() {
            let Some(mut file) = nameless_file() else {
                return;
            };
            let (first, second) = self.tail.as_slices();
            if [self.head.as_slice(), first, second]
                .into_iter()
                .any(|part| file.write_all(part).is_err())
            {
                return;
            }
            self.spill = Some(file);
        }
        // A full disk loses the file, not the command.
        if self
            .spill
            .as_mut()
            .is_some_and(|file| file.write_all(chunk).is_err())
        {
            self.spill = None;
        }
    }

    pub(crate) fn finish(mut self) -> CapturedOutput {
        let (head, tail) = (self.head, Vec::from(self.tail));
        let kept = head.len() as u64 + tail.len() as u64;
        if let Some(file) = &mut self.spill {
            let _ = file.rewind();
        }
        if kept == self.bytes {
            let whole = [head, tail].concat();
            return CapturedOutput {
                text: text::printable(&whole),
                truncated: false,
                bytes: self.bytes,
                spill: None,
            };
        }
        let (head, tail) = (whole_at_end(&head), whole_at_start(&tail));
        let missing = self.bytes - (head.len() + tail.len()) as u64;
        let text = format!(
            "{}\n[... {missing} bytes left out ...]\n{}",
            text::printable(head),
            text::printable(tail)
        );
        CapturedOutput {
            text,
            truncated: true,
            bytes: self.bytes,
            spill: self.spill,
        }
    }
}

/// A file that vanishes when it is closed, whatever happens.
fn nameless_file() -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let places = [std::env::temp_dir(), "/var/tmp".into(), "/dev/shm".into()];
    places
        .iter()
        .find_map(|place| rustix::fs::open(place, flags, Mode::RUSR | Mode::WUSR).ok())
        .map(File::from)
}

/// Without a character that was cut in two.
fn whole_at_end(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

fn whole_at_start(bytes: &[u8]) -> &[u8] {
    let torn = bytes
        .iter()
        .take(3)
        .take_while(|byte| **byte & 0xc0 == 0x80)
        .count();
    &bytes[torn..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn output_that_fits_is_kept_as_it_is() {
        let mut capture = Capture::new(10);
        for chunk in [&b"123"[..], b"4567", b"890"] {
            capture.take(chunk);
        }
        let captured = capture.finish();
        assert_eq!(
            (captured.text.as_str(), captured.truncated, captured.bytes),
            ("1234567890", false, 10)
        );
        assert!(captured.spill.is_none());
    }

    #[test]
    fn longer_output_keeps_its_start_and_end_and_is_spilled() {
        let all: Vec<u8> = (0..100_u8).map(|n| b'a' + n % 26).collect();
        for size in [1, 3, 7, 50, 100] {
            let mut capture = Capture::new(10);
            all.chunks(size).for_each(|chunk| capture.take(chunk));
            let mut captured = capture.finish();
            assert_eq!(
                captured.text, "abcde\n[... 90 bytes left out ...]\nrstuv",
                "{size}"
            );
            assert!(captured.truncated && captured.bytes == 100);
            let mut spilled = Vec::new();
            captured
                .spill
                .as_mut()
                .expect("a spill")
                .read_to_end(&mut spilled)
                .expect("read");
            assert_eq!(spilled, all, "{size}");
        }
    }

    #[test]
    fn a_character_is_not_cut_in_two() {
        let mut capture = Capture::new(8);
        capture.take("aaa\u{e4}bbbbbbbbb\u{e4}ccc".as_bytes());
        assert_eq!(
            capture.finish().text,
            "aaa\n[... 13 bytes left out ...]\nccc"
        );
    }
}
