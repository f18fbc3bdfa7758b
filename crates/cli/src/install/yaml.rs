//! YAML, line by line: the entry comes first below its key, or at the end of the file with the key.

use super::{ConfigEntry, EntryState, Insertion, NAME, newline};
use crate::output::value_text;
use saphyr_parser::{Event, Parser};
use serde_json::{Map, Value};

pub(super) fn look(text: &str, entry: &ConfigEntry) -> Result<EntryState, String> {
    let document = parse(text)?;
    let key = entry.path.join(".");
    let parent = match document.get(&key) {
        None => return Ok(EntryState::Absent),
        Some(parent) if is_null(parent) => return Ok(EntryState::Absent),
        Some(parent) => parent
            .as_object()
            .ok_or_else(|| format!("`{key}` is not a mapping"))?,
    };
    let Some(found) = parent.get(NAME) else {
        return Ok(EntryState::Absent);
    };
    let ours = parse(&block(entry, "", "\n"))?;
    Ok(entry.compare(found, ours.get(NAME) == Some(found)))
}

pub(super) fn add(text: &str, entry: &ConfigEntry) -> Result<Insertion, String> {
    let (end, key) = (newline(text), entry.path.join("."));
    let key_at = key_line(text, &key);
    let (at, piece) = match key_at {
        None => {
            let block = block(entry, "  ", end);
            let piece = format!("{}{key}:{end}{block}", line_break(text, end));
            (text.len(), piece)
        }
        Some((after_key, next)) => match text[after_key..next].trim() {
            value if value.is_empty() || value.starts_with('#') => {
                let block = block(entry, &child_indent(&text[next..]), end);
                (next, format!("{}{block}", line_break(&text[..next], end)))
            }
            value if value.starts_with('{') => {
                let open = after_key + text[after_key..next].find('{').unwrap_or_default() + 1;
                let comma = match text[open..].trim_start().starts_with('}') {
                    true => "",
                    false => ", ",
                };
                (open, format!("{NAME}: {}{comma}", entry.value))
            }
            _ => return Err(format!("`{key}` is not a block mapping")),
        },
    };
    let created = match key_at {
        None => vec![vec![key.clone()]],
        Some(_) => Vec::new(),
    };
    let added = Insertion::new(text, at, piece, created);
    match look(&added.text, entry) {
        Ok(EntryState::Current) => Ok(added),
        _ => Err(format!(
            "harness does not understand the layout of `{key}`; add the entry by hand"
        )),
    }
}

/// Removes the lines of the entry, and the line of its key if it was created for the entry and is
/// empty then.
pub(super) fn remove(
    text: &str,
    entry: &ConfigEntry,
    created: &[Vec<String>],
) -> Result<String, String> {
    let key = entry.path.join(".");
    let start = key_line(text, &key).map_or(text.len(), |(_, next)| next);
    let (mut kept, mut inside) = (text[..start].to_owned(), None);
    for line in text[start..].split_inclusive('\n') {
        let bare = line.trim();
        let depth = line.len() - line.trim_start_matches(' ').len();
        if bare.split('#').next().unwrap_or_default().trim() == format!("{NAME}:")
            && inside.is_none()
        {
            inside = Some(depth);
            continue;
        }
        if inside.is_some_and(|of| depth > of && !bare.is_empty()) {
            continue;
        }
        inside = inside.map(|_| usize::MAX);
        kept.push_str(line);
    }
    let is_empty = parse(&kept)?.get(&key).is_some_and(is_null);
    if let (true, false, Some((after_key, next))) =
        (is_empty, created.is_empty(), key_line(&kept, &key))
    {
        let start = kept[..after_key].rfind('\n').map_or(0, |end| end + 1);
        kept.replace_range(start..next, "");
    }
    match look(&kept, entry)? {
        EntryState::Absent => Ok(kept),
        _ => Err(format!(
            "harness does not understand the layout of `{key}.{NAME}`; remove it by hand"
        )),
    }
}

/// What must follow a text so that a new line starts.
fn line_break<'e>(text: &str, end: &'e str) -> &'e str {
    match text.is_empty() || text.ends_with('\n') {
        true => "",
        false => end,
    }
}

fn is_null(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| ["", "~", "null"].contains(&text))
}

/// Where a top-level key ends, and where the next line starts.
fn key_line(text: &str, key: &str) -> Option<(usize, usize)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(rest) = line.strip_prefix(key)
            && rest.trim_start_matches(' ').starts_with(':')
        {
            return Some((at + line.find(':')? + 1, at + line.len()));
        }
        at += line.len();
    }
    None
}

/// The indentation of the entries below a key.
fn child_indent(below: &str) -> String {
    let line = below
        .lines()
        .find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
        .unwrap_or_default();
    let depth = line.len() - line.trim_start_matches(' ').len();
    " ".repeat(if depth == 0 { 2 } else { depth })
}

/// The entry as lines. Every value is written as JSON, which is YAML too.
fn block(entry: &ConfigEntry, indent: &str, end: &str) -> String {
    let members = entry.value.as_object().into_iter().flatten();
    let lines = members.map(|(key, value)| format!("{indent}  {key}: {value}{end}"));
    format!("{indent}{NAME}:{end}{}", lines.collect::<String>())
}

/// The one document, a mapping; scalars as they are written. An empty file is an empty mapping.
fn parse(text: &str) -> Result<Value, String> {
    let mut stack: Vec<Value> = Vec::new();
    let mut keys: Vec<Option<String>> = Vec::new();
    let mut document = None;
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|problem| problem.to_string())?;
        let finished = match event {
            Event::Scalar(value, ..) => Value::String(value.into_owned()),
            Event::Alias(_) => Value::Null,
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                stack.push(match event {
                    Event::MappingStart(..) => Value::Object(Map::new()),
                    _ => Value::Array(Vec::new()),
                });
                keys.push(None);
                if stack.len() > 200 {
                    return Err("it is nested too deeply".into());
                }
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                keys.pop();
                stack.pop().unwrap_or_default()
            }
            _ => continue,
        };
        match (stack.last_mut(), keys.last_mut()) {
            (Some(Value::Array(items)), _) => items.push(finished),
            (Some(Value::Object(members)), Some(key)) => match key.take() {
                Some(key) => drop(members.insert(key, finished)),
                None => *key = Some(value_text(&finished)),
            },
            _ if document.is_some() => return Err("it contains several documents".into()),
            _ => document = Some(finished),
        }
    }
    match document {
        None => Ok(Value::Object(Map::new())),
        Some(document) if document.is_object() => Ok(document),
        Some(document) if document.as_str().is_some_and(str::is_empty) => {
            Ok(Value::Object(Map::new()))
        }
        Some(_) => Err("the document is not a mapping".into()),
    }
}
