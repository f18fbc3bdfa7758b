//! A request to run a tool.

use crate::digest;
use crate::door::Door;
use crate::id::ToolCallId;
use crate::slots::Caller;
use crate::store::MemoryStore;

use serde_json::Value;
use std::any::Any;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// One request to run a tool. It ends in exactly one result.
#[derive(Clone, Debug)]
pub struct Call {
    /// The id that the answer carries. A session refuses an id that is among its last 4,096; to
    /// detect repeats beyond that, use ids that never repeat.
    pub id: ToolCallId,
    /// The tool's name or alias, as requested.
    pub tool: String,
    /// The arguments as sent.
    pub arguments: Arguments,
    /// The conversation it belongs to.
    pub session_id: String,
    /// The run it belongs to.
    pub run_id: String,
    /// The mode of the call.
    pub mode: Cow<'static, str>,
    /// The door it came through.
    pub door: Door,
    /// The caller's own time limit.
    pub timeout: Option<Duration>,
    /// Ends the call early.
    pub cancel: Cancellation,
    /// The run's context for the host's Rust tools.
    pub(crate) context: UserContext,
    /// The calls that contain this one, outermost first.
    pub(crate) inside: Vec<Caller>,
    /// The call that contains all of these, or that it is a part of.
    pub(crate) outermost: Option<ToolCallId>,
    /// The limits of its run and turn.
    pub(crate) terms: Option<Arc<TurnLimits>>,
}

/// The host's context of a run, of any type. The default is for hosts without a context.
#[derive(Clone, Default)]
pub(crate) struct UserContext(Option<Arc<dyn Any + Send + Sync>>);

impl UserContext {
    pub(crate) fn new<Ctx: Send + Sync + 'static>(context: Arc<Ctx>) -> Self {
        Self(Some(context))
    }

    /// Whether the host gave a context other than `()`.
    pub(crate) fn is_given(&self) -> bool {
        !self.as_any().is::<()>()
    }

    pub(crate) fn as_any(&self) -> &(dyn Any + Send + Sync) {
        self.0.as_deref().unwrap_or(&())
    }
}

impl fmt::Debug for UserContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "a context"
        } else {
            "no context"
        })
    }
}

/// Ends a call early. Most calls are never cancelled, so the token is created on first use. Clones,
/// and the token from [`Cancellation::token`], end the same call.
#[derive(Debug, Default)]
pub struct Cancellation(OnceLock<CancellationToken>);

impl Cancellation {
    /// The token, created on first use.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        CancellationToken::clone(self)
    }

    /// Whether the call was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.get().is_some_and(CancellationToken::is_cancelled)
    }
}

impl Deref for Cancellation {
    type Target = CancellationToken;

    fn deref(&self) -> &CancellationToken {
        self.0.get_or_init(CancellationToken::new)
    }
}

impl Clone for Cancellation {
    fn clone(&self) -> Self {
        self.token().into()
    }
}

impl From<CancellationToken> for Cancellation {
    fn from(token: CancellationToken) -> Self {
        Self(token.into())
    }
}

/// Arguments as a door received them.
#[derive(Clone, Debug, PartialEq)]
pub enum Arguments {
    /// JSON text, as a model sends it.
    Text(String),
    /// A value that the door already parsed.
    Value(Value),
}

/// The mode every project has.
pub const DEFAULT_MODE: &str = "default";

impl Call {
    /// A call with a fresh id, in a new session.
    pub fn new(tool: impl Into<String>, arguments: Arguments) -> Self {
        Self {
            id: digest::fresh_id("call").into(),
            tool: tool.into(),
            arguments,
            session_id: digest::fresh_id("ses"),
            run_id: digest::fresh_id("run"),
            mode: DEFAULT_MODE.into(),
            door: Door::Library,
            timeout: None,
            cancel: Cancellation::default(),
            context: UserContext::default(),
            inside: Vec::new(),
            outermost: None,
            terms: None,
        }
    }

    /// The turn it belongs to; a call outside any turn is a turn of its own, with the calls inside
    /// it.
    #[must_use]
    pub fn turn_id(&self) -> &str {
        match (&self.terms, &self.outermost) {
            (Some(turn), _) => &turn.id,
            (None, outermost) => outermost.as_ref().unwrap_or(&self.id).as_str(),
        }
    }

    /// Whether a tool made it from within its own call.
    pub(crate) fn is_nested(&self) -> bool {
        !self.inside.is_empty()
    }

    /// Puts the call into a session.
    #[must_use]
    pub fn session(mut self, id: impl Into<String>) -> Self {
        self.session_id = id.into();
        self
    }

    /// Puts the call into the session, run and turn of another call that it is part of.
    #[must_use]
    pub fn part_of(mut self, whole: &Self) -> Self {
        self.session_id.clone_from(&whole.session_id);
        self.run_id.clone_from(&whole.run_id);
        self.terms.clone_from(&whole.terms);
        let outermost = whole.outermost.as_ref().unwrap_or(&whole.id);
        self.outermost = Some(outermost.clone());
        self
    }

    /// Sets the door that it came through.
    #[must_use]
    pub fn door(mut self, door: Door) -> Self {
        self.door = door;
        self
    }

    /// Sets the mode of the call.
    #[must_use]
    pub fn mode(mut self, mode: impl Into<Cow<'static, str>>) -> Self {
        self.mode = mode.into();
        self
    }
}

/// What a run and a turn allow their calls.
#[derive(Debug)]
pub(crate) struct TurnLimits {
    /// The id of the turn.
    pub(crate) id: String,
    pub(crate) offered: Option<Arc<HashSet<String>>>,
    pub(crate) run: Arc<CallCount>,
    pub(crate) turn: CallCount,
    pub(crate) store: Arc<MemoryStore>,
}

impl TurnLimits {
    /// Whether the turn offers a tool.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.offered
            .as_ref()
            .is_none_or(|offered| offered.contains(tool))
    }

    /// Counts a call, or returns the limit that it would break.
    pub(crate) fn count(&self) -> Result<(), (&'static str, u64)> {
        self.turn.take().map_err(|most| ("turn", most))?;
        self.run.take().map_err(|most| {
            self.turn.give_back();
            ("run", most)
        })
    }
}

#[derive(Debug, Default)]
pub(crate) struct CallCount {
    pub(crate) made: AtomicU64,
    pub(crate) most: Option<u64>,
    /// An outer limit that also applies: calls counted here are counted there.
    pub(crate) outer: Option<Arc<CallCount>>,
}

impl CallCount {
    fn take(&self) -> Result<(), u64> {
        let most = self.most.unwrap_or(u64::MAX);
        let taken = self
            .made
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |made| {
                (made < most).then_some(made + 1)
            });
        taken.map_err(|_| most)?;
        let outer = self.outer.as_ref().map_or(Ok(()), |outer| outer.take());
        outer.inspect_err(|_| {
            self.made.fetch_sub(1, Ordering::Relaxed);
        })
    }

    fn give_back(&self) {
        self.made.fetch_sub(1, Ordering::Relaxed);
        self.outer.iter().for_each(|outer| outer.give_back());
    }
}
