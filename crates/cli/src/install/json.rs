//! JSON with comments: an entry goes in as one piece, before its siblings, and nothing else moves.

use super::{ConfigEntry, EntrySlot, EntryState, Insertion, NAME, indent, newline};
use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value, json};
use std::str::FromStr;

pub(super) fn look(text: &str, entry: &ConfigEntry) -> Result<EntryState, String> {
    let Some(top) = parse(text)? else {
        return Ok(EntryState::Absent);
    };
    let (parent, missing) = descend(&top, &entry.path)?;
    if !missing.is_empty() {
        return Ok(EntryState::Absent);
    }
    let judge = |value: &Value| entry.compare(value, *value == entry.value);
    match entry.slot {
        EntrySlot::Member => Ok(member(object(parent, &entry.path)?, NAME)?
            .map_or(EntryState::Absent, |node| judge(&value(node)))),
        EntrySlot::Element => {
            let elements = parent
                .as_array()
                .ok_or_else(|| format!("`{}` is not a list", entry.path.join(".")))?;
            let found = elements
                .elements
                .iter()
                .map(|element| judge(&value(element)))
                .filter(|found| *found != EntryState::Foreign);
            Ok(found
                .reduce(|_, _| EntryState::Outdated)
                .unwrap_or(EntryState::Absent))
        }
    }
}

pub(super) fn add(text: &str, entry: &ConfigEntry) -> Result<Insertion, String> {
    let whole = match entry.slot {
        EntrySlot::Member => json!({ NAME: entry.value }),
        EntrySlot::Element => json!([entry.value]),
    };
    let wrap = |missing: &[&str], inner: Value| {
        missing
            .iter()
            .rev()
            .fold(inner, |inner, key| json!({ *key: inner }))
    };
    let Some(top) = parse(text)? else {
        let end = newline(text);
        let document = pretty(&wrap(&entry.path, whole), "  ", "", end) + end;
        let created = paths(&entry.path, 0);
        return Ok(Insertion::new(text, text.len(), document, created));
    };
    let (parent, missing) = descend(&top, &entry.path)?;
    let (key, value) = match (missing, entry.slot) {
        ([key, rest @ ..], _) => (Some(*key), wrap(rest, whole)),
        ([], EntrySlot::Member) => (Some(NAME), entry.value.clone()),
        ([], EntrySlot::Element) => (None, entry.value.clone()),
    };
    let unit = object(&top, &[])?
        .properties
        .first()
        .map(|first| indent(text, first.start()))
        .filter(|unit| !unit.is_empty());
    let (at, piece) = insert(text, parent, unit.unwrap_or("  "), key, &value);
    let created = paths(&entry.path, entry.path.len() - missing.len() + 1);
    Ok(Insertion::new(text, at, piece, created))
}

pub(super) fn remove(
    text: &str,
    entry: &ConfigEntry,
    created: &[Vec<String>],
) -> Result<String, String> {
    let mut text = text.to_owned();
    loop {
        let cut = {
            let Some(top) = parse(&text)? else {
                return Ok(text);
            };
            let (parent, missing) = descend(&top, &entry.path)?;
            let is_it = |index: usize, node: &Node<'_>| match (entry.slot, parent) {
                (EntrySlot::Member, Node::Object(object)) => {
                    object.properties[index].name.as_str() == NAME
                }
                _ => entry.is_ours(&value(node)),
            };
            let mut items = items(parent);
            items.retain(|_| missing.is_empty());
            let mut all = items.iter().enumerate();
            let found = all.find(|(index, (_, node))| is_it(*index, node));
            found.map(|(index, (_, node))| match shared(node, entry) {
                Some((hooks, at)) => without(&text, &hooks, at),
                None => {
                    let ranges: Vec<Range> = items.iter().map(|(range, _)| *range).collect();
                    without(&text, &ranges, index)
                }
            })
        };
        let Some(cut) = cut else { break };
        text = cut;
    }
    for path in created.iter().rev().filter(|path| !path.is_empty()) {
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        let Some(top) = parse(&text)? else { break };
        let Some((last, above)) = keys.split_last() else {
            continue;
        };
        let Ok((Node::Object(parent), [])) = descend(&top, above) else {
            continue;
        };
        let ranges: Vec<Range> = parent.properties.iter().map(Ranged::range).collect();
        let empty = parent
            .properties
            .iter()
            .position(|property| property.name.as_str() == *last && is_empty(&property.value));
        if let Some(index) = empty {
            text = without(&text, &ranges, index);
        }
    }
    let is_bare = parse(&text)?
        .is_some_and(|top| top.as_object().is_some_and(|top| top.properties.is_empty()));
    Ok(if is_bare && created.iter().any(Vec::is_empty) {
        String::new()
    } else {
        text
    })
}

/// The hooks of an element and which of them is ours, where there are others: only ours is removed.
fn shared(node: &Node<'_>, entry: &ConfigEntry) -> Option<(Vec<Range>, usize)> {
    let object = node
        .as_object()
        .filter(|_| entry.slot == EntrySlot::Element)?;
    let hooks = object
        .properties
        .iter()
        .find(|property| property.name.as_str() == "hooks")?
        .value
        .as_array()?;
    let at = hooks
        .elements
        .iter()
        .position(|element| super::hook::is_same_hook(&entry.value, &value(element)))?;
    (hooks.elements.len() > 1).then(|| (hooks.elements.iter().map(Ranged::range).collect(), at))
}

/// The document; absent where the text is blank.
fn parse(text: &str) -> Result<Option<Node<'_>>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
    };
    if text.starts_with('\u{feff}') {
        return Err("it begins with a byte order mark (BOM), which JSON does not allow; save it without one".to_owned());
    }
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options)
        .map_err(|problem| problem.to_string())?;
    parsed
        .value
        .ok_or_else(|| "it contains only comments".to_owned())
        .map(Some)
}

/// The deepest node that the keys lead to, and the keys that are missing.
fn descend<'n, 't, 'k>(
    top: &'n Node<'t>,
    keys: &'k [&'k str],
) -> Result<(&'n Node<'t>, &'k [&'k str]), String> {
    let mut node = top;
    for (depth, key) in keys.iter().enumerate() {
        match member(object(node, &keys[..depth])?, key)? {
            Some(next) => node = next,
            None => return Ok((node, &keys[depth..])),
        }
    }
    Ok((node, &[]))
}

fn object<'n, 't>(node: &'n Node<'t>, keys: &[&str]) -> Result<&'n Object<'t>, String> {
    let name = if keys.is_empty() {
        "the document".to_owned()
    } else {
        format!("`{}`", keys.join("."))
    };
    node.as_object()
        .ok_or_else(|| format!("{name} is not an object"))
}

fn member<'n, 't>(object: &'n Object<'t>, key: &str) -> Result<Option<&'n Node<'t>>, String> {
    let mut found = object
        .properties
        .iter()
        .filter(|property| property.name.as_str() == key);
    let first = found.next();
    if found.next().is_some() {
        Err(format!("it has `{key}` twice"))
    } else {
        Ok(first.map(|property| &property.value))
    }
}

fn items<'n, 't>(node: &'n Node<'t>) -> Vec<(Range, &'n Node<'t>)> {
    match node {
        Node::Object(object) => object
            .properties
            .iter()
            .map(|property| (property.range, &property.value))
            .collect(),
        Node::Array(array) => array
            .elements
            .iter()
            .map(|element| (element.range(), element))
            .collect(),
        _ => Vec::new(),
    }
}

fn is_empty(node: &Node<'_>) -> bool {
    matches!(node, Node::Object(_) | Node::Array(_)) && items(node).is_empty()
}

fn value(node: &Node<'_>) -> Value {
    match node {
        Node::StringLit(text) => json!(text.value),
        Node::NumberLit(number) => serde_json::Number::from_str(number.value)
            .map_or_else(|_| json!(number.value), Value::Number),
        Node::BooleanLit(truth) => json!(truth.value),
        Node::NullKeyword(_) => Value::Null,
        Node::Array(array) => array.elements.iter().map(value).collect(),
        Node::Object(object) => {
            let members = object
                .properties
                .iter()
                .map(|property| (property.name.as_str().to_owned(), value(&property.value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

/// Where a member of an object or an element of a list goes, and its bytes.
fn insert(
    text: &str,
    parent: &Node<'_>,
    unit: &str,
    key: Option<&str>,
    value: &Value,
) -> (usize, String) {
    let range = parent.range();
    let open = range.start + 1;
    let key = key
        .map(|key| format!("{}: ", json!(key)))
        .unwrap_or_default();
    let first = items(parent).first().map(|(range, _)| range.start);
    if first.is_some_and(|first| !text[open..first].contains('\n')) {
        let space = &text[open..][..usize::from(text[open..].starts_with(' '))];
        return (open, format!("{space}{key}{value},"));
    }
    let (end, outer) = (newline(text), indent(text, range.start));
    let inner = match first {
        Some(first) => indent(text, first).to_owned(),
        None => format!("{outer}{unit}"),
    };
    let at = after_line(text, open);
    let mut piece = format!("{end}{inner}{key}{}", pretty(value, unit, &inner, end));
    if first.is_some() {
        piece.push(',');
    } else if !text[at..range.end].contains('\n') {
        piece += &format!("{end}{outer}");
    }
    (at, piece)
}

/// Several lines, all but the first indented by `inner`.
fn pretty(value: &Value, unit: &str, inner: &str, end: &str) -> String {
    let text = format!("{value:#}");
    let lay_out = |line: &str| {
        let bare = line.trim_start_matches(' ');
        let depth = (line.len() - bare.len()) / 2;
        format!("{}{bare}", unit.repeat(depth))
    };
    let lines: Vec<String> = text.lines().map(lay_out).collect();
    lines.join(&format!("{end}{inner}"))
}

/// The end of the line, if only a comment follows on it; otherwise the place itself.
fn after_line(text: &str, at: usize) -> usize {
    let line = text[at..].split('\n').next().unwrap_or_default();
    let line = line.strip_suffix('\r').unwrap_or(line);
    let rest = line.trim_start();
    let closed = rest
        .strip_prefix("/*")
        .and_then(|rest| rest.find("*/").map(|end| rest[end + 2..].trim().is_empty()));
    if rest.is_empty() || rest.starts_with("//") || closed == Some(true) {
        at + line.len()
    } else {
        at
    }
}

/// The text without one of several items and its comma. Comments stay.
fn without(text: &str, items: &[Range], index: usize) -> String {
    let Some(item) = items.get(index) else {
        return text.to_owned();
    };
    let comma_after =
        |at: usize| Some(significant(text, at)).filter(|&at| text[at..].starts_with(','));
    let mut start = item.start;
    let before = &text[..start];
    let line = before.trim_end_matches([' ', '\t']);
    if line.ends_with('\n') {
        start = line.len() - if line.ends_with("\r\n") { 2 } else { 1 };
    }
    let previous = index.checked_sub(1).and_then(|index| items.get(index));
    let comma =
        comma_after(item.end).or_else(|| previous.and_then(|previous| comma_after(previous.end)));
    let without_comma =
        |from: usize, to: usize| match comma.filter(|comma| (from..to).contains(comma)) {
            Some(comma) => format!("{}{}", &text[from..comma], &text[comma + 1..to]),
            None => text[from..to].to_owned(),
        };
    without_comma(0, start) + &without_comma(item.end, text.len())
}

/// The next place that is neither white space nor comment.
fn significant(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        let skipped = rest.len() - rest.trim_start().len();
        let rest = &rest[skipped..];
        at += skipped;
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else {
            return at;
        }
    }
}

/// The paths of the parents from this depth on.
fn paths(keys: &[&str], from: usize) -> Vec<Vec<String>> {
    let path = |depth| keys[..depth].iter().map(|&key| key.to_owned()).collect();
    (from..=keys.len()).map(path).collect()
}
