//! How deeply a script nests, counted over its tokens.
//!
//! The parser, and everything that walks or drops its tree, recurses. This check comes first and
//! does not, so that a script made to exhaust the stack gets a message with a place instead of
//! killing the worker.

use super::dialect::dialect;
use starlark::codemap::CodeMap;
use starlark_syntax::lexer::{Lexer, Token};

/// The most brackets and blocks inside each other.
const LEVELS: usize = 200;
/// The most operators, calls and attributes in one expression and those around it: `a + b + c` is a
/// tree three deep.
const LINKS: usize = 1000;

/// One open bracket or block.
#[derive(Default)]
struct OpenBlock {
    /// Links since the last separator.
    links: usize,
    /// Links that a separator does not end: `lambda a, b:` has commas of its own, and each `elif`
    /// nests in the one before it.
    kept: usize,
}

/// The byte offset at which a script nests too deeply, if it does. Lexical errors are left to the
/// parser.
pub(super) fn too_deep(source: &str) -> Option<usize> {
    let dialect = dialect();
    let mut lexer = Lexer::new(
        source,
        &dialect,
        CodeMap::new("script".to_owned(), source.to_owned()),
    );
    let mut levels = vec![OpenBlock::default()];
    let mut links = 0;
    let mut line_starts = true;
    while let Some(Ok((offset, token, _))) = lexer.next() {
        if line_starts
            && !matches!(
                token,
                Token::Comment(_) | Token::Newline | Token::Indent | Token::Dedent
            )
        {
            line_starts = false;
            if let Some(level) = levels.last_mut()
                && !matches!(token, Token::Elif | Token::Else)
            {
                links -= level.kept;
                level.kept = 0;
            }
        }
        match token {
            Token::Indent => levels.push(OpenBlock::default()),
            Token::OpeningRound
            | Token::OpeningSquare
            | Token::OpeningCurly
            | Token::FStringExprStart => {
                add(&mut levels, &mut links, |level| &mut level.links);
                levels.push(OpenBlock::default());
            }
            Token::Dedent
            | Token::ClosingRound
            | Token::ClosingSquare
            | Token::ClosingCurly
            | Token::FStringExprEnd
                if levels.len() > 1 =>
            {
                links -= levels.pop().map_or(0, |level| level.links + level.kept);
            }
            Token::Comma | Token::Semicolon | Token::Newline => {
                if let Some(level) = levels.last_mut() {
                    links -= level.links;
                    level.links = 0;
                }
                line_starts |= token == Token::Newline;
            }
            Token::Lambda | Token::Elif => add(&mut levels, &mut links, |level| &mut level.kept),
            token if is_link(&token) => add(&mut levels, &mut links, |level| &mut level.links),
            _ => {}
        }
        if levels.len() > LEVELS + 1 || links > LINKS {
            return Some(offset);
        }
    }
    None
}

fn add(levels: &mut [OpenBlock], total: &mut usize, count: fn(&mut OpenBlock) -> &mut usize) {
    if let Some(level) = levels.last_mut() {
        *count(level) += 1;
        *total += 1;
    }
}

fn is_link(token: &Token) -> bool {
    matches!(
        token,
        Token::And
            | Token::Or
            | Token::Not
            | Token::In
            | Token::If
            | Token::Dot
            | Token::Plus
            | Token::Minus
            | Token::Star
            | Token::Slash
            | Token::SlashSlash
            | Token::Percent
            | Token::Tilde
            | Token::Ampersand
            | Token::Pipe
            | Token::Caret
            | Token::LessLess
            | Token::GreaterGreater
            | Token::EqualEqual
            | Token::BangEqual
            | Token::LessThan
            | Token::GreaterThan
            | Token::LessEqual
            | Token::GreaterEqual
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, deep: bool) {
        assert_eq!(
            too_deep(source).is_some(),
            deep,
            "{}...",
            source.chars().take(60).collect::<String>()
        );
    }

    #[test]
    fn deep_scripts_are_refused_and_long_ones_are_not() {
        let cases: Vec<(String, bool)> = vec![
            (format!("x = {}{}", "(".repeat(201), ")".repeat(201)), true),
            (format!("x = {}{}", "[".repeat(200), "]".repeat(200)), false),
            (format!("x = {}", "(".repeat(40_000)), true),
            (format!("x = \"{}\"", "(".repeat(5000)), false),
            (format!("# {}\nx = 1", "[".repeat(5000)), false),
            (format!("x = [{}]", "(1, [2]), ".repeat(5000)), false),
            ("x = (1)\n".repeat(5000), false),
            (blocks(199), false),
            (blocks(201), true),
            (format!("x = {}1", "not ".repeat(1001)), true),
            (format!("x = {}1", "- ".repeat(1001)), true),
            (format!("x = 1{}", " + 1".repeat(1001)), true),
            (format!("x = 1{}", " + 1".repeat(900)), false),
            ("x = 1 + 2 - 3\n".repeat(2000), false),
            (format!("x = [{}]", "-1, ".repeat(5000)), false),
            (format!("x = f{}", "()".repeat(1001)), true),
            (format!("x = a{}", ".b".repeat(1001)), true),
            (format!("x = {}1", "lambda a, b: ".repeat(1001)), true),
            ("x = lambda a, b: a\n".repeat(2000), false),
            (format!("x = {}1", "1 if 1 else ".repeat(1001)), true),
            (
                format!(
                    "def f(a):\n  if a:\n    pass\n{}",
                    "  elif a:\n    pass\n".repeat(1001)
                ),
                true,
            ),
            (
                format!(
                    "def f(a):\n{}",
                    "  if a:\n    pass\n  elif a:\n    pass\n".repeat(2000)
                ),
                false,
            ),
            ("x = ]]]]))))}}}}".to_owned(), false),
            ("x = 'unfinished".to_owned(), false),
        ];
        for (source, deep) in cases {
            check(&source, deep);
        }
    }

    fn blocks(count: usize) -> String {
        let mut source = String::from("def f(a):\n");
        for depth in 1..count {
            source.push_str(&" ".repeat(depth));
            source.push_str("if a:\n");
        }
        source + &" ".repeat(count) + "pass\n"
    }
}
