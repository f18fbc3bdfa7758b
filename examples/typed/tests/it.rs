//! The example runs. With a test of its own, its program is built whenever the workspace is tested.

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "runs the example as a person would"
)]
fn the_example_runs() {
    let ran = std::process::Command::new(env!("CARGO_BIN_EXE_typed")).output();
    let ran = ran.expect("it starts");
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert!(!ran.stdout.is_empty(), "it prints nothing");
}
