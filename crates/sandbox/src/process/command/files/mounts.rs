//! Making the mounts of a [`View`] in a mount namespace.

use super::view::{MountKind, MountPoint, View};
use crate::plan::{Plan, Programs};
use crate::process::command::helper::block::{Arg, ContainerBlock, Slot, SyscallList};
use crate::process::command::helper::layout::Op;
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
    let reused = (block.slot(), block.slot());
    let no_execution = if plan.programs == Programs::Any {
        0
    } else {
        NO_EXECUTION
    };
    let mut writer = MountWriter {
        block,
        list,
        no_execution,
        covers: 0,
        reused,
    };
    let opened = writer.open_trees(view, given);
    let devices = writer.open_devices();
    writer.close_root();
    let covers = writer.make_covers(view);
    writer.make_dev();
    writer.close_covers();
    let covers: Vec<Option<Slot>> = covers
        .iter()
        .map(|cover| cover.as_ref().map(|cover| writer.clone_cover(cover)))
        .collect();
    let dev = writer.clone_cover(Path::new(DEV));
    let step = writer.block.step("the folders a command sees");
    let all = view.mounts.iter().zip(opened).zip(covers);
    // What lies in the machine's /dev is mounted into the command's own /dev once that exists.
    let (late, early): (Vec<_>, Vec<_>) =
        all.partition(|((mount, _), _)| mount.path.starts_with("/dev"));
    for ((mount, opened), cover) in early {
        writer.place(step, mount, opened, cover, view, plan.limits.tmp_bytes);
    }
    writer.finish_dev(dev, &devices);
    for ((mount, opened), cover) in late {
        writer.make_room(step, mount);
        writer.place(step, mount, opened, cover, view, plan.limits.tmp_bytes);
    }
    writer.make_proc();
}

struct MountWriter<'a> {
    block: &'a mut ContainerBlock,
    list: &'a mut SyscallList,
    no_execution: u64,
    covers: u32,
    /// For values that are used at once.
    reused: (Slot, Slot),
}

impl MountWriter<'_> {
    /// Opens, while everything is still visible, what will be put back into covered folders.
    fn open_trees(&mut self, view: &View, given: &[PathBuf]) -> Vec<Option<Arg>> {
        let step = self.block.step("mounts of its own");
        let root = self.block.literal(c"/");
        let flags = libc::MS_REC | libc::MS_PRIVATE;
        self.list.call(
            step,
            libc::SYS_mount,
            [0.into(), root.into(), 0.into(), Arg::Value(flags)],
        );
        let step = self.block.step("the places of the plan");
        let mut opened = Vec::new();
        for mount in &view.mounts {
            let in_place = mount
                .within
                .as_ref()
                .is_some_and(|(_, what)| what.is_tree());
            // What may be run is mounted again in place, after everything around it was mounted
            // without execution.
            opened.push(
                if !mount.kind.is_tree() || in_place || mount.kind == MountKind::Run {
                    None
                } else if let Some(at) = given.iter().position(|path| *path == mount.path) {
                    Some(ContainerBlock::passed(at).into())
                } else {
                    let tree = self.block.slot();
                    self.open_place(step, &mount.path, self.reused.1);
                    self.clone_tree(step, self.reused.1, tree);
                    Some(tree.into())
                },
            );
        }
        opened
    }

    /// Opens a path without following links.
    fn open_place(&mut self, step: u16, path: &Path, place: Slot) -> &mut Op {
        let flags = u64::from(libc::O_PATH.cast_unsigned() | CLOSE_ON_EXEC);
        let how = self.block.value(&[flags, 0, NO_LINKS]);
        let path = self.block.path(path);
        let args = [libc::AT_FDCWD.into(), path.into(), how.into(), 24.into()];
        self.list.call(step, libc::SYS_openat2, args).save_in(place)
    }

    /// Copies the mounts of an opened place.
    fn clone_tree(&mut self, step: u16, place: Slot, tree: Slot) -> &mut Op {
        let empty = self.block.literal(c"");
        let flags = CLONE_TREE | CLOSE_ON_EXEC | RECURSIVE | EMPTY_PATH;
        let args = [place.into(), empty.into(), flags.into()];
        self.list
            .call(step, libc::SYS_open_tree, args)
            .save_in(tree)
    }

    /// Copies the mount of one path.
    fn clone_mount(&mut self, step: u16, path: &Path) -> Slot {
        let (slot, path) = (self.block.slot(), self.block.path(path));
        let flags = CLONE_TREE | CLOSE_ON_EXEC;
        let args = [libc::AT_FDCWD.into(), path.into(), flags.into()];
        self.list
            .call(step, libc::SYS_open_tree, args)
            .save_in(slot);
        slot
    }

    fn open_devices(&mut self) -> Vec<Slot> {
        let step = self.block.step("device files");
        let paths = DEVICES.iter().map(|name| Path::new("/dev").join(name));
        paths.map(|path| self.clone_mount(step, &path)).collect()
    }

    fn close_root(&mut self) {
        let step = self.block.step("a read-only root");
        let set = READ_ONLY | SAFE | self.no_execution;
        let here = libc::AT_FDCWD.into();
        self.set_attributes(step, (here, c"/"), RECURSIVE, set, 0);
    }

    /// A small file system with a folder for every covered one, including the folders where
    /// something will be put back.
    fn make_covers(&mut self, view: &View) -> Vec<Option<PathBuf>> {
        let step = self.block.step("covers for hidden folders");
        self.mount_tmpfs(step, Path::new("/tmp"), "mode=755,size=256k", 0);
        self.make_folder(step, Path::new("/tmp/empty"));
        self.make_file(step, Path::new("/tmp/blank"), 0);
        let mut covers = Vec::new();
        for mount in &view.mounts {
            if mount.kind != MountKind::Hidden {
                covers.push(None);
                continue;
            }
            let mut cover = PathBuf::from(if mount.is_folder {
                "/tmp/empty"
            } else {
                "/tmp/blank"
            });
            if view
                .mounts
                .iter()
                .any(|below| is_put_back(below, &mount.path))
            {
                self.covers += 1;
                cover = PathBuf::from(format!("/tmp/{}", self.covers));
                self.make_folder(step, &cover);
                self.make_ways(step, view, &mount.path, &cover);
            }
            covers.push(Some(cover));
        }
        covers
    }

    /// Makes every copy of the small file system read-only.
    fn close_covers(&mut self) {
        let step = self.block.step("covers for hidden folders");
        let set = READ_ONLY | SAFE | NO_EXECUTION;
        let here = libc::AT_FDCWD.into();
        self.set_attributes(step, (here, c"/tmp"), 0, set, 0);
    }

    fn clone_cover(&mut self, cover: &Path) -> Slot {
        let step = self.block.step("covers for hidden folders");
        self.clone_mount(step, cover)
    }

    /// Creates the folders on the way to whatever is put back below `covered`, starting at `cover`.
    fn make_ways(&mut self, step: u16, view: &View, covered: &Path, cover: &Path) {
        let below = view
            .mounts
            .iter()
            .filter(|below| is_put_back(below, covered));
        for (mount, way) in
            below.filter_map(|below| Some((below, below.path.strip_prefix(covered).ok()?)))
        {
            self.make_way(step, cover, way, mount);
        }
    }

    /// Creates the folders that lead to something in the private shared memory, and its mount
    /// point.
    fn make_room(&mut self, step: u16, mount: &MountPoint) {
        if let (Ok(way), None) = (mount.path.strip_prefix(SHARED_MEMORY), &mount.within) {
            self.make_way(step, Path::new(SHARED_MEMORY), way, mount);
        }
    }

    /// Creates a mount point, and the folders on the way to it.
    fn make_way(&mut self, step: u16, from: &Path, way: &Path, mount: &MountPoint) {
        let mut at = from.to_path_buf();
        let mut parts = way.iter().peekable();
        while let Some(part) = parts.next() {
            at.push(part);
            if parts.peek().is_some() || mount.is_folder {
                self.make_folder(step, &at);
            } else {
                self.make_file(step, &at, 0o444);
            }
        }
    }

    fn place(
        &mut self,
        step: u16,
        mount: &MountPoint,
        opened: Option<Arg>,
        cover: Option<Slot>,
        view: &View,
        tmp_bytes: u64,
    ) {
        let path = &mount.path;
        match mount.kind {
            MountKind::Hidden => {
                let in_tree = mount
                    .within
                    .as_ref()
                    .is_some_and(|(_, what)| what.is_tree());
                match cover {
                    // Where commands write, a link may lie on the way by now.
                    Some(cover) if in_tree => {
                        let place = self.reused.1;
                        self.open_place(step, path, place);
                        self.attach_to(step, cover.into(), place);
                        self.close(step, place);
                    }
                    Some(cover) => self.attach(step, cover.into(), path),
                    None => {}
                }
            }
            MountKind::Private => {
                self.mount_tmpfs(
                    step,
                    path,
                    &format!("mode=1777,size={tmp_bytes}"),
                    self.no_execution,
                );
                self.make_ways(step, view, path, path);
            }
            MountKind::Run => self.open_again(step, path),
            MountKind::Read | MountKind::Write | MountKind::Pinned => {
                let (set, clear) = if mount.kind == MountKind::Read {
                    (READ_ONLY, 0)
                } else {
                    (0, READ_ONLY)
                };
                let set = set | SAFE | self.no_execution;
                if let Some(tree) = opened {
                    self.set(step, tree, set, clear);
                    self.attach(step, tree, path);
                } else {
                    let (tree, place) = self.reused;
                    self.open_place(step, path, place);
                    self.clone_tree(step, place, tree);
                    self.set(step, tree.into(), set, clear);
                    self.attach_to(step, tree.into(), place);
                    // There can be many mounts, and few descriptors.
                    self.close(step, place);
                    self.close(step, tree);
                }
            }
        }
    }

    /// Mounts a path again, executable. If that fails, nothing there runs, which the command will
    /// notice.
    fn open_again(&mut self, step: u16, path: &Path) {
        let (tree, place) = self.reused;
        self.open_place(step, path, place).may_fail();
        self.clone_tree(step, place, tree).may_fail();
        self.set(step, tree.into(), SAFE | READ_ONLY, NO_EXECUTION)
            .may_fail();
        self.attach_to(step, tree.into(), place).may_fail();
        self.close(step, place);
        self.close(step, tree);
    }

    fn make_dev(&mut self) {
        let step = self.block.step("a minimal /dev");
        let dev = Path::new(DEV);
        self.make_folder(step, dev);
        self.make_folder(step, &dev.join("shm"));
        self.make_folder(step, &dev.join("pts"));
        DEVICES
            .iter()
            .for_each(|name| self.make_file(step, &dev.join(name), 0o444));
        for (name, target) in LINKS {
            let (target, path) = (self.block.text(target), self.block.path(&dev.join(name)));
            self.list.call(
                step,
                libc::SYS_symlinkat,
                [target.into(), libc::AT_FDCWD.into(), path.into()],
            );
        }
    }

    fn finish_dev(&mut self, dev: Slot, devices: &[Slot]) {
        let step = self.block.step("a minimal /dev");
        self.attach(step, dev.into(), Path::new("/dev"));
        for (name, device) in DEVICES.iter().zip(devices) {
            self.attach(step, (*device).into(), &Path::new("/dev").join(name));
        }
        // Semaphores and shared memory count towards the private folder.
        let slot = self.clone_mount(step, Path::new("/tmp"));
        self.attach(step, slot.into(), Path::new(SHARED_MEMORY));
    }

    fn make_proc(&mut self) {
        let step = self.block.step("a fresh /proc");
        let (kind, path) = (self.block.literal(c"proc"), self.block.literal(c"/proc"));
        let flags = libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        self.list.call(
            step,
            libc::SYS_mount,
            [kind.into(), path.into(), kind.into(), Arg::Value(flags)],
        );
    }

    fn mount_tmpfs(&mut self, step: u16, path: &Path, options: &str, no_execution: u64) {
        let (kind, path, options) = (
            self.block.literal(c"tmpfs"),
            self.block.path(path),
            self.block.text(options),
        );
        let flags = libc::MS_NOSUID
            | libc::MS_NODEV
            | if no_execution == 0 {
                0
            } else {
                libc::MS_NOEXEC
            };
        self.list.call(
            step,
            libc::SYS_mount,
            [
                kind.into(),
                path.into(),
                kind.into(),
                Arg::Value(flags),
                options.into(),
            ],
        );
    }

    fn make_folder(&mut self, step: u16, path: &Path) {
        let path = self.block.path(path);
        self.list
            .call(
                step,
                libc::SYS_mkdirat,
                [libc::AT_FDCWD.into(), path.into(), 0o755.into()],
            )
            .may_fail_with(libc::EEXIST);
    }

    fn make_file(&mut self, step: u16, path: &Path, mode: u32) {
        let path = self.block.path(path);
        let mode = libc::S_IFREG | mode;
        self.list
            .call(
                step,
                libc::SYS_mknodat,
                [libc::AT_FDCWD.into(), path.into(), mode.into()],
            )
            .may_fail_with(libc::EEXIST);
    }

    fn set(&mut self, step: u16, tree: Arg, set: u64, clear: u64) -> &mut Op {
        self.set_attributes(step, (tree, c""), EMPTY_PATH | RECURSIVE, set, clear)
    }

    fn set_attributes(
        &mut self,
        step: u16,
        (base, path): (Arg, &CStr),
        flags: u32,
        set: u64,
        clear: u64,
    ) -> &mut Op {
        let attributes = self.block.value(&[set, clear, 0, 0]);
        let path = self.block.literal(path);
        let args = [
            base,
            path.into(),
            flags.into(),
            attributes.into(),
            32.into(),
        ];
        self.list.call(step, libc::SYS_mount_setattr, args)
    }

    fn attach_to(&mut self, step: u16, tree: Arg, place: Slot) -> &mut Op {
        let empty = self.block.literal(c"");
        let flags = FROM_DESCRIPTOR | TO_DESCRIPTOR;
        let args = [tree, empty.into(), place.into(), empty.into(), flags.into()];
        self.list.call(step, libc::SYS_move_mount, args)
    }

    fn attach(&mut self, step: u16, tree: Arg, path: &Path) {
        let (empty, path) = (self.block.literal(c""), self.block.path(path));
        let (here, flags) = (libc::AT_FDCWD.into(), FROM_DESCRIPTOR.into());
        let args = [tree, empty.into(), here, path.into(), flags];
        self.list.call(step, libc::SYS_move_mount, args);
    }

    fn close(&mut self, step: u16, slot: Slot) {
        self.list
            .call(step, libc::SYS_close, [slot.into()])
            .may_fail();
    }
}

/// Whether a mount is put back into the folder that covers `covered`.
fn is_put_back(below: &MountPoint, covered: &Path) -> bool {
    below.kind.is_tree()
        && below
            .within
            .as_ref()
            .is_some_and(|(above, _)| above == covered)
}
