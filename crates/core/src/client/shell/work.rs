//! How much of a command is examined. What lies beyond is unknown, and unknown is not harmless.

use std::cell::Cell;

/// The longest command that is read. Linux passes no longer argument to a program, so a client
/// cannot give its shell more; four times as much is room for the quotes around a list of words.
const MAX_TEXT: usize = 512 << 10;
/// What all steps of one reading may cost, in bytes read or made.
const MAX_WORK: usize = 64 << 20;
/// What a word or a program costs beyond its text.
pub(in super::super) const STEP: usize = 64;
/// What it costs to see where a path leads.
pub(in super::super) const LOOK: usize = 256;
/// What it costs to read one entry of a folder.
pub(in super::super) const ENTRY: usize = 8;

/// What is left for the reading of one command.
#[derive(Debug)]
pub(in super::super) struct Work {
    left: Cell<usize>,
    excess: Cell<Option<&'static str>>,
}

impl Work {
    /// For a command of this length.
    pub(in super::super) fn on(text: &str) -> Self {
        let work = Self {
            left: Cell::new(MAX_WORK),
            excess: Cell::new(None),
        };
        if text.len() > MAX_TEXT {
            work.give_up("it is longer than 512 KiB");
        }
        work
    }

    /// Pays for a step; false if there is nothing left, and then the step must not be done.
    #[must_use]
    pub(in super::super) fn spend(&self, bytes: usize) -> bool {
        match self.left.get().checked_sub(bytes) {
            Some(left) => self.left.set(left),
            None => self.give_up("its words, variables and braces expand to too much"),
        }
        self.excess.get().is_none()
    }

    /// Ends the reading, because something was not examined.
    pub(in super::super) fn give_up(&self, why: &'static str) {
        self.left.set(0);
        self.excess.set(self.excess.get().or(Some(why)));
    }

    /// Why a part of the command was not examined, if so.
    pub(in super::super) fn excess(&self) -> Option<&'static str> {
        self.excess.get()
    }
}
