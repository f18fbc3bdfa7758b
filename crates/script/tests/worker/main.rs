//! Workers as the harness uses them: real processes, real frames.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what is tested is judged from outside, by real processes and listeners"
)]

mod confinement;
mod cost;
mod limits;
mod scripts;
mod supervisor;
mod table;

use std::panic::catch_unwind;
use std::process::ExitCode;

/// A sentence, and what must not panic for it to hold.
pub(crate) type Check = (&'static str, fn());

/// Every pure built-in of the table, and `print`: scripts of these tests are linked with all of them.
fn pure_built_ins() -> impl Iterator<Item = u32> {
    table::TABLE
        .iter()
        .flat_map(|module| module.calls)
        .zip(0..)
        .filter(|(builtin, _)| builtin.is_pure() || builtin.name == "print")
        .map(|(_, index)| index)
}

fn main() -> ExitCode {
    tool_harness_script::run_if_worker_with(table::TABLE, table::facts);
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    if arguments
        .first()
        .is_some_and(|argument| argument == confinement::ORPHAN_ARGUMENT)
    {
        confinement::be_a_harness_that_is_killed();
    }
    let chosen = |name: &str| {
        arguments.is_empty()
            || arguments
                .iter()
                .any(|argument| name.contains(argument.as_str()))
    };
    let all = [
        scripts::CHECKS,
        limits::CHECKS,
        confinement::CHECKS,
        cost::CHECKS,
    ]
    .concat();
    let (mut passed, mut failed) = (0, 0);
    for (name, check) in all.into_iter().filter(|(name, _)| chosen(name)) {
        let outcome = catch_unwind(check);
        println!(
            "{name} ... {}",
            if outcome.is_ok() { "ok" } else { "FAILED" }
        );
        if outcome.is_ok() {
            passed += 1
        } else {
            failed += 1
        }
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
