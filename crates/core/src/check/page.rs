//! The page of a code, for `docs/diagnostics` and `harness explain CODE`.

use super::rules;
use crate::diagnostic::Rule;
use std::fmt::Write as _;

/// The page of one code, as Markdown.
#[must_use]
pub fn page(rule: &Rule) -> String {
    let mut text = format!(
        "# `{}`\n\nSeverity: {}.\n\n{}\n",
        rule.code, rule.severity, rule.why
    );
    example(&mut text, "Wrong", rule.bad);
    example(&mut text, "Right", rule.good);
    text
}

/// The list of all codes, as Markdown.
#[must_use]
pub fn index() -> String {
    let mut text = String::from(
        "# Diagnostics\n\nGenerated from the rules; `harness explain CODE` prints the same pages.\n\n",
    );
    text.push_str("| code | severity | why it matters |\n| --- | --- | --- |\n");
    for rule in rules() {
        let _ = writeln!(
            text,
            "| [`{code}`]({code}.md) | {} | {} |",
            rule.severity,
            rule.why.replace('|', "\\|"),
            code = rule.code
        );
    }
    text
}

fn example(text: &mut String, title: &str, files: &[(&str, &str)]) {
    if files.is_empty() {
        return;
    }
    let _ = write!(text, "\n## {title}\n");
    for (path, content) in files {
        let fence = fence_for(content);
        let end = if content.ends_with('\n') { "" } else { "\n" };
        let _ = write!(
            text,
            "\n`{path}`:\n\n{fence}{}\n{content}{end}{fence}\n",
            language(path)
        );
    }
}

/// A fence that the content itself cannot close.
fn fence_for(content: &str) -> String {
    let longest = content.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

fn language(path: &str) -> &'static str {
    match path.rsplit_once('.') {
        Some((_, "md")) => "markdown",
        Some((_, "json")) => "json",
        _ => "yaml",
    }
}
