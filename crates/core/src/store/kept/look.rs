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
pub(crate) fn look(
    shelf: &Shelf,
    id: &str,
    wanted: &Wanted,
    most: usize,
) -> Result<String, KeptError> {
    let total = shelf.find(id)?.bytes;
    // The line above has its room.
    let room = most.saturating_sub(200).max(16);
    match wanted {
        Wanted::Part { offset, length } => {
            let bytes = shelf.read(id, *offset, (*length).min(room as u64))?;
            let whole = whole(&bytes);
            let start = offset.min(&total) + whole.start as u64;
            let (text, count) = as_text(&bytes[whole], room);
            let end = start + count as u64;
            let next = if end < total {
                format!("; go on with offset={end}")
            } else {
                "; this is the end".to_owned()
            };
            Ok(format!(
                "[{id}: bytes {start} to {end} of {total}{next}]\n{text}"
            ))
        }
        Wanted::Lines { first, count } => {
            let (mut text, mut shown, mut cut_at) = (String::new(), 0, None);
            let last = first.saturating_add(*count);
            let lines = each_line(shelf, id, |number, offset, line| {
                if number >= last || cut_at.is_some() || text.len() >= room {
                    return false;
                }
                if number < *first {
                    return true;
                }
                let (piece, count) = as_text(line, room - text.len() - 1);
                if count < line.len() {
                    if shown > 0 {
                        return false;
                    }
                    cut_at = Some(offset + count as u64);
                }
                text.push_str(&piece);
                text.push('\n');
                shown += 1;
                true
            })?;
            let end = first.saturating_add(shown);
            let next = match (cut_at, lines) {
                (Some(at), Some(_)) => {
                    format!("; line {first} is cut, and is the last: go on with offset={at}")
                }
                (Some(at), None) => {
                    format!("; line {first} is cut: go on with offset={at}, or with line={end}")
                }
                (None, Some(_)) => "; this is the end".to_owned(),
                (None, None) => format!("; go on with line={end}"),
            };
            Ok(format!(
                "[{id}: lines {first} to {}{next}]\n{text}",
                end.saturating_sub(1).max(*first)
            ))
        }
        Wanted::Search(wanted) => {
            let (mut text, mut found, mut more) = (String::new(), 0_u64, 0_u64);
            let finder = Finder::new(wanted);
            each_line(shelf, id, |number, offset, line| {
                let Some(at) = finder.find(line) else {
                    return true;
                };
                found += 1;
                let from = at.saturating_sub(SHOWN / 2);
                let piece = &line[from..line.len().min(from + SHOWN)];
                let whole = whole(piece);
                let mut entry = String::new();
                let at = offset + (from + whole.start) as u64;
                let _ = writeln!(
                    entry,
                    "{number} (offset {at}): {}",
                    String::from_utf8_lossy(&piece[whole])
                );
                if text.len() + entry.len() <= room {
                    text.push_str(&entry);
                } else {
                    more += 1;
                }
                true
            })?;
            let more = if more > 0 {
                format!(", the last {more} of them are not shown")
            } else {
                String::new()
            };
            Ok(format!(
                "[{id}: {found} lines hold that text{more}; read around one with offset]\n{text}"
            ))
        }
    }
}

/// Goes through the lines with their numbers and offsets while `take` wants more; says how many there are if it came to the end.
fn each_line(
    shelf: &Shelf,
    id: &str,
    mut take: impl FnMut(u64, u64, &[u8]) -> bool,
) -> Result<Option<u64>, KeptError> {
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
    let torn = bytes
        .iter()
        .take(3)
        .take_while(|byte| **byte & 0xc0 == 0x80)
        .count();
    match std::str::from_utf8(&bytes[torn..]) {
        // Where nothing else is left, it is no text, and is passed over as it is.
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => {
            torn..torn + error.valid_up_to()
        }
        _ => torn..bytes.len(),
    }
}

/// As much of some bytes as has room as text, and how many of them that is: what is no text takes more room as text than it does as it is.
fn as_text(bytes: &[u8], room: usize) -> (String, usize) {
    let (mut text, mut count) = (String::new(), 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        let fits = valid.floor_char_boundary(room - text.len());
        text.push_str(&valid[..fits]);
        count += fits;
        let is_full = text.len() + char::REPLACEMENT_CHARACTER.len_utf8() > room;
        if fits < valid.len() || chunk.invalid().is_empty() || is_full {
            break;
        }
        text.push(char::REPLACEMENT_CHARACTER);
        count += chunk.invalid().len();
    }
    (text, count)
}
