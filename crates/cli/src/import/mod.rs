//! Older dialects to files of this format: what each file becomes, and what it loses.

mod legacy;
mod page;
mod yaml;

use page::{OldPage, text};
use serde_json::{Map, Value};
use tool_harness::artifact::{ArtifactKind, fields_of};

/// A file to write, and what was lost on the way.
#[derive(Debug, PartialEq)]
pub(crate) struct ImportedFile {
    /// Where it comes from.
    pub(crate) source: String,
    /// The text there.
    pub(crate) before: String,
    /// Where it goes, relative to the project.
    pub(crate) target: String,
    /// The text to write.
    pub(crate) after: String,
    /// What could not be carried over, or is named otherwise now.
    pub(crate) notes: Vec<String>,
}

/// What a file of an older project becomes; the error says why it becomes nothing.
pub(crate) fn import(source: &str, before: &str) -> Result<ImportedFile, String> {
    let page = OldPage::read(source, before)?;
    let stem = source.rsplit('/').next().unwrap_or(source);
    let stem = stem.strip_suffix(".md").unwrap_or(stem);
    let mut notes = Vec::new();
    let (target, after) = match page.text("type") {
        "harness" => root(&page, &mut notes),
        "tool" => single_tool(&page, stem, &mut notes)?,
        "hook" => single_hook(&page, stem, &mut notes)?,
        "" if page.tools.is_empty() && page.hooks.is_empty() => {
            if stem == "harness" {
                ("harness.md".to_owned(), before.to_owned())
            } else if page.fields.contains_key("event") {
                single_hook(&page, stem, &mut notes)?
            } else if page.fields.contains_key("script") {
                single_tool(&page, stem, &mut notes)?
            } else {
                return Err("it has no tool, no hook and no `type`".to_owned());
            }
        }
        kind @ ("" | "plugin" | "builtin" | "override") => bundle(&page, kind, stem, &mut notes)?,
        other => return Err(format!("`type: {other}` has no counterpart here")),
    };
    Ok(ImportedFile {
        source: source.to_owned(),
        before: before.to_owned(),
        target,
        after,
        notes,
    })
}

/// The identity of a project is its root file.
fn root(page: &OldPage, notes: &mut Vec<String>) -> (String, String) {
    let own = ["name", "type", "version", "description", "author"];
    let mut fields = page.fields.clone();
    fields.retain(|key, _| !own.contains(&key.as_str()));
    keep_known(&mut fields, ArtifactKind::Root, &[], "the root file", notes);
    ("harness.md".to_owned(), yaml::file(&fields, &page.body))
}

fn single_tool(
    page: &OldPage,
    stem: &str,
    notes: &mut Vec<String>,
) -> Result<(String, String), String> {
    let mut fields = page.fields.clone();
    fields.shift_remove("type");
    fields.entry("name").or_insert_with(|| stem.into());
    let mut fields = tool(&Value::Object(fields), notes).ok_or_else(|| notes.join("; "))?;
    let name = text(&fields, "name").to_owned();
    let description = text(&fields, "description").to_owned();
    fields.retain(|key, _| !["name", "description"].contains(&key.as_str()));
    let body = match page.body.as_str() {
        "" => description.as_str(),
        body => body,
    };
    Ok((
        format!(".harness/tools/{name}.md"),
        yaml::file(&fields, body),
    ))
}

fn single_hook(
    page: &OldPage,
    stem: &str,
    notes: &mut Vec<String>,
) -> Result<(String, String), String> {
    let mut fields = page.fields.clone();
    fields.shift_remove("type");
    let mut fields = hook(&Value::Object(fields), stem, notes).ok_or_else(|| notes.join("; "))?;
    let name = text(&fields, "name").to_owned();
    let description = text(&fields, "description").to_owned();
    fields.retain(|key, _| !["name", "description"].contains(&key.as_str()));
    let body = match page.body.as_str() {
        "" => description.as_str(),
        body => body,
    };
    Ok((
        format!(".harness/hooks/{name}.md"),
        yaml::file(&fields, body),
    ))
}

/// A bundle keeps its tools and hooks together; its folder says what `type` said.
fn bundle(
    page: &OldPage,
    kind: &str,
    stem: &str,
    notes: &mut Vec<String>,
) -> Result<(String, String), String> {
    let tools: Vec<Value> = page
        .tools
        .iter()
        .filter_map(|item| tool(item, notes).map(Value::Object))
        .collect();
    let hooks: Vec<Value> = page
        .hooks
        .iter()
        .filter_map(|item| hook(item, stem, notes).map(Value::Object))
        .collect();
    if tools.is_empty() && hooks.is_empty() {
        notes.insert(0, "no tool or hook of it can be carried over".to_owned());
        return Err(notes.join("; "));
    }
    let mut fields = page.fields.clone();
    fields.retain(|key, _| !["name", "type"].contains(&key.as_str()));
    keep_known(&mut fields, ArtifactKind::Bundle, &[], "the bundle", notes);
    if !tools.is_empty() {
        fields.insert("tools".into(), Value::Array(tools));
    }
    if !hooks.is_empty() {
        fields.insert("hooks".into(), Value::Array(hooks));
    }
    let folder = match kind {
        "builtin" => "builtins",
        "override" => "overrides",
        _ => "plugins",
    };
    let target = format!(".harness/{folder}/{stem}.md");
    Ok((target, yaml::file(&fields, &page.body)))
}

/// A tool in today's fields; none if it cannot run here.
fn tool(item: &Value, notes: &mut Vec<String>) -> Option<Map<String, Value>> {
    let mut fields = item.as_object()?.clone();
    let old = text(&fields, "name").to_owned();
    if text(&fields, "script").is_empty() {
        notes.push(format!(
            "the tool `{old}` has no script, so its body was in the program; it is left out"
        ));
        return None;
    }
    let name = snake_case(&old);
    if name != old {
        notes.push(format!("the tool `{old}` is `{name}` now"));
    }
    fields.insert("name".into(), name.into());
    let what = format!("the tool `{old}`");
    keep_known(
        &mut fields,
        ArtifactKind::Tool,
        &["name", "description"],
        &what,
        notes,
    );
    Some(fields)
}

/// A hook in today's fields; none if it cannot run here.
fn hook(item: &Value, stem: &str, notes: &mut Vec<String>) -> Option<Map<String, Value>> {
    let mut fields = item.as_object()?.clone();
    let mut take = |key: &str| match fields.shift_remove(key) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let (name, handler, action) = (take("name"), take("handler"), take("action"));
    let (reason, only, when) = (take("reason"), take("tool"), take("when"));
    let old_event = take("event");
    let mut name = if name.is_empty() {
        handler.clone()
    } else {
        name
    };
    if name.is_empty() {
        name = stem.to_owned();
    }
    if text(&fields, "script").is_empty() {
        let action = if action.is_empty() { &handler } else { &action };
        let Some(script) = legacy::decision_script(action, &reason) else {
            notes.push(format!(
                "the hook `{name}` has no script, so its handler was in the program; it is left out"
            ));
            return None;
        };
        // Several hooks of a file may have the same decision for a name.
        if name == *action {
            name = format!("{stem}_{action}");
        }
        fields.insert("script".into(), script.into());
    }
    let Some(event) = legacy::event(&old_event) else {
        notes.push(format!(
            "the hook `{name}` is for `{old_event}`, an event that does not exist here; it is left out"
        ));
        return None;
    };
    if event != old_event {
        notes.push(format!(
            "the event `{old_event}` of `{name}` is `{event}` now"
        ));
    }
    let mut conditions = Vec::new();
    if !only.is_empty() {
        conditions.push(format!("payload[\"name\"] == {}", Value::from(only)));
    }
    if !when.is_empty() {
        let new = legacy::condition(&when);
        conditions.push(match conditions.is_empty() {
            true => new,
            false => format!("({new})"),
        });
    }
    let mut made = Map::new();
    made.insert("name".into(), snake_case(&name).into());
    made.insert("event".into(), event.into());
    if !conditions.is_empty() {
        made.insert("when".into(), conditions.join(" and ").into());
    }
    made.extend(fields);
    let what = format!("the hook `{name}`");
    keep_known(
        &mut made,
        ArtifactKind::Hook,
        &["name", "description"],
        &what,
        notes,
    );
    Some(made)
}

/// Drops the fields that mean nothing here, and says so.
fn keep_known(
    fields: &mut Map<String, Value>,
    kind: ArtifactKind,
    also: &[&str],
    what: &str,
    notes: &mut Vec<String>,
) {
    let known =
        |key: &str| also.contains(&key) || fields_of(kind).iter().any(|field| field.name == key);
    let lost: Vec<String> = fields
        .keys()
        .filter(|key| !known(key))
        .map(|key| format!("`{key}`"))
        .collect();
    fields.retain(|key, _| known(key));
    if !lost.is_empty() {
        notes.push(format!("{what} loses {}", lost.join(", ")));
    }
}

/// A name as models guess it.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut follows_lower = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && follows_lower {
            snake.push('_');
        }
        follows_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        snake.push(match c {
            c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
            _ => '_',
        });
    }
    snake.trim_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fenced_page_becomes_a_bundle_and_says_what_it_loses() {
        let text = "---\nname: Order-Kit\ntype: plugin\nversion: \"1.0\"\nstability: 3\n---\n# Orders\n\n## Tools\n\n```yaml\n\
            - name: read-order\n  description: Reads an order\n  script: |\n    def run(args):\n        return 1\n- name: host_tool\n```\n\n\
            ## Hooks\n\n```yaml\n- event: onPreToolUse\n  handler: deny\n  tool: exec\n  when: \"'rm' in tool.args.command\"\n  reason: no\n```\n";
        let file = import("kit/orders.md", text).expect("a file");
        assert_eq!(file.target, ".harness/plugins/orders.md");
        insta::assert_snapshot!(format!("{}\n{}", file.after, file.notes.join("\n")));
    }

    #[test]
    fn each_identity_has_its_place_and_the_rest_says_why_not() {
        let script = "script: |\n  def run(args):\n      return 1\n";
        for (source, text, target) in [
            (
                "a.md",
                format!("---\ntype: tool\nname: read-x\n{script}---\nReads x.\n"),
                ".harness/tools/read_x.md",
            ),
            (
                "h.md",
                "---\ntype: hook\nevent: PreToolUse\naction: warn\n---\nWarns.\n".to_owned(),
                ".harness/hooks/h.md",
            ),
            (
                "identity.md",
                "---\ntype: harness\nname: x\n---\nBe kind.\n".to_owned(),
                "harness.md",
            ),
            (
                "o.md",
                format!(
                    "---\ntype: override\ntools:\n  - name: x\n    {}---\n",
                    script.replace('\n', "\n    ").trim_end_matches(' ')
                ),
                ".harness/overrides/o.md",
            ),
        ] {
            assert_eq!(
                import(source, &text).map(|file| file.target),
                Ok(target.to_owned()),
                "{text}"
            );
        }
        for (text, expected) in [
            ("---\ntype: model\n---\n", "no counterpart"),
            ("---\ntitle: x\n---\n", "no tool, no hook"),
            (
                "---\ntype: hook\nevent: onMoonrise\naction: deny\n---\n",
                "does not exist here",
            ),
            ("---\ntype: tool\n---\n", "has no script"),
        ] {
            let problem = import("x.md", text).expect_err("nothing");
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
