//! `HOST_UNLISTED`.

use super::facts::ScriptKind;
use super::subject::{Findings, Owner, Project};
use super::{Check, Rule};
use crate::artifact::tool::Script;
use crate::diagnostic::{Diagnostic, Severity};
use crate::outside::{Refused, judge_address};
use crate::span::{Place, Span};
use tool_harness_sandbox::network::Domains;

pub(super) const RULE: Rule = Rule {
    code: "HOST_UNLISTED",
    severity: Severity::Note,
    why: "The script names a host that `network.allowed_domains` does not list, so a request to it would be refused.",
    bad: &[(
        ".harness/tools/fetch_news.md",
        "---\ntimeout_ms: 10000\nscript: |\n  def run(args):\n      return http.get(\"https://example.com/news\")\n---\nFetches the news.\n",
    )],
    good: &[
        (
            ".harness/tools/fetch_news.md",
            "---\ntimeout_ms: 10000\nscript: |\n  def run(args):\n      return http.get(\"https://example.com/news\")\n---\nFetches the news.\n",
        ),
        ("harness.md", "---\nnetwork: {allowed_domains: [example.com]}\n---\nYou tell the news.\n"),
    ],
    check: Check::Project(check),
};

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    let nothing = Domains::default();
    let listed = project.root.network.as_ref().map_or(&nothing, |list| &list.value);
    for (index, tool) in project.tools.iter().enumerate() {
        let Some(script) = &tool.script else { continue };
        let facts = project.read_facts(ScriptKind::Tool, script);
        if !facts.is_some_and(|facts| facts.reaches.iter().any(|named| named.name.starts_with("http."))) {
            continue;
        }
        for (host, finding) in hosts(script, listed) {
            findings.add_for(Owner::Tool(index), finding.help(format!("add `{host}` to `network.allowed_domains` in harness.md")));
        }
    }
}

/// Each unlisted host that stands in the text of a script, once, where it first stands.
fn hosts(script: &Script, listed: &Domains) -> Vec<(String, Diagnostic)> {
    let source = &script.place.source;
    let Some(text) = source.text.get(script.place.span.start..script.place.span.end) else { return Vec::new() };
    let mut found: Vec<(String, Diagnostic)> = Vec::new();
    for (at, _) in text.match_indices("http").filter(|(at, _)| ["http://", "https://"].iter().any(|scheme| text[*at..].starts_with(scheme)))
    {
        let address: &str = text[at..].split(['"', '\'', ' ', '\n', '\\', '{', '%', '`', '<', '>', '|', ')']).next().unwrap_or_default();
        // What is put together at run time is not known here.
        if let Err(Refused::Denied { message, host: Some(host) }) = judge_address(listed, address)
            && !found.iter().any(|(known, _)| *known == host)
        {
            let start = script.place.span.start + at;
            found.push((host, RULE.finding(message).at(Place::new(source, Span::new(start, start + address.len()))).field("script")));
        }
    }
    found
}
