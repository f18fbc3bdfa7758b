//! `harness explain`.

use crate::arguments::CallArguments;
use crate::exit::{Exit, UsageError, usage};
use crate::interrupt;
use crate::output::{self, Output, Table, indented, paint, style, who_can_act};
use crate::project::ProjectArgs;
use anstyle::Style;
use clap::Args;
use serde_json::{Value, json};
use tool_harness::check::{self, rules};
use tool_harness::diagnostic::Rule;
use tool_harness::nearest::nearest;
use tool_harness::{Class, Code};

#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// A tool's name, or the code of a diagnostic or refusal
    #[arg(value_name = "TOOL|CODE", required_unless_present = "codes")]
    subject: Option<String>,
    #[command(flatten)]
    arguments: CallArguments,
    /// List every code with its first sentence
    #[arg(long, conflicts_with = "subject")]
    codes: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

impl ExplainArgs {
    pub(super) async fn run(
        self,
        project: &ProjectArgs,
        output: &mut Output,
    ) -> anyhow::Result<Exit> {
        let Some(subject) = self.subject.filter(|_| !self.codes) else {
            if self.json {
                output.json(
                    &json!({"codes": every_page().map(|page| page.to_json()).collect::<Vec<_>>()}),
                )?;
            } else {
                output.print(&list())?;
            }
            return Ok(Exit::Done);
        };
        if let Some(page) = CodePage::of(&subject)? {
            if !self.arguments.is_empty() {
                return Err(usage!("`{subject}` is a code, which takes no arguments").into());
            }
            if self.json {
                output.json(&page.to_json())?
            } else {
                output.print(&page.text())?
            }
            return Ok(Exit::Done);
        }
        let engine = project.open().await?;
        let mut call = self.arguments.call(&engine, &subject)?;
        call.cancel = interrupt::cancelled_by_signals().into();
        let explained = engine.explain(call).await;
        if self.json {
            output.json(&explained.to_json())?;
        } else {
            output.print(&output::explanation(&explained))?;
        }
        Ok(explained
            .outcome
            .as_ref()
            .map_or_else(|refusal| Exit::from(refusal.code), |_| Exit::Done))
    }
}

/// The meaning of a code.
enum CodePage {
    Diagnostic(Rule),
    Refusal(Code),
}

impl CodePage {
    /// The page of a code; none for a word that can only be a tool's name.
    fn of(word: &str) -> Result<Option<Self>, UsageError> {
        if let Some(rule) =
            rules().find(|rule| rule.code.eq_ignore_ascii_case(word) && is_code(word))
        {
            return Ok(Some(Self::Diagnostic(rule)));
        }
        if let Some(&code) = Code::ALL.iter().find(|code| code.text() == word) {
            return Ok(Some(Self::Refusal(code)));
        }
        if !is_code(word) {
            return Ok(None);
        }
        let known = || {
            rules()
                .map(|rule| rule.code)
                .chain(Code::ALL.iter().map(|code| code.text()))
        };
        let mut near: Vec<&str> = known().filter(|code| shares_words(code, word)).collect();
        if let Some(nearest) = nearest(word, known()) {
            near.retain(|code| *code != nearest);
            near.insert(0, nearest);
        }
        near.truncate(4);
        let help = if near.is_empty() {
            "`harness explain --codes` lists every code".to_owned()
        } else {
            let near: Vec<String> = near.iter().map(|code| format!("`{code}`")).collect();
            format!("did you mean {}?", near.join(" or "))
        };
        Err(usage!("no diagnostic or refusal has the code `{word}`").help(help))
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Diagnostic(rule) => rule.code,
            Self::Refusal(code) => code.text(),
        }
    }

    /// What kind of code it is, and its meaning.
    fn summary(&self) -> (String, &'static str) {
        match self {
            Self::Diagnostic(rule) => (rule.severity.to_string(), rule.why),
            Self::Refusal(code) => (code.class().to_string(), meaning(*code)),
        }
    }

    fn text(&self) -> String {
        let (kind, meaning) = self.summary();
        let mut text = format!(
            "{} ({kind})\n\n{}\n",
            paint(style::STRONG, self.code()),
            wrapped(meaning)
        );
        match self {
            Self::Diagnostic(rule) => {
                example(&mut text, style::BAD, "wrong", rule.bad);
                example(&mut text, style::GOOD, "right", rule.good);
            }
            Self::Refusal(code) => {
                let hope = match code.class() {
                    Class::Repairable => "another call, changed, may succeed",
                    Class::Retryable => "the same call may succeed later",
                    Class::Fatal => "a person must act before the call can succeed",
                };
                text += &format!("\n{kind}: {hope}\nwho can act: {}\n", who_can_act(*code));
            }
        }
        text
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Diagnostic(rule) => {
                json!({"code": rule.code, "severity": rule.severity.to_string(), "why": rule.why, "page": check::page(rule)})
            }
            Self::Refusal(code) => {
                json!({"code": code.text(), "class": code.class().to_string(), "meaning": meaning(*code), "who": who_can_act(*code)})
            }
        }
    }
}

fn meaning(code: Code) -> &'static str {
    code.meaning().trim()
}

/// A diagnostic is in capitals and a refusal has a dot; a tool's name is neither.
fn is_code(word: &str) -> bool {
    let capitals = word.contains(|c: char| c.is_ascii_uppercase())
        && word
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    capitals || word.contains('.')
}

/// Every code there is.
fn every_page() -> impl Iterator<Item = CodePage> {
    let diagnostics = rules().map(CodePage::Diagnostic);
    diagnostics.chain(Code::ALL.iter().copied().map(CodePage::Refusal))
}

/// Every code, with what kind it is and the first sentence about it.
fn list() -> String {
    let mut table = Table::new(["CODE", "KIND", "MEANING"]);
    for page in every_page() {
        let (kind, meaning) = page.summary();
        let first = meaning.split_once(". ").map_or(meaning, |(first, _)| first);
        let first = first.split_once("; ").map_or(first, |(first, _)| first);
        table.row([
            page.code().to_owned(),
            kind,
            first.trim_end_matches('.').to_owned(),
        ]);
    }
    table.render()
}

/// Files under a title, indented instead of fenced.
fn example(text: &mut String, style: Style, title: &str, files: &[(&str, &str)]) {
    for (path, content) in files {
        *text += &format!(
            "\n{} {path}\n\n{}\n",
            paint(style, title),
            indented(4, content)
        );
    }
}

/// Text broken into lines that fit a terminal.
fn wrapped(text: &str) -> String {
    const WIDTH: usize = 96;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// Whether the word has the words of a code, or is a part of it.
fn shares_words(code: &str, word: &str) -> bool {
    let code_parts: Vec<&str> = code.split(['_', '.']).collect();
    let shared = word
        .split(['_', '.'])
        .filter(|part| part.len() > 2 && code_parts.contains(part))
        .count();
    word.len() > 3 && (code.contains(word) || (shared >= 2 && shared + 1 >= code_parts.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_look_like_codes_are_codes() {
        for (word, expected) in [
            ("TOOL_X", true),
            ("tool.denied", true),
            ("read_file", false),
            ("readFile", false),
            ("X2", true),
            ("_", false),
        ] {
            assert_eq!(is_code(word), expected, "{word}");
        }
    }

    #[test]
    fn pages_are_text_for_people_and_name_no_document_they_may_not_have() {
        for page in every_page() {
            let text = anstream::adapter::strip_str(&page.text()).to_string();
            let head = text.split("\nwrong ").next().unwrap_or_default();
            assert!(
                head.lines().all(|line| line.chars().count() <= 110),
                "{text}"
            );
            assert!(
                !text.contains("\n```") && !text.starts_with('#') && !head.contains("docs/"),
                "{text}"
            );
        }
        let page = CodePage::of("NAME_VERB").expect("a code").expect("a page");
        insta::assert_snapshot!(anstream::adapter::strip_str(&page.text()).to_string());
    }

    #[test]
    fn every_refusal_has_a_page_and_a_wrong_code_says_so() {
        for code in Code::ALL {
            let page = CodePage::of(code.text()).expect("a code").expect("a page");
            assert!(page.text().len() > code.text().len() + 20);
        }
        let problem = CodePage::of("tool.args.invalid")
            .err()
            .expect("no such code");
        assert_eq!(
            problem.help.as_deref(),
            Some("did you mean `tool.args.invalid_schema`?")
        );
        for (word, expected) in [
            ("NAME_STLYE", "did you mean `NAME_STYLE`?"),
            ("tool.deneid", "did you mean `tool.denied`?"),
            ("XYZ_QQQQQ", "`harness explain --codes` lists every code"),
        ] {
            let problem = CodePage::of(word).err().expect("no such code");
            assert_eq!(problem.help.as_deref(), Some(expected));
        }
        assert!(CodePage::of("read_file").expect("a name").is_none());
    }
}
