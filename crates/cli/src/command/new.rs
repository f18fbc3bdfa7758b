//! `harness new`.

use crate::exit::{Exit, UsageError, usage};
use crate::output::{Output, paint, quoted, style};
use crate::project::ProjectArgs;
use crate::scaffold;
use clap::Args;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct NewArgs {
    /// The folder to create, or `tool` or `hook` for one file of the project
    #[arg(value_name = "DIR|tool|hook")]
    what: PathBuf,
    /// The name of the tool or hook
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// One file that can be created by name.
struct NewArtifact {
    kind: &'static str,
    folder: &'static str,
    text: &'static str,
    /// A name to show where one is missing.
    example: &'static str,
}

const ARTIFACTS: [NewArtifact; 2] = [
    NewArtifact {
        kind: "tool",
        folder: ".harness/tools",
        text: include_str!("../template/new_tool.md"),
        example: "count_words",
    },
    NewArtifact {
        kind: "hook",
        folder: ".harness/hooks",
        text: include_str!("../template/new_hook.md"),
        example: "guard_deletes",
    },
];

/// The longest name that every provider of models takes.
const NAME_MAX: usize = 64;

impl NewArgs {
    pub(super) fn run(self, project: &ProjectArgs, output: &mut Output) -> anyhow::Result<Exit> {
        let artifact = ARTIFACTS
            .iter()
            .find(|artifact| Path::new(artifact.kind) == self.what);
        match (artifact, self.name) {
            (Some(artifact), Some(name)) => artifact.create(&name, project, output),
            (Some(NewArtifact { kind, example, .. }), None) => Err(usage!("the {kind} needs a name")
                .help(format!(
                    "`harness new {kind} {example}` creates one; `harness new ./{kind}` creates a folder with a project"
                ))
                .into()),
            (None, Some(name)) => {
                let what = self.what.display();
                Err(usage!("`{what}` has no `{name}`")
                    .help("accepted: `harness new DIR`, `harness new tool NAME`, `harness new hook NAME`")
                    .into())
            }
            (None, None) => new_project(&self.what, output),
        }
    }
}

fn new_project(folder: &Path, output: &mut Output) -> anyhow::Result<Exit> {
    let shown = folder.display();
    match std::fs::read_dir(folder).map(Iterator::count) {
        Ok(1..) => {
            let help =
                "`harness init DIR` adds a project to a folder that has files, and overwrites none";
            return Err(usage!("`{shown}` is not empty").help(help).into());
        }
        Ok(0) => {}
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => {}
        Err(problem) => return Err(usage!("cannot use `{shown}`: {problem}").into()),
    }
    scaffold::write_and_report(folder, output)?;
    Ok(Exit::Done)
}

impl NewArtifact {
    fn create(
        &self,
        name: &str,
        project: &ProjectArgs,
        output: &mut Output,
    ) -> anyhow::Result<Exit> {
        self.judge(name)?;
        let project = project.find()?;
        let path = format!("{}/{name}.md", self.folder);
        match scaffold::create(&project.join(&path), self.text) {
            Ok(()) => {}
            Err(problem) if problem.kind() == io::ErrorKind::AlreadyExists => {
                let kind = self.kind;
                return Err(usage!("`{path}` exists already")
                    .help(format!("edit it, or give the new {kind} another name"))
                    .into());
            }
            Err(problem) => return Err(usage!("cannot write `{path}`: {problem}").into()),
        }
        output.print(&format!("{} {path}", paint(style::GOOD, "created")))?;
        output.print(&format!(
            "\ntry next:\n  harness test {name}\n  harness test {name} --watch     # while you edit it"
        ))?;
        Ok(Exit::Done)
    }

    /// Refuses a name that models, providers or rules could not use.
    fn judge(&self, name: &str) -> Result<(), UsageError> {
        let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
        let accepted = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if starts && name.len() <= NAME_MAX && name.chars().all(accepted) {
            return Ok(());
        }
        let (kind, example) = (self.kind, self.example);
        Err(usage!("{} is not a name for a {kind}", quoted_name(name)).help(format!(
            "accepted: a lower-case letter, then lower-case letters, digits and `_`, at most {NAME_MAX}, as in `{example}`"
        )))
    }
}

fn quoted_name(name: &str) -> String {
    format!("`{}`", quoted(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_every_provider_accepts() {
        let [tool, _] = &ARTIFACTS;
        for (name, accepted) in [
            ("count_words", true),
            ("a1", true),
            ("", false),
            ("1a", false),
            ("_a", false),
            ("readNote", false),
            ("read-note", false),
            ("../x", false),
            ("a.md", false),
            ("é", false),
        ] {
            assert_eq!(tool.judge(name).is_ok(), accepted, "{name}");
        }
        assert!(tool.judge(&"a".repeat(64)).is_ok() && tool.judge(&"a".repeat(65)).is_err());
    }
}
