//! `SECRET_IN_ARTIFACT`.

use super::subject::{Findings, Project};
use super::{Check, Rule};
use crate::diagnostic::{Diagnostic, Severity};
use crate::span::{Place, Source, Span};
use regex::{Regex, RegexSet};
use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

pub(crate) const RULE: Rule = Rule {
    code: "SECRET_IN_ARTIFACT",
    severity: Severity::Error,
    why: "Artifacts are committed, reviewed and shown to models. A key in one of them is known to everybody who can read the repository.",
    bad: &[(
        ".harness/tools/fetch_issue.md",
        "---\ntimeout_ms: 10000\nscript: |\n  KEY = \"ghp_16C7e42F292c6912E7710c838347Ae178B4a\"\n\n  def run(args):\n      return http.get(args[\"url\"], headers = {\"Authorization\": KEY})\n---\nFetches an issue.\n",
    )],
    good: &[(
        ".harness/tools/fetch_issue.md",
        "---\ntimeout_ms: 10000\nscript: |\n  def run(args):\n      return http.get(args[\"url\"])\n---\nFetches an issue.\n",
    )],
    check: Check::Project(check),
};

/// What is known by its shape, and whose it is.
const SHAPES: &[(&str, &str)] = &[
    (r"\b(AKIA|ASIA)[0-9A-Z]{16}\b", "an access key of AWS"),
    (r"\bgh[pousr]_[A-Za-z0-9]{36,}\b", "a token of GitHub"),
    (r"\bgithub_pat_[A-Za-z0-9_]{60,}\b", "a token of GitHub"),
    (r"\bglpat-[A-Za-z0-9_-]{20,}\b", "a token of GitLab"),
    (r"\bxox[abprs]-[A-Za-z0-9-]{20,}\b", "a token of Slack"),
    (r"\bsk-ant-[A-Za-z0-9_-]{30,}\b", "a key of Anthropic"),
    (r"\bsk-(proj-)?[A-Za-z0-9_-]{40,}\b", "a key of OpenAI"),
    (r"\bAIza[0-9A-Za-z_-]{35}\b", "a key of Google"),
    (r"\b[rs]k_live_[0-9A-Za-z]{20,}\b", "a key of Stripe"),
    (r"\bnpm_[A-Za-z0-9]{36}\b", "a token of npm"),
    (r"\bhf_[A-Za-z0-9]{30,}\b", "a token of Hugging Face"),
    (r"-----BEGIN ([A-Z]+ )?PRIVATE KEY-----", "a private key"),
];

static ANY: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(SHAPES.iter().map(|(shape, _)| shape)).ok());

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    let of_tools = project.tools.iter().map(|tool| &tool.origin.source);
    let of_hooks = project.hooks.iter().map(|hook| &hook.origin.source);
    let texts = project.root.prose.iter().map(|place| &place.source).chain(&project.root.source);
    let mut seen = HashSet::new();
    for source in of_tools.chain(of_hooks).chain(texts).filter(|source| seen.insert(&*source.path)) {
        found(source).into_iter().for_each(|finding| findings.add(finding));
    }
}

/// A finding for each secret in a file.
pub(crate) fn found(source: &Arc<Source>) -> Vec<Diagnostic> {
    let of = |(span, what)| {
        let finding = RULE.finding(format!("this looks like {what}")).at(Place::new(source, span));
        finding.help("revoke it, and give the tool its secrets at run time; an artifact has none")
    };
    secrets(&source.text).into_iter().map(of).collect()
}

fn secrets(text: &str) -> Vec<(Span, &'static str)> {
    let Some(any) = ANY.as_ref() else { return Vec::new() };
    let mut found = Vec::new();
    for index in any.matches(text) {
        let Some(&(shape, what)) = SHAPES.get(index) else { continue };
        let Ok(shape) = Regex::new(shape) else { continue };
        let real = shape.find_iter(text).filter(|found| !is_placeholder(found.as_str()));
        found.extend(real.map(|found| (Span::new(found.start(), found.end()), what)));
    }
    found.sort_by_key(|(span, _)| span.start);
    found.dedup_by_key(|(span, _)| span.start);
    found
}

/// Whether a text only shows what a secret looks like.
fn is_placeholder(text: &str) -> bool {
    let letters: HashSet<char> = text.chars().collect();
    text.contains("EXAMPLE") || text.to_lowercase().contains("xxxx") || letters.len() < 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_compiles_and_finds_its_own() {
        assert!(ANY.is_some());
        let body = "16C7e42F292c6912E7710c838347Ae178B4aQ9";
        for (text, count) in [
            (format!("ghp_{}", &body[..36]), 1),
            (format!("x = \"AKIA{}\"", "IOSFODNN7QWERTYU"), 1),
            (format!("sk-ant-{body}"), 1),
            (format!("-----BEGIN {}PRIVATE KEY-----", "RSA "), 1),
            ("AKIAIOSFODNN7EXAMPLE".to_owned(), 0),
            ("ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx".to_owned(), 0),
            ("a word like ghp_short or sk-something".to_owned(), 0),
        ] {
            assert_eq!(secrets(&text).len(), count, "{text}");
        }
    }
}
