//! TOML: the entry is a table of its own at the end of the file.

use super::{ConfigEntry, EntryState, Insertion, NAME, newline};
use serde_json::{Value, json};
use toml_edit::{DocumentMut, Item};

pub(super) fn look(text: &str, entry: &ConfigEntry) -> Result<EntryState, String> {
    let document = parse(text)?;
    let Some(parent) = document.get(&entry.path.join(".")) else {
        return Ok(EntryState::Absent);
    };
    let parent = parent
        .as_table_like()
        .ok_or_else(|| format!("`{}` is not a table", entry.path.join(".")))?;
    let Some(found) = parent.get(NAME) else {
        return Ok(EntryState::Absent);
    };
    let value = json!({"command": text_of(found.get("command")), "args": words(found.get("args"))});
    Ok(entry.compare(&value, value == entry.value))
}

pub(super) fn add(text: &str, entry: &ConfigEntry) -> Result<Insertion, String> {
    let end = newline(text);
    let mut lines = vec![format!("[{}.{NAME}]", entry.path.join("."))];
    for (key, value) in entry.value.as_object().into_iter().flatten() {
        lines.push(format!("{key} = {}", written(value)));
    }
    let mut piece = lines.join(end) + end;
    if !text.trim().is_empty() {
        piece.insert_str(0, end);
    }
    if !text.is_empty() && !text.ends_with('\n') {
        piece.insert_str(0, end);
    }
    let added = Insertion::new(text, text.len(), piece, Vec::new());
    match look(&added.text, entry) {
        Ok(EntryState::Current) => Ok(added),
        _ => {
            let path = entry.path.join(".");
            Err(format!(
                "`{path}` is an inline table; write it as `[{path}]`"
            ))
        }
    }
}

/// Removes the table and its sub-tables, each up to the first empty line, comment or next table.
/// `toml_edit` would remove the comments above the table, too.
pub(super) fn remove(text: &str, entry: &ConfigEntry) -> Result<String, String> {
    let name = format!("{}.{NAME}", entry.path.join("."));
    let (mut kept, mut inside) = (String::new(), false);
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        if let Some(header) = bare.strip_prefix('[') {
            let header = header.split(']').next().unwrap_or_default().trim();
            inside = header == name
                || header
                    .strip_prefix(&name)
                    .is_some_and(|rest| rest.starts_with('.'));
        } else if bare.is_empty() || bare.starts_with('#') {
            inside = false;
        }
        if !inside {
            kept.push_str(line);
        }
    }
    match look(&kept, entry)? {
        EntryState::Absent => Ok(kept),
        _ => Err(format!(
            "`{name}` is not a table of its own; remove it by hand"
        )),
    }
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse::<DocumentMut>().map_err(|problem| {
        let text = problem.to_string();
        text.lines().next().unwrap_or_default().to_owned()
    })
}

fn text_of(item: Option<&Item>) -> Value {
    item.and_then(Item::as_str).map_or(Value::Null, Value::from)
}

fn words(item: Option<&Item>) -> Value {
    let words = item.and_then(Item::as_array);
    words.map_or(Value::Null, |words| {
        words
            .iter()
            .map(|word| word.as_str().map_or(Value::Null, Value::from))
            .collect()
    })
}

/// A string, or a list of strings.
fn written(value: &Value) -> String {
    match value {
        Value::Array(words) => format!(
            "[{}]",
            words.iter().map(written).collect::<Vec<_>>().join(", ")
        ),
        value => toml_edit::Value::from(value.as_str().unwrap_or_default()).to_string(),
    }
}
