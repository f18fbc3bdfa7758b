//! Authorize: the rules allow this tool with these arguments.

use super::admit::{Admitted, forged, validate};
use super::ask::{Ask, Asker};
use super::context::Context;
use crate::effect::Effects;
use crate::outside::tier;
use crate::refusal::{Code, Refusal};
use crate::rule::{self, Action, Match, Subject};
use crate::schema::escaped;
use crate::view::ActiveTool;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A call that the rules allow, perhaps subject to a person's approval.
pub(super) struct Authorized {
    tool: Arc<ActiveTool>,
    arguments: Map<String, Value>,
    raw: String,
    asks: Vec<Ask>,
}

impl Authorized {
    pub(super) fn tool(&self) -> &Arc<ActiveTool> {
        &self.tool
    }

    pub(super) fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    pub(super) fn raw(&self) -> &str {
        &self.raw
    }

    /// Whether there is a reason to ask a person.
    pub(super) fn is_asked(&self) -> bool {
        !self.asks.is_empty()
    }

    /// Adds reasons to ask a person.
    pub(super) fn ask(&mut self, asks: Vec<Ask>) {
        self.asks.extend(asks);
    }

    /// Takes out the reasons to ask a person.
    pub(super) fn take_asks(&mut self) -> Vec<Ask> {
        std::mem::take(&mut self.asks)
    }

    /// The tool, its arguments and the raw arguments.
    pub(super) fn into_parts(self) -> (Arc<ActiveTool>, Map<String, Value>, String) {
        (self.tool, self.arguments, self.raw)
    }

    /// The same call with other arguments, which are validated and judged like the first ones.
    pub(super) fn with_arguments(
        self,
        ctx: &Context,
        arguments: Map<String, Value>,
    ) -> Result<Self, Refusal> {
        forged(&self.tool, &arguments)?;
        let arguments = validate(&self.tool, arguments)?;
        judge(ctx, self.tool, arguments, self.raw)
    }
}

pub(super) fn authorize(ctx: &Context, admitted: Admitted) -> Result<Authorized, Refusal> {
    let (tool, arguments, raw) = admitted.into_parts();
    judge(ctx, tool, arguments, raw)
}

fn judge(
    ctx: &Context,
    tool: Arc<ActiveTool>,
    arguments: Map<String, Value>,
    raw: String,
) -> Result<Authorized, Refusal> {
    let subject = Subject::Tool {
        name: tool.name(),
        effects: tool.effects,
        capabilities: &tool.tool.annotations.capabilities,
        path_params: &tool.tool.annotations.path_params,
        arguments: &arguments,
        files: ctx.shared().jail.as_deref(),
    };
    let mut asks = Vec::new();
    let rules = &ctx.view().rules;
    let mut found = match &tool.rules {
        Some(relevant) => rule::matches_among(rules, relevant, &subject),
        None => rule::matches(rules, &subject),
    };
    if let Some(foreign) = &tool.client_call {
        // The rules for clients come first: they give the most specific reason.
        found.splice(
            0..0,
            rule::matches(&ctx.view().rules, &Subject::Client(foreign, &arguments)),
        );
    }
    if tool.client_call.is_none()
        && tool.effects.contains(Effects::EXEC)
        && !ctx.view().sandbox.configured
    {
        // Finding out what contains processes takes time, and only this rule needs it.
        found.extend(rule::matches(
            &ctx.view().rules,
            &Subject::Processes(tier(&*ctx.shared().outside)),
        ));
    }
    for found in rule::unanswered(found) {
        ctx.record_rule(tool.name(), tool.name(), &found);
        match found.rule.action {
            Action::Deny => return Err(denied(tool.called(), &found)),
            Action::Allow => {}
            Action::Ask => {
                asks.push(Ask {
                    asker: Asker::Rule(found.rule.words.clone()),
                    reason: found.because,
                    place: found.rule.place.clone(),
                });
            }
        }
    }
    Ok(Authorized {
        tool,
        arguments,
        raw,
        asks,
    })
}

fn denied(tool: &str, found: &Match<'_>) -> Refusal {
    let refusal = match &found.argument {
        Some(argument) => Refusal::new(
            Code::Denied,
            format!("`{tool}` may not be called like this: {}", found.because),
        )
        .detail("path", format!("/{}", escaped(argument))),
        None => Refusal::new(
            Code::Denied,
            format!("`{tool}` may not be called: {}", found.because),
        ),
    };
    let refusal = refusal.detail("rule", found.rule.words.as_str());
    match &found.rule.place {
        Some(place) => refusal
            .help(format!(
                "the rule is `{}` at {place}; a person can change it there",
                found.rule.words
            ))
            .at(place.clone()),
        None => refusal.help(format!("the rule is `{}`", found.rule.words)),
    }
}
