//! Which files a command sees, and what it may do with them.

pub(crate) mod identity;
pub(crate) mod landlock;
pub(crate) mod landlock_rules;
pub(crate) mod mount_tree;
pub(crate) mod mounts;
pub(crate) mod open;
pub(crate) mod program;
pub(crate) mod runnable;
pub(crate) mod view;
