//! The blocks of Markdown that decide what fenced code is: quotations, list items, comments and
//! fences, by CommonMark's rules.

use crate::span::Span;

/// What is open at the end of a line.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    containers: Vec<Container>,
    leaf: Leaf,
}

/// A block that holds others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    Quotation,
    /// A list item, with the columns that its lines are indented by.
    Item(usize),
}

/// The innermost block, as far as it matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Leaf {
    #[default]
    None,
    /// A paragraph, which may go on outside of its container.
    Paragraph,
    Fence {
        mark: u8,
        length: usize,
        span: Span,
    },
    /// Raw text, up to a line that contains this.
    Raw(&'static str),
}

/// Where raw text begins and ends. Other tags often wrap Markdown, above all in prompts.
const RAW: [(&str, &str); 5] = [
    ("<!--", "-->"),
    ("<pre", "</pre>"),
    ("<script", "</script>"),
    ("<style", "</style>"),
    ("<textarea", "</textarea>"),
];

/// No real text nests deeper, and each line is compared with all levels.
const MOST_CONTAINERS: usize = 64;

impl Blocks {
    pub(super) fn is_fenced(&self) -> bool {
        matches!(self.leaf, Leaf::Fence { .. })
    }

    pub(super) fn open_fence(&self) -> Option<Span> {
        if let Leaf::Fence { span, .. } = self.leaf {
            Some(span)
        } else {
            None
        }
    }

    /// Takes the next line, and says whether it is fenced code or a fence.
    pub(super) fn line(&mut self, text: &str, span: Span) -> bool {
        let mut rest = LineRest {
            text,
            at: 0,
            column: 0,
            owed: 0,
        };
        let kept = self
            .containers
            .iter()
            .take_while(|container| rest.enter(**container))
            .count();
        if kept == self.containers.len() {
            match self.leaf {
                Leaf::Fence { mark, length, .. } => {
                    if rest.indent() <= 3 && closes(rest.words(), mark, length) {
                        self.leaf = Leaf::None;
                    }
                    return true;
                }
                Leaf::Raw(end) => {
                    if has(rest.words(), end) {
                        self.leaf = Leaf::None;
                    }
                    return false;
                }
                Leaf::None | Leaf::Paragraph => {}
            }
        }
        let opened = self.opened(&mut rest, kept);
        let words = rest.words();
        let code = rest.indent() > 3;
        let plain = opened.is_empty() && (code || (fence(words).is_none() && raw(words).is_none()));
        // A paragraph goes on without the marks of what holds it.
        if self.leaf == Leaf::Paragraph && plain && !words.is_empty() {
            return false;
        }
        self.containers.truncate(kept);
        self.containers.extend(opened);
        self.leaf = match (fence(words), raw(words)) {
            _ if words.is_empty() || code => Leaf::None,
            (Some((mark, length)), _) => Leaf::Fence { mark, length, span },
            (_, Some((begin, end))) if has(words.get(begin.len()..).unwrap_or_default(), end) => {
                Leaf::None
            }
            (_, Some((_, end))) => Leaf::Raw(end),
            _ => Leaf::Paragraph,
        };
        self.is_fenced()
    }

    /// The containers that begin on this line.
    fn opened(&self, rest: &mut LineRest<'_>, kept: usize) -> Vec<Container> {
        let mut opened = Vec::new();
        while rest.indent() <= 3 && kept + opened.len() < MOST_CONTAINERS {
            if rest.enter(Container::Quotation) {
                opened.push(Container::Quotation);
            } else if let Some(columns) = rest.item() {
                opened.push(Container::Item(columns));
            } else {
                break;
            }
        }
        opened
    }
}

/// The rest of a line, by its columns: a tab reaches to the next multiple of four.
#[derive(Clone, Copy)]
struct LineRest<'l> {
    text: &'l str,
    at: usize,
    column: usize,
    /// Columns of a tab that were not used up.
    owed: usize,
}

impl<'l> LineRest<'l> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The columns of white space that come next.
    fn indent(&self) -> usize {
        let mut column = self.column;
        let blanks = self
            .text
            .as_bytes()
            .iter()
            .skip(self.at)
            .take_while(|byte| matches!(byte, b' ' | b'\t'));
        for byte in blanks {
            column += if *byte == b'\t' { 4 - column % 4 } else { 1 };
        }
        self.owed + column - self.column
    }

    /// What comes after the white space.
    fn words(&self) -> &'l str {
        self.text.get(self.at..).unwrap_or_default().trim()
    }

    /// Takes this many columns of white space, or all that there are.
    fn skip(&mut self, columns: usize) {
        let mut left = columns;
        while left > 0 {
            if self.owed > 0 {
                let taken = self.owed.min(left);
                self.owed -= taken;
                left -= taken;
                continue;
            }
            let wide = match self.peek() {
                Some(b' ') => 1,
                Some(b'\t') => 4 - self.column % 4,
                _ => return,
            };
            self.at += 1;
            self.column += wide;
            self.owed = wide.saturating_sub(left);
            left = left.saturating_sub(wide);
        }
    }

    /// Goes into a container, if this line belongs to it.
    fn enter(&mut self, container: Container) -> bool {
        match container {
            Container::Item(columns) => {
                let inside = self.words().is_empty() || self.indent() >= columns;
                if inside {
                    self.skip(columns);
                }
                inside
            }
            Container::Quotation => {
                let mut inside = *self;
                inside.skip(3.min(inside.indent()));
                if inside.indent() > 0 || inside.peek() != Some(b'>') {
                    return false;
                }
                inside.at += 1;
                inside.column += 1;
                inside.skip(1);
                *self = inside;
                true
            }
        }
    }

    /// Goes into a list item that begins here; the columns that its lines are indented by.
    fn item(&mut self) -> Option<usize> {
        let mut inside = *self;
        let indent = inside.indent();
        inside.skip(indent);
        let rest = inside.text.get(inside.at..)?.as_bytes();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mark = match rest.get(digits) {
            Some(b'-' | b'*' | b'+') if digits == 0 => 1,
            Some(b'.' | b')') if (1..=9).contains(&digits) => digits + 1,
            _ => return None,
        };
        inside.at += mark;
        inside.column += mark;
        let spaces = inside.indent();
        let empty = inside.words().is_empty();
        if spaces == 0 && !empty {
            return None;
        }
        // Deeper indentation is code that begins after one space.
        let taken = if empty || spaces > 4 { 1 } else { spaces };
        inside.skip(taken);
        *self = inside;
        Some(indent + mark + taken)
    }
}

/// The fence that these words open: three or more of one kind, and no backtick after backticks.
fn fence(words: &str) -> Option<(u8, usize)> {
    let mark = *words
        .as_bytes()
        .first()
        .filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = words.bytes().take_while(|&byte| byte == mark).count();
    (length >= 3 && !(mark == b'`' && words[length..].contains('`'))).then_some((mark, length))
}

fn closes(words: &str, mark: u8, length: usize) -> bool {
    let count = words.bytes().take_while(|&byte| byte == mark).count();
    count >= length && count == words.len()
}

fn raw(words: &str) -> Option<(&'static str, &'static str)> {
    let begins = |begin: &str| {
        words
            .get(..begin.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(begin))
    };
    let (begin, end) = RAW.into_iter().find(|(begin, _)| begins(begin))?;
    let own = begin == "<!--"
        || words[begin.len()..].is_empty()
        || words[begin.len()..].starts_with([' ', '\t', '>']);
    own.then_some((begin, end))
}

fn has(words: &str, end: &str) -> bool {
    words
        .as_bytes()
        .windows(end.len())
        .any(|part| part.eq_ignore_ascii_case(end.as_bytes()))
}
