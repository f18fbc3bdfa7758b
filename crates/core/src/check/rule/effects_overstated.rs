//! `EFFECTS_OVERSTATED`.

use super::Check;
use crate::artifact::rule::effects_contradict::contradictions;
use crate::artifact::tool::DeclaredBounds;
use crate::check::reach::inferred;
use crate::check::subject::{Findings, ToolSubject};
use crate::diagnostic::{Rule, Severity};
use crate::effect::{Effects, Level};

pub(super) const RULE: Rule<Check> = Rule {
    code: "EFFECTS_OVERSTATED",
    severity: Severity::Note,
    why: "The tool declares more than its script can do, so policy refuses it, and people are \
          asked, without need.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nrisk: write\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\nrisk: read\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    check: Check::Tool(check),
};

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    let tool = subject.tool;
    let Some(facts) = subject.facts else { return };
    if contradictions(&tool.declared_effects).next().is_some() {
        return;
    }
    let declared = DeclaredBounds::of(&tool.declared_effects);
    let claimed = declared.exactly.unwrap_or_default() | declared.at_least;
    let done = inferred(facts).unflagged();
    // A level includes the lower ones, so only the top effect says what the author meant.
    let top = top_effect(Level::of(claimed));
    let Some(spelling) = tool
        .declared_effects
        .first()
        .filter(|_| !top.is_empty() && !done.contains(top))
    else {
        return;
    };
    findings.add(
        RULE.finding(format!(
            "`{}` declares {top}, but the script can only do {done}",
            spelling.spelling
        ))
        .at(tool.place(spelling.span))
        .help("declare what the script does, or declare nothing and let it be inferred"),
    );
}

fn top_effect(level: Level) -> Effects {
    match level {
        Level::None => Effects::NONE,
        Level::ReadOnly => Effects::READ,
        Level::WorkspaceWrite => Effects::WRITE,
        Level::ProcessExec => Effects::EXEC,
        Level::NetworkRead => Effects::NET_READ,
        Level::Network => Effects::NET_WRITE,
        Level::DesktopControl => Effects::DESKTOP,
    }
}
