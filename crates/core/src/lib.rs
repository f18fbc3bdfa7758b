//! Governed tools for AI agents: artifacts, checks, one path for every call.

pub mod artifact;
pub mod builtin;
pub mod call;
pub mod check;
pub mod client;
pub mod content;
mod depth;
pub mod diagnostic;
pub mod digest;
pub mod effect;
pub mod engine;
pub mod error;
pub mod error_policy;
pub mod event;
mod host;
mod isolate;
mod listen;
pub mod live;
pub mod message;
pub mod middleware;
pub mod native;
pub mod outside;
pub mod pattern;
pub mod plan;
pub mod redact;
pub mod registry;
pub mod result;
pub mod rule;
pub mod run;
pub mod schema;
mod slots;
mod snapshot;
pub mod span;
pub mod store;
pub mod surface;
pub mod tool;
pub mod turn;
pub mod worker;

pub use call::{Arguments, Call, Cancellation};
pub use client::{Client, Judgement, Observation, Outcome};
pub use content::ContentBlock;
pub use engine::{Engine, EngineBuilder};
pub use error_policy::{ErrorPolicy, Reaction};
pub use message::ToolMessage;
pub use result::{ArtifactRef, ToolResult};
pub use tool::{
    Tool, ToolCallId, ToolError, ToolName, ToolOutput, ToolRuntime, ToolSpec, TypedTool,
};
pub use turn::{Run, ToolRequest, Turn};
