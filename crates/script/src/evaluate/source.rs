//! From text to a syntax tree: the dialect, and bounds the parser itself does not have.

use super::failure::{raised, raised_at};
use starlark::syntax::{AstModule, Dialect};
use tool_harness::check::facts::ScriptKind;
use tool_harness::worker::protocol::Failure;

/// The longest source.
pub(crate) const MAX_SOURCE: usize = 1 << 20;

/// How deep brackets and blocks may nest together. The parser recurses, so beyond some depth it would end the process.
pub(crate) const MAX_NESTING: usize = 200;

/// What a `when` becomes; errors on its first line are shifted by the length of the prefix.
const WHEN_PREFIX: &str = "def __when(event, payload): return (";
const WHEN_SUFFIX: &str = "\n)\n";

/// Standard Starlark without `load`; with f-strings, lambdas and keyword-only parameters.
pub(crate) fn dialect() -> Dialect {
    Dialect { enable_load: false, enable_keyword_only_arguments: true, enable_f_strings: true, ..Dialect::Standard }
}

/// The function a script of this kind is entered at.
pub(super) fn entry(kind: ScriptKind) -> &'static str {
    match kind {
        ScriptKind::Tool => "run",
        ScriptKind::Hook => "handle",
        ScriptKind::When => "__when",
    }
}

/// How many characters stand before the author's own on the first line.
pub(super) fn shift(kind: ScriptKind) -> u32 {
    match kind {
        ScriptKind::Tool | ScriptKind::Hook => 0,
        ScriptKind::When => u32::try_from(WHEN_PREFIX.len()).unwrap_or(0),
    }
}

/// Parses a source after looking at its size and nesting.
pub(super) fn parse(kind: ScriptKind, source: &str) -> Result<AstModule, Failure> {
    if source.len() > MAX_SOURCE {
        return Err(raised(format!("the script is larger than {} KiB", MAX_SOURCE >> 10)));
    }
    if let Some((line, column)) = too_deep(source) {
        return Err(raised_at(format!("nested deeper than {MAX_NESTING} levels"), line, column));
    }
    let text = match kind {
        ScriptKind::Tool | ScriptKind::Hook => source.to_owned(),
        ScriptKind::When => format!("{WHEN_PREFIX}{source}{WHEN_SUFFIX}"),
    };
    AstModule::parse("script", text, &dialect()).map_err(|error| super::failure::of(&error, kind))
}

/// Where brackets and indented blocks nest deeper than [`MAX_NESTING`]: line and column, from one. Strings and comments are skipped.
pub(crate) fn too_deep(source: &str) -> Option<(u32, u32)> {
    let mut scan = Scan { brackets: 0, indents: Vec::new(), quote: None };
    for (line, text) in source.split('\n').enumerate() {
        if let Some(column) = scan.line(text) {
            return Some((number(line + 1), number(column + 1)));
        }
    }
    None
}

struct Scan {
    brackets: usize,
    indents: Vec<usize>,
    quote: Option<Quote>,
}

#[derive(Clone, Copy)]
struct Quote {
    mark: char,
    triple: bool,
}

impl Scan {
    /// Looks at one line; gives the column, from zero, where it gets too deep.
    fn line(&mut self, text: &str) -> Option<usize> {
        let indent = text.len() - text.trim_start_matches(' ').len();
        let content = text.trim_start().trim_end();
        if self.quote.is_none() && self.brackets == 0 && !content.is_empty() && !content.starts_with('#') {
            while self.indents.last().is_some_and(|&outer| outer >= indent) {
                self.indents.pop();
            }
            self.indents.push(indent);
        }
        let mut chars = text.chars().enumerate().peekable();
        while let Some((column, char)) = chars.next() {
            if self.quote.is_some() {
                match char {
                    '\\' => {
                        chars.next();
                    }
                    _ => self.leave_quote(char, &mut chars),
                }
                continue;
            }
            match char {
                '#' => break,
                '"' | '\'' => self.enter_quote(char, &mut chars),
                '(' | '[' | '{' => self.brackets += 1,
                ')' | ']' | '}' => self.brackets = self.brackets.saturating_sub(1),
                _ => {}
            }
            if self.brackets + self.indents.len() > MAX_NESTING {
                return Some(column);
            }
        }
        // A plain string that is not closed ends with its line; the parser will complain about it.
        if self.quote.is_some_and(|quote| !quote.triple) && !text.ends_with('\\') {
            self.quote = None;
        }
        None
    }

    fn enter_quote(&mut self, mark: char, chars: &mut std::iter::Peekable<impl Iterator<Item = (usize, char)>>) {
        let second = chars.next_if(|&(_, next)| next == mark).is_some();
        let third = second && chars.next_if(|&(_, next)| next == mark).is_some();
        match (second, third) {
            // The empty string.
            (true, false) => {}
            (_, triple) => self.quote = Some(Quote { mark, triple }),
        }
    }

    fn leave_quote(&mut self, char: char, chars: &mut std::iter::Peekable<impl Iterator<Item = (usize, char)>>) {
        let Some(quote) = self.quote else { return };
        if char != quote.mark {
            return;
        }
        if !quote.triple {
            self.quote = None;
        } else if chars.next_if(|&(_, next)| next == quote.mark).is_some() && chars.next_if(|&(_, next)| next == quote.mark).is_some() {
            self.quote = None;
        }
    }
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: Option<(u32, u32)>) {
        assert_eq!(too_deep(source), expected, "{}", &source[..source.len().min(80)]);
    }

    #[test]
    fn nesting_is_counted_outside_strings_and_comments() {
        let deep = "(".repeat(300);
        check(&format!("x = {deep}"), Some((1, 204)));
        check(&format!("\nx = 1\ny = [{}", "{".repeat(300)), Some((3, 204)));
        for harmless in [
            format!("x = \"{deep}\""),
            format!("x = '{deep}'"),
            format!("x = \"\"\"\n{deep}\n\"\"\""),
            format!("x = \"\\\"{deep}\""),
            format!("# {deep}"),
            format!("x = r'''{deep}'''"),
            "x = ()\n".repeat(500),
            "x = \"\" + ''\n".repeat(500),
            format!("x = 'not closed\ny = 1\nz = '{deep}'"),
        ] {
            check(&harmless, None);
        }
        check(&format!("x = \"\"{deep}"), Some((1, 206)));
        check(&format!("x = \"\"\"a\"\"\"{deep}"), Some((1, 211)));
    }

    #[test]
    fn blocks_nest_like_brackets() {
        let blocks = |count: usize| (0..count).map(|depth| format!("{}if x:\n", " ".repeat(depth))).collect::<String>();
        check(&blocks(150), None);
        check(&blocks(250), Some((201, 1)));
        check(&"def f():\n  return 1\n".repeat(400), None);
    }
}
