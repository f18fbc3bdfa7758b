//! Governed tools for AI agents: artifacts, checks, one path for every call.

pub mod artifact;
pub mod builtin;
pub mod call;
pub mod check;
pub mod client;
pub mod content;
pub mod diagnostic;
pub mod digest;
pub mod effect;
pub mod engine;
pub mod error;
pub mod event;
mod listen;
pub mod live;
pub mod message;
pub mod outside;
pub mod pattern;
pub mod plan;
pub mod redact;
pub mod registry;
pub mod result;
pub mod rule;
pub mod run;
pub mod schema;
mod snapshot;
pub mod span;
pub mod store;
pub mod surface;
pub mod worker;

pub use call::{Arguments, Call};
pub use client::{Client, Judgement, Observation, Outcome};
pub use content::ContentBlock;
pub use engine::{Engine, EngineBuilder};
pub use message::ToolMessage;
pub use result::{ArtifactRef, ToolResult};
pub use run::BodyError;
