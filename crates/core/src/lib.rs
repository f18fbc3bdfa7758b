//! Governed tools for AI agents: artifacts, checks, one path for every call.

pub mod artifact;
pub mod builtin;
pub mod call;
pub mod check;
pub mod diagnostic;
pub mod digest;
pub mod effect;
pub mod error;
pub mod event;
pub mod registry;
pub mod result;
pub mod run;
pub mod span;
pub mod store;
pub mod worker;
