//! `harness explain`.

use crate::arguments::Request;
use crate::exit::{Exit, Usage};
use crate::interrupt;
use crate::open::Folder;
use crate::output::{self, Output, who_can_act};
use clap::Args;
use serde_json::{Value, json};
use tool_harness::check::{self, rules};
use tool_harness::diagnostic::Rule;
use tool_harness::refusal::Code;

#[derive(Args)]
pub(crate) struct Explain {
    /// A tool's name, or the code of a diagnostic or refusal
    #[arg(value_name = "TOOL|CODE")]
    subject: String,
    #[command(flatten)]
    request: Request,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub(super) async fn run(self, folder: &Folder, output: &mut Output) -> anyhow::Result<Exit> {
        if let Some(page) = Page::of(&self.subject)? {
            if !self.request.is_empty() {
                return Err(Usage::new(format!(
                    "`{}` is a code, which takes no arguments",
                    self.subject
                ))
                .into());
            }
            if self.json {
                output.json(&page.to_json())?
            } else {
                output.print(&page.text())?
            }
            return Ok(Exit::Done);
        }
        let engine = folder.open().await?;
        let mut call = self.request.call(&engine, &self.subject)?;
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

/// What a code means.
enum Page {
    Diagnostic(Rule),
    Refusal(Code),
}

impl Page {
    /// The page of a word that is a code; nothing for a word that can only be a tool's name.
    fn of(word: &str) -> Result<Option<Self>, Usage> {
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
        let known: Vec<&str> = rules()
            .map(|rule| rule.code)
            .chain(Code::ALL.iter().map(|code| code.text()))
            .collect();
        let near: Vec<String> = known
            .iter()
            .filter(|code| is_near(code, word))
            .map(|code| format!("`{code}`"))
            .collect();
        let help = if near.is_empty() {
            format!(
                "there are {} codes; docs/diagnostics has a page for each",
                known.len()
            )
        } else {
            format!("did you mean {}?", near.join(" or "))
        };
        Err(Usage::new(format!("no diagnostic or refusal has the code `{word}`")).help(help))
    }

    fn text(&self) -> String {
        match self {
            Self::Diagnostic(rule) => check::page(rule),
            Self::Refusal(code) => format!(
                "{code} ({})\n\n{}\n\nWho can act: {}",
                code.class(),
                meaning(*code),
                who_can_act(*code)
            ),
        }
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

/// Diagnostics are written in capitals, refusals with a dot; a tool's name has neither form.
fn is_code(word: &str) -> bool {
    let capitals = word.contains(|c: char| c.is_ascii_uppercase())
        && word
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    capitals || word.contains('.')
}

/// Whether one could be a slip of the other.
fn is_near(code: &str, word: &str) -> bool {
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
    fn words_in_the_form_of_a_code_are_codes() {
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
    fn every_refusal_has_a_page_and_a_wrong_code_says_so() {
        for code in Code::ALL {
            let page = Page::of(code.text()).expect("a code").expect("a page");
            assert!(page.text().len() > code.text().len() + 20);
        }
        let problem = Page::of("tool.args.invalid").err().expect("no such code");
        assert_eq!(
            problem.help.as_deref(),
            Some("did you mean `tool.args.invalid_schema`?")
        );
        assert!(Page::of("read_file").expect("a name").is_none());
    }
}
