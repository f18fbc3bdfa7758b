//! Text that comes in pieces: a secret that is split over them is found all the same.

use super::MARK;
use super::known::{Held, Hit, PIECE};
use super::read::Reader;
use super::shape::{CONTEXT, Found, More, Rest, Swallowed};
use super::words::{Words, whole_until};
use std::ops::Range;
use std::sync::Arc;

/// Bytes without a line's end after which patterns no longer wait for one.
const LONG_LINE: usize = 64 << 10;
/// Bytes that such a line keeps back, because a match may go on.
const OVERLAP: usize = 4 << 10;
/// Bytes of a match that goes on which are looked at with every piece. More of them are looked at again when they are a sixteenth more.
const OFTEN: usize = 1 << 10;

/// Bytes of a match that goes on which are kept back. When there are more, it ends there as if nothing more came, and the rest of its line goes.
const MOST_HELD: usize = 1 << 20;

/// Takes secrets out of bytes as they pass. What may be the start of one is kept back until more has come.
pub struct Stream {
    known: Held,
    words: Vec<Arc<Words>>,
    /// What has come and not gone: first a few bytes that have, to tell where words begin.
    buffer: Vec<u8>,
    /// Where what has not gone begins.
    next: usize,
    /// Where to look on: before that, if the end of what was taken out may be the start of more.
    look: usize,
    /// The same text without its escapes.
    reader: Reader,
    /// The token that is being swallowed.
    within: Option<Rest>,
    /// What waits for patterns.
    lines: Vec<u8>,
    /// How much of that has to be there before it is looked at again.
    wake: usize,
    /// Bytes at its start that have no line's end.
    unbroken: usize,
    /// Whether the rest of the line is taken out, because what begins in it was too long to be kept back.
    overlong: bool,
    count: u64,
}

impl Stream {
    pub(super) fn new(known: Held, words: Vec<Arc<Words>>) -> Self {
        Self {
            known,
            words,
            buffer: Vec::new(),
            next: 0,
            look: 0,
            reader: Reader::default(),
            within: None,
            lines: Vec::new(),
            wake: 0,
            unbroken: 0,
            overlong: false,
            count: 0,
        }
    }

    /// Takes the next bytes, and adds to `out` what may go.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for piece in bytes.chunks(PIECE) {
            self.buffer.extend_from_slice(piece);
            self.advance(More::MayCome, out);
        }
    }

    /// Adds what is left to `out`, and says how often something was taken out.
    pub fn finish(mut self, out: &mut Vec<u8>) -> u64 {
        self.advance(More::Not, out);
        self.count
    }

    /// How often something was taken out so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Bytes that are kept back.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.lines.len() + self.buffer.len()
    }

    fn advance(&mut self, more: More, out: &mut Vec<u8>) {
        if self.words.is_empty() {
            self.take_known(more, out);
            return;
        }
        let mut lines = std::mem::take(&mut self.lines);
        self.take_known(more, &mut lines);
        if self.overlong {
            let end = lines.iter().position(|byte| *byte == b'\n');
            lines.drain(..end.unwrap_or(lines.len()));
            self.overlong = end.is_none();
            if self.overlong {
                return;
            }
        }
        let mut ready = self.ready(&lines, more);
        if ready > 0 {
            for words in &self.words {
                self.count += words.take_out_until(&mut lines, &mut ready);
            }
            out.extend(lines.drain(..ready));
        }
        if self.overlong && !out.ends_with(MARK.as_bytes()) {
            self.count += 1;
            out.extend_from_slice(MARK.as_bytes());
        }
        self.lines = lines;
    }

    /// How much of the lines may be looked at by itself.
    fn ready(&mut self, lines: &[u8], more: More) -> usize {
        if more == More::Not {
            return lines.len();
        }
        // A match that goes on is gone through from its start: not with every byte that comes.
        if lines.len() < self.wake {
            return 0;
        }
        let line = lines
            .iter()
            .skip(self.unbroken)
            .rposition(|byte| *byte == b'\n')
            .map(|end| self.unbroken + end + 1);
        let ready = line.unwrap_or(if lines.len() > LONG_LINE {
            lines.len() - OVERLAP
        } else {
            0
        });
        let found = || {
            self.words
                .iter()
                .flat_map(|words| words.matches(lines, ready))
                .collect()
        };
        let whole = if ready > 0 {
            whole_until(found(), ready)
        } else {
            0
        };
        let held = lines.len() - whole;
        if held > MOST_HELD {
            (self.overlong, self.wake, self.unbroken) = (true, 0, 0);
            return lines.len();
        }
        self.wake = if whole < ready && held > OFTEN {
            held + held / 16
        } else {
            0
        };
        self.unbroken = if line.is_none() || whole == ready {
            held
        } else {
            0
        };
        whole
    }

    /// Takes out known values and tokens.
    fn take_known(&mut self, more: More, out: &mut Vec<u8>) {
        let text = std::mem::take(&mut self.buffer);
        if self.known.has_values {
            self.reader.feed(&text, more);
        }
        if let Some(rest) = self.within {
            self.next = self.swallow(rest, &text, self.next, more);
        }
        let hold = self.hold(&text, more);
        let look = if self.within.is_some() {
            hold
        } else {
            self.take_until(hold, &text, more, out)
        };
        // What a token may go on with may turn out to be something else.
        self.look = if self.within.is_some() {
            look.min(self.next)
        } else {
            look
        };
        let gone = self.next.min(self.look).saturating_sub(CONTEXT);
        self.buffer = text;
        self.buffer.drain(..gone);
        self.reader.forget(gone);
        self.next -= gone;
        self.look -= gone;
    }

    /// Takes out what is found before `hold`, and returns where to look on.
    fn take_until(&mut self, mut hold: usize, text: &[u8], more: More, out: &mut Vec<u8>) -> usize {
        let known = self.known.clone();
        let mut read: Vec<Range<usize>> = known.read(&self.reader).collect();
        read.sort_by_key(|found| found.start);
        let mut read = read.into_iter().peekable();
        let (mut done, mut at) = (self.next, self.look);
        let mut written = known.find(text, at);
        while self.within.is_none() {
            if written.as_ref().is_some_and(|hit| hit.start < at) {
                written = known.find(text, at);
            }
            let first = written.as_ref().map_or(hold, |hit| hit.start);
            let hit = match read.next_if(|found| found.start < first) {
                Some(found) => Hit {
                    start: found.start,
                    end: found.end,
                    shape: None,
                },
                None => match &written {
                    Some(hit) if hit.start < hold => hit.clone(),
                    _ => break,
                },
            };
            at = at.max(hit.start + 1);
            let end = match hit
                .shape
                .map(|shape| shape.judge(text, hit.start, hit.end - hit.start, more))
            {
                // What begins inside of a token is a part of it.
                Some(_) if hit.start < done => continue,
                Some(Found::Nothing) => continue,
                Some(Found::Undecided) => {
                    hold = hit.start;
                    break;
                }
                Some(Found::Beyond(rest)) => {
                    self.swallow(rest, text, rest.header().unwrap_or(hit.end), more)
                }
                Some(Found::Until(end)) => end,
                None => hit.end,
            };
            if end <= done {
                continue;
            }
            // What overlaps with something that went already goes with it.
            if hit.start >= done {
                out.extend_from_slice(&text[done..hit.start]);
                out.extend_from_slice(MARK.as_bytes());
                self.count += 1;
            }
            done = end;
        }
        if self.within.is_none() && hold > done {
            out.extend_from_slice(&text[done..hold]);
            done = hold;
        }
        self.next = done;
        hold
    }

    /// Follows a token from `from` on, and returns how far it goes in what has come.
    fn swallow(&mut self, rest: Rest, text: &[u8], from: usize, more: More) -> usize {
        let (swallowed, rest) = rest.swallow(text, from, more);
        match swallowed {
            Swallowed::Whole(end) => {
                self.within = None;
                end
            }
            Swallowed::Part(end) => {
                self.within = Some(rest);
                end
            }
        }
    }

    /// How far the text may be judged: what comes after may be the start of something.
    fn hold(&self, text: &[u8], more: More) -> usize {
        if more == More::Not {
            return text.len();
        }
        let written = self.look + self.known.begun(&text[self.look..]);
        // What was read up to an escape that is not whole may be the start of a value, though what is written is none.
        let read = if self.known.has_values {
            self.reader
                .place(self.known.begun(self.reader.text()))
                .start
        } else {
            written
        };
        written.min(read).max(self.look)
    }
}
