//! Looking into something kept: a part of it, some of its lines, or the lines that hold a text.

use super::{KeptError, Shelf};
use memchr::memchr;
use memchr::memmem::Finder;
use std::fmt::Write as _;
use std::ops::Range;

/// What of it is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Bytes.
    Part {
        /// From here.
        offset: u64,
        /// So many.
        length: u64,
    },
    /// Lines.
    Lines {
        /// From this one, counted from one.
        first: u64,
        /// So many.
        count: u64,
    },
    /// The lines with this text.
    Search(String),
}

/// Bytes read at once.
const BLOCK: u64 = 256 << 10;
/// Bytes that are shown of a line in which something was found.
const SHOWN: usize = 200;

/// What was asked for as text of at most `most` bytes, below a line that says what it is and how to go on.
pub(crate) fn look(shelf: &Shelf, id: &str, wanted: &Wanted, most: usize) -> Result<String, KeptError> {
    let total = shelf.find(id)?.bytes;
    // The line above has its room.
    let room = most.saturating_sub(200).max(16);
    match wanted {
        Wanted::Part { offset, length } => {
            let bytes = shelf.read(id, *offset, (*length).min(room as u64))?;
            let whole = whole(&bytes);
            let start = offset.min(&total) + whole.start as u64;
            let end = start + whole.len() as u64;
            // Bytes that are no text take more room as text than they are.
            let text = shortened(String::from_utf8_lossy(&bytes[whole]).into_owned(), room);
            let next = if end < total { format!("; go on with offset={end}") } else { "; this is the end".to_owned() };
            Ok(format!("[{id}: bytes {start} to {end} of {total}{next}]\n{text}"))
        }
        Wanted::Lines { first, count } => {
            let (mut text, mut shown, mut cut) = (String::new(), 0, false);
            let last = first.saturating_add(*count);
            let lines = each_line(shelf, id, |number, _, line| {
                if number >= last || cut {
                    return false;
                }
                if number >= *first {
                    let line = String::from_utf8_lossy(line);
                    cut = text.len() + line.len() + 1 > room;
                    if cut && shown > 0 {
                        return false;
                    }
                    text.push_str(&shortened(line.into_owned(), room - text.len() - 1));
                    text.push('\n');
                    shown += 1;
                }
                true
            })?;
            let end = first + shown;
            let next = if lines.is_some() { "; this is the end".to_owned() } else { format!("; go on with line={end}") };
            Ok(format!("[{id}: lines {first} to {}{next}]\n{text}", end.saturating_sub(1).max(*first)))
        }
        Wanted::Search(wanted) => {
            let (mut text, mut found, mut more) = (String::new(), 0_u64, 0_u64);
            let finder = Finder::new(wanted);
            each_line(shelf, id, |number, offset, line| {
                let Some(at) = finder.find(line) else { return true };
                found += 1;
                let from = at.saturating_sub(SHOWN / 2);
                let piece = &line[from..line.len().min(from + SHOWN)];
                let whole = whole(piece);
                let mut entry = String::new();
                let at = offset + (from + whole.start) as u64;
                let _ = writeln!(entry, "{number} (offset {at}): {}", String::from_utf8_lossy(&piece[whole]));
                if text.len() + entry.len() <= room {
                    text.push_str(&entry);
                } else {
                    more += 1;
                }
                true
            })?;
            let more = if more > 0 { format!(", the last {more} of them are not shown") } else { String::new() };
            Ok(format!("[{id}: {found} lines hold that text{more}; read around one with offset]\n{text}"))
        }
    }
}

/// Goes through the lines with their numbers and offsets while `take` wants more; says how many there are if it came to the end.
fn each_line(shelf: &Shelf, id: &str, mut take: impl FnMut(u64, u64, &[u8]) -> bool) -> Result<Option<u64>, KeptError> {
    let (mut buffer, mut offset, mut number, mut start) = (Vec::new(), 0, 1, 0);
    loop {
        let block = shelf.read(id, offset, BLOCK)?;
        let is_end = block.is_empty();
        offset += block.len() as u64;
        // What was there before has no end of a line in it, however long it is.
        let mut looked = buffer.len();
        buffer.extend_from_slice(&block);
        let mut done = 0;
        while let Some(end) = line_end(&buffer[looked..]).map(|end| looked + end) {
            if !take(number, start, &buffer[done..end]) {
                return Ok(None);
            }
            start += (end + 1 - done) as u64;
            (done, looked) = (end + 1, end + 1);
            number += 1;
        }
        buffer.drain(..done);
        if is_end {
            if !buffer.is_empty() && !take(number, start, &buffer) {
                return Ok(None);
            }
            return Ok(Some(number));
        }
    }
}

/// Where the first line of some bytes ends.
fn line_end(bytes: &[u8]) -> Option<usize> {
    let end = memchr(b'\n', bytes);
    #[cfg(test)]
    LOOKED_AT.with(|count| count.set(count.get() + end.map_or(bytes.len(), |end| end + 1)));
    end
}

#[cfg(test)]
thread_local! {
    /// Bytes in which an end of a line was looked for.
    pub(super) static LOOKED_AT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The part of some bytes that has no half of a character at its ends.
fn whole(bytes: &[u8]) -> Range<usize> {
    let torn = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    match std::str::from_utf8(&bytes[torn..]) {
        // Where nothing else is left, it is no text, and is passed over as it is.
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => torn..torn + error.valid_up_to(),
        _ => torn..bytes.len(),
    }
}

fn shortened(mut text: String, most: usize) -> String {
    text.truncate(text.floor_char_boundary(most));
    text
}
