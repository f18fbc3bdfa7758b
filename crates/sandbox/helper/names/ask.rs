//! What the supervisor asks the harness, and tells it.

use super::place::{Kind, Place, kind_of, open_at};
use super::rules::{self, Deed, Verdict, is_same, judge};
use super::{EACCES, EINTR, EIO, ENOENT, Failure, Supervisor, checked, close, open::flag};
use crate::layout::{
    ANSWER_ALLOWED, ASK_CONFIGURATION, ASK_FOLDER, ASK_POINTER, CONTROL, TELL_REFUSED,
};
use crate::sys::{self, number};
use crate::message::{Passed, receive_message};

impl Supervisor {
    /// Refuses a deed on a name, or makes sure that it is harmless; returns whether the file leads
    /// Git somewhere once it is written.
    pub(super) fn check(&mut self, place: &Place, deed: Deed) -> Result<bool, Failure> {
        let name = self.name_bytes(place);
        if matches!(name, b"" | b"." | b"..") {
            // The kernel refuses to make, remove and rename these.
            return Ok(false);
        }
        match judge(&self.rules, self.base, self.real.bytes(), name, deed) {
            Verdict::Allowed => self.check_repository(place, deed).map(|()| false),
            Verdict::Pointer => Ok(true),
            Verdict::Refused | Verdict::Configuration => Err(self.refuse(place)),
        }
    }

    /// A folder with certain names in it is a repository, whatever it is called. When the last of
    /// them is made, its configuration must be harmless; later it changes only through Git.
    fn check_repository(&mut self, place: &Place, deed: Deed) -> Result<(), Failure> {
        // In Git's own folders, the names alone decide.
        let is_gits = self.base.is_none() || rules::is_in_git(self.real.bytes());
        if is_gits {
            return Ok(());
        }
        let name = self.name_bytes(place);
        let is_hook = self.real.bytes().ends_with(b"/hooks") && !name.ends_with(b".sample");
        let moves_hooks =
            is_same(name, "hooks") && !matches!(deed, Deed::Folder | Deed::Remove);
        if is_hook && is_repository(place.folder, b"", Above::Yes)
            || moves_hooks && is_repository(place.folder, b"", Above::No)
        {
            return Err(self.refuse(place));
        }
        if matches!(deed, Deed::Remove | Deed::Leave) {
            return Ok(());
        }
        if !rules::is_of_repository(name) || !is_repository(place.folder, name, Above::No) {
            return Ok(());
        }
        let is_closed = is_same(name, "config") || is_same(name, "commondir");
        let leads_on = kind_of(place.folder, c"commondir".as_ptr() as u64) != Kind::Nothing;
        if is_closed || leads_on {
            return Err(self.refuse(place));
        }
        let flags = flag::NO_LINK | flag::NO_WAIT | flag::CLOSE_ON_EXEC;
        let configuration = c"config".as_ptr() as u64;
        let file = match checked(open_at(place.folder, configuration, flags, 0)) {
            Ok(file) => file,
            // It is judged when it is made.
            Err(ENOENT) => return Ok(()),
            Err(_) => return Err(self.refuse(place)),
        };
        let asked = self.ask(ASK_CONFIGURATION, b"config", Some(file));
        close(file);
        match asked {
            Ok(copy) => {
                close(copy);
                Ok(())
            }
            Err(_) => Err(self.refuse(place)),
        }
    }

    /// Whether a file is the configuration of a repository once it has this name.
    pub(super) fn is_configuration(&self, place: &Place) -> bool {
        self.base.is_some()
            && is_same(self.name_bytes(place), "config")
            && is_repository(place.folder, b"config", Above::No)
    }

    /// Has the harness watch a file that leads Git somewhere, before the command can write it.
    pub(super) fn tell_pointer(&mut self, place: &Place) -> Result<(), Failure> {
        let flags = flag::NO_LINK | flag::NO_WAIT | flag::CLOSE_ON_EXEC;
        let reading = checked(open_at(place.folder, self.name(place), flags, 0))?;
        let (start, end) = (place.start, place.end);
        self.scratch
            .set(&[self.real.bytes(), b"/", &self.path.bytes()[start..end]])?;
        let told = self.ask_about(ASK_POINTER, Some(reading));
        close(reading);
        told.map(close)
    }

    /// Refuses to move a folder that has something protected in it: its name would be free for
    /// something else.
    pub(super) fn check_content(&mut self, place: &Place) -> Result<(), Failure> {
        if self.base.is_none() {
            return Ok(());
        }
        let (start, end) = (place.start, place.end);
        self.scratch
            .set(&[self.real.bytes(), b"/", &self.path.bytes()[start..end]])?;
        match self.ask_about(ASK_FOLDER, None) {
            Ok(_) => Ok(()),
            Err(_) => Err(self.refuse(place)),
        }
    }

    /// Asks whether a file may become the configuration with this name in the folder that was
    /// judged last; returns a copy of what was read.
    pub(super) fn ask(&mut self, kind: u8, name: &[u8], file: Option<i32>) -> Result<i32, Failure> {
        self.scratch.set(&[self.real.bytes(), b"/", name])?;
        self.ask_about(kind, file)
    }

    /// Asks about [`Supervisor::scratch`], and waits for the answer. It is never positive when the
    /// harness is gone.
    fn ask_about(&mut self, kind: u8, file: Option<i32>) -> Result<i32, Failure> {
        self.tell(kind, file)?;
        let mut passed: Passed = [0; crate::layout::MOST_PASSED];
        loop {
            let mut words = [0_u8; 8];
            let (count, descriptors) = receive_message(CONTROL, &mut words, &mut passed).ok_or(EACCES)?;
            match count {
                4 => {
                    let signal = u32::from_ne_bytes([words[0], words[1], words[2], words[3]]);
                    // SAFETY: takes no pointers.
                    unsafe { sys::call(number::KILL, [self.command as u64, signal.into()]) };
                }
                1 if words[0] == ANSWER_ALLOWED => {
                    return Ok(if descriptors > 0 { passed[0] } else { -1 });
                }
                _ => return Err(EACCES),
            }
        }
    }

    /// Reports a refusal, so that the harness can explain it; returns the error for the command.
    pub(super) fn refuse(&mut self, place: &Place) -> Failure {
        let (start, end) = (place.start, place.end);
        let name = self.path.bytes().get(start..end).unwrap_or_default();
        if self.scratch.set(&[self.real.bytes(), b"/", name]).is_ok() {
            let _ = self.tell(TELL_REFUSED, None);
        }
        EACCES
    }

    fn tell(&self, kind: u8, file: Option<i32>) -> Result<(), Failure> {
        const SOCKET_RIGHTS: u64 = 1 | 1 << 32;
        const WITH_ONE: u64 = 20;
        // A refusal is only explained: nobody waits for a harness that reads slowly.
        const DO_NOT_WAIT: u64 = 0x40;
        const NO_SIGNAL: u64 = 0x4000;
        let text = self.scratch.bytes();
        let parts = [
            [&raw const kind as u64, 1],
            [text.as_ptr() as u64, text.len() as u64],
        ];
        let rights = [WITH_ONE, SOCKET_RIGHTS, file.unwrap_or(0) as u64];
        let (control, length) = match file {
            Some(_) => (rights.as_ptr() as u64, 24),
            None => (0, 0),
        };
        let message = [0, 0, parts.as_ptr() as u64, 2, control, length, 0];
        let wait = if kind == TELL_REFUSED { DO_NOT_WAIT } else { 0 };
        loop {
            let args = [CONTROL as u64, message.as_ptr() as u64, NO_SIGNAL | wait];
            // SAFETY: the message points to texts and a descriptor with their lengths.
            let sent = unsafe { sys::call(number::SENDMSG, args) };
            match sent {
                EINTR => {}
                sent if sent < 0 => return Err(EIO),
                _ => return Ok(()),
            }
        }
    }
}

/// Whether the folder around another is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Above {
    Yes,
    No,
}

/// Whether a folder is a repository once it has this name.
fn is_repository(folder: i32, name: &[u8], above: Above) -> bool {
    let has = |wanted: &str| {
        let mut path = [0_u8; 16];
        let start = if above == Above::Yes { 3 } else { 0 };
        path[..start].copy_from_slice(&b"../"[..start]);
        path[start..start + wanted.len()].copy_from_slice(wanted.as_bytes());
        is_same(name, rules::without_null(wanted))
            || kind_of(folder, path.as_ptr() as u64) != Kind::Nothing
    };
    let [head, objects, refs, common] = rules::REPOSITORY;
    has(head) && (has(objects) && has(refs) || has(common))
}
