//! The `harness` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    tool_harness_cli::main()
}
