//! Governed tools for AI agents: artifacts, checks, one path for every call.
//!
//! A host builds an [`Engine`] with [`EngineBuilder`], adds its own tools ([`Tool`], [`TypedTool`]),
//! [`middleware`] and event sinks ([`event`]), and makes calls with [`Engine::call`] or, in a loop
//! around a model, with a [`Run`] and its turns. Every call goes through the same stages
//! ([`Stage`]) and ends in one [`ToolResult`].

pub use call::{Arguments, Call, Cancellation, Door};
pub use client::{Client, Judgement, Observation, Outcome};
pub use content::ContentBlock;
pub use control::Control;
pub use effect::Effects;
pub use engine::{Engine, EngineBuilder, Error, Live, Reload};
pub use engine::{ErrorPolicy, Reaction, Run, ToolRequest, Turn};
pub use host::Repair;
pub use id::{ToolCallId, ToolName};
pub use message::ToolMessage;
pub use refusal::{Class, Code, Refusal};
pub use result::{ArtifactRef, ToolResult};
pub use stage::Stage;
pub use tool::{Tool, ToolError, ToolOutput, ToolRuntime, ToolSpec, TypedTool};

// What a host implements or is given beyond the names above.
pub mod content;
pub mod event;
pub mod middleware;
pub mod outside;
pub mod store;
pub mod tool;

mod isolate;
mod slots;

// The program, the script workers and their tests are built from this tree and use more of it than
// a host does. SemVer does not cover these modules.
#[doc(hidden)]
pub mod artifact;
#[doc(hidden)]
pub mod builtin;
#[doc(hidden)]
pub mod call;
#[doc(hidden)]
pub mod check;
#[doc(hidden)]
pub mod client;
#[doc(hidden)]
pub mod containment;
#[doc(hidden)]
pub mod control;
#[doc(hidden)]
pub mod depth;
#[doc(hidden)]
pub mod diagnostic;
#[doc(hidden)]
pub mod digest;
#[doc(hidden)]
pub mod effect;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod facts;
#[doc(hidden)]
pub mod hook_event;
#[doc(hidden)]
pub mod host;
#[doc(hidden)]
pub mod id;
#[doc(hidden)]
pub mod message;
#[doc(hidden)]
pub mod native;
#[doc(hidden)]
pub mod nearest;
#[doc(hidden)]
pub mod number;
#[doc(hidden)]
pub mod path;
#[doc(hidden)]
pub mod pattern;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod redact;
#[doc(hidden)]
pub mod refusal;
#[doc(hidden)]
pub mod registry;
#[doc(hidden)]
pub mod result;
#[doc(hidden)]
pub mod rule;
#[doc(hidden)]
pub mod run;
#[doc(hidden)]
pub mod schema;
#[doc(hidden)]
pub mod span;
#[doc(hidden)]
pub mod stage;
#[doc(hidden)]
pub mod surface;
#[doc(hidden)]
pub mod view;
#[doc(hidden)]
pub mod worker;
