//! Redacts text that comes in pieces, including secrets that are split over several.

use super::MARK;
use super::decode::{Decoder, LineEnds};
use super::matcher::{Hit, MatcherRef, PIECE};
use super::patterns::{RedactionPatterns, whole_until};
use super::token::{CONTEXT, Eof, OpenToken, TokenEnd, Verdict};
use std::ops::Range;
use std::sync::Arc;

/// Bytes without a line end after which patterns no longer wait for one.
const LONG_LINE: usize = 64 << 10;
/// Bytes at the end of such a line that are held back, because a match may go on.
const OVERLAP: usize = 4 << 10;
/// Bytes of an unfinished match that are searched with every piece. A longer one is searched again
/// when it has grown by a sixteenth.
const OFTEN: usize = 1 << 10;

/// Bytes of an unfinished match that are held back. A longer one ends here as at the end of the
/// text, and the rest of its line is dropped.
const MAX_PENDING: usize = 1 << 20;

/// Redacts bytes as they pass. Bytes that may start a secret are held back until more have come.
pub struct Stream {
    matcher: MatcherRef,
    patterns: Vec<Arc<RedactionPatterns>>,
    /// Input that was not passed on, after a few bytes that were, which show where words begin.
    buffer: Vec<u8>,
    /// Where the input that was not passed on begins.
    next: usize,
    /// Where to search next. Before `next` if the end of a secret may be the start of another.
    look: usize,
    /// Decodes the buffer.
    decoder: Decoder,
    /// Decodes it without any line ends, for base64 that is wrapped into short lines.
    joined: Decoder,
    /// The token whose end has not come.
    within: Option<OpenToken>,
    /// Text without values and tokens that waits for the patterns.
    lines: Vec<u8>,
    /// How long `lines` must be before it is searched again.
    wake: usize,
    /// Bytes at the start of `lines` that contain no line end.
    unbroken: usize,
    /// Whether the rest of the line is dropped, because a match in it was too long to hold back.
    overlong: bool,
    count: u64,
}

impl Stream {
    pub(super) fn new(matcher: MatcherRef, patterns: Vec<Arc<RedactionPatterns>>) -> Self {
        Self {
            matcher,
            patterns,
            buffer: Vec::new(),
            next: 0,
            look: 0,
            decoder: Decoder::default(),
            joined: Decoder::new(LineEnds::All),
            within: None,
            lines: Vec::new(),
            wake: 0,
            unbroken: 0,
            overlong: false,
            count: 0,
        }
    }

    /// Takes the next bytes, and appends to `out` what can be passed on.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for piece in bytes.chunks(PIECE) {
            self.buffer.extend_from_slice(piece);
            self.advance(Eof::NotYet, out);
        }
    }

    /// Appends the rest to `out`, and returns how many secrets were redacted.
    pub fn finish(mut self, out: &mut Vec<u8>) -> u64 {
        self.advance(Eof::Reached, out);
        self.count
    }

    /// How many secrets were redacted so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Bytes that are held back.
    #[cfg(test)]
    pub(super) fn pending(&self) -> usize {
        self.lines.len() + self.buffer.len()
    }

    fn advance(&mut self, eof: Eof, out: &mut Vec<u8>) {
        if self.patterns.is_empty() {
            self.redact_values(eof, out);
            return;
        }
        let mut lines = std::mem::take(&mut self.lines);
        self.redact_values(eof, &mut lines);
        if self.overlong {
            let end = lines.iter().position(|byte| *byte == b'\n');
            lines.drain(..end.unwrap_or(lines.len()));
            self.overlong = end.is_none();
            if self.overlong {
                return;
            }
        }
        let mut ready = self.ready(&lines, eof);
        if ready > 0 {
            for patterns in &self.patterns {
                self.count += patterns.redact_until(&mut lines, &mut ready);
            }
            out.extend(lines.drain(..ready));
        }
        if self.overlong && !out.ends_with(MARK.as_bytes()) {
            self.count += 1;
            out.extend_from_slice(MARK.as_bytes());
        }
        self.lines = lines;
    }

    /// How much of the lines can be redacted by itself.
    fn ready(&mut self, lines: &[u8], eof: Eof) -> usize {
        if eof == Eof::Reached {
            return lines.len();
        }
        // An unfinished match is searched from its start, so not with every piece.
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
            self.patterns
                .iter()
                .flat_map(|patterns| patterns.matches(lines, ready))
                .collect()
        };
        let whole = if ready > 0 {
            whole_until(found(), ready)
        } else {
            0
        };
        let pending = lines.len() - whole;
        if pending > MAX_PENDING {
            (self.overlong, self.wake, self.unbroken) = (true, 0, 0);
            return lines.len();
        }
        self.wake = if whole < ready && pending > OFTEN {
            pending + pending / 16
        } else {
            0
        };
        self.unbroken = if line.is_none() || whole == ready {
            pending
        } else {
            0
        };
        whole
    }

    /// Redacts values and tokens.
    fn redact_values(&mut self, eof: Eof, out: &mut Vec<u8>) {
        let text = std::mem::take(&mut self.buffer);
        if self.matcher.has_values {
            self.decoder.feed(&text, eof);
            self.joined.feed(&text, eof);
        }
        if let Some(rest) = self.within {
            self.next = self.swallow(rest, &text, self.next, eof);
        }
        let hold = self.hold(&text, eof);
        let look = if self.within.is_some() {
            hold
        } else {
            self.take_until(hold, &text, eof, out)
        };
        // Bytes that seem to continue the token may turn out to be something else.
        self.look = if self.within.is_some() {
            look.min(self.next)
        } else {
            look
        };
        let gone = self.next.min(self.look).saturating_sub(CONTEXT);
        self.buffer = text;
        self.buffer.drain(..gone);
        self.decoder.forget(gone);
        self.joined.forget(gone);
        self.next -= gone;
        self.look -= gone;
    }

    /// Redacts what begins before `hold`, and returns where to search next.
    fn take_until(&mut self, mut hold: usize, text: &[u8], eof: Eof, out: &mut Vec<u8>) -> usize {
        let matcher = self.matcher.clone();
        let mut read: Vec<Range<usize>> = matcher
            .find_decoded(&self.decoder)
            .chain(matcher.find_decoded(&self.joined))
            .collect();
        read.sort_by_key(|found| found.start);
        let mut read = read.into_iter().peekable();
        let (mut done, mut at) = (self.next, self.look);
        let mut search = matcher.search(text);
        let mut written = search.find(at);
        while self.within.is_none() {
            if written.as_ref().is_some_and(|hit| hit.start < at) {
                written = search.find(at);
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
                .map(|shape| shape.judge(text, hit.start, hit.end - hit.start, eof))
            {
                // A token inside a token is part of it.
                Some(_) if hit.start < done => continue,
                Some(Verdict::NoToken) => continue,
                Some(Verdict::Undecided) => {
                    hold = hit.start;
                    break;
                }
                Some(Verdict::Open(rest)) => {
                    self.swallow(rest, text, rest.header().unwrap_or(hit.end), eof)
                }
                Some(Verdict::Token(end)) => end,
                None => hit.end,
            };
            if end <= done {
                continue;
            }
            // What overlaps a secret that was just replaced goes with it.
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

    /// Follows a token from `from`, and returns how far it goes in the text so far.
    fn swallow(&mut self, rest: OpenToken, text: &[u8], from: usize, eof: Eof) -> usize {
        let (swallowed, rest) = rest.swallow(text, from, eof);
        match swallowed {
            TokenEnd::At(end) => {
                self.within = None;
                end
            }
            TokenEnd::Beyond(end) => {
                self.within = Some(rest);
                end
            }
        }
    }

    /// How far the text can be judged. What follows may be the start of a secret.
    fn hold(&self, text: &[u8], eof: Eof) -> usize {
        if eof == Eof::Reached {
            return text.len();
        }
        let written = self.look + self.matcher.partial_start(&text[self.look..]);
        // The decoded text before an unfinished escape may be the start of a value even if the
        // original is not.
        let read = if self.matcher.has_values {
            let joined = self.matcher.partial_decoded(&self.joined);
            joined.min(self.matcher.partial_decoded(&self.decoder))
        } else {
            written
        };
        written.min(read).max(self.look)
    }
}
