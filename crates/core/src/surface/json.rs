//! JSON to a tree in which every value knows its place.

use crate::artifact::node::{Key, Kind, Node};
use crate::span::Span;
use serde::de::IgnoredAny;
use serde_json::Number;
use std::collections::HashMap;

/// The value, and each key that an object has twice, of which the last counts.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) root: Node,
    pub(super) duplicates: Vec<Key>,
}

/// Why a text is not JSON, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct JsonError {
    pub(super) message: String,
    pub(super) at: usize,
}

/// A surface is never nested deeper, and a recursive reader would run out of stack.
const MAX_DEPTH: usize = 128;

/// Reads a text that is one JSON value.
pub(super) fn parse(text: &str) -> Result<Document, JsonError> {
    let mark = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    // serde checks the grammar, without a depth limit because it builds nothing; the tree below
    // adds places, and is bounded.
    if let Err(problem) = serde_json::from_str::<IgnoredAny>(&text[mark..]) {
        return Err(JsonError {
            at: mark + offset(&text[mark..], problem.line(), problem.column()),
            message: words(&problem),
        });
    }
    let mut tree = Tree {
        text,
        at: mark,
        depth: 0,
        duplicates: Vec::new(),
    };
    let root = tree.value().ok_or_else(|| {
        let message = if tree.depth > MAX_DEPTH {
            format!("lists and maps are nested more than {MAX_DEPTH} deep")
        } else {
            "a value was expected".to_owned()
        };
        let at = tree.at;
        JsonError { message, at }
    })?;
    Ok(Document {
        root,
        duplicates: tree.duplicates,
    })
}

/// The message without serde's own account of the place.
fn words(problem: &serde_json::Error) -> String {
    let all = problem.to_string();
    all.rsplit_once(" at line ")
        .map_or_else(|| all.clone(), |(message, _)| message.to_owned())
}

fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    (start + column.saturating_sub(1)).min(text.len())
}

struct Tree<'a> {
    text: &'a str,
    at: usize,
    /// How many lists and maps are open.
    depth: usize,
    duplicates: Vec<Key>,
}

impl Tree<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Takes the byte after any space, if it is this one.
    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn value(&mut self) -> Option<Node> {
        self.space();
        let start = self.at;
        let kind = match self.peek()? {
            b'{' | b'[' if self.depth >= MAX_DEPTH => {
                self.depth += 1;
                return None;
            }
            b'{' => self.object()?,
            b'[' => self.list()?,
            b'"' => Kind::Text {
                value: self.string()?,
                block: None,
            },
            _ => self.plain()?,
        };
        Some(Node {
            span: Span::new(start, self.at),
            kind,
        })
    }

    fn object(&mut self) -> Option<Kind> {
        let mut entries: Vec<(Key, Node)> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        self.take(b'{');
        self.depth += 1;
        while !self.take(b'}') {
            self.space();
            let start = self.at;
            let name = self.string()?;
            let key = Key {
                name,
                span: Span::new(start, self.at),
            };
            self.take(b':');
            let value = self.value()?;
            match known.get(&key.name) {
                Some(&index) => {
                    self.duplicates.push(key.clone());
                    entries[index] = (key, value);
                }
                None => {
                    known.insert(key.name.clone(), entries.len());
                    entries.push((key, value));
                }
            }
            self.take(b',');
        }
        self.depth -= 1;
        Some(Kind::Map(entries))
    }

    fn list(&mut self) -> Option<Kind> {
        let mut items = Vec::new();
        self.take(b'[');
        self.depth += 1;
        while !self.take(b']') {
            items.push(self.value()?);
            self.take(b',');
        }
        self.depth -= 1;
        Some(Kind::List(items))
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        let inside = self.text.get(start + 1..)?;
        let mut escaped = false;
        let length = inside.bytes().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        })?;
        self.at = start + length + 2;
        let raw = &inside[..length];
        if raw.contains('\\') {
            serde_json::from_str(&self.text[start..self.at]).ok()
        } else {
            Some(raw.to_owned())
        }
    }

    fn plain(&mut self) -> Option<Kind> {
        let rest = self.text.get(self.at..)?;
        let length = rest
            .find(|c: char| c.is_ascii_whitespace() || matches!(c, ',' | ']' | '}'))
            .unwrap_or(rest.len());
        self.at += length;
        Some(match &rest[..length] {
            "null" => Kind::Null,
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            number => Kind::Number(serde_json::from_str::<Number>(number).ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn values_know_their_places() {
        let text = " {\"a\": [1, \"x\\n\"], \"b\": {}}";
        let document = parse(text).expect("JSON");
        let at = |node: &Node| &text[node.span.start..node.span.end];
        assert_eq!(document.root.to_json(), json!({"a": [1, "x\n"], "b": {}}));
        assert_eq!(at(document.root.get("a").expect("a")), "[1, \"x\\n\"]");
        assert_eq!(
            at(&document.root.get("a").expect("a").items()[1]),
            "\"x\\n\""
        );
    }

    #[test]
    fn a_text_that_is_not_json_is_refused_with_its_place() {
        assert_eq!(parse("{\n  \"a\": }").expect_err("no JSON").at, 9);
        assert!(
            parse("").is_err() && parse("{} {}").is_err() && parse(&"[".repeat(100_000)).is_err()
        );
    }

    #[test]
    fn a_text_that_nests_too_deep_is_refused_without_an_overflow() {
        let nested = |open: &str, depth: usize, close: &str| {
            format!("{}1{}", open.repeat(depth), close.repeat(depth))
        };
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
            let each = open.matches(['[', '{']).count();
            assert!(
                parse(&nested(open, MAX_DEPTH / each, close)).is_ok(),
                "{open}"
            );
            for depth in [MAX_DEPTH / each + 1, 100_000] {
                assert!(
                    parse(&nested(open, depth, close))
                        .expect_err(open)
                        .message
                        .contains("128 deep"),
                    "{open} {depth}"
                );
            }
        }
    }

    #[test]
    fn a_key_that_is_there_twice_is_known() {
        let document = parse("{\"a\": 1, \"a\": 2}").expect("JSON");
        assert_eq!(document.root.to_json(), json!({"a": 2}));
        assert_eq!(document.duplicates.len(), 1);
    }

    proptest! {
        #[test]
        fn the_tree_is_what_serde_reads(text in "[\\[\\]{}:,\"\\\\a1eE.+ntrue\\-\n ]{0,40}") {
            let expected = serde_json::from_str::<Value>(&text).ok();
            prop_assert_eq!(parse(&text).ok().map(|document| document.root.to_json()), expected);
        }
    }
}
