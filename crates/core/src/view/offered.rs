//! The tools a mode offers.

use super::View;
use crate::registry::{OfferedTool, RegisteredTool};
use crate::rule::{self, Action, Subject};
use std::sync::Arc;

/// The tools that one mode tells a model about. [`crate::surface`] checks them.
#[derive(Clone, Debug)]
pub struct Offered {
    /// The mode's name.
    pub mode: String,
    /// The tools, sorted by name.
    pub tools: Vec<OfferedTool>,
}

impl View {
    /// The tools that the mode offers: usable, not deferred and not denied by name.
    pub(crate) fn offered(&self) -> Offered {
        let mut tools: Vec<_> = self.offered_tools().map(|tool| tool.offer()).collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        Offered {
            mode: self.mode.clone(),
            tools,
        }
    }

    /// The tools that a listing shows.
    fn offered_tools(&self) -> impl Iterator<Item = &Arc<RegisteredTool>> {
        let tools = self.catalogue.all_tools();
        tools.filter(|tool| self.is_offered(tool))
    }

    /// Whether a listing shows the tool.
    pub(crate) fn is_offered(&self, tool: &RegisteredTool) -> bool {
        tool.is_listed()
            && !rule::matches(&self.rules, &Subject::Name(tool.name()))
                .iter()
                .any(|found| found.rule.action == Action::Deny)
    }
}
