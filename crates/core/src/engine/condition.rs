//! Evaluates the conditions of bundles while a project is loaded.

use crate::artifact::{Answer, Artifacts};
use crate::builtin::{self, full_name};
use crate::check::condition_problem;
use crate::facts::{CONDITION_BUILTINS, Facts, FactsBySource, ScriptKind};
use crate::plan::SandboxPolicy;
use crate::run::EngineBase;
use crate::worker::script::Script;
use crate::worker::{Crossing, ScriptError};
use serde_json::Value;
use std::sync::Arc;

impl EngineBase {
    /// Stores the answer of every condition that can be evaluated. A project without conditions
    /// needs no worker for this.
    pub(super) async fn evaluate_conditions(
        &self,
        artifacts: &mut Artifacts,
        facts: &FactsBySource,
    ) {
        let mut asked = Vec::new();
        let mut scripts = Vec::new();
        for (index, bundle) in artifacts.bundles.iter().enumerate() {
            let Some(condition) = &bundle.condition else {
                continue;
            };
            let facts = facts.get(&(ScriptKind::Condition, Arc::clone(&condition.text)));
            if let (None, Some(Ok(facts))) = (condition_problem(facts), facts) {
                asked.push(index);
                scripts.push(self.condition_script(&condition.text, facts));
            }
        }
        if scripts.is_empty() {
            return;
        }
        let surroundings = LoadingSurroundings {
            base: self,
            policy: &SandboxPolicy::of(&artifacts.layers, &artifacts.root),
            listed: artifacts
                .root
                .sandbox
                .env
                .iter()
                .map(|name| &*name.value)
                .collect(),
        };
        let answers = self.workers.conditions(&scripts, &surroundings).await;
        for (index, answer) in asked.into_iter().zip(answers) {
            if let Some(bundle) = artifacts.bundles.get_mut(index) {
                bundle.answer = Some(match answer {
                    Ok(true) => Answer::True,
                    Ok(false) => Answer::False,
                    Err(ScriptError {
                        message, position, ..
                    }) => Answer::Failed(message, position),
                });
            }
        }
    }

    fn condition_script(&self, text: &Arc<str>, facts: &Facts) -> Script {
        let reached = facts.reaches.iter();
        let mut linked: Vec<u32> = reached
            .filter_map(|named| builtin::find(&named.name))
            .map(|(index, _, _)| index)
            .collect();
        linked.sort_unstable();
        linked.dedup();
        self.workers
            .scripts
            .number(ScriptKind::Condition, text, linked)
    }
}

/// What conditions see: no turn has begun, so `ctx` is empty, and `env` reads the listed variables.
struct LoadingSurroundings<'a> {
    base: &'a EngineBase,
    policy: &'a SandboxPolicy,
    listed: Vec<&'a str>,
}

impl Crossing for LoadingSurroundings<'_> {
    async fn cross(&self, _: u32, index: u32, args: Vec<Value>) -> Result<Value, String> {
        let (module, builtin) = builtin::at(index).ok_or("there is no such built-in")?;
        let name = full_name(module, builtin);
        if !CONDITION_BUILTINS.contains(&name.as_str()) {
            return Err(format!("`{name}` cannot be called in a condition"));
        }
        let args = builtin::verify(builtin, args)?;
        Ok(match name.as_str() {
            "ctx.get" => args.get(1).clone(),
            "ctx.has" => Value::Bool(false),
            _ => match (self.variable(args.text(0)), args.get(1)) {
                (Some(text), _) => Value::String(text),
                (None, Value::Null) => Value::String(String::new()),
                (None, default) => default.clone(),
            },
        })
    }

    async fn note(&self, _: u32, _: u32, _: Vec<Value>) {}
}

impl LoadingSurroundings<'_> {
    /// A variable that the built-in `env` could read.
    fn variable(&self, name: &str) -> Option<String> {
        if self.policy.env.iter().any(|listed| listed == name) {
            return self.base.surroundings.variable(name);
        }
        let is_listed = self.listed.contains(&name);
        is_listed.then(|| (self.base.environment)(name).ok().flatten())?
    }
}
