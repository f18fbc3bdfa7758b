//! Workers as the harness uses them: real processes, real frames. Their program is `worker-for-tests`.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what is tested is judged from outside, by real processes and listeners"
)]

mod confinement;
mod cost;
mod examples;
mod limits;
mod scripts;
mod supervisor;
mod table;

use std::process::Command;
use table::TABLE;

/// The index of a built-in on the wire.
fn index(path: &str) -> u32 {
    let names = TABLE.iter().flat_map(|module| {
        module.calls.iter().map(|call| {
            if module.name.is_empty() {
                call.name.to_owned()
            } else {
                format!("{}.{}", module.name, call.name)
            }
        })
    });
    u32::try_from(
        names
            .enumerate()
            .find(|(_, name)| name == path)
            .expect("known")
            .0,
    )
    .expect("fits")
}

/// Set in a process that runs a single test.
const ALONE: &str = "HARNESS_TEST_ALONE";

/// Whether this process runs a single test.
fn is_alone() -> bool {
    std::env::var_os(ALONE).is_some()
}

/// A test of this binary, to run in a separate process.
fn alone(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("known"));
    command
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, "1");
    command
}
