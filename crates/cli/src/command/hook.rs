//! `harness hook`.

use crate::exit::Exit;
use crate::hook::{self, Answer, ClientName};
use crate::open::Folder;
use crate::output::Output;
use clap::Args;
use serde_json::Value;
use std::io::{self, Write};
use std::time::Duration;

/// Clients give up waiting after about a minute and then run the call: whoever has not decided long before has to refuse.
const TIME_LIMIT: Duration = Duration::from_secs(20);

#[derive(Args)]
pub(crate) struct Hook {
    /// Whose message it is
    #[arg(value_enum)]
    client: ClientName,
}

impl Hook {
    /// Runs on one thread: threads of a runtime would only have to be started.
    pub(crate) fn run(self, folder: &Folder, output: &mut Output) -> anyhow::Result<Exit> {
        // A worker takes longer to start than everything else here, so it starts first, while there is one thread. If it cannot, the
        // engine starts one when it needs it.
        let worker = hook::has_hooks(self.client, folder)
            .then(tool_harness_script::fork_worker)
            .and_then(Result::ok);
        // A thread of its own, so that nothing that hangs can keep the client waiting.
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
            folder,
            io::stdin().lock(),
            worker,
        ));
        runtime.shutdown_background();
        if let Answer::Print(document) = answer? {
            if is_nowhere() {
                anyhow::bail!(
                    "standard output is closed, so the answer cannot be given, and the call must not run: {}",
                    reason(&document)
                );
            }
            output.raw(&format!("{document}\n"))?;
        }
        Ok(Exit::Done)
    }
}

/// Whether what is written to standard output is lost. One that was closed has been opened on the null device before `main`.
fn is_nowhere() -> bool {
    let null = rustix::fs::stat("/dev/null").map(|about| about.st_rdev);
    rustix::fs::fstat(io::stdout()).map_or(true, |about| {
        rustix::fs::FileType::from_raw_mode(about.st_mode) == rustix::fs::FileType::CharacterDevice
            && null == Ok(about.st_rdev)
    })
}

/// The words of an answer that is a refusal.
fn reason(document: &Value) -> &str {
    let places = ["/hookSpecificOutput/permissionDecisionReason", "/reason"];
    places
        .iter()
        .find_map(|place| document.pointer(place)?.as_str())
        .unwrap_or("it would have been changed")
}
