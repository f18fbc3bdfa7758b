//! How an optimised program is linked.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script is told by variables, and asks the machine it runs on"
)]

use std::env;
use std::process::Command;

/// The first C library that reads packed relocations.
const PACKED_SINCE: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let native = env::var("HOST").ok() == env::var("TARGET").ok();
    // Where the program is built for another machine, nobody here knows that machine's library.
    if native
        && is("PROFILE", "release")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && library().is_some_and(|version| version >= PACKED_SINCE)
    {
        println!("cargo::rustc-link-arg-bin=harness=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's C library, as `getconf` has it: `glibc 2.36`.
fn library() -> Option<(u32, u32)> {
    let said = Command::new("getconf")
        .arg("GNU_LIBC_VERSION")
        .output()
        .ok()?
        .stdout;
    let text = String::from_utf8(said).ok()?;
    let mut numbers = text
        .trim()
        .strip_prefix("glibc ")?
        .split('.')
        .map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}
