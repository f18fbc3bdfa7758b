//! What a tool can do to the world.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of effects and flags.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Effects(u16);

/// Every effect with its name, in the order they are shown.
const NAMES: [(Effects, &str); 8] = [
    (Effects::READ, "read"),
    (Effects::WRITE, "write"),
    (Effects::EXEC, "exec"),
    (Effects::NET_READ, "net_read"),
    (Effects::NET_WRITE, "net_write"),
    (Effects::DESKTOP, "desktop"),
    (Effects::DESTRUCTIVE, "destructive"),
    (Effects::SPEND, "spend"),
];

impl Effects {
    /// Nothing at all.
    pub const NONE: Self = Self(0);
    /// Reads files.
    pub const READ: Self = Self(1);
    /// Writes files.
    pub const WRITE: Self = Self(1 << 1);
    /// Starts processes.
    pub const EXEC: Self = Self(1 << 2);
    /// Reads from the network.
    pub const NET_READ: Self = Self(1 << 3);
    /// Changes something over the network.
    pub const NET_WRITE: Self = Self(1 << 4);
    /// Controls a desktop.
    pub const DESKTOP: Self = Self(1 << 5);
    /// Flag: what it does cannot be undone.
    pub const DESTRUCTIVE: Self = Self(1 << 6);
    /// Flag: costs money.
    pub const SPEND: Self = Self(1 << 7);
    /// Every effect, without the flags.
    pub const ALL: Self = Self(0b11_1111);

    /// The union of several sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every effect of `other` is in this set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// What is in this set and not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The effects alone, flags removed.
    #[must_use]
    pub const fn unflagged(self) -> Self {
        Self(self.0 & Self::ALL.0)
    }

    /// Whether it changes anything.
    #[must_use]
    pub const fn changes(self) -> bool {
        self.0 & (Self::WRITE.0 | Self::EXEC.0 | Self::NET_WRITE.0 | Self::DESKTOP.0) != 0
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The names in the set, in a fixed order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES
            .into_iter()
            .filter(move |&(effect, _)| self.contains(effect))
            .map(|(_, name)| name)
    }

    /// The effect or flag of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        NAMES
            .into_iter()
            .find(|&(_, known)| known == name)
            .map(|(effect, _)| effect)
    }
}

impl BitOr for Effects {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.and(other)
    }
}

impl BitOrAssign for Effects {
    fn bitor_assign(&mut self, other: Self) {
        *self = self.and(other);
    }
}

impl fmt::Display for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        for (index, name) in self.names().enumerate() {
            write!(f, "{}{name}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

/// The ladder of seed 004: ranked words for how far a tool may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Pure.
    None,
    /// Reads the workspace.
    ReadOnly,
    /// Writes the workspace.
    WorkspaceWrite,
    /// Starts processes.
    ProcessExec,
    /// Reads from the network.
    NetworkRead,
    /// Changes something over the network.
    Network,
    /// Controls a desktop.
    DesktopControl,
}

impl Level {
    /// All levels, lowest first.
    pub const LADDER: [Self; 7] = [
        Self::None,
        Self::ReadOnly,
        Self::WorkspaceWrite,
        Self::ProcessExec,
        Self::NetworkRead,
        Self::Network,
        Self::DesktopControl,
    ];

    /// The word authors write.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ReadOnly => "read_only",
            Self::WorkspaceWrite => "workspace_write",
            Self::ProcessExec => "process_exec",
            Self::NetworkRead => "network_read",
            Self::Network => "network",
            Self::DesktopControl => "desktop_control",
        }
    }

    /// The level of that word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::LADDER.into_iter().find(|level| level.word() == word)
    }

    /// The effects the word stands for.
    #[must_use]
    pub const fn effects(self) -> Effects {
        match self {
            Self::None => Effects::NONE,
            Self::ReadOnly => Effects::READ,
            Self::WorkspaceWrite => Effects::READ.and(Effects::WRITE),
            Self::ProcessExec => Effects::READ.and(Effects::WRITE).and(Effects::EXEC),
            Self::NetworkRead => Effects::READ.and(Effects::NET_READ),
            Self::Network => Effects::READ.and(Effects::NET_READ).and(Effects::NET_WRITE),
            Self::DesktopControl => Effects::ALL,
        }
    }

    /// The highest level of any effect in the set.
    #[must_use]
    pub fn of(effects: Effects) -> Self {
        let rungs = [
            (Effects::DESKTOP, Self::DesktopControl),
            (Effects::NET_WRITE, Self::Network),
            (Effects::NET_READ, Self::NetworkRead),
            (Effects::EXEC, Self::ProcessExec),
            (Effects::WRITE, Self::WorkspaceWrite),
            (Effects::READ, Self::ReadOnly),
        ];
        rungs
            .into_iter()
            .find(|&(effect, _)| effects.contains(effect))
            .map_or(Self::None, |(_, level)| level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_is_the_rung_of_its_own_effects() {
        for level in Level::LADDER {
            assert_eq!(Level::of(level.effects()), level);
            assert_eq!(Level::named(level.word()), Some(level));
        }
    }

    #[test]
    fn effects_have_names_both_ways() {
        let set = Effects::READ | Effects::SPEND;
        assert_eq!(set.to_string(), "read, spend");
        assert_eq!(set.unflagged(), Effects::READ);
        assert_eq!(Effects::named("net_write"), Some(Effects::NET_WRITE));
        assert!(Effects::ALL.contains(Effects::DESKTOP) && !Effects::ALL.contains(Effects::SPEND));
    }
}
