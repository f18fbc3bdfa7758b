//! What an author probably did where the scanner of YAML gives up, in words about the text.

use super::rule::{script_not_indented, yaml_invalid};
use crate::diagnostic::Diagnostic;

/// Fields that hold scripts of several lines.
const SCRIPTS: [&str; 1] = ["script"];

/// A finding about frontmatter that does not parse, and the offset in the text where it belongs.
/// `at` is where the scanner stopped, and `info` what it says.
pub(super) fn slip(text: &str, at: usize, info: &str) -> (Diagnostic, usize) {
    let line_start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    if let Some(found) = of_script(text, line_start) {
        return found;
    }
    let line = text[line_start..].lines().next().unwrap_or_default();
    if info.contains("tab") {
        // The scanner may stop at the line before the tab.
        let found = text[line_start..].find('\t').map(|tab| line_start + tab);
        let finding = yaml_invalid::RULE.finding("a tab cannot indent yaml");
        return (finding.help("indent with spaces"), found.unwrap_or(at));
    }
    let finding = yaml_invalid::RULE.finding(format!("yaml: {info}"));
    let is_colon = info.contains("mapping values are not allowed")
        || info.contains("flow mapping") && text[..at].ends_with(':')
        || info.contains("flow mapping") && text[at..].starts_with(':');
    if is_colon && let Some((key, value)) = entry(line, at - line_start) {
        let finding = yaml_invalid::RULE.finding(format!(
            "the value of `{key}` contains a colon and a space, which begin another value"
        ));
        let help = if value.contains('"') {
            format!(
                "put the value in quotes: `{key}: '{}'`",
                value.replace('\'', "''")
            )
        } else {
            format!("put the value in quotes: `{key}: \"{value}\"`")
        };
        return (finding.help(help), at);
    }
    if info.contains("quoted scalar")
        && info.contains("end of stream")
        && let Some(quote @ ('"' | '\'')) = text[at..].chars().next()
    {
        let finding = yaml_invalid::RULE.finding(format!("the quote `{quote}` is never closed"));
        return (
            finding.help(format!("write `{quote}` where the value ends")),
            at,
        );
    }
    if info.contains("unexpected character")
        && let Some(sign) = text[at..].chars().next()
    {
        let rest = &text[at..];
        let value = rest
            .find([',', ']', '}', '\n'])
            .map_or(rest, |end| &rest[..end])
            .trim_end();
        let finding = yaml_invalid::RULE.finding(format!("a value cannot begin with `{sign}`"));
        let help = if value.contains('"') || value.chars().count() > 40 {
            "put the value in quotes".to_owned()
        } else {
            format!("put the value in quotes: `\"{value}\"`")
        };
        return (finding.help(help), at);
    }
    let help = if info.contains("flow mapping") || info.contains("flow sequence") {
        "close the bracket, and put a comma between the values"
    } else if info.contains("simple key") {
        "write `name: value`; lines of a longer text are indented below `name: |`"
    } else {
        "write `name: value` on each line; text with signs such as `:` or `#` in quotes"
    };
    (finding.help(help), at)
}

/// A script that is not a block of text: its `|` is missing, or its lines are not indented.
fn of_script(text: &str, error_line: usize) -> Option<(Diagnostic, usize)> {
    let mut start = 0;
    let mut last = None;
    for line in text.split_inclusive('\n') {
        if start > error_line {
            break;
        }
        if let Some(header) = ScriptHeader::of(line) {
            last = Some((start, line.len(), header));
        }
        start += line.len();
    }
    let (at, length, header) = last?;
    let mut next = at + length;
    let below = text[next..].split_inclusive('\n').find(|line| {
        let blank = line.trim().is_empty();
        if blank {
            next += line.len();
        }
        !blank
    });
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    // A later field ends the script: then the error has another reason.
    let ends_before_error = text[next.min(text.len())..]
        .split_inclusive('\n')
        .scan(next, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, line))
        })
        .take_while(|&(start, _)| start <= error_line)
        .any(|(_, line)| is_field(line) && indent(line) <= header.indent);
    match (header.value, below) {
        _ if ends_before_error => None,
        ("", Some(line)) if line.starts_with('\t') => {
            let finding = yaml_invalid::RULE.finding("a tab cannot indent a script");
            Some((finding.help("indent with spaces"), next))
        }
        (value, Some(line)) if value.starts_with(['|', '>']) => {
            if line.trim_start_matches(' ').starts_with('\t') {
                let finding = yaml_invalid::RULE.finding("a tab cannot indent a script");
                return Some((finding.help("indent with spaces"), next + indent(line)));
            }
            (indent(line) <= header.indent).then(|| (unindented(), next))
        }
        _ if header.value.starts_with(['|', '>', '"', '\'']) => None,
        _ => {
            let finding =
                yaml_invalid::RULE.finding("`script:` needs a `|` before the lines of the script");
            Some((
                finding.help("write `script: |`, and the script below it, indented by two spaces"),
                at + header.indent,
            ))
        }
    }
}

/// The finding for a script whose lines begin in the column of `script:`.
pub(super) fn unindented() -> Diagnostic {
    script_not_indented::RULE
        .finding("the lines of the script are not indented, so they are not part of it")
        .help("indent every line of the script by two spaces, below `script: |`")
}

/// A line that begins a script.
struct ScriptHeader<'a> {
    indent: usize,
    /// What stands behind the colon.
    value: &'a str,
}

impl<'a> ScriptHeader<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let trimmed = line.trim_start_matches([' ', '-']);
        let (key, value) = trimmed.split_once(':')?;
        SCRIPTS.contains(&key.trim_end()).then(|| Self {
            indent: line.len() - trimmed.len(),
            value: value.trim(),
        })
    }
}

/// Whether a line is `name: value`, and not a line of a script.
fn is_field(line: &str) -> bool {
    let name = line.trim_start().split(':').next().unwrap_or_default();
    line.contains(':')
        && !name.is_empty()
        && !matches!(name, "else" | "try" | "finally" | "except")
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The key and value around an offset of a line: of the line, or of a part in braces.
fn entry(line: &str, at: usize) -> Option<(&str, &str)> {
    let at = (0..=at.min(line.len()))
        .rev()
        .find(|at| line.is_char_boundary(*at))?;
    let open = line[..at].rfind(['{', ',']).map_or(0, |open| open + 1);
    let rest = &line[open..];
    let close = if open > 0 {
        rest.find([',', '}']).unwrap_or(rest.len())
    } else {
        rest.len()
    };
    let (key, value) = rest[..close].split_once(':')?;
    let key = key.trim_start_matches(['-', ' ']).trim();
    (!key.is_empty() && !value.trim().is_empty()).then(|| (key, value.trim()))
}
