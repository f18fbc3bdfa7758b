//! Hooks decide, change, fail closed, and never break the engine.

mod decisions;
mod events;
mod payloads;
mod results;

use crate::support::{Project, tool};

const ECHO: &str = "def run(args):\n    return args";

fn project(hooks: &[(&str, String)]) -> Project {
    let mut files = vec![(".harness/tools/run_echo.md".to_owned(), tool(ECHO))];
    files.extend(
        hooks
            .iter()
            .map(|(name, text)| (format!(".harness/hooks/{name}.md"), text.clone())),
    );
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    Project::new(&files)
}
