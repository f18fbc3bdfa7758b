//! `HOST_UNLISTED`.

use super::Check;
use crate::artifact::tool::Script;
use crate::check::subject::{Findings, Owner, Project};
use crate::diagnostic::{Diagnostic, Rule, Severity};
use crate::facts::ScriptKind;
use crate::outside::{Refused, judge_address};
use crate::span::{Place, Span};
use std::ops::Range;
use tool_harness_sandbox::network::Domains;

pub(super) const RULE: Rule<Check> = Rule {
    code: "HOST_UNLISTED",
    severity: Severity::Note,
    why: "The script names a host that `network.allowed_domains` does not list, so a request to \
          it would be refused.",
    bad: &[(
        ".harness/tools/fetch_news.md",
        "---\ntimeout_ms: 10000\nscript: |\n  def run(args):\n      return http.get(\"https://example.com/news\")\n---\nFetches the news.\n",
    )],
    good: &[
        (
            ".harness/tools/fetch_news.md",
            "---\ntimeout_ms: 10000\nscript: |\n  def run(args):\n      return http.get(\"https://example.com/news\")\n---\nFetches the news.\n",
        ),
        (
            "harness.md",
            "---\nnetwork: {allowed_domains: [example.com]}\n---\nYou tell the news.\n",
        ),
    ],
    check: Check::Project(check),
};

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    let nothing = Domains::default();
    let listed = project
        .root
        .network
        .as_ref()
        .map_or(&nothing, |list| &list.value);
    for (index, tool) in project.tools.iter().enumerate() {
        let Some(script) = &tool.script else { continue };
        let facts = project.read_facts(ScriptKind::Tool, script);
        if !facts.is_some_and(|facts| {
            facts
                .reaches
                .iter()
                .any(|named| named.name.starts_with("http."))
        }) {
            continue;
        }
        for (host, finding) in hosts(script, listed) {
            findings.add_for(
                Owner::Tool(index),
                finding.help(format!(
                    "add `{host}` to `network.allowed_domains` in harness.md"
                )),
            );
        }
    }
}

/// Each unlisted host in the text of a script, once, at its first place.
fn hosts(script: &Script, listed: &Domains) -> Vec<(String, Diagnostic)> {
    let source = &script.place.source;
    let Some(text) = source
        .text
        .get(script.place.span.start..script.place.span.end)
    else {
        return Vec::new();
    };
    let mut found: Vec<(String, Diagnostic)> = Vec::new();
    let comments = comments(text);
    let is_code = |at: usize| {
        comments
            .get(comments.partition_point(|comment| comment.end <= at))
            .is_none_or(|comment| at < comment.start)
    };
    let is_address = |at: usize| {
        ["http://", "https://"]
            .iter()
            .any(|scheme| text[at..].starts_with(scheme))
    };
    for (at, _) in text
        .match_indices("http")
        .filter(|(at, _)| is_address(*at) && is_code(*at))
    {
        let address: &str = text[at..]
            .split([
                '"', '\'', ' ', '\n', '\\', '{', '%', '`', '<', '>', '|', ')',
            ])
            .next()
            .unwrap_or_default();
        // A host that is put together at run time is unknown here.
        if let Err(Refused::Denied {
            message,
            host: Some(host),
        }) = judge_address(listed, address)
            && !found.iter().any(|(known, _)| *known == host)
        {
            let start = script.place.span.start + at;
            found.push((
                host,
                RULE.finding(message)
                    .at(Place::new(source, Span::new(start, start + address.len())))
                    .field("script"),
            ));
        }
    }
    found
}

/// The comments of a script, in order.
fn comments(text: &str) -> Vec<Range<usize>> {
    let mut comments = Vec::new();
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(['#', '"', '\''])) {
        let (start, rest) = (at + found, &text[at + found..]);
        let quotes = ["\"\"\"", "'''", "\"", "'"];
        at = match quotes.into_iter().find(|quote| rest.starts_with(quote)) {
            Some(quote) => start + quote.len() + closing(&rest[quote.len()..], quote),
            None => {
                let end = start + rest.find('\n').unwrap_or(rest.len());
                comments.push(start..end);
                end
            }
        };
    }
    comments
}

/// Where a text ends that `quote` began: after its other end, or with its line where it has but
/// one.
fn closing(rest: &str, quote: &str) -> usize {
    let mut at = 0;
    while let Some(found) = rest
        .get(at..)
        .and_then(|rest| rest.find(['\\', '\n', '"', '\'']))
    {
        let here = &rest[at + found..];
        if here.starts_with(quote) {
            return at + found + quote.len();
        }
        if here.starts_with('\n') && quote.len() == 1 {
            return at + found;
        }
        let escaped = if here.starts_with('\\') {
            here.chars().nth(1).map_or(0, char::len_utf8)
        } else {
            0
        };
        at += found + 1 + escaped;
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::comments;

    #[test]
    fn a_comment_sign_inside_a_string_starts_no_comment() {
        let check = |text: &str, expected: &[&str]| {
            let found: Vec<&str> = comments(text)
                .into_iter()
                .map(|comment| &text[comment])
                .collect();
            assert_eq!(found, expected, "{text}");
        };
        check("a = 1 # one\nb = '#no' # two", &["# one", "# two"]);
        check("a = \"\\\"#no\" # yes", &["# yes"]);
        check("a = \"\"\"\n# no \"\n\"\"\" # yes\n", &["# yes"]);
        check(
            "it's\n# after a line that is not closed",
            &["# after a line that is not closed"],
        );
    }
}
