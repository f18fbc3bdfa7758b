//! `harness hook`.

use crate::client::ClientSpec;
use crate::exit::Exit;
use crate::hook;
use crate::output::Output;
use crate::project::ProjectArgs;
use clap::Args;
use serde_json::Value;
use std::io::{self, Write};
use std::time::Duration;

/// Clients give up after about a minute and then run the call, so harness has to decide long
/// before.
const TIME_LIMIT: Duration = Duration::from_secs(20);

#[derive(Args)]
pub(crate) struct HookArgs {
    /// The client that sends the message
    #[arg(value_parser = ClientSpec::with_hooks())]
    client: &'static ClientSpec,
}

impl HookArgs {
    /// Runs on one thread: a runtime with more would only take longer to start.
    pub(crate) fn run(self, project: &ProjectArgs, output: &mut Output) -> anyhow::Result<Exit> {
        // A worker takes longer to start than all the rest, so it starts first, while there is one
        // thread. If this fails, the engine starts one when it needs it.
        let worker = hook::has_hooks(self.client, project)
            .then(tool_harness_script::fork_worker)
            .and_then(Result::ok);
        // On a separate thread, so that a hang elsewhere does not keep the client waiting.
        std::thread::Builder::new().spawn(|| {
            std::thread::sleep(TIME_LIMIT);
            let _ = writeln!(
                io::stderr(),
                "error: harness did not decide within {} s, so the call must not run",
                TIME_LIMIT.as_secs()
            );
            Exit::Usage.at_once()
        })?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let answer = runtime.block_on(hook::answer(
            self.client,
            project,
            io::stdin().lock(),
            worker,
        ));
        runtime.shutdown_background();
        if let Some(document) = answer? {
            if is_stdout_closed() {
                anyhow::bail!(
                    "standard output is closed, so harness cannot answer, and the call must not run: {}",
                    reason(&document)
                );
            }
            output.raw(&format!("{document}\n"))?;
        }
        Ok(Exit::Done)
    }
}

/// Whether standard output leads nowhere. If it was closed, it was opened on `/dev/null` before
/// `main`.
fn is_stdout_closed() -> bool {
    let null = rustix::fs::stat("/dev/null").map(|about| about.st_rdev);
    rustix::fs::fstat(io::stdout()).map_or(true, |about| {
        rustix::fs::FileType::from_raw_mode(about.st_mode) == rustix::fs::FileType::CharacterDevice
            && null == Ok(about.st_rdev)
    })
}

/// The reason in an answer that refuses a call.
fn reason(document: &Value) -> &str {
    let places = ["/hookSpecificOutput/permissionDecisionReason", "/reason"];
    places
        .iter()
        .find_map(|place| document.pointer(place)?.as_str())
        .unwrap_or("the call or its result would have been changed")
}
