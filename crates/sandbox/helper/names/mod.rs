//! Carries out every call of the command that makes or removes a name, or opens a file for writing.
//!
//! The kernel hands such a call over and waits for the answer. This process copies the paths, opens
//! the folders, judges the real path of what it opened ([`rules`]), and makes the call itself. It
//! never lets the kernel go on with a path that it judged: another thread could change the text
//! after the look. All calls come here one after another, so no other change of the command comes
//! between a look and its call. What only a file's content tells, it asks the harness ([`ask`]).
//!
//! This process has the rights of the command: its user, its mounts, its Landlock rules.

mod ask;
mod change;
mod open;
mod place;
mod request;
mod rules;
mod text;

use super::layout::NameRules;
use super::sys::{self, number};
use request::{Notification, Request};
use text::Text;

/// A negative error number, as the kernel gives it.
type Failure = i64;

const ENOENT: Failure = -2;
const EINTR: Failure = -4;
const EIO: Failure = -5;
const ENXIO: Failure = -6;
const EBADF: Failure = -9;
const EACCES: Failure = -13;
const EFAULT: Failure = -14;
const EINVAL: Failure = -22;
const ENAMETOOLONG: Failure = -36;
const ENOSYS: Failure = -38;
const ELOOP: Failure = -40;

/// Opens that wait for the other end of a named pipe.
const MOST_WAITING: usize = 32;
/// How often such an open is tried again, in nanoseconds.
const AGAIN: u64 = 5_000_000;
/// Places that may be written; the harness gives no more.
const MOST_ROOTS: usize = 256;
/// Threads whose umask is remembered.
const MOST_UMASKS: usize = 64;

/// What `ioctl` does with a listener.
const RECEIVE: u64 = 0xc050_2100;
const SEND: u64 = 0xc018_2101;
const IS_VALID: u64 = 0x4008_2102;
const GIVE: u64 = 0x4018_2103;
const SET_FLAGS: u64 = 0x4008_2104;

/// The supervisor of one command.
pub(crate) struct Supervisor {
    listener: i32,
    rules: NameRules,
    /// The number of this process.
    own: u32,
    /// The process that is the command, for signals that arrive meanwhile.
    command: i64,
    /// Calls whose answer waits for something.
    waiting: [Notification; MOST_WAITING],
    waiting_count: usize,
    /// How often any umask changed, and the umasks of threads as they were after a change.
    changes: u32,
    umasks: [Umask; MOST_UMASKS],
    /// The path that is being judged, and a second one.
    path: Text,
    other: Text,
    /// The real paths of the folders they lead to.
    real: Text,
    real_other: Text,
    /// How much of the first leads to the place it is in.
    base: Option<usize>,
    /// The places of the rules, open: a person may move them while the command runs.
    roots: [i32; MOST_ROOTS],
    other_root: Text,
    scratch: Text,
}

#[derive(Clone, Copy, Default)]
struct Umask {
    thread: u32,
    change: u32,
    mask: u32,
}

/// How a call is answered.
enum Answer {
    /// With what it returns.
    Value(i64),
    /// With a descriptor, which the flags of its opening say more about.
    Descriptor(i32, u64),
    /// The kernel makes it: it has no path.
    Continue,
    /// Not yet.
    Later,
}

impl Supervisor {
    pub(crate) fn new(listener: i32, rules: NameRules, command: i64) -> Self {
        const SYNCHRONOUS: u64 = 1;
        // SAFETY: none takes pointers. Older kernels do not know the flag, and are slower.
        let own = unsafe {
            sys::call(number::UMASK, [0]);
            sys::call(number::IOCTL, [listener as u64, SET_FLAGS, SYNCHRONOUS]);
            sys::call(number::GETPID, [])
        };
        Self {
            listener,
            rules,
            own: own as u32,
            command,
            waiting: [Notification::default(); MOST_WAITING],
            waiting_count: 0,
            changes: 1,
            umasks: [Umask::default(); MOST_UMASKS],
            path: Text::new(),
            other: Text::new(),
            real: Text::new(),
            real_other: Text::new(),
            base: None,
            roots: place::open_roots(&rules),
            other_root: Text::new(),
            scratch: Text::new(),
        }
    }

    pub(crate) fn listener(&self) -> i32 {
        self.listener
    }

    /// How long to wait, in nanoseconds, before trying again what waits.
    pub(crate) fn patience(&self) -> u64 {
        if self.waiting_count == 0 {
            u64::MAX
        } else {
            AGAIN
        }
    }

    /// Answers one call.
    pub(crate) fn serve(&mut self) {
        let mut notification = Notification::default();
        // SAFETY: the kernel fills a struct of this size, which must be zero before.
        let code = unsafe {
            let to = &raw mut notification as u64;
            sys::call(number::IOCTL, [self.listener as u64, RECEIVE, to])
        };
        if code >= 0 {
            self.answer(notification);
        }
    }

    /// Tries again what waits.
    pub(crate) fn retry(&mut self) {
        let (waiting, count) = (self.waiting, self.waiting_count);
        self.waiting_count = 0;
        for notification in &waiting[..count] {
            if self.is_valid(notification).is_ok() {
                self.answer(*notification);
            }
        }
    }

    fn answer(&mut self, notification: Notification) {
        let request = Request::of(notification.call, notification.args);
        let answer = self.carry_out(&notification, request);
        match answer.unwrap_or_else(Answer::Value) {
            Answer::Value(value) => self.send(&notification, value, 0),
            Answer::Continue => self.send(&notification, 0, 1),
            Answer::Descriptor(file, flags) => {
                self.give(&notification, file, flags);
                close(file);
            }
            Answer::Later if self.waiting_count < MOST_WAITING => {
                self.waiting[self.waiting_count] = notification;
                self.waiting_count += 1;
            }
            Answer::Later => self.send(&notification, EINTR, 0),
        }
    }

    fn carry_out(&mut self, of: &Notification, request: Request) -> Result<Answer, Failure> {
        match request {
            Request::Open { way, flags, mode } => self.open(of, way, flags, mode),
            Request::Truncate { way, length } => self.truncate(of, way, length),
            Request::Folder { way, mode } => self.make_folder(of, way, mode),
            Request::Node { way, mode, device } => self.make_node(of, way, mode, device),
            Request::Symlink { target, way } => self.symlink(of, target, way),
            Request::Link { from, to, flags } => self.hard_link(of, from, to, flags),
            Request::Rename { from, to, flags } => self.rename(of, from, to, flags),
            Request::Remove { way, flags } => self.remove(of, way, flags),
            Request::Umask => {
                self.changes = self.changes.wrapping_add(1);
                Ok(Answer::Continue)
            }
            Request::Unknown => Err(ENOSYS),
        }
    }

    /// Makes a call for the command, if it still waits for it.
    fn make<const N: usize>(
        &self,
        of: &Notification,
        call: u32,
        args: [u64; N],
    ) -> Result<Answer, Failure> {
        self.is_valid(of)?;
        // SAFETY: the texts among the arguments belong to this process, and end with null.
        Ok(Answer::Value(unsafe { sys::call(call, args) }))
    }

    /// Whether the thread of a call is still the one that made it, and waits.
    fn is_valid(&self, of: &Notification) -> Result<(), Failure> {
        // SAFETY: the kernel reads one number.
        let code = unsafe {
            let id = &raw const of.id as u64;
            sys::call(number::IOCTL, [self.listener as u64, IS_VALID, id])
        };
        if code < 0 { Err(EINTR) } else { Ok(()) }
    }

    fn send(&self, of: &Notification, value: i64, flags: u32) {
        #[repr(C)]
        struct Response {
            id: u64,
            value: i64,
            error: i32,
            flags: u32,
        }
        let response = Response {
            id: of.id,
            value: value.max(0),
            error: value.min(0) as i32,
            flags,
        };
        // SAFETY: the kernel reads a struct of this size. A thread that is gone needs no answer.
        unsafe {
            let response = &raw const response as u64;
            sys::call(number::IOCTL, [self.listener as u64, SEND, response])
        };
    }

    /// Gives the command a descriptor as the result of its call.
    fn give(&self, of: &Notification, file: i32, flags: u64) {
        #[repr(C)]
        struct Gift {
            id: u64,
            flags: u32,
            file: u32,
            number: u32,
            number_flags: u32,
        }
        const AS_RESULT: u32 = 2;
        let gift = |flags_of_gift| Gift {
            id: of.id,
            flags: flags_of_gift,
            file: file as u32,
            number: 0,
            number_flags: (flags & open::flag::CLOSE_ON_EXEC) as u32,
        };
        // SAFETY: the kernel reads a struct of this size.
        let give = |gift: Gift| unsafe {
            let gift = &raw const gift as u64;
            sys::call(number::IOCTL, [self.listener as u64, GIVE, gift])
        };
        let mut number = give(gift(AS_RESULT));
        if number == EINVAL {
            // A kernel that cannot do both at once.
            number = give(gift(0));
            self.send(of, number, 0);
        } else if number < 0 && number != ENOENT {
            self.send(of, number, 0);
        }
    }
}

/// A result of the kernel that is not a failure.
fn checked(result: i64) -> Result<i32, Failure> {
    if result < 0 {
        Err(result)
    } else {
        Ok(result as i32)
    }
}

fn close(file: i32) {
    if file >= 0 {
        super::close(file, file);
    }
}
