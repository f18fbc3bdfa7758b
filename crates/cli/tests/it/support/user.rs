//! Runs the test binary again as an ordinary user.

use super::program::copy_program;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

const NOBODY: u32 = 65534;
const BESIDE: &str = "harness-for-tests";
const SKIPPED: &str = "skipped: needs root, to become another user";

/// Whether this process is root.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").expect("/proc").uid() == 0
}

/// The program under test: the one next to this test if both were copied for another user, who cannot enter the build folder.
pub(crate) fn program() -> PathBuf {
    let beside = std::env::current_exe()
        .expect("this program")
        .with_file_name(BESIDE);
    if beside.exists() {
        beside
    } else {
        env!("CARGO_BIN_EXE_harness").into()
    }
}

/// Runs every test of a module again as an ordinary user. Skipped if this process is not root, as in that second run.
pub(crate) fn run_every_test_as_an_ordinary_user(module: &str) {
    if !is_root() {
        println!("{SKIPPED}");
        return;
    }
    let place = tempfile::tempdir().expect("a temporary folder");
    let (tests, beside, home) = (
        place.path().join("tests"),
        place.path().join(BESIDE),
        place.path().join("home"),
    );
    copy_program(&std::env::current_exe().expect("this program"), &tests);
    copy_program(Path::new(env!("CARGO_BIN_EXE_harness")), &beside);
    fs::create_dir(&home).expect("a folder");
    chown(&home, Some(NOBODY), Some(NOBODY)).expect("given away");
    for path in [place.path(), &tests, &beside] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("open to others");
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "runs this test again as another user"
    )]
    let ran = std::process::Command::new(&tests)
        .args([&format!("{module}::"), "--nocapture", "--test-threads=2"])
        .env("TMPDIR", &home)
        .current_dir(&home)
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&ran.stdout);
    let errors: Vec<String> = String::from_utf8_lossy(&ran.stderr)
        .lines()
        .take(30)
        .map(|line| line.chars().take(300).collect())
        .collect();
    assert!(
        ran.status.success(),
        "{}\n{}",
        text.lines().last().unwrap_or_default(),
        errors.join("\n")
    );
    assert!(text.contains(SKIPPED), "it did not run as an ordinary user");
    println!(
        "{}",
        text.lines()
            .rev()
            .find(|line| line.starts_with("test result"))
            .unwrap_or_default()
    );
}
