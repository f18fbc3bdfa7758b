//! `SECRET_IN_ARTIFACT`.

use crate::diagnostic::{Diagnostic, Rule, Severity};
use crate::redact;
use crate::span::{Place, Source, Span};
use std::ops::Range;
use std::sync::Arc;

pub(crate) const RULE: Rule = Rule {
    code: "SECRET_IN_ARTIFACT",
    severity: Severity::Error,
    why: "Artifacts are committed, reviewed and shown to models. Everyone who can read the \
          repository knows a key that one of them contains.",
    bad: &[(
        ".harness/tools/fetch_issue.md",
        "---\nparameters:\n  url: {required: true, type: string, description: The issue}\ntimeout_ms: 10000\nscript: |\n  KEY = \"ghp_16C7e42F292c6912E7710c838347Ae178B4a\"\n\n  def run(args):\n      return http.get(args[\"url\"], headers = {\"Authorization\": KEY})\n---\nFetches an issue.\n",
    )],
    good: &[(
        ".harness/tools/fetch_issue.md",
        "---\nparameters:\n  url: {required: true, type: string, description: The issue}\ntimeout_ms: 10000\nscript: |\n  def run(args):\n      return http.get(args[\"url\"])\n---\nFetches an issue.\n",
    )],
    check: (),
};

/// A finding for each secret in a file.
pub(crate) fn found(source: &Arc<Source>) -> Vec<Diagnostic> {
    let of = |(range, what): (Range<usize>, &str)| {
        let span = Span::new(range.start, range.end);
        let finding = RULE
            .finding(format!("this looks like {what}"))
            .at(Place::new(source, span));
        finding.help(
            "revoke it, and give the tool its secrets at run time: `inject` with `secret:NAME`",
        )
    };
    redact::written_tokens(&source.text)
        .into_iter()
        .map(of)
        .collect()
}
