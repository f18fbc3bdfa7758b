//! A hook in the catalogue.

use super::tool::load_payload;
use crate::artifact::Hook;
use serde_json::{Map, Value};

/// A hook that can run.
#[derive(Debug)]
pub struct RegisteredHook {
    /// The hook as its author wrote it.
    pub hook: Hook,
    /// The event, or a pattern ending in `*`.
    pub event: String,
    /// The built-ins that its script and its `when` mention, by full name.
    pub(crate) reaches: Vec<String>,
}

impl RegisteredHook {
    /// The payload for `artifact.load` hooks.
    pub(crate) fn load_payload(&self) -> Map<String, Value> {
        let (hook, script) = (
            &self.hook,
            self.hook.script.as_ref().map(|script| &*script.text),
        );
        load_payload(
            ["hook", &hook.name, &hook.origin.source.path],
            &hook.frontmatter,
            script,
            &hook.body,
            &hook.tags,
            Vec::new(),
        )
    }

    pub(crate) fn listens_to(&self, event: &str) -> bool {
        self.event == event
            || self
                .event
                .strip_suffix('*')
                .is_some_and(|prefix| event.starts_with(prefix))
    }
}
