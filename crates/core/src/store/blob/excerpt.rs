//! Excerpts of an artifact: some bytes, some lines, or the lines that contain a text.

use super::{BlobError, SessionBlobs};
use memchr::memchr;
use memchr::memmem::Finder;
use std::ops::Range;

/// Which part of an artifact to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BlobQuery {
    /// A range of bytes.
    Bytes {
        /// The first.
        offset: u64,
        /// How many.
        length: u64,
    },
    /// A range of lines.
    Lines {
        /// The first, counted from 1.
        first: u64,
        /// How many.
        count: u64,
    },
    /// The lines that contain this text.
    Search(String),
}

/// Bytes read from the store at a time.
const BLOCK: u64 = 256 << 10;
/// Bytes shown of a line that contains the text.
const SHOWN: usize = 200;

/// Bytes reserved for the line above an excerpt.
const HEADER: usize = 200;

impl SessionBlobs {
    /// An excerpt of at most `most` bytes, below a line that says what it is and how to read on.
    pub(crate) fn excerpt(
        &self,
        id: &str,
        query: &BlobQuery,
        most: usize,
    ) -> Result<String, BlobError> {
        let total = self.find(id)?.bytes;
        let room = most.saturating_sub(HEADER).max(16);
        let (header, text) = match query {
            BlobQuery::Bytes { offset, length } => {
                let bytes = self.read(id, *offset, (*length).min(room as u64))?;
                bytes_excerpt(&bytes, *offset, total, room)
            }
            BlobQuery::Lines { first, count } => lines_excerpt(self, id, *first, *count, room)?,
            BlobQuery::Search(text) => search_excerpt(self, id, text, room)?,
        };
        Ok(format!("[{id}: {header}]\n{text}"))
    }
}

/// The header and the text of some bytes that were read from `offset`.
fn bytes_excerpt(bytes: &[u8], offset: u64, total: u64, room: usize) -> (String, String) {
    let whole = whole(bytes);
    let start = offset.min(total) + whole.start as u64;
    let (text, count) = as_text(&bytes[whole], room);
    let end = start + count as u64;
    let next = if end < total {
        format!("go on with offset={end}")
    } else {
        "this is the end".to_owned()
    };
    (format!("bytes {start} to {end} of {total}; {next}"), text)
}

fn lines_excerpt(
    blobs: &SessionBlobs,
    id: &str,
    first: u64,
    count: u64,
    room: usize,
) -> Result<(String, String), BlobError> {
    let (mut text, mut shown, mut cut_at) = (String::new(), 0, None);
    let last = first.saturating_add(count);
    let lines = each_line(blobs, id, |number, offset, line| {
        if number >= last || cut_at.is_some() || text.len() >= room {
            return false;
        }
        if number < first {
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
            format!("line {first} is cut, and is the last: go on with offset={at}")
        }
        (Some(at), None) => {
            format!("line {first} is cut: go on with offset={at}, or with line={end}")
        }
        (None, Some(_)) => "this is the end".to_owned(),
        (None, None) => format!("go on with line={end}"),
    };
    let last = end.saturating_sub(1).max(first);
    Ok((format!("lines {first} to {last}; {next}"), text))
}

fn search_excerpt(
    blobs: &SessionBlobs,
    id: &str,
    wanted: &str,
    room: usize,
) -> Result<(String, String), BlobError> {
    let (mut text, mut found, mut hidden) = (String::new(), 0_u64, 0_u64);
    let finder = Finder::new(wanted);
    each_line(blobs, id, |number, offset, line| {
        let Some(at) = finder.find(line) else {
            return true;
        };
        found += 1;
        let from = at.saturating_sub(SHOWN / 2);
        let piece = &line[from..line.len().min(from + SHOWN)];
        let whole = whole(piece);
        let at = offset + (from + whole.start) as u64;
        let piece = String::from_utf8_lossy(&piece[whole]);
        let entry = format!("{number} (offset {at}): {piece}\n");
        if text.len() + entry.len() <= room {
            text.push_str(&entry);
        } else {
            hidden += 1;
        }
        true
    })?;
    let hidden = match hidden {
        0 => String::new(),
        hidden => format!(", the last {hidden} are not shown"),
    };
    let header = format!("{found} lines contain that text{hidden}; read around one with offset");
    Ok((header, text))
}

/// Calls `take` with each line, its number and its offset until it returns false. Returns the
/// number of lines if it reached the end.
fn each_line(
    blobs: &SessionBlobs,
    id: &str,
    mut take: impl FnMut(u64, u64, &[u8]) -> bool,
) -> Result<Option<u64>, BlobError> {
    let (mut buffer, mut offset, mut number, mut start) = (Vec::new(), 0, 1, 0);
    loop {
        let block = blobs.read(id, offset, BLOCK)?;
        let is_end = block.is_empty();
        offset += block.len() as u64;
        // The bytes that were left over contain no line end, so that they are not searched again.
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

/// Where the first line ends.
fn line_end(bytes: &[u8]) -> Option<usize> {
    let end = memchr(b'\n', bytes);
    #[cfg(test)]
    LOOKED_AT.with(|count| count.set(count.get() + end.map_or(bytes.len(), |end| end + 1)));
    end
}

#[cfg(test)]
thread_local! {
    /// How many bytes were searched for a line end.
    pub(super) static LOOKED_AT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The range without the halves of characters at both ends.
fn whole(bytes: &[u8]) -> Range<usize> {
    let torn = bytes
        .iter()
        .take(3)
        .take_while(|byte| **byte & 0xc0 == 0x80)
        .count();
    match std::str::from_utf8(&bytes[torn..]) {
        // Nothing else would be left: this is no text and is shown as it is.
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => {
            torn..torn + error.valid_up_to()
        }
        _ => torn..bytes.len(),
    }
}

/// As much text as fits, and how many of the bytes that is. They differ, since a byte that is not
/// UTF-8 becomes a longer replacement character.
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
