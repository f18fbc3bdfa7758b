//! `harness hook`.

use crate::exit::Exit;
use crate::hook::{self, Answer, ClientName};
use crate::output::Output;
use clap::Args;
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
    pub(crate) fn run(self, output: &mut Output) -> anyhow::Result<Exit> {
        // A worker takes longer to start than everything else here, so it starts first, while there is one thread. If it cannot, the
        // engine starts one when it needs it.
        let worker = hook::has_hooks(self.client).then(tool_harness_script::fork_worker).and_then(Result::ok);
        // A thread of its own, so that nothing that hangs can keep the client waiting.
        std::thread::Builder::new().spawn(|| {
            std::thread::sleep(TIME_LIMIT);
            let _ = writeln!(io::stderr(), "error: harness did not decide within {} s, so the call must not run", TIME_LIMIT.as_secs());
            Exit::Usage.at_once()
        })?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let answer = runtime.block_on(hook::answer(self.client, io::stdin().lock(), worker));
        runtime.shutdown_background();
        if let Answer::Print(document) = answer? {
            output.raw(&format!("{document}\n"))?;
        }
        Ok(Exit::Done)
    }
}
