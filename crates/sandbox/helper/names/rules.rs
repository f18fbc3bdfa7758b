//! Which names a command may make, change or remove, in the places that other programs see.

use crate::fold::folded;
use crate::layout::{NameRules, TextList};

/// What a command does with a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    /// It makes a file, or opens one for writing.
    Write,
    /// It makes a folder.
    Folder,
    /// It makes a symbolic link that stays in its folder.
    NearLink,
    /// It makes a symbolic link that leads elsewhere, or a named pipe.
    Link,
    /// It makes another name for a file.
    HardLink,
    /// It removes it.
    Remove,
    /// It gives it to what had another name: a file, or a folder.
    TakeFile,
    TakeFolder,
    /// It takes it from what has it.
    Leave,
}

/// What becomes of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Allowed,
    Refused,
    /// The harness must read the configuration that would take effect.
    Configuration,
    /// The harness must read the file once it is written: it leads Git somewhere.
    Pointer,
}

/// The most folders on the way to a name; the kernel's longest path has fewer than that.
const MOST_PARTS: usize = 2048;

/// Judges a deed on a name in a folder, given by its real path, of which `base` leads to the place
/// it is in; without one, only contained commands see it.
pub(super) fn judge(
    rules: &NameRules,
    base: Option<usize>,
    folder: &[u8],
    name: &[u8],
    deed: Deed,
) -> Verdict {
    let Some(base) = base else {
        return Verdict::Allowed;
    };
    // What is judged below may still be written.
    let keeps_name = matches!(deed, Deed::Folder | Deed::Write | Deed::TakeFile);
    if is_closed(&rules.closed, folder, name, deed)
        || !keeps_name && is_pinned(&rules.pinned, folder, name)
    {
        return Verdict::Refused;
    }
    let parts = || parts(&folder[base..]).chain(core::iter::once(name));
    let mut git = None;
    for (at, part) in parts().enumerate().take(MOST_PARTS) {
        if has(&rules.trees, part) {
            return Verdict::Refused;
        }
        // The first one: what lies below is all Git's.
        if git.is_none() && is_same(part, ".git") {
            git = Some(at);
        }
    }
    let last = parts().count() - 1;
    if let Some(verdict) = of_pairs(rules, parts, last, deed) {
        return verdict;
    }
    match git {
        Some(at) if at == last => of_git_itself(deed),
        Some(at) => inside_git(|| parts().skip(at + 1), last - at - 1, name, deed),
        None => Verdict::Allowed,
    }
}

/// How much of a folder's path leads to the project, or to the writable place it is in; `None`
/// elsewhere, where only contained commands see it.
pub(super) fn base_of(rules: &NameRules, folder: &[u8]) -> Option<usize> {
    texts(&rules.roots)
        .zip(texts(&rules.bases))
        .find(|(root, _)| is_within(folder, root))
        .map(|(_, base)| base.len().min(folder.len()))
}

/// Whether a name is closed, is in something closed, or has something closed in it that the deed
/// would move or remove.
fn is_closed(closed: &TextList, folder: &[u8], name: &[u8], deed: Deed) -> bool {
    let is_moved = matches!(
        deed,
        Deed::Remove | Deed::Leave | Deed::TakeFile | Deed::TakeFolder
    );
    texts(closed).any(|closed| {
        is_within(folder, closed)
            || after(closed, folder, name)
                .is_some_and(|rest| rest.is_empty() || is_moved && rest[0] == b'/')
    })
}

/// Whether a name is pinned, or something in it is.
fn is_pinned(pinned: &TextList, folder: &[u8], name: &[u8]) -> bool {
    texts(pinned).any(|pinned| {
        after(pinned, folder, name).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    })
}

/// What follows a name in a folder in a path, if the path leads there.
fn after<'a>(path: &'a [u8], folder: &[u8], name: &[u8]) -> Option<&'a [u8]> {
    let rest = path.strip_prefix(folder)?;
    let rest = match folder {
        b"/" => rest,
        _ => rest.strip_prefix(b"/")?,
    };
    rest.strip_prefix(name)
}

/// Names that are protected in a folder of one name only: `settings.json` in `.vscode`.
fn of_pairs<'a, I: Iterator<Item = &'a [u8]>>(
    rules: &NameRules,
    parts: impl Fn() -> I,
    last: usize,
    deed: Deed,
) -> Option<Verdict> {
    for pair in texts(&rules.pairs) {
        let (outer, inner) = text(pair).split_once('/')?;
        for (at, part) in parts().enumerate() {
            if !is_same(part, outer) {
                continue;
            }
            if at < last && parts().nth(at + 1).is_some_and(|next| is_same(next, inner)) {
                return Some(Verdict::Refused);
            }
            // What becomes this folder may bring the file with it, and what stops being it may
            // take it away.
            let moves = matches!(
                deed,
                Deed::TakeFile
                    | Deed::TakeFolder
                    | Deed::Leave
                    | Deed::Link
                    | Deed::NearLink
                    | Deed::HardLink
            );
            if at == last && moves {
                return Some(Verdict::Refused);
            }
        }
    }
    None
}

fn of_git_itself(deed: Deed) -> Verdict {
    match deed {
        Deed::Folder | Deed::Remove => Verdict::Allowed,
        Deed::Write => Verdict::Pointer,
        _ => Verdict::Refused,
    }
}

/// Folders of Git whose names come from branches and objects, and never are configuration.
const PLAIN: [&str; 4] = ["refs", "logs", "objects", "rr-cache"];

fn inside_git<'a, I: Iterator<Item = &'a [u8]>>(
    parts: impl Fn() -> I,
    last: usize,
    name: &[u8],
    deed: Deed,
) -> Verdict {
    let first = parts().next().unwrap_or_default();
    // A link would lead Git out of its folder, to what nobody judged.
    if deed == Deed::Link {
        return Verdict::Refused;
    }
    if PLAIN.iter().any(|plain| is_same(first, plain)) && last > 0 {
        return Verdict::Allowed;
    }
    if let Some(at) = parts().position(|part| is_same(part, "hooks")) {
        // Only a person makes hooks, so only a person removes them. Git's samples come and go.
        let is_sample = at + 1 == last && name.ends_with(b".sample");
        return match deed {
            Deed::Folder | Deed::Remove if at == last => Verdict::Allowed,
            Deed::Write | Deed::Remove if is_sample => Verdict::Allowed,
            _ => Verdict::Refused,
        };
    }
    if deed == Deed::Remove {
        return Verdict::Allowed;
    }
    if is_same(name, "config") || is_same(name, "config.worktree") {
        return match deed {
            Deed::TakeFile => Verdict::Configuration,
            Deed::Leave => Verdict::Allowed,
            _ => Verdict::Refused,
        };
    }
    if is_same(name, "commondir") {
        return match deed {
            Deed::Write => Verdict::Pointer,
            Deed::Leave => Verdict::Allowed,
            _ => Verdict::Refused,
        };
    }
    Verdict::Allowed
}

/// The names that make any folder a repository, as the kernel takes them: the first, with the next
/// two or the last.
pub(super) const REPOSITORY: [&str; 4] = ["HEAD\0", "objects\0", "refs\0", "commondir\0"];

/// Whether a name counts in a repository, whatever that is called.
pub(super) fn is_of_repository(name: &[u8]) -> bool {
    let mut names = REPOSITORY.iter().map(|name| without_null(name));
    is_same(name, "config") || names.any(|wanted| is_same(name, wanted))
}

/// Whether a folder that moves from one folder to another comes into Git's own from outside.
pub(super) fn comes_into_git(to: &[u8], from: &[u8]) -> bool {
    git_folder_of(to).is_some_and(|git| !is_within(from, git))
}

/// Whether a folder is Git's own, or in it.
pub(super) fn is_in_git(folder: &[u8]) -> bool {
    git_folder_of(folder).is_some()
}

/// The part of a path that leads to Git's folder.
fn git_folder_of(path: &[u8]) -> Option<&[u8]> {
    let mut end = 0;
    for part in path.split(|&byte| byte == b'/') {
        end += part.len();
        if is_same(part, ".git") {
            return Some(&path[..end]);
        }
        end += 1;
    }
    None
}

pub(super) fn without_null(name: &str) -> &str {
    name.strip_suffix('\0').unwrap_or(name)
}

/// A text of the harness's own, which is valid.
fn text(bytes: &[u8]) -> &str {
    core::str::from_utf8(bytes).unwrap_or_default()
}

fn parts(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/')
        .filter(|part| !part.is_empty())
}

pub(super) fn is_within(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest[0] == b'/' || folder == b"/")
}

fn has(list: &TextList, name: &[u8]) -> bool {
    texts(list).any(|wanted| is_same(name, text(wanted)))
}

/// The texts of a list in the command's block.
pub(super) fn texts(list: &TextList) -> impl Iterator<Item = &'static [u8]> {
    // SAFETY: the block has that many pairs of an address and a length there, stays mapped, and
    // nothing changes them.
    let pairs: &'static [[u64; 2]] = unsafe {
        core::slice::from_raw_parts(list.address as *const [u64; 2], list.count as usize)
    };
    pairs.iter().map(|&[address, length]| {
        // SAFETY: as above.
        unsafe { core::slice::from_raw_parts(address as *const u8, length as usize) }
    })
}

/// Whether a name is this one, which is in lower case, in any spelling that such a file system
/// takes for it: `.Harness`, `.harne\u{17f}s`.
pub(super) fn is_same(name: &[u8], wanted: &str) -> bool {
    if name.is_ascii() {
        return name.eq_ignore_ascii_case(wanted.as_bytes());
    }
    core::str::from_utf8(name).is_ok_and(|name| folded(name).eq(wanted.chars()))
}
