//! Text that comes in pieces: a secret that is split over them is found all the same.

use super::MARK;
use super::known::Held;
use super::shape::{CONTEXT, Found, More, Rest, Swallowed};
use super::words::Words;
use std::sync::Arc;

/// Bytes without a line's end after which patterns no longer wait for one.
const LONG_LINE: usize = 64 << 10;
/// Bytes that such a line keeps back, because a match may go on.
const OVERLAP: usize = 4 << 10;

/// Takes secrets out of bytes as they pass. What may be the start of one is kept back until more has come.
pub struct Stream {
    known: Held,
    words: Vec<Arc<Words>>,
    /// What has come and not gone: first a few bytes that have, to tell where words begin.
    buffer: Vec<u8>,
    /// Where what has not gone begins.
    next: usize,
    /// The token that is being swallowed.
    within: Option<Rest>,
    /// What waits for patterns.
    lines: Vec<u8>,
    count: u64,
}

impl Stream {
    pub(super) fn new(known: Held, words: Vec<Arc<Words>>) -> Self {
        Self { known, words, buffer: Vec::new(), next: 0, within: None, lines: Vec::new(), count: 0 }
    }

    /// Takes the next bytes, and adds to `out` what may go.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.buffer.extend_from_slice(bytes);
        self.advance(More::MayCome, out);
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

    fn advance(&mut self, more: More, out: &mut Vec<u8>) {
        if self.words.is_empty() {
            self.take_known(more, out);
            return;
        }
        let mut lines = std::mem::take(&mut self.lines);
        self.take_known(more, &mut lines);
        let ready = match (more, lines.iter().rposition(|byte| *byte == b'\n')) {
            (More::Not, _) => lines.len(),
            (More::MayCome, Some(end)) => end + 1,
            (More::MayCome, None) if lines.len() > LONG_LINE => lines.len() - OVERLAP,
            (More::MayCome, None) => 0,
        };
        let ready = self.words.iter().fold(ready, |ready, words| words.whole_until(&lines, ready));
        let rest = lines.split_off(ready);
        for words in &self.words {
            self.count += words.take_out(&mut lines);
        }
        out.extend_from_slice(&lines);
        self.lines = rest;
    }

    /// Takes out known values and tokens.
    fn take_known(&mut self, more: More, out: &mut Vec<u8>) {
        let text = std::mem::take(&mut self.buffer);
        let mut at = self.next;
        loop {
            if let Some(rest) = self.within {
                match rest.swallow(&text, at, more) {
                    Swallowed::Whole(end) => (at, self.within) = (end, None),
                    Swallowed::Part(end) => {
                        at = end;
                        break;
                    }
                }
            }
            at = self.take_until_token(&text, at, more, out);
            if self.within.is_none() {
                break;
            }
        }
        let kept = at.saturating_sub(CONTEXT);
        self.buffer = text;
        self.buffer.drain(..kept);
        self.next = at - kept;
    }

    /// Takes out what is found, to the end of what may go or to a token that goes on. Returns where it stopped.
    fn take_until_token(&mut self, text: &[u8], from: usize, more: More, out: &mut Vec<u8>) -> usize {
        let mut hold = match more {
            More::MayCome => from + self.known.begun(&text[from..]),
            More::Not => text.len(),
        };
        let (mut done, mut at) = (from, from);
        while let Some(hit) = self.known.find(text, at).filter(|hit| hit.start < hold) {
            let found = match hit.shape {
                None => Found::Until(hit.end),
                Some(shape) => shape.judge(text, hit.start, hit.end - hit.start, more),
            };
            match found {
                Found::Nothing => {
                    at = hit.start + 1;
                    continue;
                }
                Found::Undecided => {
                    hold = hit.start;
                    break;
                }
                _ => {}
            }
            out.extend_from_slice(&text[done..hit.start]);
            out.extend_from_slice(MARK.as_bytes());
            self.count += 1;
            match found {
                Found::Until(end) => (done, at) = (end, end),
                Found::Beyond(rest) => {
                    self.within = Some(rest);
                    return if let Rest::Key { header } = rest { header } else { hit.end };
                }
                Found::Nothing | Found::Undecided => {}
            }
        }
        let end = hold.max(done);
        out.extend_from_slice(&text[done..end]);
        end
    }
}
