//! `TOOL_ASKS_NOBODY`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::artifact::tool::{Approval, DeclaredBounds};
use crate::check::reach::inferred;
use crate::check::subject::{Findings, ToolSubject, tool_place};
use crate::diagnostic::{Rule, Severity};
use crate::effect::Effects;
use crate::rule::{self, Action};
use serde_json::Map;

pub(super) const RULE: Rule<Check> = Rule {
    code: "TOOL_ASKS_NOBODY",
    severity: Severity::Warning,
    why: "A person must agree to each call of the tool, and this version can ask nobody. The \
          model is offered the tool, and every call is refused.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nrequires_approval: true\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    good: &[READ_NOTE],
    check: Check::Tool(check),
};

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    let tool = subject.tool;
    let declared = DeclaredBounds::of(&tool.declared_effects);
    let reached = match (&tool.script, subject.facts) {
        (Some(_), facts) => facts.map(inferred),
        (None, _) => Some(Effects::NONE),
    };
    let approval = tool.requires_approval.as_ref();
    let (why, place) = match approval.filter(|approval| approval.value == Approval::Always) {
        Some(approval) => (
            "its file says that a person must agree".to_owned(),
            tool.place(approval.span),
        ),
        None => {
            let arguments = Map::new();
            let call = rule::Subject::Tool {
                name: &tool.name,
                effects: declared.effects(reached),
                capabilities: &tool.annotations.capabilities,
                path_params: &tool.annotations.path_params,
                arguments: &arguments,
                files: None,
            };
            let found = rule::unanswered(rule::matches(subject.project.rules, &call));
            let asks = |found: &&rule::Match<'_>| found.rule.action == Action::Ask;
            let Some(found) = found.iter().find(asks) else {
                return;
            };
            let why = format!("{} ({})", found.because, found.rule.words);
            (why, tool_place(tool))
        }
    };
    if subject.project.is_shown(&tool.name) {
        findings.add(
            RULE.finding(format!("every call is refused, because nobody can be asked here: {why}"))
                .at(place)
                .help("leave the tool out until approvals are available, or guard it with a hook and remove what asks"),
        );
    }
}
