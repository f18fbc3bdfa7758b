//! Finding what a path of the command leads to.

use super::request::{HERE, Notification, Way};
use super::text::{LONGEST, Text};
use super::{EACCES, EFAULT, ENAMETOOLONG, ENOENT, Failure, Supervisor, Umask, checked, close};
use super::rules;
use crate::layout::NameRules;
use crate::sys::{self, number};

/// An open folder, and where in [`Supervisor::path`] the name in it starts and ends.
pub(super) struct Place {
    pub(super) folder: i32,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        close(self.folder);
    }
}

/// What has a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    Link,
    Other,
    Nothing,
}

/// Resolve no links of `/proc`: they would lead to what this process has open.
const NO_MAGIC_LINKS: u64 = 2;

impl Supervisor {
    /// Opens the folder of a path, and finds its real path.
    pub(super) fn find(&mut self, of: &Notification, way: Way) -> Result<Place, Failure> {
        read_text(of.thread, way.path, &mut self.path, &mut self.scratch)?;
        let base = self.base(of, way.folder)?;
        let place = self.split(base);
        close(base);
        place
    }

    /// The folder that a path starts from: any, if it is absolute.
    pub(super) fn base(&mut self, of: &Notification, folder: i32) -> Result<i32, Failure> {
        let text = &mut self.scratch;
        text.set(&[b"/proc/"])?;
        text.push_number(of.thread)?;
        match self.path.bytes().first() {
            None => return Err(ENOENT),
            Some(b'/') => text.set(&[b"/"])?,
            Some(_) if folder == HERE => text.push(b"/cwd")?,
            Some(_) if folder < 0 => return Err(super::EBADF),
            Some(_) => {
                text.push(b"/fd/")?;
                text.push_number(folder as u32)?;
            }
        }
        // This is a link of `/proc` to where that process is, and nothing it can choose the text of.
        let args = [HERE as u64, text.address(), PATH_ONLY];
        // SAFETY: the path ends with null.
        checked(unsafe { sys::call(number::OPENAT, args) })
    }

    /// Opens the folder of [`Supervisor::path`], which starts from `base`.
    pub(super) fn split(&mut self, base: i32) -> Result<Place, Failure> {
        let (start, end) = self.path.last();
        let folder = if start == 0 {
            // SAFETY: takes no pointers.
            unsafe { sys::call(number::FCNTL, [base as u64, DUPLICATE]) }
        } else {
            self.scratch.set(&[&self.path.bytes()[..start]])?;
            let flags = PATH_ONLY | super::open::flag::FOLDER;
            open_at(base, self.scratch.address(), flags, 0)
        };
        let place = Place {
            folder: checked(folder)?,
            start,
            end,
        };
        self.scratch.set(&[b"/proc/self/fd/"])?;
        self.scratch.push_number(place.folder as u32)?;
        read_link(HERE, self.scratch.address(), &mut self.real)?;
        if self.is_own(self.real.bytes()) {
            return Err(EACCES);
        }
        self.base = rules::base_of(&self.rules, self.real.bytes());
        if self.base.is_none() {
            self.base = self.moved_base()?;
        }
        Ok(place)
    }

    /// How much of [`Supervisor::real`] leads to a place that was moved since the command started.
    fn moved_base(&mut self) -> Result<Option<usize>, Failure> {
        for (at, root) in rules::texts(&self.rules.roots).enumerate() {
            let Some(&open) = self.roots.get(at).filter(|open| **open >= 0) else {
                return Err(EACCES);
            };
            self.scratch.set(&[b"/proc/self/fd/"])?;
            self.scratch.push_number(open as u32)?;
            read_link(HERE, self.scratch.address(), &mut self.other_root)?;
            let now = self.other_root.bytes();
            if now != root && rules::is_within(self.real.bytes(), now) {
                return Ok(Some(now.len()));
            }
        }
        Ok(None)
    }

    /// Whether a path is this process's own in `/proc`: the command has no rights there.
    fn is_own(&self, path: &[u8]) -> bool {
        path.strip_prefix(b"/proc/")
            .and_then(super::text::number)
            .is_some_and(|(process, _)| process == self.own)
    }

    /// The name of a place, as the kernel takes it.
    pub(super) fn name(&self, place: &Place) -> u64 {
        self.path.address_from(place.start)
    }

    /// The name of a place, without slashes at its end.
    pub(super) fn name_bytes(&self, place: &Place) -> &[u8] {
        self.path.bytes().get(place.start..place.end).unwrap_or_default()
    }

    /// What has a name now.
    pub(super) fn kind(&self, place: &Place) -> Kind {
        kind_of(place.folder, self.name(place))
    }

    /// The umask of a thread. It is read again after any umask changed.
    pub(super) fn umask(&mut self, thread: u32) -> Result<u64, Failure> {
        let at = thread as usize % self.umasks.len();
        let known = self.umasks[at];
        if known.thread == thread && known.change == self.changes {
            return Ok(known.mask.into());
        }
        self.scratch.set(&[b"/proc/"])?;
        self.scratch.push_number(thread)?;
        self.scratch.push(b"/status")?;
        let args = [HERE as u64, self.scratch.address(), super::open::flag::CLOSE_ON_EXEC];
        // SAFETY: the path ends with null.
        let file = checked(unsafe { sys::call(number::OPENAT, args) })?;
        let mut head = [0_u8; 256];
        let args = [file as u64, &raw mut head as u64, head.len() as u64, 0];
        // SAFETY: the buffer has the given length.
        let count = unsafe { sys::call(number::PREAD64, args) };
        close(file);
        let head = &head[..count.max(0) as usize];
        let word = b"Umask:\t";
        let start = head
            .windows(word.len())
            .position(|found| found == word)
            .ok_or(EFAULT)?;
        let digits = head[start + word.len()..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        let mask = digits.fold(0, |mask, digit| mask * 8 + u32::from(digit - b'0'));
        self.umasks[at] = Umask {
            thread,
            change: self.changes,
            mask,
        };
        Ok(mask.into())
    }
}

/// Opens the places that may be written.
pub(super) fn open_roots(rules: &NameRules) -> [i32; super::MOST_ROOTS] {
    let mut roots = [-1; super::MOST_ROOTS];
    for (root, text) in roots.iter_mut().zip(rules::texts(&rules.roots)) {
        // The texts of a block end with null.
        let args = [HERE as u64, text.as_ptr() as u64, PATH_ONLY];
        // SAFETY: the path ends with null.
        *root = unsafe { sys::call(number::OPENAT, args) } as i32;
    }
    roots
}

const PATH_ONLY: u64 = super::open::flag::PATH | super::open::flag::CLOSE_ON_EXEC;
const DUPLICATE: u64 = 1030;

/// Copies a path out of the memory of a thread.
pub(super) fn read_text(
    thread: u32,
    address: u64,
    into: &mut Text,
    scratch: &mut Text,
) -> Result<(), Failure> {
    scratch.set(&[b"/proc/"])?;
    scratch.push_number(thread)?;
    scratch.push(b"/mem")?;
    let args = [HERE as u64, scratch.address(), super::open::flag::CLOSE_ON_EXEC];
    // SAFETY: the path ends with null.
    let memory = checked(unsafe { sys::call(number::OPENAT, args) })?;
    // Most paths are short, and the kernel copies page by page.
    const SHORT: usize = 256;
    let mut filled = 0;
    let mut result = Err(ENAMETOOLONG);
    for end in [SHORT, LONGEST] {
        let space = &mut into.space()[filled..end];
        let args = [
            memory as u64,
            space.as_mut_ptr() as u64,
            space.len() as u64,
            address.wrapping_add(filled as u64),
        ];
        // SAFETY: the buffer has the given length.
        let count = unsafe { sys::call(number::PREAD64, args) };
        if count <= 0 {
            result = Err(EFAULT);
            break;
        }
        let read = &space[..count as usize];
        if let Some(length) = read.iter().position(|&byte| byte == 0) {
            result = into.filled(filled + length);
            break;
        }
        filled += count as usize;
        if filled < end {
            result = Err(EFAULT);
            break;
        }
    }
    close(memory);
    result
}

/// The text of a link.
pub(super) fn read_link(folder: i32, path: u64, into: &mut Text) -> Result<(), Failure> {
    let space = into.space();
    let args = [folder as u64, path, space.as_mut_ptr() as u64, space.len() as u64];
    // SAFETY: the path ends with null, and the buffer has the given length.
    let length = checked(unsafe { sys::call(number::READLINKAT, args) })?;
    into.filled(length as usize)
}

/// Opens a path without the links of `/proc`.
pub(super) fn open_at(folder: i32, path: u64, flags: u64, mode: u64) -> i64 {
    let how = [flags, mode, NO_MAGIC_LINKS];
    let args = [folder as u64, path, &raw const how as u64, 24];
    // SAFETY: the path ends with null, and the struct has the given length.
    unsafe { sys::call(number::OPENAT2, args) }
}

pub(super) fn kind_of(folder: i32, path: u64) -> Kind {
    /// As long as `struct stat` on every architecture.
    const WORDS: usize = 18;
    const NO_FOLLOW: u64 = 0x100;
    let mut facts = [0_u64; WORDS];
    let args = [folder as u64, path, &raw mut facts as u64, NO_FOLLOW];
    // SAFETY: the path ends with null, and the buffer is long enough.
    if unsafe { sys::call(number::NEWFSTATAT, args) } < 0 {
        return Kind::Nothing;
    }
    #[cfg(target_arch = "x86_64")]
    let mode = facts[3] as u32;
    #[cfg(target_arch = "aarch64")]
    let mode = facts[2] as u32;
    match mode & 0o170_000 {
        0o040_000 => Kind::Folder,
        0o120_000 => Kind::Link,
        _ => Kind::Other,
    }
}
