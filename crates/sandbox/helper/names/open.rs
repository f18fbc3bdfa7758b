//! Opening files for writing.

use super::place::{Place, open_at, read_link, read_text};
use super::request::{HERE, Notification, Way};
use super::rules::Deed;
use super::{Answer, EINVAL, ELOOP, ENXIO, Failure, Supervisor, checked, close, text};
use crate::sys::{self, number};

/// Flags of `open`.
pub(super) mod flag {
    pub(crate) const WRITE_ONLY: u64 = 1;
    pub(crate) const CREATE: u64 = 0o100;
    pub(crate) const TRUNCATE: u64 = 0o1000;
    pub(crate) const NO_WAIT: u64 = 0o4000;
    pub(crate) const CLOSE_ON_EXEC: u64 = 0o2_000_000;
    pub(crate) const PATH: u64 = 0o10_000_000;
    /// An unnamed file, without the flag for folders that goes with it.
    pub(crate) const UNNAMED: u64 = 0o20_000_000;
    #[cfg(target_arch = "x86_64")]
    pub(crate) const FOLDER: u64 = 0o200_000;
    #[cfg(target_arch = "x86_64")]
    pub(crate) const NO_LINK: u64 = 0o400_000;
    #[cfg(target_arch = "aarch64")]
    pub(crate) const FOLDER: u64 = 0o40_000;
    #[cfg(target_arch = "aarch64")]
    pub(crate) const NO_LINK: u64 = 0o100_000;
    /// All that `openat2` takes; `open` ignores the others.
    pub(crate) const KNOWN: u64 = 0o37_777_703;
}

const MOST_LINKS: usize = 40;

impl Supervisor {
    pub(super) fn open(
        &mut self,
        of: &Notification,
        way: Way,
        flags: u64,
        mode: u64,
    ) -> Result<Answer, Failure> {
        let flags = flags & flag::KNOWN;
        let makes = flags & (flag::CREATE | flag::UNNAMED) != 0;
        let mode = if makes {
            mode & 0o1777 & !self.umask(of.thread)?
        } else {
            0
        };
        read_text(of.thread, way.path, &mut self.path, &mut self.scratch)?;
        let mut base = self.base(of, way.folder)?;
        for _ in 0..MOST_LINKS {
            let step = self.open_step(of, base, flags, mode);
            close(base);
            match step? {
                Step::Opened(file) => return Ok(Answer::Descriptor(file, flags)),
                Step::Later => return Ok(Answer::Later),
                Step::Link(folder) => base = folder,
            }
        }
        close(base);
        Err(ELOOP)
    }

    /// Opens [`Supervisor::path`], or finds that it is a link.
    fn open_step(
        &mut self,
        of: &Notification,
        base: i32,
        flags: u64,
        mode: u64,
    ) -> Result<Step, Failure> {
        if let Some(file) = self.open_stream(of, flags)? {
            return Ok(Step::Opened(file));
        }
        if flags & (flag::UNNAMED | flag::PATH) != 0 {
            // It makes no name, or opens no file.
            let file = open_at(base, self.path.address(), flags | flag::CLOSE_ON_EXEC, mode);
            return checked(file).map(Step::Opened);
        }
        let place = self.split(base)?;
        let pointer = self.check(&place, Deed::Write)?;
        self.is_valid(of)?;
        // A named pipe without a reader must not hold this process up.
        let own = flags | flag::NO_LINK | flag::NO_WAIT | flag::CLOSE_ON_EXEC;
        match open_at(place.folder, self.name(&place), own, mode) {
            ELOOP if flags & flag::NO_LINK == 0 => self.follow(place).map(Step::Link),
            ENXIO if flags & flag::NO_WAIT == 0 => Ok(Step::Later),
            file => {
                let file = checked(file)?;
                wait_again(file, flags);
                if pointer && let Err(failure) = self.tell_pointer(&place) {
                    close(file);
                    return Err(failure);
                }
                Ok(Step::Opened(file))
            }
        }
    }

    /// Continues with the target of a link; returns the folder it starts from.
    fn follow(&mut self, mut place: Place) -> Result<i32, Failure> {
        let name = self.path.address_from(place.start);
        read_link(place.folder, name, &mut self.scratch)?;
        self.path.swap(&mut self.scratch);
        Ok(core::mem::replace(&mut place.folder, -1))
    }

    /// What paths of `/proc` and `/dev` mean in the command's own process, and not here. Its
    /// streams are opened; other paths are rewritten.
    fn open_stream(&mut self, of: &Notification, flags: u64) -> Result<Option<i32>, Failure> {
        let path = self.path.bytes();
        let stream = match path {
            b"/dev/stdin" => Some(0),
            b"/dev/stdout" => Some(1),
            b"/dev/stderr" => Some(2),
            _ => stream_number(path),
        };
        let own = || {
            let prefixes = [&b"/proc/self/"[..], b"/proc/thread-self/"];
            prefixes.iter().find_map(|own| path.strip_prefix(*own))
        };
        let rest = if stream.is_none() { own() } else { None };
        if stream.is_none() && rest.is_none() {
            return Ok(None);
        }
        self.scratch.set(&[b"/proc/"])?;
        self.scratch.push_number(of.thread)?;
        if let Some(rest) = rest {
            self.scratch.push(b"/")?;
            self.scratch.push(rest)?;
            self.path.swap(&mut self.scratch);
            return Ok(None);
        }
        self.scratch.push(b"/fd/")?;
        self.scratch.push_number(stream.unwrap_or(0))?;
        let kept = flags & !(flag::CREATE | flag::NO_LINK | flag::UNNAMED);
        let own = kept | flag::NO_WAIT | flag::CLOSE_ON_EXEC;
        let args = [HERE as u64, self.scratch.address(), own];
        // SAFETY: the path ends with null.
        let file = checked(unsafe { sys::call(number::OPENAT, args) })?;
        wait_again(file, flags);
        Ok(Some(file))
    }

    pub(super) fn truncate(
        &mut self,
        of: &Notification,
        way: Way,
        length: u64,
    ) -> Result<Answer, Failure> {
        let Answer::Descriptor(file, _) = self.open(of, way, flag::WRITE_ONLY, 0)? else {
            return Err(EINVAL);
        };
        // SAFETY: takes no pointers.
        let code = unsafe { sys::call(number::FTRUNCATE, [file as u64, length]) };
        close(file);
        Ok(Answer::Value(code))
    }
}

/// The descriptor that a path names in the process that opens it.
pub(super) fn stream_number(path: &[u8]) -> Option<u32> {
    let prefixes = [&b"/dev/fd/"[..], b"/proc/self/fd/", b"/proc/thread-self/fd/"];
    prefixes
        .iter()
        .find_map(|prefix| path.strip_prefix(*prefix))
        .and_then(text::number)
        .filter(|(_, rest)| rest.is_empty())
        .map(|(number, _)| number)
}

/// Lets reads and writes of a file wait, unless the command wants otherwise.
fn wait_again(file: i32, flags: u64) {
    const SET_FLAGS: u64 = 4;
    if flags & flag::NO_WAIT == 0 {
        // SAFETY: takes no pointers.
        unsafe { sys::call(number::FCNTL, [file as u64, SET_FLAGS, flags]) };
    }
}

/// What opening a path came to.
enum Step {
    Opened(i32),
    /// It is a link, and its target starts from this folder.
    Link(i32),
    /// It is a named pipe without a reader.
    Later,
}
