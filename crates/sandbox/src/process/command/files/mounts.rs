//! Laying the mounts of a [`View`] in a mount namespace of its own.

use super::view::{Placement, View, What};
use crate::plan::{Plan, Programs};
use crate::process::command::helper::block::{Arg, List, PlaceBlock, Slot};
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
/// Follow no link, also none of the kernel's own.
pub(crate) const NO_LINKS: u64 = 0x4 | 0x2;

/// The one folder of /dev in which people keep files.
pub(crate) const SHARED_MEMORY: &str = "/dev/shm";
/// Where the command's own is made.
const DEV: &str = "/tmp/dev";
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];
const LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// Writes the operations. `given` are trees that the harness opened because the command's user cannot; they are passed in this order.
pub(crate) fn lay(
    block: &mut PlaceBlock,
    list: &mut List,
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
    let mut layer = Layer {
        block,
        list,
        no_execution,
        covers: 0,
        reused,
    };
    let opened = layer.open_trees(view, given);
    let devices = layer.open_devices();
    layer.close_root();
    let covers = layer.make_covers(view);
    layer.make_dev();
    layer.close_covers();
    let covers: Vec<Option<Slot>> = covers
        .iter()
        .map(|cover| cover.as_ref().map(|cover| layer.clone_cover(cover)))
        .collect();
    let dev = layer.clone_cover(Path::new(DEV));
    let step = layer.block.step("the folders a command sees");
    let all = view.placements.iter().zip(opened).zip(covers);
    // What lies in the machine's /dev is put into the command's own, once that is there.
    let (late, early): (Vec<_>, Vec<_>) =
        all.partition(|((placement, _), _)| placement.path.starts_with("/dev"));
    for ((placement, opened), cover) in early {
        layer.place(step, placement, opened, cover, view, plan.limits.tmp_bytes);
    }
    layer.finish_dev(dev, &devices);
    for ((placement, opened), cover) in late {
        layer.make_room(step, placement);
        layer.place(step, placement, opened, cover, view, plan.limits.tmp_bytes);
    }
    layer.make_proc();
}

struct Layer<'a> {
    block: &'a mut PlaceBlock,
    list: &'a mut List,
    no_execution: u64,
    covers: u32,
    /// For what is used at once.
    reused: (Slot, Slot),
}

impl Layer<'_> {
    /// Grabs, while everything is still visible, what will be put back into covered folders.
    fn open_trees(&mut self, view: &View, given: &[PathBuf]) -> Vec<Option<Arg>> {
        let step = self.block.step("mounts of its own");
        let root = self.block.literal(c"/");
        let flags = libc::MS_REC | libc::MS_PRIVATE;
        self.list.call(
            step,
            libc::SYS_mount,
            [0.into(), root.into(), 0.into(), Arg::Value(flags), 0.into()],
        );
        let step = self.block.step("the places of the plan");
        let mut opened = Vec::new();
        for placement in &view.placements {
            let in_place = placement
                .within
                .as_ref()
                .is_some_and(|(_, what)| what.is_tree());
            // What may be run is opened again where it is, once everything around it may not.
            opened.push(
                if !placement.what.is_tree() || in_place || placement.what == What::Run {
                    None
                } else if let Some(at) = given.iter().position(|path| *path == placement.path) {
                    Some(PlaceBlock::given(at).into())
                } else {
                    let tree = self.block.slot();
                    self.clone_tree(step, &placement.path, (tree, self.reused.1));
                    Some(tree.into())
                },
            );
        }
        opened
    }

    /// Opens a path without following links.
    fn open_place(&mut self, step: u16, path: &Path, place: Slot) {
        let how = self.block.value(&[
            u64::from(libc::O_PATH.cast_unsigned() | CLOSE_ON_EXEC),
            0,
            NO_LINKS,
        ]);
        let path = self.block.path(path);
        self.list.call_for(
            step,
            libc::SYS_openat2,
            [libc::AT_FDCWD.into(), path.into(), how.into(), 24.into()],
            place,
        );
    }

    /// Opens a path, and makes a copy of the mounts there.
    fn clone_tree(&mut self, step: u16, path: &Path, (tree, place): (Slot, Slot)) {
        self.open_place(step, path, place);
        let empty = self.block.literal(c"");
        let flags = CLONE_TREE | CLOSE_ON_EXEC | RECURSIVE | EMPTY_PATH;
        self.list.call_for(
            step,
            libc::SYS_open_tree,
            [place.into(), empty.into(), flags.into()],
            tree,
        );
    }

    fn open_devices(&mut self) -> Vec<Slot> {
        let step = self.block.step("device files");
        let open = |name: &&str| {
            let slot = self.block.slot();
            let path = self.block.text(format!("/dev/{name}"));
            let flags = CLONE_TREE | CLOSE_ON_EXEC;
            self.list.call_for(
                step,
                libc::SYS_open_tree,
                [libc::AT_FDCWD.into(), path.into(), flags.into()],
                slot,
            );
            slot
        };
        DEVICES.iter().map(open).collect()
    }

    fn close_root(&mut self) {
        let step = self.block.step("a read-only root");
        let attributes = self
            .block
            .value(&[READ_ONLY | SAFE | self.no_execution, 0, 0, 0]);
        let root = self.block.literal(c"/");
        self.list.call(
            step,
            libc::SYS_mount_setattr,
            [
                libc::AT_FDCWD.into(),
                root.into(),
                RECURSIVE.into(),
                attributes.into(),
                32.into(),
            ],
        );
    }

    /// A small file system with every folder that covers another, grown where something will be put back.
    fn make_covers(&mut self, view: &View) -> Vec<Option<PathBuf>> {
        let step = self.block.step("covers for hidden folders");
        self.mount_tmpfs(step, Path::new("/tmp"), "mode=755,size=256k", 0);
        self.make_folder(step, Path::new("/tmp/empty"));
        self.make_file(step, Path::new("/tmp/blank"), 0);
        let mut covers = Vec::new();
        for placement in &view.placements {
            if placement.what != What::Hidden {
                covers.push(None);
                continue;
            }
            let mut cover = PathBuf::from(if placement.is_folder {
                "/tmp/empty"
            } else {
                "/tmp/blank"
            });
            if view
                .placements
                .iter()
                .any(|below| is_put_back(below, &placement.path))
            {
                self.covers += 1;
                cover = PathBuf::from(format!("/tmp/{}", self.covers));
                self.make_folder(step, &cover);
                self.make_way(step, view, &placement.path, &cover);
            }
            covers.push(Some(cover));
        }
        covers
    }

    /// Has every copy of the small file system be as this says.
    fn close_covers(&mut self) {
        let step = self.block.step("covers for hidden folders");
        let attributes = self
            .block
            .value(&[READ_ONLY | SAFE | NO_EXECUTION, 0, 0, 0]);
        let path = self.block.literal(c"/tmp");
        self.list.call(
            step,
            libc::SYS_mount_setattr,
            [
                libc::AT_FDCWD.into(),
                path.into(),
                0.into(),
                attributes.into(),
                32.into(),
            ],
        );
    }

    fn clone_cover(&mut self, cover: &Path) -> Slot {
        let step = self.block.step("covers for hidden folders");
        let slot = self.block.slot();
        let path = self.block.path(cover);
        let flags = CLONE_TREE | CLOSE_ON_EXEC;
        self.list.call_for(
            step,
            libc::SYS_open_tree,
            [libc::AT_FDCWD.into(), path.into(), flags.into()],
            slot,
        );
        slot
    }

    /// Makes the folders on the way to whatever is put back below `covered`, starting at `cover`.
    fn make_way(&mut self, step: u16, view: &View, covered: &Path, cover: &Path) {
        for below in view
            .placements
            .iter()
            .filter(|below| is_put_back(below, covered))
        {
            let Ok(way) = below.path.strip_prefix(covered) else {
                continue;
            };
            let mut at = cover.to_path_buf();
            let parts: Vec<_> = way.components().collect();
            for (index, part) in parts.iter().enumerate() {
                at.push(part);
                if index + 1 < parts.len() || below.is_folder {
                    self.make_folder(step, &at);
                } else {
                    self.make_file(step, &at, 0o444);
                }
            }
        }
    }

    /// Makes the folders that lead to something in the private shared memory, and what it is put on.
    fn make_room(&mut self, step: u16, placement: &Placement) {
        let Ok(way) = placement.path.strip_prefix(SHARED_MEMORY) else {
            return;
        };
        if placement.within.is_some() {
            return;
        }
        let mut at = PathBuf::from(SHARED_MEMORY);
        for (part, is_last) in way
            .iter()
            .enumerate()
            .map(|(index, part)| (part, index + 1 == way.iter().count()))
        {
            at.push(part);
            if is_last && !placement.is_folder {
                self.make_file(step, &at, 0o444)
            } else {
                self.make_folder(step, &at)
            }
        }
    }

    fn place(
        &mut self,
        step: u16,
        placement: &Placement,
        opened: Option<Arg>,
        cover: Option<Slot>,
        view: &View,
        tmp_bytes: u64,
    ) {
        let path = &placement.path;
        match placement.what {
            What::Hidden => {
                let in_tree = placement
                    .within
                    .as_ref()
                    .is_some_and(|(_, what)| what.is_tree());
                match cover {
                    // Where commands write, a link may lie on the way by now.
                    Some(cover) if in_tree => {
                        let place = self.reused.1;
                        self.open_place(step, path, place);
                        self.attach_to(step, cover.into(), place);
                        self.list.try_call(step, libc::SYS_close, [place.into()]);
                    }
                    Some(cover) => self.attach(step, cover.into(), path),
                    None => {}
                }
            }
            What::Private => {
                self.mount_tmpfs(
                    step,
                    path,
                    &format!("mode=1777,size={tmp_bytes}"),
                    self.no_execution,
                );
                self.make_way(step, view, path, path);
            }
            What::Run => self.open_again(step, path),
            What::Read | What::Write | What::Pinned => {
                let (set, clear) = if placement.what == What::Read {
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
                    self.clone_tree(step, path, (tree, place));
                    self.set(step, tree.into(), set, clear);
                    self.attach_to(step, tree.into(), place);
                    // There can be many of them, and few descriptors.
                    self.list.try_call(step, libc::SYS_close, [place.into()]);
                    self.list.try_call(step, libc::SYS_close, [tree.into()]);
                }
            }
        }
    }

    /// A copy of what is there, to be run. Where that cannot be had nothing there runs, which whoever needs it will notice.
    fn open_again(&mut self, step: u16, path: &Path) {
        let (tree, place) = self.reused;
        let how = self.block.value(&[
            u64::from(libc::O_PATH.cast_unsigned() | CLOSE_ON_EXEC),
            0,
            NO_LINKS,
        ]);
        let path = self.block.path(path);
        self.list.try_call_for(
            step,
            libc::SYS_openat2,
            [libc::AT_FDCWD.into(), path.into(), how.into(), 24.into()],
            place,
        );
        let empty = self.block.literal(c"");
        let flags = CLONE_TREE | CLOSE_ON_EXEC | RECURSIVE | EMPTY_PATH;
        self.list.try_call_for(
            step,
            libc::SYS_open_tree,
            [place.into(), empty.into(), flags.into()],
            tree,
        );
        let attributes = self.block.value(&[SAFE | READ_ONLY, NO_EXECUTION, 0, 0]);
        let flags = EMPTY_PATH | RECURSIVE;
        self.list.try_call(
            step,
            libc::SYS_mount_setattr,
            [
                tree.into(),
                empty.into(),
                flags.into(),
                attributes.into(),
                32.into(),
            ],
        );
        let flags = FROM_DESCRIPTOR | TO_DESCRIPTOR;
        self.list.try_call(
            step,
            libc::SYS_move_mount,
            [
                tree.into(),
                empty.into(),
                place.into(),
                empty.into(),
                flags.into(),
            ],
        );
        self.list.try_call(step, libc::SYS_close, [place.into()]);
        self.list.try_call(step, libc::SYS_close, [tree.into()]);
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
        // Semaphores and shared memory count into the private folder.
        let slot = self.block.slot();
        let path = self.block.literal(c"/tmp");
        let flags = CLONE_TREE | CLOSE_ON_EXEC;
        self.list.call_for(
            step,
            libc::SYS_open_tree,
            [libc::AT_FDCWD.into(), path.into(), flags.into()],
            slot,
        );
        self.attach(step, slot.into(), Path::new(SHARED_MEMORY));
    }

    fn make_proc(&mut self) {
        let step = self.block.step("a fresh /proc");
        let (kind, path) = (self.block.literal(c"proc"), self.block.literal(c"/proc"));
        let flags = libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        self.list.call(
            step,
            libc::SYS_mount,
            [
                kind.into(),
                path.into(),
                kind.into(),
                Arg::Value(flags),
                0.into(),
            ],
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
        self.list.call_unless(
            step,
            libc::SYS_mkdirat,
            [libc::AT_FDCWD.into(), path.into(), 0o755.into()],
            libc::EEXIST,
        );
    }

    fn make_file(&mut self, step: u16, path: &Path, mode: u32) {
        let path = self.block.path(path);
        let mode = libc::S_IFREG | mode;
        self.list.call_unless(
            step,
            libc::SYS_mknodat,
            [libc::AT_FDCWD.into(), path.into(), mode.into(), 0.into()],
            libc::EEXIST,
        );
    }

    fn set(&mut self, step: u16, tree: Arg, set: u64, clear: u64) {
        let attributes = self.block.value(&[set, clear, 0, 0]);
        let empty = self.block.literal(c"");
        let flags = EMPTY_PATH | RECURSIVE;
        self.list.call(
            step,
            libc::SYS_mount_setattr,
            [
                tree,
                empty.into(),
                flags.into(),
                attributes.into(),
                32.into(),
            ],
        );
    }

    fn attach_to(&mut self, step: u16, tree: Arg, place: Slot) {
        let empty = self.block.literal(c"");
        let flags = FROM_DESCRIPTOR | TO_DESCRIPTOR;
        self.list.call(
            step,
            libc::SYS_move_mount,
            [tree, empty.into(), place.into(), empty.into(), flags.into()],
        );
    }

    fn attach(&mut self, step: u16, tree: Arg, path: &Path) {
        let (empty, path) = (self.block.literal(c""), self.block.path(path));
        self.list.call(
            step,
            libc::SYS_move_mount,
            [
                tree,
                empty.into(),
                libc::AT_FDCWD.into(),
                path.into(),
                FROM_DESCRIPTOR.into(),
            ],
        );
    }
}

/// Whether a place is put back into the folder that covers `covered`.
fn is_put_back(below: &Placement, covered: &Path) -> bool {
    below.what.is_tree()
        && below
            .within
            .as_ref()
            .is_some_and(|(above, _)| above == covered)
}
