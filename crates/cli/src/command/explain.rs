//! `harness explain`.

use crate::arguments::CallArguments;
use crate::exit::{Exit, UsageError, usage};
use crate::interrupt;
use crate::output::{self, Output, who_can_act};
use crate::project::ProjectArgs;
use clap::Args;
use serde_json::{Value, json};
use tool_harness::Code;
use tool_harness::check::{self, rules};
use tool_harness::diagnostic::Rule;

#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// A tool's name, or the code of a diagnostic or refusal
    #[arg(value_name = "TOOL|CODE")]
    subject: String,
    #[command(flatten)]
    arguments: CallArguments,
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
        if let Some(page) = CodePage::of(&self.subject)? {
            if !self.arguments.is_empty() {
                let code = &self.subject;
                return Err(usage!("`{code}` is a code, which takes no arguments").into());
            }
            if self.json {
                output.json(&page.to_json())?
            } else {
                output.print(&page.text())?
            }
            return Ok(Exit::Done);
        }
        let engine = project.open().await?;
        let mut call = self.arguments.call(&engine, &self.subject)?;
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
        let known: Vec<&str> = rules()
            .map(|rule| rule.code)
            .chain(Code::ALL.iter().map(|code| code.text()))
            .collect();
        let near: Vec<String> = known
            .iter()
            .filter(|code| is_near(code, word))
            .map(|code| format!("`{code}`"))
            .collect();
        let help = match (near.is_empty(), known.len()) {
            (true, all) => format!("there are {all} codes; docs/diagnostics has a page for each"),
            (false, _) => format!("did you mean {}?", near.join(" or ")),
        };
        Err(usage!("no diagnostic or refusal has the code `{word}`").help(help))
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

/// A diagnostic is in capitals and a refusal has a dot; a tool's name is neither.
fn is_code(word: &str) -> bool {
    let capitals = word.contains(|c: char| c.is_ascii_uppercase())
        && word
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    capitals || word.contains('.')
}

/// Whether the word could be a misspelled code.
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
        assert!(CodePage::of("read_file").expect("a name").is_none());
    }
}
