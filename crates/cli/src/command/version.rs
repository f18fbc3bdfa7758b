//! `harness version`.

use crate::exit::Exit;
use crate::output::Output;
use clap::Args;
use serde_json::json;

/// The version of the artifact format that this program reads.
const FORMAT: u32 = 1;

#[derive(Args)]
pub(crate) struct VersionArgs {
    /// One JSON object instead of a line
    #[arg(long)]
    json: bool,
}

impl VersionArgs {
    pub(super) fn run(self, output: &mut Output) -> anyhow::Result<Exit> {
        let version = env!("CARGO_PKG_VERSION");
        if self.json {
            let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
            output.json(&json!({"name": "harness", "version": version, "format": FORMAT, "os": os, "arch": arch}))?;
        } else {
            output.print(&format!("harness {version}"))?;
        }
        Ok(Exit::Done)
    }
}
