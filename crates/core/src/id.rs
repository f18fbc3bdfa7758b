//! Names of tools and ids of calls: shared, immutable text.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

macro_rules! shared_text {
    ($(#[doc = $doc:literal])+ $name:ident) => {
        $(#[doc = $doc])+
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

        }

        impl Deref for $name {
            type Target = str;
            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                *self.0 == *other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                *self.0 == **other
            }
        }
    };
}

shared_text! {
    /// A tool's name. [`NameProblem::of`] checks whether it can be offered.
    ToolName
}

shared_text! {
    /// The id of a call, as its caller chose it.
    ToolCallId
}

/// The longest name that every provider accepts, in bytes.
pub(crate) const MAX_NAME: usize = 64;

/// Why a name cannot be offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameProblem {
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// It contains white space.
    #[error("it has white space in it")]
    Spaced,
    /// It is longer than providers accept.
    #[error("it is longer than {MAX_NAME} characters")]
    Long,
    /// Some provider would need to escape it.
    #[error(
        "it needs escaping; a letter or `_`, and then letters, digits, `_` and `-` are accepted"
    )]
    Unescapable,
}

impl NameProblem {
    /// What is wrong with a name, if anything.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() {
            Some(Self::Empty)
        } else if name.contains(char::is_whitespace) {
            Some(Self::Spaced)
        } else if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            || !name.chars().all(plain)
        {
            Some(Self::Unescapable)
        } else if name.len() > MAX_NAME {
            Some(Self::Long)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_some_provider_would_not_take_are_told_apart() {
        for (name, problem) in [
            ("read_file", None),
            ("_x-1", None),
            (&"a".repeat(64), None),
            ("", Some(NameProblem::Empty)),
            ("read file", Some(NameProblem::Spaced)),
            ("a\tb", Some(NameProblem::Spaced)),
            (&"a".repeat(65), Some(NameProblem::Long)),
            ("fs.read", Some(NameProblem::Unescapable)),
            ("1st", Some(NameProblem::Unescapable)),
            ("größe", Some(NameProblem::Unescapable)),
            ("a/b", Some(NameProblem::Unescapable)),
        ] {
            assert_eq!(NameProblem::of(name), problem, "{name}");
        }
    }
}
