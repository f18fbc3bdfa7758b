//! An explanation of a call for people.

use super::{indented, paint, plain, style, verdict};
use tool_harness::engine::{Explanation, StageOutcome};

/// What each stage decides, then the outcome.
pub(crate) fn explanation(explained: &Explanation) -> String {
    let mut lines = vec![format!(
        "{}  effects: {}",
        paint(style::STRONG, &plain(&explained.tool)),
        explained.effects
    )];
    for report in &explained.stages {
        let mark = match report.outcome {
            StageOutcome::Passed => paint(style::GOOD, "✓"),
            StageOutcome::Refused => paint(style::BAD, "✗"),
            StageOutcome::NotReached => paint(style::QUIET, "·"),
        };
        lines.push(format!("{mark} {}", report.stage));
        lines.extend(report.lines.iter().map(|line| indented(4, &plain(line))));
    }
    let reach = explained.reach_lines();
    if !reach.is_empty() {
        lines.push(format!("{} may touch", paint(style::QUIET, "·")));
        lines.extend(reach.iter().map(|line| indented(4, &plain(line))));
    }
    lines.push(match &explained.outcome {
        Ok(args) => format!(
            "{} with {}",
            paint(style::GOOD, "would run"),
            plain(&args.to_string())
        ),
        Err(refusal) => verdict(refusal),
    });
    lines.join("\n")
}
