//! Explain: the decision of every stage about a call, without executing it.

use super::admit::admit;
use super::approve::approve;
use super::authorize::authorize;
use super::before::before;
use super::context::Context;
use super::execute::no_body;
use super::shared::Shared;
use crate::call::{Arguments, Call};
use crate::decision::HookAction;
use crate::effect::Effects;
use crate::event::{Delivery, EventKind, EventRef, Sink};
use crate::plan::{self, plan_lines, plan_to_json};
use crate::refusal::{Code, Refusal};
use crate::span::Place;
use crate::stage::Stage;
use crate::view::ActiveTool;
use crate::view::Segment;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use tool_harness_sandbox::network::Domains;
use tool_harness_sandbox::plan::Plan;

/// What would happen to a call.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The tool's canonical name, or the requested name if there is no such tool.
    pub tool: String,
    /// The arguments it would run with, or why it would not run.
    pub outcome: Result<Value, Refusal>,
    /// Each stage, in order.
    pub stages: Vec<StageReport>,
    /// The tool's effects.
    pub effects: Effects,
    /// What its processes may touch; absent if it starts none.
    pub plan: Option<Plan>,
    /// The hosts its requests may reach; absent if it sends none.
    pub hosts: Option<Hosts>,
}

/// The hosts that requests may reach, and the lines that list them.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// The list; empty if none is declared.
    pub(crate) domains: Domains,
    /// The project's line first, then those of the layers that narrow it.
    pub from: Vec<Place>,
}

/// One stage of an explanation.
#[derive(Clone, Debug)]
pub struct StageReport {
    /// The stage.
    pub stage: Stage,
    /// What it decided.
    pub outcome: StageOutcome,
    /// What it considered, one item per line.
    pub lines: Vec<String>,
}

/// What a stage decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageOutcome {
    /// The call goes on.
    Passed,
    /// The call ends here.
    Refused,
    /// An earlier stage ended the call.
    NotReached,
}

impl StageOutcome {
    /// The word for it in reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Refused => "refused",
            Self::NotReached => "not reached",
        }
    }
}

impl Explanation {
    /// The form that `--json` prints.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let stages: Vec<Value> =
            self.stages.iter().map(|stage| json!({"stage": stage.stage.word(), "outcome": stage.outcome.word(), "lines": stage.lines})).collect();
        let effects: Vec<&str> = self.effects.names().collect();
        let mut document = match &self.outcome {
            Ok(arguments) => {
                json!({"tool": self.tool, "decision": "allow", "arguments": arguments, "effects": effects, "stages": stages})
            }
            Err(refusal) => {
                json!({"tool": self.tool, "decision": "refuse", "error": refusal.to_json(), "effects": effects, "stages": stages})
            }
        };
        if let Some(plan) = &self.plan {
            document["plan"] = plan_to_json(plan);
        }
        if let Some(hosts) = &self.hosts {
            let listed = hosts.domains.to_string();
            let list: Vec<&str> = listed
                .split(", ")
                .filter(|entry| !entry.is_empty())
                .collect();
            document["http"] = json!({"hosts": list, "from": hosts.from.iter().map(ToString::to_string).collect::<Vec<_>>()});
        }
        document
    }

    /// The plan and the hosts, one item per line.
    #[must_use]
    pub fn reach_lines(&self) -> Vec<String> {
        let mut lines = self.plan.as_ref().map(plan_lines).unwrap_or_default();
        if let Some(Hosts { domains, from }) = &self.hosts {
            let from: Vec<String> = from.iter().map(ToString::to_string).collect();
            lines.push(match (domains.is_empty(), from.is_empty()) {
                (true, true) => {
                    "http: no host; nothing lists any in `network.allowed_domains`".to_owned()
                }
                (true, false) => format!("http: no host is left of {}", from.join(", ")),
                (false, _) => format!("http: {domains} ({})", from.join(", ")),
            });
        }
        lines
    }
}

/// The stages that decide about a call before its body runs.
const STAGES: [Stage; 5] = [
    Stage::Admit,
    Stage::Authorize,
    Stage::Before,
    Stage::Approve,
    Stage::Execute,
];

pub(crate) async fn explain(shared: &Arc<Shared>, call: Call) -> Explanation {
    let decided = Arc::new(Decided::default());
    let (ctx, sent) = Context::rehearsed(shared, call, Some(Arc::clone(&decided) as Arc<dyn Sink>));
    let mut stages = Vec::new();
    let outcome = rehearse(&ctx, sent, &decided, &mut stages).await;
    if let Err(refusal) = &outcome {
        let stage = STAGES[stages.len()];
        let mut lines = if stage == Stage::Before && all_asked(&ctx, refusal) {
            decided.lines(&ctx)
        } else {
            Vec::new()
        };
        lines.extend(std::iter::once(refusal.message.clone()).chain(refusal.help.clone()));
        stages.push(StageReport {
            stage,
            outcome: StageOutcome::Refused,
            lines,
        });
    }
    for &stage in &STAGES[stages.len()..] {
        stages.push(StageReport {
            stage,
            outcome: StageOutcome::NotReached,
            lines: Vec::new(),
        });
    }
    let tool = ctx.view().find(&ctx.call().tool);
    let reaches = |effects: Effects| {
        tool.filter(|tool| {
            !tool
                .effects
                .without(tool.effects.without(effects))
                .is_empty()
        })
    };
    let plan = |tool: &Arc<ActiveTool>| {
        plan::plan(
            ctx.site(),
            &tool.narrowing(),
            tool.limits,
            ctx.ends().for_tool(tool).limit,
        )
    };
    let hosts = |tool: &Arc<ActiveTool>| {
        let confines = &ctx.view().sandbox;
        Hosts {
            domains: confines.hosts(&tool.narrowing()),
            from: confines.network_from.clone(),
        }
    };
    let explanation = Explanation {
        plan: reaches(Effects::EXEC).map(plan),
        hosts: reaches(Effects::NET_READ | Effects::NET_WRITE).map(hosts),
        tool: tool.map_or_else(|| ctx.call().tool.clone(), |tool| tool.name().to_owned()),
        effects: tool.map_or(Effects::NONE, |tool| tool.effects),
        outcome,
        stages,
    };
    cleaned(&ctx, explanation)
}

/// Redacts the secrets that an explanation quotes.
fn cleaned(ctx: &Context, mut explanation: Explanation) -> Explanation {
    let mut pass = ctx.pass();
    pass.string(&mut explanation.tool);
    match &mut explanation.outcome {
        Ok(arguments) => pass.value(arguments),
        Err(refusal) => pass.refusal(refusal),
    }
    explanation
        .stages
        .iter_mut()
        .flat_map(|stage| &mut stage.lines)
        .for_each(|line| pass.string(line));
    explanation
}

/// Whether the hooks were asked in order, up to the one that refused.
fn all_asked(ctx: &Context, refusal: &Refusal) -> bool {
    let broken = ["tool.pre", "tool.post"]
        .iter()
        .any(|event| ctx.catalogue().broken_for(event).is_some());
    !broken && !matches!(refusal.code, Code::Timeout | Code::Cancelled)
}

/// Collects what hooks and middleware decide before the body: events of the dry run.
#[derive(Default)]
struct Decided(Mutex<Vec<HookDecision>>);

struct HookDecision {
    hook: String,
    action: HookAction,
    reason: String,
}

impl Sink for Decided {
    fn record(&self, event: &EventRef<'_>) {
        if let EventKind::HookDecided {
            hook,
            event_name,
            action,
            reason,
        } = event.kind()
            && event_name == "tool.pre"
        {
            let mut decided = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            decided.push(HookDecision {
                hook: hook.clone(),
                action: *action,
                reason: reason.clone(),
            });
        }
    }

    fn delivery(&self) -> Delivery {
        Delivery::OnThePath
    }
}

impl Decided {
    /// Each link of the chain before the body with its decision. Every link that was asked recorded
    /// one event, in the same order.
    fn lines(&self, ctx: &Context) -> Vec<String> {
        let decided = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut asked = decided.iter().peekable();
        let mut line = |kind: &str, name: &str| {
            let said = match asked.next_if(|decision| decision.hook == name) {
                None => "not reached".to_owned(),
                Some(decision) if decision.action == HookAction::Skip => {
                    "its `when` does not match".to_owned()
                }
                Some(decision) if decision.reason.is_empty() => decision.action.word().to_owned(),
                Some(decision) => format!("{}: {}", decision.action.word(), decision.reason),
            };
            format!("{kind} `{name}`: {said}")
        };
        let mut lines = Vec::new();
        for segment in &ctx.view().pre {
            match segment {
                Segment::Middleware(middleware) => lines.push(line("middleware", &middleware.name)),
                Segment::Hooks(hooks) => {
                    lines.extend(hooks.iter().map(|hook| line("hook", &hook.hook.name)))
                }
            }
        }
        lines
    }
}

async fn rehearse(
    ctx: &Context,
    sent: Arguments,
    decided: &Decided,
    stages: &mut Vec<StageReport>,
) -> Result<Value, Refusal> {
    let mut passed = |lines: Vec<String>| {
        let stage = STAGES[stages.len()];
        stages.push(StageReport {
            stage,
            outcome: StageOutcome::Passed,
            lines,
        });
    };
    let admitted = admit(ctx, sent)?;
    passed(vec![format!(
        "the arguments fit the schema of `{}`",
        ctx.call().tool
    )]);
    let authorized = authorize(ctx, admitted)?;
    let tool = Arc::clone(authorized.tool());
    let judged = match ctx.view().rules.len() {
        1 => "1 rule, which does not deny".to_owned(),
        rules => format!("{rules} rules, none denies"),
    };
    passed(vec![format!("effects: {}", tool.effects), judged]);
    let sent = authorized.arguments().clone();
    let prepared = before(ctx, authorized).await?;
    let mut lines = decided.lines(ctx);
    if lines.is_empty() {
        lines.push("no hooks".to_owned());
    }
    if *prepared.arguments() != sent {
        lines.push(format!(
            "arguments after hooks: {}",
            Value::Object(prepared.arguments().clone())
        ));
    }
    passed(lines);
    let approved = approve(ctx, prepared).awaited().await?;
    passed(vec!["no person must agree".to_owned()]);
    if tool.script.is_none() && tool.body.is_none() {
        return Err(no_body(&tool));
    }
    let body = if tool.script.is_some() {
        "the script would run in a confined worker"
    } else {
        "the registered Rust body would run"
    };
    passed(vec![body.to_owned()]);
    Ok(Value::Object(approved.arguments().clone()))
}
