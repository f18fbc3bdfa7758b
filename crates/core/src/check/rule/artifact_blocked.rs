//! `ARTIFACT_BLOCKED`.

use crate::artifact::rule::READ_NOTE;
use crate::diagnostic::{Diagnostic, Rule, Severity};
use crate::span::Place;

const GUARD: &str = "---\nevent: artifact.load\nscript: |\n  def handle(event, payload):\n      if payload[\"kind\"] == \"tool\" and \"reviewed\" not in payload[\"tags\"]:\n          return block(\"tools need the tag `reviewed`\")\n      return allow()\n---\nOnly reviewed tools are loaded.\n";

pub(super) const RULE: Rule = Rule {
    code: "ARTIFACT_BLOCKED",
    severity: Severity::Error,
    why: "A hook on `artifact.load` is the project's policy for its own files. A tool that it \
          refuses is not offered; a hook that it refuses blocks its event.",
    bad: &[(".harness/hooks/need_review.md", GUARD), READ_NOTE],
    good: &[
        (".harness/hooks/need_review.md", GUARD),
        (
            ".harness/tools/read_note.md",
            "---\ntags: [reviewed]\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
        ),
    ],
    check: (),
};

/// A finding about the artifact at `place`.
pub(crate) fn found(place: Place, name: &str, reason: &str) -> Diagnostic {
    RULE.finding(format!("`{name}` is not loaded: {reason}"))
        .at(place)
        .help("change the artifact as the hook asks, or have a person change the hook")
}
