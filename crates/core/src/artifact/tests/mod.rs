//! What the reader promises, seen from outside.

mod disk;
mod hooks;
mod hostile;
mod roots;
mod rules;
mod tools;

use super::{Artifacts, Hook, Tool, read};

/// Artifacts of files given as text.
fn project(files: &[(&str, &str)]) -> Artifacts {
    read(
        files
            .iter()
            .map(|&(path, text)| (path.to_owned(), text.as_bytes().to_vec())),
    )
}

/// What is wrong, as `CODE line:column message`.
fn problems(artifacts: &Artifacts) -> Vec<String> {
    let line = |problem: &crate::diagnostic::Diagnostic| {
        let at = problem
            .place
            .as_ref()
            .expect("every problem of the reader has a place")
            .position();
        format!(
            "{} {}:{} {}",
            problem.code, at.line, at.column, problem.message
        )
    };
    artifacts.problems.iter().map(line).collect()
}

/// The codes of what is wrong.
fn codes(artifacts: &Artifacts) -> Vec<&'static str> {
    artifacts
        .problems
        .iter()
        .map(|problem| problem.code)
        .collect()
}

/// The one tool of `.harness/tools/x.md` with this frontmatter, and everything that was read.
fn tool(frontmatter: &str) -> (Tool, Artifacts) {
    let artifacts = project(&[(
        ".harness/tools/x.md",
        &format!("---\n{frontmatter}\n---\nDoes x.\n"),
    )]);
    (artifacts.tools.first().cloned().expect("a tool"), artifacts)
}

/// The one hook of `.harness/hooks/h.md` with this frontmatter, and everything that was read.
fn hook(frontmatter: &str) -> (Hook, Artifacts) {
    let artifacts = project(&[(
        ".harness/hooks/h.md",
        &format!("---\n{frontmatter}\n---\nGuards.\n"),
    )]);
    (artifacts.hooks.first().cloned().expect("a hook"), artifacts)
}
