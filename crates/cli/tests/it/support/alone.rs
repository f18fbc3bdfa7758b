//! A test in a separate process, for measurements of a whole process that other tests would distort.

use super::program::command;
use std::path::Path;

const ALONE: &str = "HARNESS_TEST_ALONE";

/// Whether this process runs one test only. If not, runs the test of this name in such a process, and fails if it fails.
#[track_caller]
#[expect(
    clippy::disallowed_methods,
    reason = "how the second process knows that it is the second"
)]
pub(crate) fn alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let this = std::env::current_exe().expect("this program");
    let ran = command(this, Path::new("."), &["--exact", test, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success() && said.contains("1 passed"),
        "{said}\n{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    for line in said.lines().filter(|line| line.starts_with("skipped")) {
        println!("{line}");
    }
    false
}
