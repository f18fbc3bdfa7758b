//! `harness exec` and `harness doctor`, end to end.

mod streams;
mod world;

use crate::support::Project;
use crate::support::program::{Ran, harness};

fn project() -> Project {
    Project::new(&[
        ("harness.md", "---\nformat: 1\n---\n"),
        ("src/a.txt", "a\n"),
    ])
}

fn exec(project: &Project, words: &[&str]) -> Ran {
    harness(project.path(), &[&["exec", "--"], words].concat())
}
