//! `AGENT_UNKNOWN_REFERENCE`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::check::subject::{Findings, Project};
use crate::diagnostic::{Rule, Severity};
use crate::nearest::suggest;
use crate::pattern::{Pattern, Separator};
use crate::span::Spanned;

pub(super) const RULE: Rule<Check> = Rule {
    code: "AGENT_UNKNOWN_REFERENCE",
    severity: Severity::Warning,
    why: "An agent gets the tools and hooks that it names. One that does not exist is missing when \
          the agent works.",
    bad: &[
        READ_NOTE,
        AGENTS_WAIT,
        (
            ".harness/agents/reader.md",
            "---\ndescription: Reads notes.\ntools: [raed_note]\n---\nRead what you are asked for.\n",
        ),
    ],
    good: &[
        READ_NOTE,
        AGENTS_WAIT,
        (
            ".harness/agents/reader.md",
            "---\ndescription: Reads notes.\ntools: [read_note]\n---\nRead what you are asked for.\n",
        ),
    ],
    check: Check::Report(check),
};

/// Nothing runs agents yet, which is another finding.
const AGENTS_WAIT: (&str, &str) = (
    "harness.md",
    "---\nchecks: {severity: {NOT_IN_EFFECT: off}}\n---\n",
);

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    for agent in project.agents {
        for name in &agent.tool_names {
            if !project.tool_names.iter().any(|tool| names(name, tool)) {
                let known = project.tools.iter().map(|tool| tool.name.as_str());
                findings.add(
                    RULE.finding(format!(
                        "agent \"{}\" names the tool `{}`, which does not exist",
                        agent.name, name.value
                    ))
                    .at(agent.place(name.span))
                    .field("tools")
                    .help(suggest(
                        &name.value,
                        known,
                        "tools of this project",
                    )),
                );
            }
        }
        for name in &agent.hook_names {
            if !project.hooks.iter().any(|hook| names(name, &hook.name)) {
                let known = project.hooks.iter().map(|hook| hook.name.as_str());
                findings.add(
                    RULE.finding(format!(
                        "agent \"{}\" names the hook `{}`, which does not exist",
                        agent.name, name.value
                    ))
                    .at(agent.place(name.span))
                    .field("hooks")
                    .help(suggest(
                        &name.value,
                        known,
                        "hooks of this project",
                    )),
                );
            }
        }
    }
}

/// Whether a name or glob stands for this tool or hook.
fn names(written: &Spanned<String>, known: &str) -> bool {
    written.value == known
        || written.value.contains(['*', '?', '['])
            && Pattern::new(&written.value, Separator::Ordinary)
                .is_ok_and(|pattern| pattern.is_match(known))
}
