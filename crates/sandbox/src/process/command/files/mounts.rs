//! Making the mounts of a [`View`] in a mount namespace.

use super::view::{MountKind, MountPoint, View};
use crate::plan::{Plan, Programs};
use crate::process::command::helper::block::{Args, ContainerBlock, Slot, SyscallList, ToArg};
use crate::process::command::helper::layout::Op;
use crate::process::command::limits::inotify;
use std::ffi::CStr;
use std::path::{Path, PathBuf};

const READ_ONLY: u64 = 0x1;
const NO_SETUID: u64 = 0x2;
const NO_DEVICES: u64 = 0x4;
const NO_EXECUTION: u64 = 0x8;
const SAFE: u64 = NO_SETUID | NO_DEVICES;

pub(crate) const RECURSIVE: u32 = 0x8000;
pub(crate) const CLONE_TREE: u32 = 0x1;
pub(crate) const CLOSE_ON_EXEC: u32 = 0o2_000_000;
pub(crate) const EMPTY_PATH: u32 = 0x1000;
const FROM_DESCRIPTOR: u32 = 0x4;
const TO_DESCRIPTOR: u32 = 0x40;
/// Follow no links, including the kernel's magic links.
pub(crate) const NO_LINKS: u64 = 0x4 | 0x2;

/// The one folder in /dev where people keep files.
pub(crate) const SHARED_MEMORY: &str = "/dev/shm";
/// Where the command's own /dev is built.
const DEV: &str = "/tmp/dev";
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];
const LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// Writes the operations. `given` are trees that the harness opened because the command's user
/// cannot; they are passed in this order.
pub(crate) fn write_mounts(
    block: &mut ContainerBlock,
    list: &mut SyscallList,
    plan: &Plan,
    view: &View,
    given: &[PathBuf],
) {
    const PLACES: &str = "the folders a command sees";
    let reused = (block.slot(), block.slot());
    let no_execution = if plan.programs == Programs::Any {
        0
    } else {
        NO_EXECUTION
    };
    let mut writer = MountWriter {
        block,
        list,
        view,
        tmp_bytes: plan.limits.tmp_bytes,
        no_execution,
        reused,
    };
    let opened = writer.open_trees(given);
    let devices = writer.open_devices();
    writer.close_root();
    let covers = writer.make_covers();
    writer.make_dev();
    let covers = writer.clone_covers(&covers);
    let dev = writer.clone_mount(Path::new(DEV));
    let all = view.mounts.iter().zip(opened).zip(covers);
    // Places in the machine's /dev are mounted into the command's own /dev once that exists.
    let (late, early): (Vec<_>, Vec<_>) =
        all.partition(|((mount, _), _)| mount.path.starts_with("/dev"));
    writer.step(PLACES);
    for ((mount, opened), cover) in early {
        writer.place(mount, opened, cover);
    }
    writer.finish_dev(dev, &devices);
    writer.step(PLACES);
    for ((mount, opened), cover) in late {
        writer.make_room(mount);
        writer.place(mount, opened, cover);
    }
    writer.make_proc();
}

struct MountWriter<'a> {
    block: &'a mut ContainerBlock,
    list: &'a mut SyscallList,
    view: &'a View,
    /// The size of the private folder.
    tmp_bytes: u64,
    no_execution: u64,
    /// For values that are used at once.
    reused: (Slot, Slot),
}

impl MountWriter<'_> {
    fn step(&mut self, name: &'static str) {
        self.list.begin(self.block.step(name));
    }

    /// Opens, while everything is still visible, what will be put back into covered folders.
    fn open_trees(&mut self, given: &[PathBuf]) -> Vec<Option<Slot>> {
        self.step("mounts of its own");
        let root = self.block.literal(c"/");
        let flags = libc::MS_REC | libc::MS_PRIVATE;
        self.list.call(libc::SYS_mount, &[&0, &root, &0, &flags]);
        self.step("the places of the plan");
        let mut opened = Vec::new();
        for mount in &self.view.mounts {
            // Programs that may run are mounted again in place, after everything around them was
            // mounted without execution.
            let is_opened = mount.is_outermost_tree() && mount.kind != MountKind::Run;
            opened.push(is_opened.then(|| {
                if let Some(at) = given.iter().position(|path| *path == mount.path) {
                    return ContainerBlock::passed(at);
                }
                let tree = self.block.slot();
                self.open_place(&mount.path, self.reused.1);
                self.clone_tree(self.reused.1, tree);
                tree
            }));
        }
        opened
    }

    /// Opens a path without following links.
    fn open_place(&mut self, path: &Path, place: Slot) -> &mut Op {
        let flags = u64::from(libc::O_PATH.cast_unsigned() | CLOSE_ON_EXEC);
        let how = self.block.words(&[flags, 0, NO_LINKS]);
        let path = self.block.path(path);
        self.list
            .call(libc::SYS_openat2, &[&libc::AT_FDCWD, &path, &how, &24])
            .save_in(place)
    }

    /// Copies the mounts of an opened place.
    fn clone_tree(&mut self, place: Slot, tree: Slot) -> &mut Op {
        let empty = self.block.literal(c"");
        let flags = CLONE_TREE | CLOSE_ON_EXEC | RECURSIVE | EMPTY_PATH;
        self.list
            .call(libc::SYS_open_tree, &[&place, &empty, &flags])
            .save_in(tree)
    }

    /// Copies the mount of one path.
    fn clone_mount(&mut self, path: &Path) -> Slot {
        let (slot, path) = (self.block.slot(), self.block.path(path));
        let flags = CLONE_TREE | CLOSE_ON_EXEC;
        self.list
            .call(libc::SYS_open_tree, &[&libc::AT_FDCWD, &path, &flags])
            .save_in(slot);
        slot
    }

    fn open_devices(&mut self) -> Vec<Slot> {
        self.step("device files");
        let paths = DEVICES.iter().map(|name| Path::new("/dev").join(name));
        paths.map(|path| self.clone_mount(&path)).collect()
    }

    fn close_root(&mut self) {
        self.step("a read-only root");
        let set = READ_ONLY | SAFE | self.no_execution;
        self.set_attributes((&libc::AT_FDCWD, c"/"), RECURSIVE, set, 0);
    }

    /// A small file system with a folder for every covered one, including the folders where
    /// something will be put back.
    fn make_covers(&mut self) -> Vec<Option<PathBuf>> {
        self.step("covers for hidden folders");
        self.mount_tmpfs(Path::new("/tmp"), "mode=755,size=256k", 0);
        self.make_folder(Path::new("/tmp/empty"));
        self.make_file(Path::new("/tmp/blank"), 0);
        let mut covers = Vec::new();
        for (number, mount) in self.view.mounts.iter().enumerate() {
            let has_places = || {
                let mut below = self.view.mounts.iter();
                below.any(|below| is_put_back(below, &mount.path))
            };
            covers.push(match mount.kind {
                MountKind::Hidden if has_places() => {
                    let cover = PathBuf::from(format!("/tmp/{number}"));
                    self.make_folder(&cover);
                    self.make_ways(&mount.path, &cover);
                    Some(cover)
                }
                MountKind::Hidden if mount.is_folder => Some("/tmp/empty".into()),
                MountKind::Hidden => Some("/tmp/blank".into()),
                _ => None,
            });
        }
        covers
    }

    /// Makes the small file system read-only, and copies the mount of each cover.
    fn clone_covers(&mut self, covers: &[Option<PathBuf>]) -> Vec<Option<Slot>> {
        self.step("covers for hidden folders");
        let set = READ_ONLY | SAFE | NO_EXECUTION;
        self.set_attributes((&libc::AT_FDCWD, c"/tmp"), 0, set, 0);
        let clone = |cover: &Option<PathBuf>| Some(self.clone_mount(cover.as_ref()?));
        covers.iter().map(clone).collect()
    }

    /// Creates the folders on the way to whatever is put back below `covered`, starting at `cover`.
    fn make_ways(&mut self, covered: &Path, cover: &Path) {
        for mount in &self.view.mounts {
            if let Ok(way) = mount.path.strip_prefix(covered)
                && is_put_back(mount, covered)
            {
                self.make_way(cover, way, mount);
            }
        }
    }

    /// Creates the folders that lead to something in the private shared memory, and its mount
    /// point.
    fn make_room(&mut self, mount: &MountPoint) {
        if let (Ok(way), None) = (mount.path.strip_prefix(SHARED_MEMORY), &mount.within) {
            self.make_way(Path::new(SHARED_MEMORY), way, mount);
        }
    }

    /// Creates a mount point, and the folders on the way to it.
    fn make_way(&mut self, from: &Path, way: &Path, mount: &MountPoint) {
        let mut at = from.to_path_buf();
        let mut parts = way.iter().peekable();
        while let Some(part) = parts.next() {
            at.push(part);
            if parts.peek().is_some() || mount.is_folder {
                self.make_folder(&at);
            } else {
                self.make_file(&at, 0o444);
            }
        }
    }

    fn place(&mut self, mount: &MountPoint, opened: Option<Slot>, cover: Option<Slot>) {
        let path = &mount.path;
        let (tree, place) = self.reused;
        match mount.kind {
            MountKind::Hidden => match cover {
                // Where commands write, a link may lie on the way by now. What the command's user
                // cannot reach needs no cover: a folder above it is somebody else's, and closed.
                Some(cover) if mount.is_in_tree() => {
                    self.open_place(path, place).may_fail_with(libc::EACCES);
                    self.attach_to(cover, place).may_fail_with(libc::EBADF);
                    self.list.close(place);
                }
                Some(cover) => self.attach(cover, path),
                None => {}
            },
            MountKind::Private => {
                self.mount_tmpfs(path, &private_options(self.tmp_bytes), self.no_execution);
                self.make_ways(path, path);
            }
            // If that fails, nothing there runs, which the command will notice.
            MountKind::Run => {
                self.open_place(path, place).may_fail();
                self.clone_tree(place, tree).may_fail();
                self.set(tree, SAFE | READ_ONLY, NO_EXECUTION).may_fail();
                self.attach_to(tree, place).may_fail();
                self.list.close(place);
                self.list.close(tree);
            }
            MountKind::Read | MountKind::Write | MountKind::Pinned => {
                let (set, clear) = if mount.kind == MountKind::Read {
                    (READ_ONLY, 0)
                } else {
                    (0, READ_ONLY)
                };
                let set = set | SAFE | self.no_execution;
                if let Some(tree) = opened {
                    self.set(tree, set, clear);
                    self.attach(tree, path);
                } else {
                    self.open_place(path, place);
                    self.clone_tree(place, tree);
                    self.set(tree, set, clear);
                    self.attach_to(tree, place);
                    // There can be many mounts, and few descriptors.
                    self.list.close(place);
                    self.list.close(tree);
                }
            }
        }
    }

    fn make_dev(&mut self) {
        self.step("a minimal /dev");
        let dev = Path::new(DEV);
        self.make_folder(dev);
        self.make_folder(&dev.join("shm"));
        self.make_folder(&dev.join("pts"));
        for name in DEVICES {
            self.make_file(&dev.join(name), 0o444);
        }
        for (name, target) in LINKS {
            let (target, path) = (self.block.text(target), self.block.path(&dev.join(name)));
            self.list
                .call(libc::SYS_symlinkat, &[&target, &libc::AT_FDCWD, &path]);
        }
    }

    fn finish_dev(&mut self, dev: Slot, devices: &[Slot]) {
        self.step("a minimal /dev");
        self.attach(dev, Path::new("/dev"));
        for (name, device) in DEVICES.iter().zip(devices) {
            self.attach(*device, &Path::new("/dev").join(name));
        }
        // Semaphores and shared memory count towards the private folder.
        let slot = self.clone_mount(Path::new("/tmp"));
        self.attach(slot, Path::new(SHARED_MEMORY));
    }

    fn make_proc(&mut self) {
        self.step("a fresh /proc");
        let (kind, path) = (self.block.literal(c"proc"), self.block.literal(c"/proc"));
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        self.list
            .call(libc::SYS_mount, &[&kind, &path, &kind, &flags]);
        self.limit_watches();
        self.step("a fresh /proc");
        let set = READ_ONLY | SAFE | NO_EXECUTION;
        self.set_attributes((&libc::AT_FDCWD, c"/proc"), 0, set, 0);
    }

    /// Sets the limits of the user namespace. The fresh `/proc` is the place for it: the machine's
    /// may be read-only, as in a container.
    fn limit_watches(&mut self) {
        self.step("limits on watching files");
        let slot = self.reused.0;
        for share in inotify::shares() {
            let (path, text) = (self.block.literal(share.file), share.most.to_string());
            let (length, text) = (text.len() as u64, self.block.text(text));
            let flags = libc::O_WRONLY.cast_unsigned() | CLOSE_ON_EXEC;
            // A kernel without inotify has neither file.
            self.list
                .call(libc::SYS_openat, &[&libc::AT_FDCWD, &path, &flags])
                .may_fail_with(libc::ENOENT)
                .save_in(slot);
            self.list
                .call(libc::SYS_write, &[&slot, &text, &length])
                .may_fail_with(libc::EBADF);
            self.list.close(slot);
        }
    }

    fn mount_tmpfs(&mut self, path: &Path, options: &str, no_execution: u64) {
        let kind = self.block.literal(c"tmpfs");
        let (path, options) = (self.block.path(path), self.block.text(options));
        let mut flags = libc::MS_NOSUID | libc::MS_NODEV;
        if no_execution != 0 {
            flags |= libc::MS_NOEXEC;
        }
        self.list
            .call(libc::SYS_mount, &[&kind, &path, &kind, &flags, &options]);
    }

    fn make_folder(&mut self, path: &Path) {
        let path = self.block.path(path);
        self.list
            .call(libc::SYS_mkdirat, &[&libc::AT_FDCWD, &path, &0o755])
            .may_fail_with(libc::EEXIST);
    }

    fn make_file(&mut self, path: &Path, mode: u32) {
        let path = self.block.path(path);
        let args: Args<'_> = &[&libc::AT_FDCWD, &path, &(libc::S_IFREG | mode)];
        self.list
            .call(libc::SYS_mknodat, args)
            .may_fail_with(libc::EEXIST);
    }

    fn set(&mut self, tree: Slot, set: u64, clear: u64) -> &mut Op {
        self.set_attributes((&tree, c""), EMPTY_PATH | RECURSIVE, set, clear)
    }

    fn set_attributes(
        &mut self,
        (base, path): (&dyn ToArg, &CStr),
        flags: u32,
        set: u64,
        clear: u64,
    ) -> &mut Op {
        let attributes = self.block.words(&[set, clear, 0, 0]);
        let path = self.block.literal(path);
        let args: Args<'_> = &[base, &path, &flags, &attributes, &32];
        self.list.call(libc::SYS_mount_setattr, args)
    }

    fn attach_to(&mut self, tree: Slot, place: Slot) -> &mut Op {
        let empty = self.block.literal(c"");
        let flags = FROM_DESCRIPTOR | TO_DESCRIPTOR;
        let args: Args<'_> = &[&tree, &empty, &place, &empty, &flags];
        self.list.call(libc::SYS_move_mount, args)
    }

    fn attach(&mut self, tree: Slot, path: &Path) {
        let (empty, path) = (self.block.literal(c""), self.block.path(path));
        let args: Args<'_> = &[&tree, &empty, &libc::AT_FDCWD, &path, &FROM_DESCRIPTOR];
        self.list.call(libc::SYS_move_mount, args);
    }
}

/// The options of a private folder in memory: as many files as it has pages. A file with content
/// takes a page, so only empty files, folders and links reach that limit first. The kernel's own
/// memory for them, more than a kilobyte each, counts towards no size.
fn private_options(bytes: u64) -> String {
    const PAGE: u64 = 4096;
    format!("mode=1777,size={bytes},nr_inodes={}", bytes.div_ceil(PAGE))
}

/// Whether a mount is put back into the folder that covers `covered`.
fn is_put_back(below: &MountPoint, covered: &Path) -> bool {
    let above = below.within.as_ref();
    below.kind.is_tree() && above.is_some_and(|(above, _)| above == covered)
}
