//! Governed tools for AI agents: artifacts, checks, one path for every call.

pub mod artifact;
pub mod builtin;
pub mod check;
pub mod diagnostic;
pub mod effect;
pub mod event;
pub mod result;
pub mod run;
pub mod span;
pub mod store;
pub mod worker;
