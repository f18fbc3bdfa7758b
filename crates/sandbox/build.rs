//! Compiles the helper that contained commands start as: a static program without any library, kept inside this crate.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script is told what to do by its environment, and starts the compiler"
)]

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=helper");
    let variable = |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let out = PathBuf::from(variable("OUT_DIR")).join("helper");
    if variable("CARGO_CFG_TARGET_OS") != "linux" {
        std::fs::write(&out, []).expect("the build directory can be written");
        return;
    }
    let mut compile = Command::new(variable("RUSTC"));
    compile.args([
        "--edition=2024",
        "--crate-type=bin",
        "--crate-name=helper",
        "--target",
        &variable("TARGET"),
    ]);
    compile.args([
        "-Copt-level=s",
        "-Cpanic=abort",
        "-Clto=fat",
        "-Ccodegen-units=1",
        "-Cstrip=symbols",
        "-Crelocation-model=static",
    ]);
    compile.args([
        "-Ctarget-feature=+crt-static",
        "-Cforce-unwind-tables=no",
        "-Cdebug-assertions=no",
        "-Coverflow-checks=no",
    ]);
    for argument in [
        "-nostartfiles",
        "-nostdlib",
        "-static",
        "-no-pie",
        "-Wl,--build-id=none",
        "-Wl,-z,noexecstack",
    ] {
        compile.arg(format!("-Clink-arg={argument}"));
    }
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        compile.arg(format!("-Clinker={linker}"));
    }
    let done = compile
        .arg("-o")
        .arg(&out)
        .arg("helper/main.rs")
        .status()
        .expect("the compiler starts");
    assert!(done.success(), "the helper does not compile");
}
