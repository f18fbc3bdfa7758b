//! Middleware: the host's own code in the chain of hooks and around bodies.

mod again;
mod rate;

pub use again::NoRepeats;
pub use rate::RateLimit;

use crate::call::Call;
use crate::control::Control;
use crate::depth::{is_deep, let_go};
use crate::refusal::Refusal;
use crate::registry::OfferedTool;
use crate::registry::RegisteredTool;
use crate::tool::ask_host;
use crate::tool::{RegisterError, ToolError, ToolOutput};
use serde_json::{Map, Value};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// The inside of a layer: the next layer or the body.
pub struct Next<'a> {
    inside: &'a dyn Inside,
    arguments: Map<String, Value>,
    attempts: u32,
}

/// Runs the inside of a layer. The path implements it.
pub(crate) trait Inside: Send + Sync {
    fn run(&self, arguments: Map<String, Value>) -> Later<'_, Result<ToolOutput, ToolError>>;
    /// Records that a layer runs the inside again.
    fn retried(&self, attempt: u32);
}

impl<'a> Next<'a> {
    pub(crate) fn new(inside: &'a dyn Inside, arguments: Map<String, Value>) -> Self {
        Self {
            inside,
            arguments,
            attempts: 0,
        }
    }

    /// The arguments of the call, with the injected ones.
    #[must_use]
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// Runs the inside; it can run again. The record shows every run after the first as a retry.
    pub async fn run(&mut self) -> Result<ToolOutput, ToolError> {
        self.count();
        self.inside.run(self.arguments.clone()).await
    }

    /// Runs the inside for the last time, without copying the arguments.
    pub async fn finish(mut self) -> Result<ToolOutput, ToolError> {
        self.count();
        self.inside.run(self.arguments).await
    }

    fn count(&mut self) {
        self.attempts += 1;
        if self.attempts > 1 {
            self.inside.retried(self.attempts);
        }
    }
}

/// A link of the chain that judges calls and sees results. Hooks and middleware form one chain, by
/// priority. Calls run concurrently, so a middleware may run in several at once.
pub trait Middleware: Send + Sync + 'static {
    /// Its name in events and refusals. Read once, when it is added, like its priority.
    fn name(&self) -> &str;

    /// Lower runs first; hooks have 100 by default.
    fn priority(&self) -> i64 {
        100
    }

    /// Judges a call, and may change its arguments. A panic blocks the call.
    fn before<'a>(&'a self, call: &'a mut Judged<'_>) -> Step<'a, Decision> {
        let _ = call;
        Decision::Allow.into()
    }

    /// Sees the outcome of a call, and may change it. A panic withholds the result.
    fn after<'a>(&'a self, call: &'a Seen<'_>, answer: &'a mut Reply<'_>) -> Step<'a, ()> {
        let _ = (call, answer);
        ().into()
    }

    /// Whether a turn offers a tool. It can only remove tools; a panic removes the tool.
    fn offers(&self, turn: &TurnView<'_>, tool: &OfferedTool) -> bool {
        let _ = (turn, tool);
        true
    }
}

/// A layer around the body: it may retry, answer itself, or change the answer.
pub trait Around: Send + Sync + 'static {
    /// Its name in events and refusals. Read once, when it is added, like its priority.
    fn name(&self) -> &str;

    /// The layer with the lowest priority is outermost.
    fn priority(&self) -> i64 {
        100
    }

    /// Runs the inside, as often as it likes.
    fn around<'a>(
        &'a self,
        call: Seen<'a>,
        next: Next<'a>,
    ) -> Later<'a, Result<ToolOutput, ToolError>>;
}

/// A middleware or layer with the name and priority it had when it was added.
pub(crate) struct Registered<T: ?Sized> {
    pub(crate) name: Arc<str>,
    pub(crate) priority: i64,
    pub(crate) given: Arc<T>,
}

impl<T: ?Sized> fmt::Debug for Registered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl<T: ?Sized> Clone for Registered<T> {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            priority: self.priority,
            given: Arc::clone(&self.given),
        }
    }
}

impl Registered<dyn Middleware> {
    pub(crate) fn middleware(given: impl Middleware) -> Result<Self, RegisterError> {
        let name = ask_host("`name` of a middleware", || given.name().into())?;
        let priority = ask_host("`priority` of a middleware", || given.priority())?;
        Ok(Self {
            name,
            priority,
            given: Arc::new(given),
        })
    }
}

impl Registered<dyn Around> {
    pub(crate) fn layer(given: impl Around) -> Result<Self, RegisterError> {
        let name = ask_host("`name` of a layer", || given.name().into())?;
        let priority = ask_host("`priority` of a layer", || given.priority())?;
        Ok(Self {
            name,
            priority,
            given: Arc::new(given),
        })
    }
}

/// A boxed future.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An answer that is ready, or a future. A ready answer allocates nothing.
pub enum Step<'a, T> {
    /// The answer is ready.
    Now(T),
    /// The answer comes later.
    Later(Later<'a, T>),
}

impl<'a, T> Step<'a, T> {
    /// An answer to wait for.
    pub fn later(answer: impl Future<Output = T> + Send + 'a) -> Self {
        Self::Later(Box::pin(answer))
    }

    /// The answer, waited for if it comes later.
    pub(crate) async fn awaited(self) -> T {
        match self {
            Self::Now(answer) => answer,
            Self::Later(answer) => answer.await,
        }
    }
}

impl<T> From<T> for Step<'_, T> {
    fn from(answer: T) -> Self {
        Self::Now(answer)
    }
}

/// What a middleware decides about a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The call continues.
    Allow,
    /// The call is refused, for this reason.
    Refuse(String),
    /// A person must approve the call, for this reason.
    Ask(String),
    /// The middleware is asked again after this time, at least a millisecond, if the call has that
    /// much left. A call deferred more than 1,000 times is refused as `tool.limit`.
    Defer(Duration),
    /// The run stops or pauses.
    Control(Control),
}

/// A call that is being judged.
pub struct Judged<'a> {
    pub(crate) seen: Seen<'a>,
    pub(crate) arguments: &'a Map<String, Value>,
    pub(crate) changed: Option<Map<String, Value>>,
    /// Whether a middleware set arguments that nest too deep.
    pub(crate) is_too_deep: bool,
}

impl<'a> Judged<'a> {
    /// The call and its tool.
    #[must_use]
    pub fn call(&self) -> Seen<'a> {
        self.seen
    }

    /// The arguments, as the previous links left them.
    #[must_use]
    pub fn arguments(&self) -> &Map<String, Value> {
        self.changed.as_ref().unwrap_or(self.arguments)
    }

    /// Replaces the arguments. They are validated and judged by the rules again. Arguments that
    /// nest too deep are dropped, and the call is refused.
    pub fn set_arguments(&mut self, arguments: Map<String, Value>) {
        self.is_too_deep = arguments.values().any(is_deep);
        match self.is_too_deep {
            true => let_go(Value::Object(arguments)),
            false => self.changed = Some(arguments),
        }
    }
}

/// A call and its tool.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    pub(crate) call: &'a Call,
    pub(crate) tool: &'a RegisteredTool,
    pub(crate) rehearsed: bool,
}

impl<'a> Seen<'a> {
    /// The call, without its arguments.
    #[must_use]
    pub fn call(&self) -> &'a Call {
        self.call
    }

    /// The tool, with its effects.
    #[must_use]
    pub fn tool(&self) -> &'a RegisteredTool {
        self.tool
    }

    /// The run's context, if it is of this type.
    #[must_use]
    pub fn context<Ctx: 'static>(&self) -> Option<&'a Ctx> {
        self.call.context.as_any().downcast_ref()
    }

    /// Whether this is a dry run, which must leave no trace.
    #[must_use]
    pub fn is_rehearsed(&self) -> bool {
        self.rehearsed
    }
}

/// The outcome of a call, which a middleware may change.
pub struct Reply<'a> {
    pub(crate) output: &'a mut ToolOutput,
    pub(crate) error: &'a mut Option<Refusal>,
    pub(crate) changed: bool,
}

impl Reply<'_> {
    /// What the body returned, including what a failed body left behind.
    #[must_use]
    pub fn output(&self) -> &ToolOutput {
        self.output
    }

    /// Why the call failed, if it did.
    #[must_use]
    pub fn error(&self) -> Option<&Refusal> {
        self.error.as_ref()
    }

    /// Replaces the answer. The value is checked against the output schema again.
    pub fn answer(&mut self, output: ToolOutput) {
        (*self.output, *self.error) = match output.walkable() {
            Ok(output) => (output, None),
            Err(refusal) => (ToolOutput::default(), Some(refusal)),
        };
        self.changed = true;
    }

    /// Turns the answer into a failure, and withholds what the body returned.
    pub fn fail(&mut self, tool: &str, error: ToolError) {
        (*self.output, *self.error, self.changed) =
            (ToolOutput::default(), Some(error.into_refusal(tool)), true);
    }
}

/// The turn that tools are selected for.
pub struct TurnView<'a> {
    pub(crate) session_id: &'a str,
    pub(crate) run_id: &'a str,
    pub(crate) number: u64,
    pub(crate) context: &'a (dyn std::any::Any + Send + Sync),
}

impl TurnView<'_> {
    /// The session.
    #[must_use]
    pub fn session_id(&self) -> &str {
        self.session_id
    }

    /// The run.
    #[must_use]
    pub fn run_id(&self) -> &str {
        self.run_id
    }

    /// The number of the turn in its run, from one.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The run's context, if it is of this type.
    #[must_use]
    pub fn context<Ctx: 'static>(&self) -> Option<&Ctx> {
        self.context.downcast_ref()
    }
}
