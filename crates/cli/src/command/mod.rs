//! The commands, one file each.

mod call;
mod completions;
mod demo;
mod doctor;
mod exec;
mod explain;
mod hook;
mod import;
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
use crate::output::Output;
use crate::project::ProjectArgs;
use clap::Subcommand;
use std::time::Duration;
use tool_harness_sandbox::process;

/// What `harness` can be asked to do.
#[derive(Subcommand)]
pub(crate) enum CliCommand {
    /// Create a project in a folder, with tools and hooks to start from
    Init(init::InitArgs),
    /// Create a folder with a new project in it, or a tool or hook to start from
    New(new::NewArgs),
    /// Bring files of older dialects into this project's format
    Import(import::ImportArgs),
    /// Check every artifact of the project
    Validate(validate::ValidateArgs),
    /// Check tools given as JSON
    Surface(surface::SurfaceArgs),
    /// Call a tool
    Call(call::CallArgs),
    /// Show what every stage decides about a call, or what a code means
    Explain(explain::ExplainArgs),
    /// List the tools and hooks of the project
    List(list::ListArgs),
    /// Show the tools as a model sees them
    Tools(tools::ToolsArgs),
    /// Show what the runtime sees: settings, tools, hooks, rules
    Inspect(inspect::InspectArgs),
    /// Serve the tools to an MCP client over standard input and output
    Mcp(mcp::McpArgs),
    /// Run the examples of tools and hooks, offline
    Test(test::TestArgs),
    /// Run a governed session on a built-in project, offline, stage by stage
    Demo(demo::DemoArgs),
    /// Add harness to a client: an MCP server, and hooks for its own tools
    Install(install::InstallArgs),
    /// Answer a client's hook: judge a call of its own tools
    Hook(hook::HookArgs),
    /// Run a command inside the project's sandbox plan
    Exec(exec::ExecArgs),
    /// Show how well this machine contains commands, and what would improve it
    Doctor(doctor::DoctorArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
    /// Print the version of this program
    Version(version::VersionArgs),
}

impl CliCommand {
    /// Whether a client waits for the answer, and runs its call unless told not to.
    pub(crate) fn guards(&self) -> bool {
        matches!(self, Self::Hook(_))
    }

    pub(crate) fn run(self, project: &ProjectArgs, output: &mut Output) -> anyhow::Result<Exit> {
        match self {
            Self::Init(command) => command.run(project, output),
            Self::New(command) => command.run(project, output),
            Self::Import(command) => on_runtime(command.run(project, output)),
            Self::Validate(command) => on_runtime(command.run(project, output)),
            Self::Surface(command) => command.run(output),
            Self::Call(command) => on_runtime(command.run(project, output)),
            Self::Explain(command) => on_runtime(command.run(project, output)),
            Self::List(command) => on_runtime(command.run(project, output)),
            Self::Tools(command) => on_runtime(command.run(project, output)),
            Self::Inspect(command) => on_runtime(command.run(project, output)),
            Self::Mcp(command) => on_runtime(command.run(project, output)),
            Self::Test(command) => on_runtime(command.run(project, output)),
            Self::Demo(command) => on_runtime(command.run(output)),
            Self::Install(command) => command.run(project, output),
            Self::Hook(command) => command.run(project, output),
            Self::Exec(command) => on_plain_runtime(command.run(project, output)),
            Self::Doctor(command) => on_runtime(command.run(project, output)),
            Self::Completions(command) => command.run(output),
            Self::Version(command) => command.run(output),
        }
    }
}

/// Runs a command until it ends or a signal interrupts it.
fn on_runtime(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    on_plain_runtime(interrupt::interruptible(command))
}

/// How long the program cleans up after its calls before it exits and leaves the rest to others.
const SETTLE: Duration = Duration::from_secs(1);

/// Runs a command that handles signals itself.
fn on_plain_runtime(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(command);
    process::wait_for_cleanup(SETTLE);
    runtime.shutdown_timeout(Duration::from_millis(200));
    ended
}
