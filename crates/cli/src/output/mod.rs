//! What people and programs read: streams, colour, and the pieces every command uses.

mod answer;
mod diagnostic;
mod explanation;
mod report;
mod table;
mod text;

pub(crate) use answer::{Asked, refusal, result, verdict, who_can_act};
pub(crate) use diagnostic::{counts, diagnostic, summary};
pub(crate) use explanation::explanation;
pub(crate) use report::{Looked, Reporting, prefix};
pub(crate) use table::Table;
pub(crate) use text::{count, indented, paint, plain, quoted};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{self, Write};
use tool_harness::diagnostic::Severity;
use tool_harness::engine::Engine;

/// Looks, by what they mean.
pub(crate) mod look {
    use anstyle::{AnsiColor, Style};

    pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
    pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
    pub(crate) const CAREFUL: Style = AnsiColor::Yellow.on_default().bold();
    pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
    pub(crate) const STRONG: Style = Style::new().bold();
    pub(crate) const QUIET: Style = Style::new().dimmed();
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What standard output is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// People read it.
    Words,
    /// A program reads it: one JSON document, whatever happens.
    Document,
}

impl Answer {
    /// What the command line asks for, also one that cannot be understood.
    pub(crate) fn asked_for(words: impl Iterator<Item = OsString>) -> Self {
        let words: Vec<OsString> = words.take_while(|word| word != "--").collect();
        let named = words
            .windows(2)
            .any(|pair| pair[0] == "--format" && pair[1] == "json");
        if named
            || words
                .iter()
                .any(|word| word == "--json" || word == "--format=json")
        {
            Self::Document
        } else {
            Self::Words
        }
    }
}

/// The two streams. Styled text goes in; the style is taken out where nobody would see it.
pub(crate) struct Output {
    out: AutoStream<io::Stdout>,
    err: AutoStream<io::Stderr>,
    answer: Answer,
}

impl Output {
    /// The program's own streams.
    pub(crate) fn new(colour: Colour, answer: Answer) -> Self {
        let choice = match colour {
            Colour::Auto => ColorChoice::Auto,
            Colour::Always => ColorChoice::Always,
            Colour::Never => ColorChoice::Never,
        };
        Self {
            out: AutoStream::new(io::stdout(), choice),
            err: AutoStream::new(io::stderr(), choice),
            answer,
        }
    }

    /// One or more lines on standard output, for people.
    pub(crate) fn print(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", text.trim_end_matches('\n'))
    }

    /// Text exactly as it is, on standard output.
    pub(crate) fn raw(&mut self, text: &str) -> io::Result<()> {
        io::stdout().write_all(text.as_bytes())
    }

    /// The one document of `--json`.
    pub(crate) fn json(&mut self, document: &Value) -> io::Result<()> {
        // There is one document: no failure after it gets another.
        self.answer = Answer::Words;
        self.raw(&format!("{document:#}\n"))
    }

    /// The document of a command that failed before it had one, where a program waits for it.
    pub(crate) fn document_failure(
        &mut self,
        code: &str,
        message: &str,
        help: Option<&str>,
    ) -> io::Result<()> {
        if self.answer == Answer::Words {
            return Ok(());
        }
        let mut error = json!({"code": code, "message": message});
        if let Some(help) = help.filter(|help| !help.is_empty()) {
            error["help"] = help.into();
        }
        self.json(&json!({ "error": error }))
    }

    /// One or more lines on standard error, for people.
    pub(crate) fn say(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.err, "{}", text.trim_end_matches('\n'))
    }

    /// What went wrong with the command itself.
    pub(crate) fn complain(&mut self, message: &str, help: Option<&str>) -> io::Result<()> {
        self.say(&format!(
            "{}: {}",
            paint(look::BAD, "error"),
            plain(message)
        ))?;
        help.map_or(Ok(()), |help| {
            self.say(&format!("{}: {}", paint(look::GOOD, "help"), plain(help)))
        })
    }

    /// Says that a listing is not all there is, when the project has errors.
    pub(crate) fn mention_errors(&mut self, engine: &Engine) -> io::Result<()> {
        let errors = engine
            .diagnostics()
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .count();
        if errors == 0 {
            return Ok(());
        }
        self.say(&format!(
            "{}: {}; `harness validate` shows what is wrong",
            paint(look::CAREFUL, "not everything is in use"),
            count(errors, "error")
        ))
    }

    /// Makes sure everything is out, or says that nobody is reading.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
