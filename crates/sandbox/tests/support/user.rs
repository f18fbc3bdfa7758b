//! All of this once more as an ordinary user.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output};
use std::time::Duration;

use tempfile::TempDir;

const NOBODY: u32 = 65534;

#[test]
fn the_same_holds_for_an_ordinary_user() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root, to become another user");
        return;
    }
    // The build directory may be closed to others, so the test program is copied to where they can reach it.
    let place = TempDir::new().expect("a temporary directory");
    let (program, home) = (place.path().join("tests"), place.path().join("home"));
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("set");
    // By another process: while this one had the copy open for writing, a process that another test starts would hold it open, too, and the
    // kernel starts no program that somebody writes.
    let copied = Command::new("cp")
        .arg(std::env::current_exe().expect("this program"))
        .arg(&program)
        .status()
        .expect("cp runs");
    assert!(copied.success(), "the test program is not copied");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("set");
    fs::create_dir(&home).expect("a directory");
    chown(&home, Some(NOBODY), Some(NOBODY)).expect("given away");
    let run = || {
        let mut command = Command::new(&program);
        command
            .args(["--test-threads=1", "--nocapture"])
            .env("TMPDIR", &home)
            .current_dir(&home);
        command.uid(NOBODY).gid(NOBODY).output()
    };
    // A process that another test starts in this moment may still hold the copy open for writing.
    let busy = |ran: &io::Result<Output>| {
        ran.as_ref()
            .is_err_and(|cause| cause.kind() == io::ErrorKind::ExecutableFileBusy)
    };
    let mut ran = run();
    while busy(&ran) {
        std::thread::sleep(Duration::from_millis(10));
        ran = run();
    }
    let ran = ran.expect("it runs");
    let text = String::from_utf8_lossy(&ran.stdout);
    // The names first: of a long text, who reads it may be shown the start only.
    let failed: Vec<&str> = text
        .rsplit_once("\nfailures:\n")
        .into_iter()
        .flat_map(|(_, names)| names.lines().take_while(|line| !line.is_empty()))
        .collect();
    assert!(
        ran.status.success(),
        "failed as an ordinary user: {failed:?}\n{}\n{text}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert!(
        text.contains("skipped: needs root"),
        "it did not run as an ordinary user: {text}"
    );
    for line in text.lines().filter(|line| line.contains("skipped: no")) {
        println!("as an ordinary user, {line}");
    }
    println!(
        "{}",
        text.lines()
            .rfind(|line| !line.is_empty())
            .unwrap_or_default()
    );
}
