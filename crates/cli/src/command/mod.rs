//! The commands, one file each.

mod call;
mod completions;
mod demo;
mod doctor;
mod exec;
mod explain;
mod hook;
mod init;
mod inspect;
mod install;
mod list;
mod mcp;
mod new;
mod surface;
mod test;
mod tools;
mod validate;
mod version;

use crate::exit::Exit;
use crate::interrupt;
use crate::open::Folder;
use crate::output::Output;
use clap::Subcommand;
use std::time::Duration;
use tool_harness_sandbox::process;

/// What `harness` can be asked to do.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make a folder a project: tools and hooks to start from
    Init(init::Init),
    /// Make a new folder with a project in it
    New(new::New),
    /// Check every artifact and show what is wrong with it
    Validate(validate::Validate),
    /// Check tools that are given as JSON
    Surface(surface::Surface),
    /// Call a tool
    Call(call::Call),
    /// Show what every stage decides about a call, or what a code means
    Explain(explain::Explain),
    /// List what the project has
    List(list::List),
    /// The tools as a model would be told about them
    Tools(tools::Tools),
    /// What the runtime sees: settings, tools, hooks, rules
    Inspect(inspect::Inspect),
    /// Serve the tools to an MCP client over standard input and output
    Mcp(mcp::Mcp),
    /// Run the examples of tools and hooks, offline
    Test(test::Test),
    /// A governed session on a built-in project, offline, stage by stage
    Demo(demo::Demo),
    /// Tell a client about harness: its MCP server, and hooks for its own tools
    Install(install::Install),
    /// Answer a client's hook: judge a call of its own tools
    Hook(hook::Hook),
    /// Run a command inside the project's sandbox plan
    Exec(exec::Exec),
    /// How strongly this machine contains commands, and what would make it better
    Doctor(doctor::Doctor),
    /// A completion script for a shell
    Completions(completions::Completions),
    /// The version of this program
    Version(version::Version),
}

impl Command {
    /// Whether a client waits for the answer and runs its call unless it is told not to.
    pub(crate) fn guards(&self) -> bool {
        matches!(self, Self::Hook(_))
    }

    pub(crate) fn run(self, folder: &Folder, output: &mut Output) -> anyhow::Result<Exit> {
        match self {
            Self::Init(command) => command.run(folder, output),
            Self::New(command) => command.run(output),
            Self::Validate(command) => on_runtime(command.run(folder, output)),
            Self::Surface(command) => command.run(output),
            Self::Call(command) => on_runtime(command.run(folder, output)),
            Self::Explain(command) => on_runtime(command.run(folder, output)),
            Self::List(command) => on_runtime(command.run(folder, output)),
            Self::Tools(command) => on_runtime(command.run(folder, output)),
            Self::Inspect(command) => on_runtime(command.run(folder, output)),
            Self::Mcp(command) => on_runtime(command.run(folder, output)),
            Self::Test(command) => on_runtime(command.run(folder, output)),
            Self::Demo(command) => on_runtime(command.run(output)),
            Self::Install(command) => command.run(folder, output),
            Self::Hook(command) => command.run(folder, output),
            Self::Exec(command) => on_plain_runtime(command.run(folder, output)),
            Self::Doctor(command) => on_runtime(command.run(folder, output)),
            Self::Completions(command) => command.run(output),
            Self::Version(command) => command.run(output),
        }
    }
}

/// Runs a command that waits for things, until it ends or is interrupted.
fn on_runtime(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    on_plain_runtime(interrupt::ending(command))
}

/// What calls left on the machine is removed when the program ends; where there is so much that it takes longer, by somebody else.
const SETTLE: Duration = Duration::from_secs(1);

/// Runs a command that answers signals itself; what it leaves behind is given up after a moment.
fn on_plain_runtime(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(command);
    process::wait_for_cleanup(SETTLE);
    runtime.shutdown_timeout(Duration::from_millis(200));
    ended
}
