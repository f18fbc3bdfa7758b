//! `TOOL_DUPLICATE`.

use super::Check;
use crate::artifact::rule::tool_duplicate;
use crate::check::subject::{Findings, Owner, Project, tool_place};
use crate::diagnostic::Rule;

pub(super) const RULE: Rule<Check> = tool_duplicate::RULE.with(Check::Project(check));

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    for clash in &project.resolution.tool_clashes {
        let Some(tool) = project.tools.get(clash.index) else {
            continue;
        };
        let other = clash.other.as_ref().map_or_else(
            || "in another file".to_owned(),
            |place| format!("at {place}"),
        );
        findings.add_for(
            Owner::Tool(clash.index),
            RULE.finding(format!("tool \"{}\" is defined more than once", tool.name))
                .at(tool_place(tool))
                .help(format!("it is also defined {other}; rename one, or move the one that should win to `.harness/overrides/`")),
        );
    }
}
