//! Governed tools for AI agents: artifacts, checks, one path for every call.
//!
//! A host builds an [`Engine`] with [`EngineBuilder`], adds its own tools ([`Tool`], [`TypedTool`]),
//! [`middleware`] and event sinks ([`event`]), and makes calls with [`Engine::call`] or, in a loop
//! around a model, with a [`Run`] and its turns. Every call goes through the same stages
//! ([`Stage`]) and ends in one [`ToolResult`].

pub use call::{Arguments, Call, Cancellation, DEFAULT_MODE};
pub use client::{Client, Judgement, Observation, Outcome};
pub use content::ContentBlock;
pub use control::Control;
pub use decision::{Action, HookAction};
pub use door::Door;
pub use effect::Effects;
pub use engine::{Engine, EngineBuilder, Error, Live, Reload};
pub use engine::{ErrorPolicy, Reaction, Run, ToolRequest, Turn};
pub use host::Repair;
pub use id::{NameProblem, ToolCallId, ToolName};
pub use message::ToolMessage;
pub use refusal::{Class, Code, Grounds, Refusal};
pub use result::{ArtifactRef, Enforced, ToolResult};
pub use schema::Schema;
pub use stage::{Stage, StageTimes};
pub use tool::{Tool, ToolError, ToolOutput, ToolRuntime, ToolSpec, TypedTool};

// What a host implements or is given beyond the names above.
pub mod content;
pub mod event;
pub mod middleware;
pub mod outside;
pub mod store;
pub mod tool;

mod call;
mod control;
mod decision;
mod depth;
mod door;
mod effect;
mod host;
mod id;
mod isolate;
mod message;
mod number;
mod refusal;
mod result;
mod slots;
mod stage;

#[doc(hidden)]
pub use depth::MAX_DEPTH;
#[doc(hidden)]
pub use number::is_integer;

// The program, the script workers and their tests are built from this tree and use more of it than
// a host does. SemVer does not cover these modules.
#[doc(hidden)]
pub mod artifact;
#[doc(hidden)]
pub mod builtin;
#[doc(hidden)]
pub mod check;
#[doc(hidden)]
pub mod client;
#[doc(hidden)]
pub mod containment;
#[doc(hidden)]
pub mod diagnostic;
#[doc(hidden)]
pub mod digest;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod facts;
#[doc(hidden)]
pub mod hook_event;
#[doc(hidden)]
pub mod native;
#[doc(hidden)]
pub mod nearest;
#[doc(hidden)]
pub mod path;
#[doc(hidden)]
pub mod pattern;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod redact;
#[doc(hidden)]
pub mod registry;
#[doc(hidden)]
pub mod rule;
#[doc(hidden)]
pub mod run;
#[doc(hidden)]
pub mod schema;
#[doc(hidden)]
pub mod span;
#[doc(hidden)]
pub mod surface;
#[doc(hidden)]
pub mod view;
#[doc(hidden)]
pub mod worker;
