//! Bounded YAML to [`Node`]: one document, no anchors, aliases or tags, limits on size, depth and
//! number of values.

use super::node::{Block, Key, Kind, Node};
use super::offsets::Offsets;
use super::problem::quoted;
use super::scalar;
use super::slip::slip;
use crate::artifact::rule::{key_duplicate, yaml_invalid, yaml_limit, yaml_not_accepted};
use crate::diagnostic::Diagnostic;
use crate::span::{Place, Source, Span};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, StrInput};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The most bytes of YAML in one file.
pub const MAX_BYTES: usize = 1 << 20;
/// The most values and keys in one file.
pub(crate) const MAX_NODES: usize = 20_000;
/// The deepest nesting of lists and maps.
pub const MAX_DEPTH: usize = 32;

/// Reads the part `span` of a file. Without a tree the problems say why; with one they may still
/// hold duplicate keys.
#[must_use]
pub fn parse(source: &Arc<Source>, span: Span) -> (Option<Node>, Vec<Diagnostic>) {
    let text = &source.text[span.start..span.end];
    let mut tree = Tree {
        source,
        whole: span,
        offsets: Offsets::new(&source.text, span),
        open: Vec::new(),
        root: None,
        nodes: 0,
        duplicates: Vec::new(),
    };
    let outcome = admit(source, span, text).and_then(|()| {
        // The scanner is third-party code on untrusted text: a panic in it costs one file, not the
        // project.
        catch_unwind(AssertUnwindSafe(|| tree.build(text))).unwrap_or_else(|_| {
            let place = Place::new(source, Span::new(span.start, span.start));
            Err(yaml_invalid::RULE
                .finding("the yaml scanner failed on this text")
                .at(place)
                .into())
        })
    });
    let mut problems = tree.duplicates;
    match outcome {
        Ok(()) => (
            tree.root.or(Some(Node {
                span: Span::new(span.start, span.start),
                kind: Kind::Null,
            })),
            problems,
        ),
        Err(problem) => {
            problems.push(*problem);
            (None, problems)
        }
    }
}

/// Refuses what must not reach the scanner: too much text, and characters that YAML forbids or that
/// readers and scanner see differently.
fn admit(source: &Arc<Source>, span: Span, text: &str) -> Result<(), Box<Diagnostic>> {
    let place = |at: usize| Place::new(source, Span::new(span.start + at, span.start + at));
    if text.len() > MAX_BYTES {
        let message = format!(
            "the yaml is {} bytes long; the limit is {MAX_BYTES}",
            text.len()
        );
        return Err(yaml_limit::RULE.finding(message).at(place(0)).into());
    }
    for (at, c) in text.char_indices() {
        if c == '\r' && text.as_bytes().get(at + 1) != Some(&b'\n') {
            return Err(yaml_invalid::RULE
                .finding("a carriage return is not followed by a line feed")
                .at(place(at))
                .into());
        }
        let forbidden = c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}');
        if forbidden || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}') {
            let message = format!(
                "the character `{}` is not allowed in yaml",
                c.escape_unicode()
            );
            return Err(yaml_invalid::RULE
                .finding(message)
                .at(place(at))
                .help("write it as an escape in double quotes")
                .into());
        }
    }
    Ok(())
}

/// A tree under construction. The stack is explicit, so depth costs no stack of the process.
struct Tree<'a> {
    source: &'a Arc<Source>,
    /// The part of the file that is YAML.
    whole: Span,
    offsets: Offsets,
    open: Vec<Open>,
    root: Option<Node>,
    nodes: usize,
    duplicates: Vec<Diagnostic>,
}

/// A list or map whose end has not come yet.
enum Open {
    List {
        start: usize,
        items: Vec<Node>,
    },
    Map {
        start: usize,
        entries: Vec<(Key, Node)>,
        key: Option<Key>,
    },
}

type Step = Result<(), Box<Diagnostic>>;

impl Tree<'_> {
    fn build(&mut self, text: &str) -> Step {
        let mut parser = Parser::new(StrInput::new(text));
        let mut documents = 0;
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| self.scan_error(&error))?;
            let at = self.span(span.start, span.end);
            match event {
                Event::Nothing | Event::StreamStart | Event::DocumentEnd => {}
                Event::StreamEnd => break,
                Event::DocumentStart(_) => {
                    documents += 1;
                    if documents > 1 {
                        return self.not_accepted(
                            at,
                            "more than one yaml document in a file is not accepted",
                            "quote text that starts with `---`",
                        );
                    }
                }
                Event::Alias(_) => {
                    return self.not_accepted(at, "yaml aliases are not accepted", QUOTE_STAR);
                }
                Event::Scalar(value, style, anchor, tag) => {
                    self.plain_only(anchor, tag.is_some(), at)?;
                    self.scalar(&value, style, span.start, at)?;
                }
                Event::SequenceStart(anchor, tag) => {
                    self.plain_only(anchor, tag.is_some(), at)?;
                    self.open(
                        Open::List {
                            start: at.start,
                            items: Vec::new(),
                        },
                        at,
                    )?;
                }
                Event::MappingStart(anchor, tag) => {
                    self.plain_only(anchor, tag.is_some(), at)?;
                    self.open(
                        Open::Map {
                            start: at.start,
                            entries: Vec::new(),
                            key: None,
                        },
                        at,
                    )?;
                }
                Event::SequenceEnd | Event::MappingEnd => self.close(at.start),
            }
        }
        Ok(())
    }

    fn plain_only(&self, anchor: usize, tagged: bool, at: Span) -> Step {
        if anchor > 0 {
            return self.not_accepted(
                at,
                "yaml anchors are not accepted",
                "quote text that starts with `&`",
            );
        }
        if tagged {
            return self.not_accepted(
                at,
                "yaml tags are not accepted",
                "quote text that starts with `!`",
            );
        }
        Ok(())
    }

    fn scalar(&mut self, value: &str, style: ScalarStyle, start: Marker, at: Span) -> Step {
        self.count(at)?;
        if let Some(Open::Map {
            key: key @ None, ..
        }) = self.open.last_mut()
        {
            *key = Some(Key {
                name: value.to_owned(),
                span: at,
            });
            return Ok(());
        }
        let at = if value.is_empty() {
            self.pending_key().unwrap_or(at)
        } else {
            at
        };
        let kind = match style {
            ScalarStyle::Plain => match scalar::resolve(value) {
                Ok(kind) => kind,
                Err(why) => return self.not_accepted(at, why, "quote it if it is text"),
            },
            ScalarStyle::Literal => Kind::Text {
                value: value.to_owned(),
                block: Some(self.block(value, start, at)),
            },
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted | ScalarStyle::Folded => {
                Kind::Text {
                    value: value.to_owned(),
                    block: None,
                }
            }
        };
        self.place(Node { span: at, kind });
        Ok(())
    }

    /// The scanner's mark is at the first line that is not blank; the blank ones before it are
    /// lines of the text too.
    fn block(&self, value: &str, start: Marker, at: Span) -> Block {
        let blank = value.bytes().take_while(|&byte| byte == b'\n').count();
        let line = self.source.position(at.start).line;
        Block {
            first_line: line.saturating_sub(u32::try_from(blank).unwrap_or(u32::MAX)),
            indent: u32::try_from(start.col()).unwrap_or(u32::MAX),
        }
    }

    fn open(&mut self, open: Open, at: Span) -> Step {
        self.count(at)?;
        if let Some(Open::Map { key: None, .. }) = self.open.last() {
            return self.not_accepted(
                at,
                "a key must be text, not a list or a map",
                "quote text that starts with `{` or `[`",
            );
        }
        if self.open.len() >= MAX_DEPTH {
            let message = format!("lists and maps are nested more than {MAX_DEPTH} deep");
            return Err(yaml_limit::RULE
                .finding(message)
                .at(Place::new(self.source, at))
                .into());
        }
        self.open.push(open);
        Ok(())
    }

    fn close(&mut self, end: usize) {
        let Some(open) = self.open.pop() else { return };
        // A flow collection ends with its bracket; a block one with its last value, not where the
        // next token happens to be.
        let bracket = matches!(self.source.text.as_bytes().get(end), Some(b']' | b'}'));
        let end_after = |last: Option<usize>, start: usize| {
            if bracket {
                end + 1
            } else {
                last.unwrap_or(start)
            }
        };
        let node = match open {
            Open::List { start, items } => {
                let end = end_after(items.last().map(|item| item.span.end), start);
                Node {
                    span: Span::new(start, end),
                    kind: Kind::List(items),
                }
            }
            Open::Map { start, entries, .. } => {
                let end = end_after(
                    entries
                        .last()
                        .map(|(key, node)| node.span.end.max(key.span.end)),
                    start,
                );
                let entries = self.unique(entries);
                Node {
                    span: Span::new(start, end),
                    kind: Kind::Map(entries),
                }
            }
        };
        self.place(node);
    }

    fn place(&mut self, node: Node) {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, key, .. }) => {
                if let Some(key) = key.take() {
                    entries.push((key, node));
                }
            }
        }
    }

    /// Keeps the first of equal keys and reports the others.
    fn unique(&mut self, entries: Vec<(Key, Node)>) -> Vec<(Key, Node)> {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by(|&a, &b| entries[a].0.name.cmp(&entries[b].0.name).then(a.cmp(&b)));
        let mut repeats = vec![None; entries.len()];
        for run in order.chunk_by(|&a, &b| entries[a].0.name == entries[b].0.name) {
            for &later in &run[1..] {
                repeats[later] = Some(entries[run[0]].0.span);
            }
        }
        let mut kept = Vec::with_capacity(entries.len());
        for (entry, first) in entries.into_iter().zip(repeats) {
            let Some(first) = first else {
                kept.push(entry);
                continue;
            };
            let help = repeat_help(&entry, &kept);
            let first = Place::new(self.source, first).position();
            let name = quoted(&entry.0.name);
            let message = format!(
                "the key {name} is already written on line {}, column {}",
                first.line, first.column
            );
            let problem = key_duplicate::RULE
                .finding(message)
                .at(Place::new(self.source, entry.0.span))
                .field(entry.0.name);
            self.duplicates.push(problem.help(help));
        }
        kept
    }

    fn pending_key(&self) -> Option<Span> {
        if let Some(Open::Map { key: Some(key), .. }) = self.open.last() {
            Some(key.span)
        } else {
            None
        }
    }

    fn count(&mut self, at: Span) -> Step {
        self.nodes += 1;
        if self.nodes <= MAX_NODES {
            return Ok(());
        }
        let message = format!("the yaml has more than {MAX_NODES} keys and values");
        Err(yaml_limit::RULE
            .finding(message)
            .at(Place::new(self.source, at))
            .into())
    }

    fn span(&self, start: Marker, end: Marker) -> Span {
        let text = &self.source.text;
        let start = self.offsets.byte(text, start.line(), start.col());
        let end = self.offsets.byte(text, end.line(), end.col()).max(start);
        Span::new(start, start + text[start..end].trim_end().len())
    }

    fn not_accepted(&self, at: Span, message: &str, help: &str) -> Step {
        Err(yaml_not_accepted::RULE
            .finding(message)
            .at(Place::new(self.source, at))
            .help(help)
            .into())
    }

    fn scan_error(&self, error: &ScanError) -> Box<Diagnostic> {
        let at = self.span(*error.marker(), *error.marker());
        let place = Place::new(self.source, at);
        let info = error.info();
        if info.contains("unknown anchor") {
            return yaml_not_accepted::RULE
                .finding("yaml aliases are not accepted")
                .at(place)
                .help(QUOTE_STAR)
                .into();
        }
        if info.contains("recursion limit") {
            let message = format!("lists and maps are nested more than {MAX_DEPTH} deep");
            return yaml_limit::RULE.finding(message).at(place).into();
        }
        let text = &self.source.text[self.whole.start..self.whole.end];
        let at = at.start.clamp(self.whole.start, self.whole.end) - self.whole.start;
        let (finding, at) = slip(text, at, info);
        let at = self.whole.start + at.min(text.len());
        finding
            .at(Place::new(self.source, Span::new(at, at)))
            .into()
    }
}

/// How to say what two equal keys say. `required` has two meanings on one parameter: whether it must
/// be given, and which of its properties must.
fn repeat_help((key, value): &(Key, Node), kept: &[(Key, Node)]) -> String {
    let first = kept.iter().find(|(other, _)| other.name == key.name);
    let mut lists = first
        .map(|(_, first)| first)
        .into_iter()
        .chain([value])
        .filter(|node| matches!(node.kind, Kind::List(_)));
    let (Some(list), None, "required") = (lists.next(), lists.next(), key.name.as_str()) else {
        return "keep one of the two".to_owned();
    };
    // What the list says, property by property.
    let named: Vec<String> = list
        .items()
        .iter()
        .filter_map(Node::text)
        .take(3)
        .map(|name| format!("`{name}: {{..., required: true}}`"))
        .collect();
    let where_to = match named.is_empty() {
        true => "each of its `properties` that must be given".to_owned(),
        false => format!("the properties themselves: {}", named.join(", ")),
    };
    format!("keep `required: true`, delete the list, and write `required: true` at {where_to}")
}

const QUOTE_STAR: &str = "quote text that starts with `*`";
