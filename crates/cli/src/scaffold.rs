//! The files of a new project.

use crate::exit::usage;
use crate::output::{Output, paint, quoted, style};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use tool_harness::path::ROOT_FILES;

/// The path of a file in a project, and its text, from `src/template`.
macro_rules! template {
    ($path:literal, $template:literal) => {
        (
            $path,
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/src/template/",
                $template
            )),
        )
    };
}
pub(crate) use template;

/// The path and text of every file of a new project.
pub(crate) const FILES: [(&str, &str); 10] = [
    template!("harness.md", "harness.md"),
    template!(".harness/tools/read_file.md", "read_file.md"),
    template!(".harness/tools/write_file.md", "write_file.md"),
    template!(".harness/tools/search_code.md", "search_code.md"),
    template!(".harness/tools/run_command.md", "run_command.md"),
    template!(".harness/tools/http_get.md", "http_get.md"),
    template!(".harness/hooks/audit_tool_pre.md", "audit_tool_pre.md"),
    template!(".harness/hooks/audit_tool_post.md", "audit_tool_post.md"),
    template!(".harness/hooks/guard_commands.md", "guard_commands.md"),
    template!(".harness/hooks/guard_paths.md", "guard_paths.md"),
];

/// What was written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ScaffoldReport {
    created: Vec<&'static str>,
    kept: Vec<String>,
}

/// Writes the files into `folder`, except those that exist.
pub(crate) fn write(folder: &Path) -> anyhow::Result<ScaffoldReport> {
    let mut written = ScaffoldReport {
        created: Vec::new(),
        kept: Vec::new(),
    };
    let root_file = ROOT_FILES
        .into_iter()
        .find(|name| fs::symlink_metadata(folder.join(name)).is_ok());
    for (path, text) in FILES {
        // A second root file would be an error, even under another name.
        if let (true, Some(existing)) = (ROOT_FILES.contains(&path), root_file) {
            written.kept.push(existing.to_owned());
            continue;
        }
        let target = folder.join(path);
        match create(&target, text) {
            Ok(()) => written.created.push(path),
            Err(problem)
                if problem.kind() == io::ErrorKind::AlreadyExists
                    && fs::symlink_metadata(&target).is_ok() =>
            {
                written.kept.push(path.to_owned())
            }
            Err(problem) => {
                return Err(usage!("cannot write `{}`: {problem}", target.display()).into());
            }
        }
    }
    Ok(written)
}

/// Writes a file that must not exist yet.
pub(crate) fn create(target: &Path, text: &str) -> io::Result<()> {
    target.parent().map_or(Ok(()), fs::create_dir_all)?;
    File::create_new(target)?.write_all(text.as_bytes())
}

/// Writes the files into `folder`, and prints what was written and the two commands to try first.
pub(crate) fn write_and_report(folder: &Path, output: &mut Output) -> anyhow::Result<()> {
    output.print(&write(folder)?.to_string())?;
    let enter = if folder == Path::new(".") {
        String::new()
    } else {
        format!("cd {} && ", quoted(&folder.to_string_lossy()))
    };
    output.print(&format!(
        "\ntry next:\n  {enter}harness test\n  {enter}harness call read_file path=harness.md"
    ))?;
    Ok(())
}

impl fmt::Display for ScaffoldReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for path in &self.created {
            writeln!(f, "{} {path}", paint(style::GOOD, "created"))?;
        }
        for path in &self.kept {
            writeln!(f, "{} {path}", paint(style::QUIET, "exists "))?;
        }
        write!(
            f,
            "{} created, {} unchanged",
            self.created.len(),
            self.kept.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_folder_gets_every_file_and_a_second_run_writes_none() {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = scratch.path().join("new");
        assert_eq!(write(&folder).expect("written").created.len(), FILES.len());
        let again = write(&folder).expect("written");
        assert_eq!((again.created.len(), again.kept.len()), (0, FILES.len()));
    }

    #[test]
    fn no_file_is_overwritten_and_no_second_root_file_created() {
        let scratch = tempfile::tempdir().expect("a folder");
        let mine = scratch.path().join(".harness/tools/read_file.md");
        fs::create_dir_all(mine.parent().expect("a parent")).expect("folders");
        fs::write(&mine, "mine").expect("a file");
        fs::write(scratch.path().join("harness.yaml"), "format: 1\n").expect("a file");
        let written = write(scratch.path()).expect("written");
        assert_eq!(
            written.kept,
            ["harness.yaml", ".harness/tools/read_file.md"]
        );
        assert_eq!(fs::read_to_string(mine).expect("still there"), "mine");
        assert!(!scratch.path().join("harness.md").exists());
    }

    #[test]
    fn a_file_in_the_way_of_a_folder_is_an_error() {
        let scratch = tempfile::tempdir().expect("a folder");
        fs::write(scratch.path().join(".harness"), "").expect("a file");
        let problem = write(scratch.path()).expect_err("no room").to_string();
        assert!(
            problem.starts_with("cannot write `") && problem.contains("read_file.md"),
            "{problem}"
        );
    }
}
