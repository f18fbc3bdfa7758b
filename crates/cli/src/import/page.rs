//! One older file: its frontmatter, and the YAML that its text holds in fences.

use super::yaml;
use serde_json::{Map, Value};

/// What a file says, whatever its dialect.
#[derive(Debug, Default, PartialEq)]
pub(super) struct OldPage {
    /// The frontmatter without `tools` and `hooks`.
    pub(super) fields: Map<String, Value>,
    pub(super) tools: Vec<Value>,
    pub(super) hooks: Vec<Value>,
    /// The text without the fences that were read.
    pub(super) body: String,
}

impl OldPage {
    /// Reads a file; the error says why it is none of ours.
    pub(super) fn read(path: &str, text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let text = text.replace("\r\n", "\n");
        let opened = text.strip_prefix("---\n");
        let (front, body) = opened
            .and_then(|rest| {
                rest.split_once("\n---\n")
                    .or_else(|| Some((rest.strip_suffix("\n---")?, "")))
            })
            .ok_or("it has no frontmatter, so it is a document")?;
        let mut page = Self::default();
        match yaml::read(path, front)? {
            Value::Object(fields) => page.fields = fields,
            Value::Null => {}
            _ => return Err("its frontmatter is not a map".to_owned()),
        }
        if let Some(tools) = page.fields.shift_remove("tools") {
            page.tools.extend(list(tools));
        }
        if let Some(hooks) = page.fields.shift_remove("hooks") {
            page.hooks.extend(list(hooks));
        }
        page.read_fences(path, body)?;
        Ok(page)
    }

    /// Takes tools and hooks out of the fences of the body.
    fn read_fences(&mut self, path: &str, body: &str) -> Result<(), String> {
        let mut heading = String::new();
        let mut lines = body.lines();
        let mut kept: Vec<&str> = Vec::new();
        while let Some(line) = lines.next() {
            if line.starts_with('#') {
                heading = line.trim_matches(['#', ' ']).to_lowercase();
            }
            let fence = line.trim_start();
            if !fence.starts_with("```") {
                kept.push(line);
                continue;
            }
            let block: Vec<&str> = lines
                .by_ref()
                .take_while(|line| line.trim() != "```")
                .collect();
            let is_yaml = matches!(fence.trim_start_matches('`').trim(), "yaml" | "yml");
            if is_yaml && self.take(path, &heading, &block.join("\n"))? {
                // The heading above has nothing left to say.
                while kept.last().is_some_and(|line| line.trim().is_empty()) {
                    kept.pop();
                }
                if matches!(heading.as_str(), "tools" | "hooks")
                    && kept.last().is_some_and(|line| line.starts_with('#'))
                {
                    kept.pop();
                }
                while kept.last().is_some_and(|line| line.trim().is_empty()) {
                    kept.pop();
                }
                continue;
            }
            kept.push(line);
            kept.extend(block);
            kept.push("```");
        }
        self.body = kept.join("\n").trim().to_owned();
        Ok(())
    }

    /// Whether a block of YAML holds tools or hooks.
    fn take(&mut self, path: &str, heading: &str, block: &str) -> Result<bool, String> {
        let is_section = matches!(heading, "tools" | "hooks");
        let value = match yaml::read(path, block) {
            Ok(value) => value,
            // Only what stands where tools or hooks belong must be readable.
            Err(problem) if is_section => {
                return Err(format!(
                    "the yaml below `{heading}` cannot be read: {problem}"
                ));
            }
            Err(_) => return Ok(false),
        };
        match value {
            Value::Array(items) if heading == "tools" => self.tools.extend(items),
            Value::Array(items) if heading == "hooks" => self.hooks.extend(items),
            Value::Object(mut map)
                if ["tools", "hooks"].iter().any(|key| map.contains_key(*key)) =>
            {
                self.tools
                    .extend(map.shift_remove("tools").into_iter().flat_map(list));
                self.hooks
                    .extend(map.shift_remove("hooks").into_iter().flat_map(list));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A text field.
    pub(super) fn text(&self, key: &str) -> &str {
        text(&self.fields, key)
    }
}

/// A text field of a map; empty if there is none.
pub(super) fn text<'a>(map: &'a Map<String, Value>, key: &str) -> &'a str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_and_hooks_are_found_in_frontmatter_and_in_fences() {
        let text = "---\ntype: plugin\nhooks:\n  - event: tool.pre\n---\n\n# Title\n\nWords.\n\n## Tools\n\n```yaml\n- name: a\n```\n\n\
            ### Step\n\n```yaml\ntools:\n  - name: b\n```\n\n```python\nx = 1\n```\n";
        let page = OldPage::read("x.md", text).expect("a page");
        assert_eq!((page.tools.len(), page.hooks.len()), (2, 1));
        assert_eq!(
            page.body,
            "# Title\n\nWords.\n\n### Step\n\n```python\nx = 1\n```"
        );
        assert_eq!(page.text("type"), "plugin");
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        for (text, expected) in [
            ("# Readme\n", "no frontmatter"),
            ("---\na: [\n---\n", ""),
            (
                "---\na: 1\n---\n## Tools\n```yaml\n- a: [\n```\n",
                "below `tools`",
            ),
        ] {
            let problem = OldPage::read("x.md", text).expect_err("no page");
            assert!(
                problem.contains(expected) && !problem.is_empty(),
                "{problem}"
            );
        }
        assert!(OldPage::read("x.md", "---\na: 1\n---").is_ok());
    }
}
