//! Why a file operation was refused or failed.

use std::fmt::Write as _;
use std::io;

use rustix::io::Errno;

/// How much of a path a message repeats: enough to recognise it, too little to flood a log.
const SHOWN: usize = 300;

/// Why a file operation was refused or failed. Every message names the path as the caller gave it.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The path does not exist.
    #[error("`{0}` does not exist")]
    NotFound(String),
    /// The path, or a link on it, leaves the workspace.
    #[error("`{0}` is outside the workspace; give a path inside it")]
    Outside(String),
    /// The path is protected: only a person changes it.
    #[error("`{0}` is protected from tools; a person must edit it")]
    Protected(String),
    /// The path is outside the tool's bounds, or hidden.
    #[error(
        "`{0}` is outside what this tool may touch; `permissions`, `safety.workspace_root` and `sandbox.hidden` decide that"
    )]
    OutOfBounds(String),
    /// The path is in a place that no tool changes.
    #[error("`{path}` is read-only: {why} lists `{place}`; a person can change it there")]
    ReadOnly {
        /// As given.
        path: String,
        /// The place that is read-only.
        place: String,
        /// What says so.
        why: String,
    },
    /// The path is private in a home.
    #[error(
        "`{0}` is private: no tool sees keys, histories and what other programs keep in a home; work in a folder of its own"
    )]
    Private(String),
    /// The path leads to a file that the rules which judged the path do not accept.
    #[error("`{path}` leads to `{real}`: {why}")]
    Ruled {
        /// As given.
        path: String,
        /// What was opened.
        real: String,
        /// The rule, and what it accepts.
        why: String,
    },
    /// The file has other names, so a change could reach a file outside the workspace.
    #[error("`{0}` has more than one hard link; write to a new file, or remove this name first")]
    HardLinked(String),
    /// A pipe, a socket or a device.
    #[error(
        "`{0}` is a pipe, a socket or a device; only regular files and directories are accepted"
    )]
    NotRegular(String),
    /// The last component is a symbolic link, and the operation would write through it.
    #[error(
        "`{0}` is a symbolic link; give the path of the file it points to, or remove the link first"
    )]
    Link(String),
    /// Links form a loop, or the kernel invents one (a magic link).
    #[error("`{0}` passes through too many symbolic links; give a path without them")]
    Loop(String),
    /// The operating system denies this user access.
    #[error("permission denied: this user may not access `{0}`")]
    Denied(String),
    /// A directory where a file is needed.
    #[error("`{0}` is a directory; give the path of a file")]
    IsDirectory(String),
    /// A file where a directory is needed.
    #[error("`{0}`, or a part of it, is not a directory")]
    NotDirectory(String),
    /// A directory that would have to be empty.
    #[error("`{0}` is not empty; empty it, or remove it recursively")]
    NotEmpty(String),
    /// The workspace itself, where the operation needs something inside it.
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
    /// Another process kept changing the path.
    #[error("`{0}` kept changing during the operation; try again")]
    Busy(String),
    /// The system cannot keep paths inside the workspace, so the jail opens nothing.
    #[error("files cannot be opened safely here: {0}")]
    Unavailable(String),
    /// Any other error of the operating system.
    #[error("`{path}`: {source}")]
    Io {
        /// As given.
        path: String,
        /// The operating system's error.
        source: io::Error,
    },
}

impl FileError {
    /// Whether the jail refused on purpose (such denials are recorded), as opposed to something
    /// that went wrong.
    pub fn is_denial(&self) -> bool {
        matches!(
            self,
            Self::Outside(_)
                | Self::Protected(_)
                | Self::OutOfBounds(_)
                | Self::Private(_)
                | Self::Ruled { .. }
                | Self::ReadOnly { .. }
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
                "the kernel lacks a required system call; Linux 5.6 or newer is needed".into(),
            ),
            other => Self::Io {
                path: shown,
                source: other.into(),
            },
        }
    }

    /// What an error number means when opening a path beneath the workspace.
    pub(super) fn from_open(path: &str, errno: Errno) -> Self {
        match errno {
            Errno::XDEV => Self::Outside(shown(path)),
            // Sockets and devices without a driver cannot even be opened.
            Errno::NXIO | Errno::NODEV => Self::NotRegular(shown(path)),
            Errno::AGAIN => Self::Busy(shown(path)),
            other => Self::from_os(path, other),
        }
    }

    /// The same for errors of the standard library, which carry the number.
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

/// A path as a message may show it: on one line, without control characters, cut after a while.
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
        // Across two mounts inside the workspace a rename fails with the error number that means an
        // escape when opening.
        assert!(!FileError::from_os("x", Errno::XDEV).is_denial());
    }
}
