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
    pub(super) async fn run(self, output: &mut Output) -> anyhow::Result<Exit> {
        // A thread of its own, so that nothing that hangs can keep the client waiting.
        std::thread::Builder::new().spawn(|| {
            std::thread::sleep(TIME_LIMIT);
            let _ = writeln!(io::stderr(), "error: harness did not decide within {} s, so the call must not run", TIME_LIMIT.as_secs());
            std::process::exit(Exit::Usage as i32);
        })?;
        if let Answer::Print(document) = hook::answer(self.client, io::stdin().lock()).await? {
            output.raw(&format!("{document}\n"))?;
        }
        Ok(Exit::Done)
    }
}
