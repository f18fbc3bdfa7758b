//! Visiting the files of the workspace with several threads.
//!
//! Every directory and file is opened from the root by its whole path, without links. A directory
//! that is replaced by a link meanwhile opens nothing, and one that is moved away is not followed.

use std::num::NonZero;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use rustix::fs::{AtFlags, Dir, FileType, statat};
use rustix::io::Errno;

use super::Jail;
use super::error::FileError;
use super::first::FirstResults;
use super::ignored::{GITIGNORE, Ignores};
use super::open::{NO_LINKS, READ, READ_DIRECTORY, open_beneath, regular_file};
use super::path::join;
use super::pattern::PathPattern;
use super::protected::GIT_FOLDER;

/// The most entries that one walk looks at.
const ENTRIES: usize = 2_000_000;
/// The most threads of one walk.
const THREADS: usize = 12;
/// How many files of a directory one thread takes at a time.
const BATCH: usize = 64;

/// What a walk leaves out besides `.git`. A folder or file that the pattern names in full is never
/// left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omit {
    /// What `.gitignore` files and `.git/info/exclude` list.
    pub ignored: bool,
    /// Names that begin with a dot.
    pub dotfiles: bool,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkEnd {
    /// It visited everything that was wanted.
    Complete,
    /// The visitor stopped it.
    Stopped,
    /// There were more entries than one walk looks at.
    TooManyEntries,
}

/// Sees the files of a walk, from several threads.
pub trait Visitor: Sync {
    /// What a thread keeps from file to file.
    type Scratch: Default;

    /// Whether to stop. Asked before every file.
    fn is_over(&self) -> bool;

    /// Whether a file may still matter, or anything in a directory, whose path ends with `/`.
    fn wants(&self, path: &str) -> bool;

    /// Sees one file.
    fn visit(&self, scratch: &mut Self::Scratch, file: &WalkedFile<'_>);
}

/// A regular file that was found; not opened yet.
#[derive(Debug)]
pub struct WalkedFile<'a> {
    jail: &'a Jail,
    path: &'a str,
}

impl WalkedFile<'_> {
    /// Its path, relative to the workspace.
    #[must_use]
    pub fn path(&self) -> &str {
        self.path
    }

    /// Reads the file into a buffer that is used again and again, and returns its bytes. `None` if it
    /// has more than `max` bytes, vanished, or is no regular file any more.
    pub fn read<'b>(&self, max: usize, buffer: &'b mut Vec<u8>) -> Option<&'b [u8]> {
        let opened = open_beneath(self.jail.root.as_fd(), self.path, READ, NO_LINKS).ok()?;
        let (file, stat) = regular_file(opened, self.path).ok()?;
        let size = usize::try_from(stat.st_size).ok().filter(|&n| n <= max)?;
        let mut have = 0;
        loop {
            // The size may be out of date, or made up by the system while the file is read.
            let want = if have < size { size } else { have + (8 << 10) };
            if buffer.len() < want {
                buffer.resize(want, 0);
            }
            match rustix::io::read(&file, buffer.get_mut(have..want)?) {
                Err(Errno::INTR) => {}
                Err(_) => return None,
                Ok(0) => break,
                Ok(count) => have += count,
            }
            if have > max {
                return None;
            }
            if have == size && size > 0 {
                break;
            }
        }
        buffer.get(..have)
    }
}

impl Jail {
    /// Visits the regular files whose workspace-relative path matches a glob (`**` crosses
    /// directories). Follows no link; leaves out `.git`, unreadable directories and names that are
    /// not UTF-8.
    pub fn walk(
        &self,
        pattern: &str,
        omit: Omit,
        visitor: &impl Visitor,
    ) -> Result<WalkEnd, FileError> {
        let pattern = PathPattern::parse(self, pattern)?;
        let omit = if pattern.is_plain {
            Omit::default()
        } else {
            omit
        };
        let ignores = match omit.ignored {
            true => self.ignores_above(&pattern.start),
            false => Ignores::default(),
        };
        let start = Task::Directory {
            path: pattern.start.clone(),
            ignores,
        };
        let walk = Walk {
            jail: self,
            pattern,
            omit,
            visitor,
            entries: AtomicUsize::new(0),
            queue: Mutex::new(Queue {
                tasks: vec![start],
                at_work: 0,
                end: Ok(WalkEnd::Complete),
            }),
            changed: Condvar::new(),
        };
        walk.run();
        walk.queue
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .end
    }

    /// The first `max` paths of the files that a walk visits, sorted, and whether there are more.
    pub fn glob(
        &self,
        pattern: &str,
        omit: Omit,
        max: usize,
        is_over: &(dyn Fn() -> bool + Sync),
    ) -> Result<(Vec<String>, bool, WalkEnd), FileError> {
        let paths = PathVisitor {
            first: FirstResults::new(max),
            is_over,
        };
        let end = self.walk(pattern, omit, &paths)?;
        let (found, more) = paths.first.end();
        let found = found.into_iter().map(|(path, ())| path).collect();
        Ok((found, more, end))
    }
}

/// Collects paths.
struct PathVisitor<'a> {
    first: FirstResults<()>,
    is_over: &'a (dyn Fn() -> bool + Sync),
}

impl Visitor for PathVisitor<'_> {
    type Scratch = ();

    fn is_over(&self) -> bool {
        (self.is_over)()
    }

    fn wants(&self, path: &str) -> bool {
        self.first.wants(path)
    }

    fn visit(&self, (): &mut (), file: &WalkedFile<'_>) {
        self.first.add(file.path(), vec![()]);
    }
}

struct Walk<'a, V> {
    jail: &'a Jail,
    pattern: PathPattern,
    omit: Omit,
    visitor: &'a V,
    entries: AtomicUsize,
    queue: Mutex<Queue>,
    /// There are new tasks, or there will be no more.
    changed: Condvar,
}

/// What is left to do.
struct Queue {
    /// The last is the next, so that paths come in about their order.
    tasks: Vec<Task>,
    /// Threads that may still add tasks.
    at_work: usize,
    end: Result<WalkEnd, FileError>,
}

enum Task {
    Directory { path: String, ignores: Ignores },
    Files(Vec<String>),
}

/// Why a thread stops the whole walk.
type Stop = Result<WalkEnd, FileError>;

impl<V: Visitor> Walk<'_, V> {
    fn run(&self) {
        let mut scratch = V::Scratch::default();
        // Most walks are over after one or two directories, which no other thread can share.
        for _ in 0..2 {
            self.step(&mut scratch);
        }
        if self.lock().tasks.len() < 2 {
            return self.work(scratch);
        }
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        thread::scope(|scope| {
            for _ in 1..threads.min(THREADS) {
                // One thread less is only slower.
                let _ =
                    thread::Builder::new().spawn_scoped(scope, || self.work(V::Scratch::default()));
            }
            self.work(scratch);
        });
    }

    fn work(&self, mut scratch: V::Scratch) {
        while self.step(&mut scratch) {}
    }

    /// Does one task; false if there is none and none will come.
    fn step(&self, scratch: &mut V::Scratch) -> bool {
        let Some(task) = self.take() else {
            return false;
        };
        let mut turn = Turn {
            walk: self,
            tasks: Vec::new(),
            stop: None,
        };
        let done = match task {
            Task::Directory { path, ignores } => self.directory(&path, ignores, &mut turn.tasks),
            Task::Files(paths) => self.files(&paths, scratch),
        };
        turn.stop = done.err();
        true
    }

    fn take(&self) -> Option<Task> {
        let mut queue = self.lock();
        loop {
            if let Some(task) = queue.tasks.pop() {
                queue.at_work += 1;
                return Some(task);
            }
            if queue.at_work == 0 {
                return None;
            }
            queue = self
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn files(&self, paths: &[String], scratch: &mut V::Scratch) -> Result<(), Stop> {
        for path in paths {
            if self.visitor.is_over() {
                return Err(Ok(WalkEnd::Stopped));
            }
            if self.visitor.wants(path) {
                let jail = self.jail;
                self.visitor.visit(scratch, &WalkedFile { jail, path });
            }
        }
        Ok(())
    }

    /// Reads one directory and adds its files and directories as tasks.
    fn directory(&self, path: &str, above: Ignores, tasks: &mut Vec<Task>) -> Result<(), Stop> {
        if self.visitor.is_over() {
            return Err(Ok(WalkEnd::Stopped));
        }
        if path != "." && !self.visitor.wants(&format!("{path}/")) {
            return Ok(());
        }
        let mut entries = self.entries(path)?;
        let is_repository = path != "." && entries.iter().any(|entry| entry.name == GIT_FOLDER);
        let has_rules = entries.iter().any(|entry| entry.name == GITIGNORE);
        let ignores = match (self.omit.ignored, is_repository, has_rules) {
            (false, ..) | (true, false, false) => above,
            // What the outer repository ignores does not concern a repository in it.
            (true, true, false) => Ignores::default(),
            (true, inner, true) => {
                let above = if inner { Ignores::default() } else { above };
                let file = join(path, GITIGNORE);
                self.jail.with_ignore_file(above, path, &file)
            }
        };
        entries.sort_unstable_by(|a, b| a.order().cmp(b.order()));
        let mut files = Vec::new();
        let mut found = Vec::new();
        for entry in entries {
            let child = join(path, &entry.name);
            if !self.takes(&entry, &child, &ignores) {
                continue;
            }
            if entry.is_directory {
                if !files.is_empty() {
                    found.push(Task::Files(std::mem::take(&mut files)));
                }
                let ignores = ignores.clone();
                found.push(Task::Directory {
                    path: child,
                    ignores,
                });
                continue;
            }
            files.push(child);
            if files.len() == BATCH {
                found.push(Task::Files(std::mem::take(&mut files)));
            }
        }
        if !files.is_empty() {
            found.push(Task::Files(files));
        }
        tasks.extend(found.into_iter().rev());
        Ok(())
    }

    /// Whether a file is to be visited or a directory to be read.
    fn takes(&self, entry: &WalkedEntry, path: &str, ignores: &Ignores) -> bool {
        if entry.name == GIT_FOLDER || (self.omit.dotfiles && entry.name.starts_with('.')) {
            return false;
        }
        let jail = self.jail;
        let wanted = match entry.is_directory {
            true => self.pattern.reaches_below(path) && jail.leads_on(path),
            false => self.pattern.matches(path) && jail.shows(path),
        };
        wanted && !ignores.leave_out(path, entry.is_directory)
    }

    /// The regular files and directories in a directory.
    fn entries(&self, path: &str) -> Result<Vec<WalkedEntry>, Stop> {
        let root = self.jail.root.as_fd();
        let opened = match open_beneath(root, path, READ_DIRECTORY, NO_LINKS) {
            // Missing, not a directory, a link, or unreadable: nothing to find. A path too long to
            // name is too deep to open.
            Err(
                Errno::NOENT
                | Errno::NOTDIR
                | Errno::LOOP
                | Errno::ACCESS
                | Errno::PERM
                | Errno::NAMETOOLONG,
            ) => return Ok(Vec::new()),
            done => done.map_err(|errno| Err(FileError::from_open(path, errno)))?,
        };
        let failed = |errno| Err(FileError::from_os(path, errno));
        let mut directory = Dir::new(opened).map_err(failed)?;
        let mut entries = Vec::new();
        while let Some(entry) = directory.read() {
            let entry = entry.map_err(failed)?;
            let name = match entry.file_name().to_str() {
                Ok("." | "..") | Err(_) => continue,
                Ok(name) => name,
            };
            if self.entries.fetch_add(1, Ordering::Relaxed) >= ENTRIES {
                return Err(Ok(WalkEnd::TooManyEntries));
            }
            let kind = match entry.file_type() {
                // Some file systems do not report the type in the listing.
                FileType::Unknown => match statat(
                    directory.fd().map_err(failed)?,
                    entry.file_name(),
                    AtFlags::SYMLINK_NOFOLLOW,
                ) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(_) => continue,
                },
                kind => kind,
            };
            let is_directory = kind == FileType::Directory;
            if is_directory || kind == FileType::RegularFile {
                let name = name.to_owned();
                entries.push(WalkedEntry { name, is_directory });
            }
        }
        Ok(entries)
    }
}

/// An entry of a directory that is read.
struct WalkedEntry {
    name: String,
    is_directory: bool,
}

impl WalkedEntry {
    /// Its place among the paths of a directory: a directory's paths have a slash after its name.
    fn order(&self) -> impl Iterator<Item = u8> + '_ + use<'_> {
        let end = self.is_directory.then_some(b'/');
        self.name.bytes().chain(end)
    }
}

/// One task at work. Its end is told to the other threads, also if it panics.
struct Turn<'a, 'w, V: Visitor> {
    walk: &'a Walk<'w, V>,
    tasks: Vec<Task>,
    stop: Option<Stop>,
}

impl<V: Visitor> Drop for Turn<'_, '_, V> {
    fn drop(&mut self) {
        let mut queue = self.walk.lock();
        queue.at_work -= 1;
        queue.tasks.append(&mut self.tasks);
        if let (Some(stop), Ok(WalkEnd::Complete)) = (self.stop.take(), &queue.end) {
            queue.end = stop;
        }
        if thread::panicking() || !matches!(queue.end, Ok(WalkEnd::Complete)) {
            queue.tasks.clear();
        }
        drop(queue);
        self.walk.changed.notify_all();
    }
}
