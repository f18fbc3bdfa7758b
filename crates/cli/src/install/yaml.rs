//! YAML by lines: the entry is the first one below its key, or stands at the end together with the key.

use super::{Added, Entry, Found, NAME, newline};
use saphyr_parser::{Event, Parser};
use serde_json::{Map, Value};

pub(super) fn look(text: &str, entry: &Entry) -> Result<Found, String> {
    let document = parse(text)?;
    let key = entry.path.join(".");
    let holder = match document.get(&key) {
        None => return Ok(Found::Absent),
        Some(holder) if is_nothing(holder) => return Ok(Found::Absent),
        Some(holder) => holder
            .as_object()
            .ok_or_else(|| format!("`{key}` is not a mapping"))?,
    };
    let Some(found) = holder.get(NAME) else {
        return Ok(Found::Absent);
    };
    let ours = parse(&block(entry, "", "\n"))?;
    Ok(match ours.get(NAME) == Some(found) {
        true => Found::Same,
        false if entry.is_ours(found) => Found::Older,
        false => Found::Foreign,
    })
}

pub(super) fn add(text: &str, entry: &Entry) -> Result<Added, String> {
    let (end, key) = (newline(text), entry.path.join("."));
    let key_at = key_line(text, &key);
    let (at, piece) = match key_at {
        None => {
            let start = if text.is_empty() || text.ends_with('\n') {
                ""
            } else {
                end
            };
            (
                text.len(),
                format!("{start}{key}:{end}{}", block(entry, "  ", end)),
            )
        }
        Some((after_key, next)) => match text[after_key..next].trim() {
            value if value.is_empty() || value.starts_with('#') => {
                let start = if text[..next].ends_with('\n') {
                    ""
                } else {
                    end
                };
                (
                    next,
                    format!("{start}{}", block(entry, &child_indent(&text[next..]), end)),
                )
            }
            value if value.starts_with('{') => {
                let open = after_key + text[after_key..next].find('{').unwrap_or_default() + 1;
                let comma = if text[open..].trim_start().starts_with('}') {
                    ""
                } else {
                    ", "
                };
                (open, format!("{NAME}: {}{comma}", entry.value))
            }
            _ => return Err(format!("`{key}` is not a mapping of lines")),
        },
    };
    let made = format!("{}{piece}{}", &text[..at], &text[at..]);
    match look(&made, entry) {
        Ok(Found::Same) => {
            let made_key = if key_at.is_none() {
                vec![vec![key]]
            } else {
                Vec::new()
            };
            Ok(Added {
                text: made,
                at,
                piece,
                made: made_key,
            })
        }
        _ => Err(format!(
            "`{key}` is laid out in a way that harness does not follow; add the entry by hand"
        )),
    }
}

/// Takes out the lines of the entry, and the line of its key where that was made for it and holds nothing else.
pub(super) fn remove(text: &str, entry: &Entry, made: &[Vec<String>]) -> Result<String, String> {
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
    let is_empty = parse(&kept)?.get(&key).is_some_and(is_nothing);
    if let (true, false, Some((after_key, next))) =
        (is_empty, made.is_empty(), key_line(&kept, &key))
    {
        let start = kept[..after_key].rfind('\n').map_or(0, |end| end + 1);
        kept.replace_range(start..next, "");
    }
    match look(&kept, entry)? {
        Found::Absent => Ok(kept),
        _ => Err(format!(
            "`{key}.{NAME}` is laid out in a way that harness does not follow; take it out by hand"
        )),
    }
}

fn is_nothing(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| ["", "~", "null"].contains(&text))
}

/// After a key of the top, and the start of the line after it.
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

/// How far the entries below a key are moved right.
fn child_indent(below: &str) -> String {
    let line = below
        .lines()
        .find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
        .unwrap_or_default();
    let depth = line.len() - line.trim_start_matches(' ').len();
    " ".repeat(if depth == 0 { 2 } else { depth })
}

/// The entry as lines; every value is JSON, which is YAML too.
fn block(entry: &Entry, indent: &str, end: &str) -> String {
    let members = entry.value.as_object().into_iter().flatten();
    let lines = members.map(|(key, value)| format!("{indent}  {key}: {value}{end}"));
    format!("{indent}{NAME}:{end}{}", lines.collect::<String>())
}

/// The one document, scalars as they are written; a mapping, or an empty one for an empty file.
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
                let empty = if matches!(event, Event::MappingStart(..)) {
                    Value::Object(Map::new())
                } else {
                    Value::Array(Vec::new())
                };
                stack.push(empty);
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
                None => {
                    *key = Some(
                        finished
                            .as_str()
                            .map_or_else(|| finished.to_string(), str::to_owned),
                    )
                }
            },
            _ if document.is_some() => return Err("there are several documents in it".into()),
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
