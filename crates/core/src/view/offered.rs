//! The tools a mode offers.

use super::View;
use crate::registry::{OfferedTool, RegisteredTool};
use crate::rule::{self, Action, Subject};
use std::sync::Arc;

/// The tools active for one mode: what a model is told about. What is wrong with them, [`crate::surface`] finds.
#[derive(Clone, Debug)]
pub struct Offered {
    /// The mode.
    pub mode: String,
    /// The tools, in a stable order: by name.
    pub tools: Vec<OfferedTool>,
}

impl View {
    /// The tools a mode offers: usable, not deferred, not denied by name.
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
