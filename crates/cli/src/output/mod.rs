//! Everything the program prints: its streams, their colours, and the parts that commands share.

mod answer;
mod diagnostic;
mod explanation;
mod log;
mod report;
mod table;
mod text;

pub(crate) use answer::{TypedCall, refusal, result, verdict, who_can_act};
pub(crate) use diagnostic::{counts, diagnostic, error_count, summary};
pub(crate) use explanation::explanation;
pub(crate) use log::LogLine;
pub(crate) use report::{CheckReport, ReportArgs, prefix};
pub(crate) use table::Table;
pub(crate) use text::{count, indented, paint, plain, quoted, value_text};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{self, Write};
use tool_harness::engine::Engine;

/// Styles, named by what they mean.
pub(crate) mod style {
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

/// What is written to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    /// Text for people.
    Text,
    /// One JSON document for a program, even if the command fails.
    Json,
}

impl OutputFormat {
    /// What a command line asks for, even one with errors.
    pub(crate) fn asked_for(words: impl Iterator<Item = OsString>) -> Self {
        let words: Vec<OsString> = words.take_while(|word| word != "--").collect();
        let mut pairs = words.windows(2);
        let is_json = pairs.any(|pair| pair[0] == "--format" && pair[1] == "json")
            || words
                .iter()
                .any(|word| word == "--json" || word == "--format=json");
        if is_json { Self::Json } else { Self::Text }
    }
}

/// The two streams. They take styled text, and drop the style unless it goes to a terminal.
pub(crate) struct Output {
    out: AutoStream<io::Stdout>,
    err: AutoStream<io::Stderr>,
    format: OutputFormat,
}

impl Output {
    /// The program's own streams.
    pub(crate) fn new(colour: Colour, format: OutputFormat) -> Self {
        let choice = match colour {
            Colour::Auto => ColorChoice::Auto,
            Colour::Always => ColorChoice::Always,
            Colour::Never => ColorChoice::Never,
        };
        Self {
            out: AutoStream::new(io::stdout(), choice),
            err: AutoStream::new(io::stderr(), choice),
            format,
        }
    }

    /// One or more lines on standard output, for people.
    pub(crate) fn print(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", text.trim_end_matches('\n'))
    }

    /// Text on standard output, unchanged.
    pub(crate) fn raw(&mut self, text: &str) -> io::Result<()> {
        io::stdout().write_all(text.as_bytes())
    }

    /// The one document of `--json`.
    pub(crate) fn json(&mut self, document: &Value) -> io::Result<()> {
        // One document is enough: a later failure does not print another.
        self.format = OutputFormat::Text;
        self.raw(&format!("{document:#}\n"))
    }

    /// The JSON document of a command that failed before it printed one, if a program waits for it.
    pub(crate) fn json_failure(
        &mut self,
        code: &str,
        message: &str,
        help: Option<&str>,
    ) -> io::Result<()> {
        if self.format == OutputFormat::Text {
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

    /// An error of the command itself, on standard error.
    pub(crate) fn error(&mut self, message: &str, help: Option<&str>) -> io::Result<()> {
        self.say(&format!(
            "{}: {}",
            paint(style::BAD, "error"),
            plain(message)
        ))?;
        help.map_or(Ok(()), |help| {
            self.say(&format!("{}: {}", paint(style::GOOD, "help"), plain(help)))
        })
    }

    /// Warns that a listing is incomplete if the project has errors.
    pub(crate) fn warn_of_errors(&mut self, engine: &Engine) -> io::Result<()> {
        let errors = error_count(engine.diagnostics());
        if errors == 0 {
            return Ok(());
        }
        self.say(&format!(
            "{}: {}; `harness validate` shows them",
            paint(style::CAREFUL, "not everything is in use"),
            count(errors, "error")
        ))
    }

    /// Writes what is buffered; fails if the reader is gone.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
