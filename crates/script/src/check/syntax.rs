//! Where a script does not parse, and why. The parser says where it gave up; an author looks for
//! where the mistake is.

use super::dialect::dialect;
use super::mentions::named;
use starlark::codemap::CodeMap;
use starlark_syntax::lexer::{Lexer, Token};
use tool_harness::facts::Named;
use tool_harness::span::Source;

/// The mistake behind a message of the parser, which gave up at `offset`.
pub(super) fn mistake(source: &str, message: &str, offset: usize) -> Named {
    let message = message.lines().next().unwrap_or_default();
    let message = message.strip_prefix("Parse error: ").unwrap_or(message);
    let (message, offset) = place(source, message, offset);
    named(&Source::new("script", source), message, offset)
}

fn place(source: &str, message: &str, offset: usize) -> (String, usize) {
    // The lexer reports a tab where the indentation before it begins, on an earlier line.
    if message.contains("tabs are not allowed") {
        let at = tab_after(source, offset).unwrap_or(offset);
        return (message.to_owned(), at);
    }
    // An open bracket swallows the lines after it, so the parser gives up far below it.
    if let Some((bracket, at)) = open_bracket(source, offset) {
        return (format!("this `{bracket}` is never closed"), at);
    }
    if message == "incorrect indentation" {
        return (
            "this line is indented less than the line above it, and like no other line".to_owned(),
            first_word(source, offset),
        );
    }
    if message.starts_with("unexpected new indentation block") {
        return (
            "this line is indented more than the line above it, which ends without `:`".to_owned(),
            first_word(source, offset),
        );
    }
    (message.to_owned(), offset)
}

/// The first tab in the indentation of a line from `offset` on.
fn tab_after(source: &str, offset: usize) -> Option<usize> {
    let rest = source.get(offset..)?;
    rest.match_indices('\t')
        .map(|(at, _)| offset + at)
        .find(|&at| {
            let line = source[..at].rfind('\n').map_or(0, |end| end + 1);
            source[line..at].trim().is_empty()
        })
}

/// The first character from `offset` on that is not white space.
fn first_word(source: &str, offset: usize) -> usize {
    let rest = source.get(offset..).unwrap_or_default();
    rest.find(|c: char| !c.is_whitespace())
        .map_or(offset, |at| offset + at)
}

/// The innermost bracket that was opened before `offset` and that nothing closes.
fn open_bracket(source: &str, offset: usize) -> Option<(char, usize)> {
    let dialect = dialect();
    let code = CodeMap::new("script".to_owned(), source.to_owned());
    let mut lexer = Lexer::new(source, &dialect, code);
    let mut open = Vec::new();
    while let Some(Ok((at, token, _))) = lexer.next() {
        let (bracket, partner) = match token {
            Token::OpeningRound => ('(', None),
            Token::OpeningSquare => ('[', None),
            Token::OpeningCurly => ('{', None),
            Token::ClosingRound => (')', Some('(')),
            Token::ClosingSquare => (']', Some('[')),
            Token::ClosingCurly => ('}', Some('{')),
            _ => continue,
        };
        match (partner, open.last()) {
            (None, _) => open.push((bracket, at)),
            (Some(partner), Some((last, _))) if *last == partner => drop(open.pop()),
            // Brackets that do not pair are the parser's to explain.
            (Some(_), _) => return None,
        }
    }
    open.pop().filter(|&(_, at)| at < offset)
}
