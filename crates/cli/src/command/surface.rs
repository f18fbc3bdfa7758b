//! `harness surface`.

use crate::exit::{Exit, UsageError, usage};
use crate::fix;
use crate::output::{self, CheckReport, Output, ReportArgs};
use clap::{Args, Subcommand};
use std::io::{self, Read};
use std::path::Path;
use std::time::Instant;
use tool_harness::surface;

/// A longer surface is refused.
const MAX_BYTES: u64 = 64 << 20;

#[derive(Args)]
pub(crate) struct SurfaceArgs {
    #[command(subcommand)]
    command: SurfaceCommand,
}

#[derive(Subcommand)]
enum SurfaceCommand {
    /// Check tools, policy and prompts given as JSON: a surface, a list of tools in any provider's
    /// format, or an answer of an MCP server
    Check(CheckArgs),
}

#[derive(Args)]
struct CheckArgs {
    /// The file; `-` for standard input
    #[arg(value_name = "FILE")]
    file: String,
    #[command(flatten)]
    reporting: ReportArgs,
    /// Fix what is safe to fix: misspelled keys, arguments missing from `required`
    #[arg(long)]
    fix: bool,
}

impl SurfaceArgs {
    pub(super) fn run(self, output: &mut Output) -> anyhow::Result<Exit> {
        let SurfaceCommand::Check(check) = self.command;
        check.run(output)
    }
}

impl CheckArgs {
    fn run(self, output: &mut Output) -> anyhow::Result<Exit> {
        let started = Instant::now();
        let (name, mut text) = read(&self.file)?;
        if self.fix {
            if self.file == "-" {
                let problem = UsageError::new("`--fix` needs a file, not standard input");
                return Err(problem.help("name a file").into());
            }
            let mut history = fix::FixHistory::default();
            for _ in 0..fix::ROUNDS {
                let found = surface::check(&surface::read_text(&name, &text)).diagnostics;
                let fixed = fix::fix_file(Path::new(&self.file), &name, &history.fresh(found))?;
                if fixed == 0 {
                    break;
                }
                history.places += fixed;
                text = read(&self.file)?.1;
            }
            output.say(&format!("fixed {}", output::count(history.places, "place")))?;
        }
        let surface = surface::read_text(&name, &text);
        let report = surface::check(&surface);
        let counted = format!(
            "{}, {}",
            output::count(surface.tools.len(), "tool"),
            output::count(surface.texts.len(), "text")
        );
        self.reporting.write(
            &CheckReport {
                findings: &report.diagnostics,
                counted,
                started,
                prefix: String::new(),
            },
            output,
        )
    }
}

/// The name that findings use for the file, and its text.
fn read(file: &str) -> Result<(String, String), UsageError> {
    let failed = |problem: io::Error| usage!("cannot read `{file}`: {problem}");
    let (name, input): (&str, Box<dyn Read>) = if file == "-" {
        ("stdin", Box::new(io::stdin()))
    } else {
        let opened = std::fs::File::open(file).map_err(failed)?;
        let below = Path::new(file).strip_prefix("./").ok();
        let name = below.and_then(Path::to_str).unwrap_or(file);
        (name, Box::new(opened))
    };
    let mut bytes = Vec::new();
    input
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        let problem = usage!("`{file}` is longer than {MAX_BYTES} bytes");
        return Err(problem.help("check it in parts"));
    }
    let text = String::from_utf8(bytes).map_err(|_| usage!("`{file}` is not UTF-8"))?;
    Ok((name.to_owned(), text))
}
