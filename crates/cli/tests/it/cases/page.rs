//! The format of a case: sections of a Markdown page.

use serde_json::Value;

/// One parsed page.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Page {
    /// Path and text of every file of the project.
    pub(super) files: Vec<(String, String)>,
    /// Lines such as `warning KEY_UNKNOWN .harness/tools/x.md:3`, if the page has any.
    pub(super) diagnostics: Option<Vec<String>>,
    /// The steps, in order.
    pub(super) steps: Vec<Step>,
}

/// One step of a page.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Checks what the model sees.
    Surface(Value),
    /// Makes a call.
    Call {
        /// The tool.
        tool: String,
        /// The arguments, word for word.
        arguments: String,
        /// The expected part of the result.
        result: Value,
        /// Names of expected events, in order.
        events: Vec<String>,
    },
}

/// A heading and its content.
struct Section {
    line: usize,
    heading: String,
    /// Text outside fences.
    prose: String,
    /// Text of each fenced block.
    blocks: Vec<String>,
}

impl Page {
    /// Reads a page. Text that would test nothing is an error.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut page = Self::default();
        for section in sections(text)? {
            let Section { line, heading, .. } = &section;
            let at = |problem: &str| format!("line {line}, `## {heading}`: {problem}");
            let (word, rest) = heading
                .split_once(": ")
                .map_or((heading.as_str(), ""), |(word, rest)| (word, rest.trim()));
            match (word, rest.is_empty()) {
                ("file", false) => page.files.push((
                    rest.to_owned(),
                    section.joined().map_err(|problem| at(&problem))?,
                )),
                ("diagnostics", true) if page.diagnostics.is_none() => {
                    page.diagnostics = Some(section.list('\n').map_err(|problem| at(&problem))?);
                }
                ("surface", true) => page.steps.push(Step::Surface(
                    section.json().map_err(|problem| at(&problem))?,
                )),
                ("call", false) => {
                    let arguments = section.one().map_err(|problem| at(&problem))?;
                    page.steps.push(Step::Call {
                        tool: rest.to_owned(),
                        arguments,
                        result: Value::Null,
                        events: Vec::new(),
                    });
                }
                ("result", true) => match page.steps.last_mut() {
                    Some(Step::Call {
                        result: result @ Value::Null,
                        ..
                    }) => *result = section.json().map_err(|problem| at(&problem))?,
                    _ => return Err(at("does not follow a call")),
                },
                ("events", true) => match page.steps.last_mut() {
                    Some(Step::Call {
                        result: Value::Object(_),
                        events,
                        ..
                    }) if events.is_empty() => {
                        *events = section.list(',').map_err(|problem| at(&problem))?;
                    }
                    _ => return Err(at("does not follow a result")),
                },
                _ => {
                    return Err(at(
                        "is not a section; accepted: file: PATH, diagnostics, surface, call: TOOL, result, events",
                    ));
                }
            }
        }
        if let Some(Step::Call { tool, .. }) = page.steps.iter().find(|step| {
            matches!(
                step,
                Step::Call {
                    result: Value::Null,
                    ..
                }
            )
        }) {
            return Err(format!("the call of `{tool}` has no result"));
        }
        match (
            page.files.is_empty(),
            page.steps.is_empty() && page.diagnostics.is_none(),
        ) {
            (true, _) => Err("the page has no file".to_owned()),
            (_, true) => Err("nothing is expected".to_owned()),
            _ => Ok(page),
        }
    }
}

impl Section {
    fn joined(&self) -> Result<String, String> {
        if self.blocks.is_empty() {
            Err("has no fenced block".to_owned())
        } else {
            Ok(self.blocks.concat())
        }
    }

    fn one(&self) -> Result<String, String> {
        match self.blocks.as_slice() {
            [block] => Ok(block.clone()),
            blocks => Err(format!("has {} fenced blocks, not one", blocks.len())),
        }
    }

    /// The object in the only block; an empty one would accept anything.
    fn json(&self) -> Result<Value, String> {
        let value: Value = serde_json::from_str(&self.one()?)
            .map_err(|problem| format!("is not JSON: {problem}"))?;
        if value.as_object().is_some_and(|map| !map.is_empty()) {
            Ok(value)
        } else {
            Err("is not an object with something in it".to_owned())
        }
    }

    fn list(&self, separator: char) -> Result<Vec<String>, String> {
        let words = self.prose.split(separator).map(|word| {
            word.trim()
                .trim_start_matches("- ")
                .trim_matches('`')
                .to_owned()
        });
        let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
        if words.is_empty() || !self.blocks.is_empty() {
            Err("needs a list outside of a fence".to_owned())
        } else {
            Ok(words)
        }
    }
}

/// The sections of a page; text before the first is for people. A fence of any length ends at a fence of the same length.
fn sections(text: &str) -> Result<Vec<Section>, String> {
    let mut found: Vec<Section> = Vec::new();
    let mut fence: Option<(String, String)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        if let Some((mark, block)) = &mut fence {
            if line.trim_end() == mark {
                let (_, block) = fence.take().unwrap_or_default();
                found
                    .last_mut()
                    .ok_or("a fenced block stands before the first section")?
                    .blocks
                    .push(block);
            } else {
                block.push_str(line);
                block.push('\n');
            }
            continue;
        }
        let ticks: String = line.chars().take_while(|c| *c == '`').collect();
        if ticks.len() >= 3 {
            fence = Some((ticks, String::new()));
        } else if let Some(heading) = line.strip_prefix("##") {
            found.push(Section {
                line: number,
                heading: heading.trim().to_owned(),
                prose: String::new(),
                blocks: Vec::new(),
            });
        } else if let Some(section) = found.last_mut() {
            section.prose.push_str(line);
            section.prose.push('\n');
        }
    }
    if fence.is_some() {
        Err("a fence is not closed".to_owned())
    } else {
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "## file: a.md\n\n````\n---\n```\n## not a heading\n---\n````\n\n";
    const CALL: &str = "## call: t\n\n```json\n{\n```\n\n";
    const RESULT: &str = "## result\n\n```json\n{\"is_error\": true}\n```\n\n";

    #[test]
    fn a_page_has_files_calls_results_and_events() {
        let page = Page::read(&format!(
            "# Title\n\nWords.\n\n{FILE}{CALL}{RESULT}## events\n\ntool.started, log\n"
        ))
        .expect("a page");
        assert_eq!(
            page.files,
            [(
                "a.md".to_owned(),
                "---\n```\n## not a heading\n---\n".to_owned()
            )]
        );
        let Some(Step::Call {
            tool,
            arguments,
            result,
            events,
        }) = page.steps.first()
        else {
            panic!("a call")
        };
        assert_eq!(
            (tool.as_str(), arguments.as_str(), &result["is_error"]),
            ("t", "{\n", &Value::Bool(true))
        );
        assert_eq!(events, &["tool.started", "log"]);
    }

    #[test]
    fn a_page_that_would_test_nothing_is_an_error() {
        for (text, problem) in [
            (String::new(), "no file"),
            (FILE.to_owned(), "nothing is expected"),
            (format!("{FILE}{CALL}"), "has no result"),
            (format!("{FILE}{RESULT}"), "does not follow a call"),
            (
                format!("{FILE}{CALL}{RESULT}{RESULT}"),
                "does not follow a call",
            ),
            (
                format!("{FILE}{CALL}## events\n\nlog\n"),
                "does not follow a result",
            ),
            (format!("{FILE}{CALL}{RESULT}## events\n\n"), "needs a list"),
            (
                format!("{FILE}{CALL}{RESULT}## event\n\nlog\n"),
                "is not a section",
            ),
            (
                format!("{FILE}{CALL}{RESULT}## files: x\n"),
                "is not a section",
            ),
            (
                format!("{FILE}{CALL}{RESULT}### result\n"),
                "is not a section",
            ),
            (format!("{FILE}## call: t\n"), "has 0 fenced blocks"),
            (
                format!("{FILE}## call\n\n```\n{{}}\n```\n"),
                "is not a section",
            ),
            (
                format!("{FILE}{CALL}## result\n\n```json\n{{}}\n```\n"),
                "something in it",
            ),
            (
                format!("{FILE}{CALL}## result\n\n```json\n{{\n```\n"),
                "is not JSON",
            ),
            (
                format!("{FILE}## file: b.md\n\nno block\n"),
                "has no fenced block",
            ),
            (format!("{FILE}## diagnostics\n\n"), "needs a list"),
            (format!("{FILE}{CALL}{RESULT}```\nopen\n"), "is not closed"),
        ] {
            let said = Page::read(&text).expect_err(problem);
            assert!(said.contains(problem), "`{said}` does not say `{problem}`");
        }
    }
}
