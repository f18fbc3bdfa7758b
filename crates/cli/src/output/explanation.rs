//! What every stage decides about a call.

use super::{indented, look, paint, plain, verdict};
use tool_harness::engine::{Explanation, StageOutcome};

/// The stages with their marks, then what the call would come to.
pub(crate) fn explanation(explained: &Explanation) -> String {
    let mut lines = vec![format!(
        "{}  effects: {}",
        paint(look::STRONG, &plain(&explained.tool)),
        explained.effects
    )];
    for report in &explained.stages {
        let mark = match report.outcome {
            StageOutcome::Passed => paint(look::GOOD, "✓"),
            StageOutcome::Refused => paint(look::BAD, "✗"),
            StageOutcome::NotReached => paint(look::QUIET, "·"),
        };
        lines.push(format!("{mark} {}", report.stage));
        lines.extend(report.lines.iter().map(|line| indented(4, &plain(line))));
    }
    let reach = explained.reach_lines();
    if !reach.is_empty() {
        lines.push(format!("{} may touch", paint(look::QUIET, "·")));
        lines.extend(reach.iter().map(|line| indented(4, &plain(line))));
    }
    lines.push(match &explained.outcome {
        Ok(args) => format!(
            "{} with {}",
            paint(look::GOOD, "would run"),
            plain(&args.to_string())
        ),
        Err(refusal) => verdict(refusal),
    });
    lines.join("\n")
}
