//! The `harness` program, and its MCP server for hosts that add bodies of their own.

mod arguments;
mod client;
mod command;
mod example;
mod exit;
mod fix;
mod hook;
mod import;
mod install;
mod interrupt;
pub mod mcp;
mod open;
mod output;
mod project;
mod replace;
mod scaffold;
mod watch;

use clap::Parser;
use command::CliCommand;
use exit::{Exit, UsageError};
use interrupt::Interruption;
use output::{Colour, Output, OutputFormat};
use project::ProjectArgs;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tools for AI agents as files that a person can review, and one governed path for every call.
#[derive(Parser)]
#[command(
    name = "harness",
    version,
    arg_required_else_help = true,
    infer_subcommands = false,
    max_term_width = 100
)]
struct Cli {
    #[command(flatten)]
    project: ProjectArgs,
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    color: Colour,
    #[command(subcommand)]
    command: CliCommand,
}

/// The program, from its arguments to its exit code.
pub fn main() -> ExitCode {
    // A worker is this program started again, and must become one before anything else.
    tool_harness_script::run_if_worker();
    let format = OutputFormat::asked_for(std::env::args_os().skip(1));
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(problem) => {
            let _ = problem.print();
            if !problem.use_stderr() {
                return Exit::Done.into();
            }
            let words = problem.to_string();
            let mut lines = words.lines().map(str::trim).filter(|line| !line.is_empty());
            let message = lines.next().unwrap_or_default();
            let help = lines.collect::<Vec<_>>().join("; ");
            let _ = Output::new(Colour::Auto, format).json_failure(
                "usage",
                message.trim_start_matches("error: "),
                Some(&help),
            );
            return Exit::Usage.into();
        }
    };
    let mut output = Output::new(cli.color, format);
    let guards = cli.command.guards();
    if guards {
        tool_harness_sandbox::process::refuse_on_abort();
    }
    let ended = without_panic_messages(|| run(cli, &mut output)).unwrap_or_else(|problem| {
        match report(&problem, &mut output) {
            // A client must not take a failure for permission.
            _ if guards => Exit::Usage,
            reported => reported,
        }
    });
    ended.into()
}

/// Runs the command and flushes its output.
fn run(cli: Cli, output: &mut Output) -> anyhow::Result<Exit> {
    let ended = cli.command.run(&cli.project, output)?;
    output.flush()?;
    Ok(ended)
}

/// Reports what went wrong; returns the exit code for it.
fn report(problem: &anyhow::Error, output: &mut Output) -> Exit {
    let pipe_closed = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    if problem
        .chain()
        .any(|cause| cause.downcast_ref().is_some_and(pipe_closed))
    {
        return Exit::Done;
    }
    let (message, help) = match problem.downcast_ref::<UsageError>() {
        Some(usage) => (usage.message.clone(), usage.help.clone()),
        None => (format!("{problem:#}"), None),
    };
    let (exit, code) = if problem.is::<Panic>() {
        (Exit::Failed, "internal")
    } else if problem.is::<Interruption>() {
        (Exit::Stopped, "interrupted")
    } else {
        (Exit::Usage, "usage")
    };
    // If standard error is closed, there is no one to tell.
    let _ = output.error(&message, help.as_deref());
    let _ = output.json_failure(code, &message, help.as_deref());
    exit
}

/// A bug in this program.
#[derive(Debug)]
struct Panic(String);

impl std::fmt::Display for Panic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "harness itself is broken: {}", self.0)
    }
}

impl std::error::Error for Panic {}

/// Runs `body`. A panic becomes an error with its place, instead of a trace on the terminal.
fn without_panic_messages<T>(body: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let last = Arc::new(Mutex::new(String::new()));
    let seen = Arc::clone(&last);
    panic::set_hook(Box::new(move |info| {
        *lock(&seen) = info.to_string().replace('\n', " ")
    }));
    panic::catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|_| Err(Panic(lock(&last).clone()).into()))
}

/// Locks a mutex. No value in this program is left inconsistent by a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_panic_is_reported_in_one_line_with_its_place() {
        let result: anyhow::Result<()> = without_panic_messages(|| panic!("two\nlines"));
        let _ = panic::take_hook();
        let message = result.expect_err("a panic").to_string();
        assert!(
            message.starts_with("harness itself is broken: ")
                && message.contains("lib.rs")
                && message.lines().count() == 1,
            "{message}"
        );
    }
}
