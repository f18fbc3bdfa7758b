//! Making, removing and renaming names.

use super::open::{flag, stream_number};
use super::place::{Kind, Place, open_at, read_link, read_text};
use super::request::{FOLDER, HERE, Notification, Way};
use super::rules::{self, Deed, Verdict, judge};
use super::{Answer, EACCES, EINVAL, EIO, Failure, Supervisor, checked, close};
use crate::layout::ASK_CONFIGURATION;
use crate::sys::{self, number};

impl Supervisor {
    pub(super) fn make_folder(
        &mut self,
        of: &Notification,
        way: Way,
        mode: u64,
    ) -> Result<Answer, Failure> {
        let place = self.find(of, way)?;
        self.check(&place, Deed::Folder)?;
        let mode = mode & 0o1777 & !self.umask(of.thread)?;
        let args = [place.folder as u64, self.name(&place), mode];
        self.make(of, number::MKDIRAT, args)
    }

    pub(super) fn make_node(
        &mut self,
        of: &Notification,
        way: Way,
        mode: u64,
        device: u64,
    ) -> Result<Answer, Failure> {
        let place = self.find(of, way)?;
        self.check(&place, Deed::Link)?;
        let mode = mode & 0o171_777 & !self.umask(of.thread)?;
        let args = [place.folder as u64, self.name(&place), mode, device];
        self.make(of, number::MKNODAT, args)
    }

    pub(super) fn remove(
        &mut self,
        of: &Notification,
        way: Way,
        flags: u64,
    ) -> Result<Answer, Failure> {
        let place = self.find(of, way)?;
        self.check(&place, Deed::Remove)?;
        let args = [place.folder as u64, self.name(&place), flags];
        if flags & !FOLDER != 0 {
            return Err(EINVAL);
        }
        self.make(of, number::UNLINKAT, args)
    }

    pub(super) fn symlink(
        &mut self,
        of: &Notification,
        target: u64,
        way: Way,
    ) -> Result<Answer, Failure> {
        let place = self.find(of, way)?;
        read_text(of.thread, target, &mut self.other, &mut self.scratch)?;
        let target = self.other.bytes();
        let is_near = !target.contains(&b'/') && target != b"..";
        self.check(&place, if is_near { Deed::NearLink } else { Deed::Link })?;
        let args = [self.other.address(), place.folder as u64, self.name(&place)];
        self.make(of, number::SYMLINKAT, args)
    }

    pub(super) fn hard_link(
        &mut self,
        of: &Notification,
        from: Way,
        to: Way,
        flags: u64,
    ) -> Result<Answer, Failure> {
        const FOLLOW: u64 = 0x400;
        const EMPTY_PATH: u64 = 0x1000;
        read_text(of.thread, from.path, &mut self.path, &mut self.scratch)?;
        let path = self.path.bytes();
        let unnamed = if path.is_empty() && flags & EMPTY_PATH != 0 {
            Some(from.folder as u32)
        } else {
            stream_number(path).filter(|_| flags & FOLLOW != 0)
        };
        let (source, call_flags) = if let Some(number) = unnamed {
            self.find_open(of, number)?;
            (None, FOLLOW)
        } else if flags == 0 {
            let base = self.base(of, from.folder)?;
            let source = self.split(base);
            close(base);
            let source = source?;
            self.check(&source, Deed::Leave)?;
            self.path.swap(&mut self.other);
            (Some(source), 0)
        } else {
            return Err(EINVAL);
        };
        let place = self.find(of, to)?;
        self.check(&place, Deed::HardLink)?;
        let (folder, start) = match &source {
            Some(source) => (source.folder, source.start),
            None => (HERE, 0),
        };
        let args = [
            folder as u64,
            self.other.address_from(start),
            place.folder as u64,
            self.name(&place),
            call_flags,
        ];
        self.make(of, number::LINKAT, args)
    }

    /// Puts the path in `/proc` of what the command has open into [`Supervisor::other`], unless
    /// that is something it may not change: it may have opened it only to read it.
    fn find_open(&mut self, of: &Notification, number: u32) -> Result<(), Failure> {
        self.other.set(&[b"/proc/"])?;
        self.other.push_number(of.thread)?;
        self.other.push(b"/fd/")?;
        self.other.push_number(number)?;
        read_link(HERE, self.other.address(), &mut self.real)?;
        let (start, end) = self.real.last();
        let real = self.real.bytes();
        let (folder, name) = (&real[..start.saturating_sub(1)], &real[start..end]);
        let base = rules::base_of(&self.rules, folder);
        match judge(&self.rules, base, folder, name, Deed::Leave) {
            Verdict::Allowed => Ok(()),
            _ => Err(EACCES),
        }
    }

    pub(super) fn rename(
        &mut self,
        of: &Notification,
        from: Way,
        to: Way,
        flags: u64,
    ) -> Result<Answer, Failure> {
        const NO_REPLACE: u64 = 1;
        const EXCHANGE: u64 = 2;
        if flags & !(NO_REPLACE | EXCHANGE) != 0 {
            return Err(EINVAL);
        }
        let source = self.find(of, from)?;
        let kind = self.kind(&source);
        self.check(&source, Deed::Leave)?;
        if kind == Kind::Folder {
            self.check_content(&source)?;
        }
        if flags & EXCHANGE != 0 {
            // Whatever has the other name takes this one.
            self.check(&source, Deed::Link)?;
        }
        self.path.swap(&mut self.other);
        self.real.swap(&mut self.real_other);
        let place = self.find(of, to)?;
        if flags & EXCHANGE != 0 {
            self.check(&place, Deed::Leave)?;
            if self.kind(&place) == Kind::Folder {
                self.check_content(&place)?;
            }
        }
        let (real, name) = (self.real.bytes(), self.name_bytes(&place));
        let deed = match kind {
            Kind::Folder => Deed::TakeFolder,
            Kind::Other | Kind::Nothing => Deed::TakeFile,
            Kind::Link => Deed::Link,
        };
        // A folder that comes into Git's brings along what was written in it before.
        let comes = kind == Kind::Folder
            && self.base.is_some()
            && rules::comes_into_git(real, self.real_other.bytes());
        let is_configuration = kind == Kind::Other
            && flags & EXCHANGE == 0
            && (judge(&self.rules, self.base, real, name, deed) == Verdict::Configuration
                || self.is_configuration(&place));
        if comes {
            return Err(self.refuse(&place));
        }
        if is_configuration {
            return self.replace_configuration(of, &source, &place);
        }
        self.check(&place, deed)?;
        let args = [
            source.folder as u64,
            self.other.address_from(source.start),
            place.folder as u64,
            self.name(&place),
            flags,
        ];
        self.make(of, number::RENAMEAT2, args)
    }

    /// Makes a file the configuration of a repository, if the harness finds it harmless. What was
    /// judged becomes a new file: the command may still have the old one open.
    fn replace_configuration(
        &mut self,
        of: &Notification,
        source: &Place,
        place: &Place,
    ) -> Result<Answer, Failure> {
        let from = self.other.address_from(source.start);
        let flags = flag::NO_LINK | flag::NO_WAIT | flag::CLOSE_ON_EXEC;
        let old = checked(open_at(source.folder, from, flags, 0))?;
        let (start, end) = (place.start, place.end);
        let mut name = [0_u8; 16];
        let length = (end - start).min(name.len());
        name[..length].copy_from_slice(&self.path.bytes()[start..start + length]);
        let asked = self.ask(ASK_CONFIGURATION, &name[..length], Some(old));
        close(old);
        let Ok(judged) = asked else {
            return Err(self.refuse(place));
        };
        let made = self.is_valid(of).and_then(|()| {
            // SAFETY: the path ends with null.
            checked(unsafe { sys::call(number::UNLINKAT, [source.folder as u64, from, 0]) })?;
            copy_to(judged, source.folder, from)
        });
        close(judged);
        made?;
        let args = [source.folder as u64, from, place.folder as u64, self.name(place), 0];
        self.make(of, number::RENAMEAT2, args)
    }
}

/// Writes what a descriptor holds to a new file.
fn copy_to(judged: i32, folder: i32, name: u64) -> Result<(), Failure> {
    const MODE: u64 = 0o644;
    const EXCLUSIVE: u64 = 0o200;
    let flags = flag::CREATE | EXCLUSIVE | flag::WRITE_ONLY | flag::CLOSE_ON_EXEC;
    let file = checked(open_at(folder, name, flags, MODE))?;
    let mut bytes = [0_u8; 4096];
    let mut at = 0;
    let result = loop {
        let args = [judged as u64, bytes.as_mut_ptr() as u64, bytes.len() as u64, at];
        // SAFETY: the buffer has the given length.
        let count = unsafe { sys::call(number::PREAD64, args) };
        if count <= 0 {
            break if count == 0 { Ok(()) } else { Err(EIO) };
        }
        let args = [file as u64, bytes.as_ptr() as u64, count as u64];
        // SAFETY: the buffer has at least this length.
        if unsafe { sys::call(number::WRITE, args) } != count {
            break Err(EIO);
        }
        at += count as u64;
    };
    close(file);
    result
}
