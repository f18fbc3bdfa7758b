//! Why a file operation was refused or failed.

use std::fmt::Write as _;
use std::io;

use rustix::io::Errno;

/// How much of a path a message repeats: enough to recognise it, too little to flood a log.
const SHOWN: usize = 300;

/// Why a file operation was refused or failed. Every text names the path as it was given.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Not there.
    #[error("`{0}` does not exist")]
    NotFound(String),
    /// The path, or a link on it, leaves the workspace.
    #[error("`{0}` is outside the workspace; give a path inside it")]
    Outside(String),
    /// The path is one of the names that only a person changes.
    #[error("`{0}` is protected from tools; a person must edit it")]
    Protected(String),
    /// The path is not among what this tool is kept to, or it is hidden.
    #[error(
        "`{0}` is not among what this tool may touch; `permissions`, `safety.workspace_root` or `sandbox.hidden` keep it out"
    )]
    Kept(String),
    /// The file has other names, so a change could reach a file outside the workspace.
    #[error("`{0}` has more than one hard link; write to a new file, or remove this name first")]
    HardLinked(String),
    /// A pipe, a socket or a device.
    #[error(
        "`{0}` is a pipe, a socket or a device; only regular files and directories are accepted"
    )]
    NotRegular(String),
    /// The last part is a symbolic link and the operation would write through it.
    #[error(
        "`{0}` is a symbolic link; give the path of the file it points to, or remove the link first"
    )]
    Link(String),
    /// Links that lead to each other, or one the system invents.
    #[error("`{0}` passes through too many symbolic links; give a path without them")]
    Loop(String),
    /// The operating system says this user may not.
    #[error("`{0}` may not be accessed by this user: permission denied")]
    Denied(String),
    /// A directory where a file is needed.
    #[error("`{0}` is a directory; give the path of a file")]
    IsDirectory(String),
    /// A file where a directory is needed.
    #[error("`{0}`, or a part of it, is not a directory")]
    NotDirectory(String),
    /// A directory that would have to be empty.
    #[error("`{0}` is a directory that is not empty; empty it, or remove it recursively")]
    NotEmpty(String),
    /// The workspace itself, where something inside it is needed.
    #[error("`{0}` is the workspace itself; name something inside it")]
    Root(String),
    /// Not a usable path.
    #[error("`{path}` is not a usable path: {why}")]
    BadPath {
        /// As given.
        path: String,
        /// What is wrong and what is accepted.
        why: &'static str,
    },
    /// Not a usable pattern.
    #[error("`{pattern}` is not a usable pattern: {why}")]
    BadPattern {
        /// As given.
        pattern: String,
        /// What is wrong.
        why: String,
    },
    /// A pattern that matches, or has to look at, too much.
    #[error(
        "`{pattern}` is too wide: more than {max} {what}; start it with a directory or make it narrower"
    )]
    TooWide {
        /// As given.
        pattern: String,
        /// The limit.
        max: usize,
        /// What the limit counts.
        what: &'static str,
    },
    /// More bytes than were asked for.
    #[error("`{path}` is larger than {max} bytes")]
    TooLarge {
        /// As given.
        path: String,
        /// The limit.
        max: u64,
    },
    /// More entries, or deeper, than one operation may touch.
    #[error("`{path}` holds more than {max} {what}; work on a smaller part of it")]
    TooMany {
        /// As given.
        path: String,
        /// The limit.
        max: usize,
        /// What the limit counts.
        what: &'static str,
    },
    /// Somebody else kept changing the path.
    #[error("`{0}` kept changing while it was used; try again")]
    Busy(String),
    /// The system cannot keep paths inside the workspace, so nothing is opened.
    #[error("files cannot be opened safely here: {0}")]
    Unavailable(String),
    /// Anything else the operating system says.
    #[error("`{path}`: {source}")]
    Io {
        /// As given.
        path: String,
        /// The operating system's words.
        source: io::Error,
    },
}

impl FileError {
    /// Whether the jail refused on purpose, which is recorded, as opposed to something that went wrong.
    pub fn is_denial(&self) -> bool {
        matches!(
            self,
            Self::Outside(_)
                | Self::Protected(_)
                | Self::Kept(_)
                | Self::HardLinked(_)
                | Self::NotRegular(_)
                | Self::Link(_)
        )
    }

    /// What an error number means for an operation on a name in an opened directory.
    pub(super) fn from_os(path: &str, errno: Errno) -> Self {
        let shown = shown(path);
        match errno {
            Errno::NOENT => Self::NotFound(shown),
            Errno::ACCESS | Errno::PERM => Self::Denied(shown),
            Errno::ISDIR => Self::IsDirectory(shown),
            Errno::NOTDIR => Self::NotDirectory(shown),
            Errno::NOTEMPTY => Self::NotEmpty(shown),
            Errno::LOOP => Self::Loop(shown),
            Errno::NAMETOOLONG => Self::BadPath {
                path: shown,
                why: "it is too long for this file system",
            },
            Errno::NOSYS => Self::Unavailable(
                "the kernel lacks a system call this needs; Linux 5.6 or newer is needed".into(),
            ),
            other => Self::Io {
                path: shown,
                source: other.into(),
            },
        }
    }

    /// What an error number means when a path was opened beneath the workspace.
    pub(super) fn from_open(path: &str, errno: Errno) -> Self {
        match errno {
            Errno::XDEV => Self::Outside(shown(path)),
            // Sockets and devices without a driver cannot even be opened.
            Errno::NXIO | Errno::NODEV => Self::NotRegular(shown(path)),
            Errno::AGAIN => Self::Busy(shown(path)),
            other => Self::from_os(path, other),
        }
    }

    /// The same for errors of the standard library, which keep the number.
    pub(super) fn from_io(path: &str, error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(errno) => Self::from_os(path, errno),
            None => Self::Io {
                path: shown(path),
                source: error,
            },
        }
    }
}

/// A path as a message may show it: on one line, without control characters, not endless.
pub(super) fn shown(path: &str) -> String {
    let mut text = String::new();
    for (count, c) in path.chars().enumerate() {
        if count == SHOWN {
            text.push('…');
            break;
        }
        if c.is_control() || super::protected::is_invisible(c) {
            // Writing to a string cannot fail.
            let _ = write!(text, "{}", c.escape_unicode());
        } else {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_stays_on_one_line_and_names_the_path() {
        let text = FileError::Outside(shown("../a\nb\u{202e}c")).to_string();
        assert_eq!(
            text,
            "`../a\\u{a}b\\u{202e}c` is outside the workspace; give a path inside it"
        );
        assert_eq!(shown("a/bé c.txt"), "a/bé c.txt");
        assert!(shown(&"x".repeat(5000)).len() < 320);
    }

    #[test]
    fn only_refusals_on_purpose_are_denials() {
        for errno in [
            Errno::NOENT,
            Errno::ACCESS,
            Errno::NOSPC,
            Errno::NOSYS,
            Errno::ISDIR,
            Errno::IO,
        ] {
            assert!(!FileError::from_open("x", errno).is_denial(), "{errno}");
        }
        for errno in [Errno::XDEV, Errno::NXIO] {
            assert!(FileError::from_open("x", errno).is_denial(), "{errno}");
        }
        assert!(matches!(
            FileError::from_os("x", Errno::NOSPC),
            FileError::Io { .. }
        ));
        assert!(matches!(
            FileError::from_os("x", Errno::NOSYS),
            FileError::Unavailable(_)
        ));
        // Between two mounts inside the workspace a rename fails with the number that means an escape when opening.
        assert!(!FileError::from_os("x", Errno::XDEV).is_denial());
    }
}
