//! Runs and turns, for a loop around a model.

use crate::call::TurnLimits;
use crate::call::{Arguments, Call, CallCount, DEFAULT_MODE, UserContext};
use crate::control::Control;
use crate::decision::HookAction;
use crate::digest;
use crate::door::Door;
use crate::engine::Engine;
use crate::engine::error::Error;
use crate::engine::error_policy::{ErrorPolicy, Reaction};
use crate::event::{EventKind, EventOrigin, EventRef, STILL};
use crate::id::ToolCallId;
use crate::isolate::caught;
use crate::message::ToolMessage;
use crate::middleware::TurnView;
use crate::refusal::Code;
use crate::refusal::Refusal;
use crate::registry::OfferedTool;
use crate::result::ToolResult;
use crate::run;
use crate::store::{MemoryStore, Session};
use crate::view::Offered;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// One prompt from start to end: its context, its limits and its tools.
pub struct Run<Ctx = ()> {
    engine: Engine<Ctx>,
    context: UserContext,
    session_id: String,
    run_id: String,
    mode: Cow<'static, str>,
    calls: Arc<CallCount>,
    turns: AtomicU64,
    most_in_turn: Option<u64>,
    at_once: Option<usize>,
    policy: Arc<ErrorPolicy>,
    /// The tools that the run was narrowed to when it was created.
    offered: Option<Arc<HashSet<String>>>,
    cancel: CancellationToken,
    /// The stores of the session and of the run. Set by the first turn and kept as long as the run
    /// exists.
    held: OnceLock<(Arc<Session>, Arc<MemoryStore>)>,
}

/// How many calls of one turn run at once by default.
const AT_ONCE: usize = 16;

/// A call that a model asks for.
#[derive(Clone, Debug)]
pub struct ToolRequest {
    /// The id that the answer must carry.
    pub id: ToolCallId,
    /// The tool's name or alias.
    pub tool: String,
    /// The arguments as sent.
    pub arguments: Arguments,
}

impl ToolRequest {
    /// A request whose arguments are a JSON value.
    pub fn new(id: impl Into<ToolCallId>, tool: impl Into<String>, arguments: Value) -> Self {
        Self {
            id: id.into(),
            tool: tool.into(),
            arguments: Arguments::Value(arguments),
        }
    }
}

impl<Ctx: Send + Sync + 'static> Engine<Ctx> {
    /// Starts a run with its context, in a new session.
    #[must_use]
    pub fn start(&self, context: Ctx) -> Run<Ctx> {
        Run {
            engine: self.clone(),
            context: UserContext::new(Arc::new(context)),
            session_id: digest::fresh_id("ses"),
            run_id: digest::fresh_id("run"),
            mode: DEFAULT_MODE.into(),
            calls: Arc::default(),
            turns: AtomicU64::new(0),
            most_in_turn: None,
            at_once: None,
            policy: Arc::default(),
            offered: None,
            cancel: CancellationToken::new(),
            held: OnceLock::new(),
        }
    }
}

impl<Ctx: Send + Sync + 'static> Run<Ctx> {
    /// The id that the run's events carry.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.run_id
    }

    /// Puts the run into this session.
    #[must_use]
    pub fn session(mut self, id: impl Into<String>) -> Self {
        self.session_id = id.into();
        self.held = OnceLock::new();
        self
    }

    /// Limits the calls of the whole run; further calls are refused. It never widens an existing
    /// limit, such as a parent's.
    #[must_use]
    pub fn max_calls(mut self, most: u64) -> Self {
        self.calls = Arc::new(CallCount {
            most: Some(most),
            outer: Some(self.calls),
            ..CallCount::default()
        });
        self
    }

    /// Limits the calls of each turn; further calls are refused. It never widens an existing limit,
    /// such as a parent's.
    #[must_use]
    pub fn max_calls_in_turn(mut self, most: u64) -> Self {
        self.most_in_turn = Some(self.most_in_turn.map_or(most, |there| there.min(most)));
        self
    }

    /// Limits how many calls of one turn run at once, at least one; the others wait. It never
    /// widens an existing limit, such as a parent's.
    #[must_use]
    pub fn max_concurrency(mut self, at_once: usize) -> Self {
        self.at_once = Some(
            self.at_once
                .map_or(at_once, |there| there.min(at_once))
                .max(1),
        );
        self
    }

    /// Sets how the run reacts to failures.
    #[must_use]
    pub fn error_policy(mut self, policy: ErrorPolicy) -> Self {
        self.policy = Arc::new(policy);
        self
    }

    /// The token that cancels every call of the run and of its children.
    #[must_use]
    pub fn cancellation(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Starts a run inside this one, in the same session, with a subset of this run's tools and
    /// within its limits.
    #[must_use]
    pub fn child(&self, context: Ctx, offers: impl Fn(&OfferedTool) -> bool) -> Self {
        let surface = self.engine.shared.view_or_default(&self.mode).offered();
        // As of this run's latest turn: middleware that hides a tool from a run also hides it from
        // the run's children.
        let number = self.turns.load(Ordering::Relaxed).max(1);
        let mine = surface
            .tools
            .iter()
            .filter(|tool| self.offers(number, tool));
        let offered = mine
            .filter(|tool| caught(|| offers(tool)).unwrap_or(false))
            .map(|tool| tool.name.clone())
            .collect();
        Self {
            engine: self.engine.clone(),
            context: UserContext::new(Arc::new(context)),
            session_id: self.session_id.clone(),
            run_id: digest::fresh_id("run"),
            mode: self.mode.clone(),
            calls: Arc::clone(&self.calls),
            turns: AtomicU64::new(0),
            most_in_turn: self.most_in_turn,
            at_once: self.at_once,
            policy: Arc::clone(&self.policy),
            offered: Some(Arc::new(offered)),
            cancel: self.cancel.child_token(),
            held: OnceLock::new(),
        }
    }

    /// Whether a turn of the run offers a tool.
    fn offers(&self, number: u64, tool: &OfferedTool) -> bool {
        let view = TurnView {
            session_id: &self.session_id,
            run_id: &self.run_id,
            number,
            context: self.context.as_any(),
        };
        self.offered
            .as_ref()
            .is_none_or(|offered| offered.contains(&tool.name))
            && self.engine.shared.host.middleware.iter().all(|one| {
                caught(|| one.given.offers(&view, tool)).unwrap_or_else(|| {
                    self.record(
                        number,
                        &EventKind::HookDecided {
                            hook: one.name.to_string(),
                            event_name: "turn".to_owned(),
                            action: HookAction::Failed,
                            reason: format!("it panicked, so `{}` is not offered", tool.name),
                        },
                    );
                    false
                })
            })
    }

    /// Writes an event of a turn that belongs to no call.
    fn record(&self, turn: u64, kind: &EventKind) {
        let shared = &self.engine.shared;
        let origin = EventOrigin {
            session_id: &self.session_id,
            run_id: &self.run_id,
            turn_id: &self.turn_id(turn),
            call_id: None,
        };
        let sequence = shared.sessions.next_event();
        let event = EventRef::made(kind, origin, sequence);
        // The event has no deadline of its own, so it waits for stalled sinks as long as any event
        // may.
        let until = Instant::now() + STILL;
        // A record that keeps failing refuses the calls of the turn when they start.
        let _ = shared.audience.deliver(&event, || &event, until);
    }

    fn turn_id(&self, number: u64) -> String {
        format!("{}/{number}", self.run_id)
    }

    /// Starts a turn. It offers the tools of the surface that the run may use and that no
    /// middleware removes; calls of the turn can use no other tool.
    pub fn turn(&self) -> Result<Turn<'_, Ctx>, Error> {
        let mut surface = self.engine.surface(&self.mode)?;
        self.held.get_or_init(|| {
            let session = self.engine.shared.sessions.get(&self.session_id);
            let own = session.run(&self.run_id);
            (session, own)
        });
        let number = self.turns.fetch_add(1, Ordering::Relaxed) + 1;
        let whole = surface.tools.len();
        surface.tools.retain(|tool| self.offers(number, tool));
        if surface.tools.len() < whole {
            let names = surface.tools.iter().map(|tool| tool.name.clone());
            let kind = EventKind::SurfaceNarrowed {
                turn: number,
                offered: names.collect(),
            };
            self.record(number, &kind);
        }
        let offered = Arc::new(surface.tools.iter().map(|tool| tool.name.clone()).collect());
        let turn = CallCount {
            most: self.most_in_turn,
            ..CallCount::default()
        };
        let terms = Arc::new(TurnLimits {
            id: self.turn_id(number),
            offered: Some(offered),
            run: Arc::clone(&self.calls),
            turn,
            store: Arc::default(),
        });
        Ok(Turn {
            run: self,
            surface,
            terms,
        })
    }
}

/// One answer of a model, with its calls.
pub struct Turn<'a, Ctx = ()> {
    run: &'a Run<Ctx>,
    surface: Offered,
    terms: Arc<TurnLimits>,
}

impl<Ctx: Send + Sync + 'static> Turn<'_, Ctx> {
    /// The tools that the model is told about.
    #[must_use]
    pub fn surface(&self) -> &Offered {
        &self.surface
    }

    /// Runs the calls of the turn, as many at once as the run allows. Results come in the order of
    /// the calls, and limits count in that order: if three of five are allowed, the first three
    /// run.
    pub async fn call(&self, requests: Vec<ToolRequest>) -> Turned {
        let shared = &self.run.engine.shared;
        let asked: Vec<(ToolCallId, String)> = requests
            .iter()
            .map(|request| (request.id.clone(), request.tool.clone()))
            .collect();
        let mut results: Vec<Option<Box<ToolResult>>> = Vec::with_capacity(requests.len());
        let mut going = Vec::with_capacity(requests.len());
        for (index, request) in requests.into_iter().enumerate() {
            let mut call = run::begin(shared, self.made(request));
            results.push(call.refused());
            if results[index].is_none() {
                going.push((index, call));
            }
        }
        let mut going = going.into_iter();
        let at_once = self.run.at_once.unwrap_or(AT_ONCE);
        let mut running = JoinSet::new();
        loop {
            while running.len() < at_once
                && let Some((index, mut call)) = going.next()
            {
                running.spawn(async move { (index, call.finish().await) });
            }
            match running.join_next().await {
                None => break,
                Some(Ok((index, result))) => results[index] = Some(result),
                // A call whose task did not return already wrote its last event; the code below
                // fills in its result.
                Some(Err(_)) => {}
            }
        }
        let lost = |(id, tool)| {
            ToolResult::refused(
                id,
                tool,
                Refusal::new(Code::Internal, "the harness is broken, and lost the call"),
            )
        };
        let results =
            results
                .into_iter()
                .zip(asked)
                .map(|(result, asked): (_, (ToolCallId, String))| {
                    result.map_or_else(|| lost(asked), |result| *result)
                });
        Turned {
            results: results.collect(),
            policy: Arc::clone(&self.run.policy),
        }
    }

    fn made(&self, request: ToolRequest) -> Call {
        let run = self.run;
        Call {
            id: request.id,
            tool: request.tool,
            arguments: request.arguments,
            session_id: run.session_id.clone(),
            run_id: run.run_id.clone(),
            mode: run.mode.clone(),
            door: Door::Library,
            timeout: None,
            cancel: run.cancel.child_token().into(),
            context: run.context.clone(),
            inside: Vec::new(),
            outermost: None,
            terms: Some(Arc::clone(&self.terms)),
        }
    }
}

/// The outcome of a turn's calls, in their order.
#[derive(Debug)]
pub struct Turned {
    /// The results.
    pub results: Vec<ToolResult>,
    policy: Arc<ErrorPolicy>,
}

/// Why a run ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// A tool or middleware ended it.
    Control(Control),
    /// A failure at which the error policy stops the run.
    Failed(Box<Refusal>),
}

impl Turned {
    /// The messages for the model, or why the run ends. Neither control flow nor a failure that
    /// stops the run becomes a message.
    pub fn messages(self) -> Result<Vec<ToolMessage>, Ended> {
        for refusal in self
            .results
            .iter()
            .filter_map(|result| result.error.as_ref())
        {
            if let Some(control) = &refusal.control {
                return Err(Ended::Control(control.clone()));
            }
            if self.policy.reaction(refusal) == Reaction::Stop {
                return Err(Ended::Failed(Box::new(refusal.clone())));
            }
        }
        Ok(self.results.into_iter().map(ToolMessage::from).collect())
    }
}
