//! `harness import`.

use super::install::ask;
use crate::exit::{Exit, usage};
use crate::import::{ImportedFile, import};
use crate::open;
use crate::output::{Output, count, diagnostic, paint, plain, style};
use crate::project::ProjectArgs;
use crate::scaffold;
use clap::Args;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use tool_harness::builtin::diff;
use tool_harness::diagnostic::Diagnostic;
use tool_harness::path::ROOT_FILES;

/// The most files of a folder, the deepest folder, and the most bytes of a file.
const FILES: usize = 2_000;
const DEPTH: usize = 6;
const BYTES: u64 = 1 << 20;

#[derive(Args)]
pub(crate) struct ImportArgs {
    /// The folder of the older project
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The project to write into [default: the current one]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write without asking
    #[arg(long)]
    yes: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

/// What an import does.
struct ImportPlan {
    files: Vec<ImportedFile>,
    /// Files that nothing is made of, with the reason.
    left: Vec<(String, String)>,
}

impl ImportArgs {
    pub(super) async fn run(
        self,
        project: &ProjectArgs,
        output: &mut Output,
    ) -> anyhow::Result<Exit> {
        let target = match &self.to {
            Some(folder) => folder.clone(),
            None => project.find()?,
        };
        let plan = ImportPlan::new(&self.folder, &target)?;
        if !self.json {
            output.print(&plan.text())?;
        }
        let write = !plan.files.is_empty() && !self.dry_run && (self.yes || ask(output)?);
        let mut findings = Vec::new();
        if write {
            for file in &plan.files {
                let path = target.join(&file.target);
                scaffold::create(&path, &file.after)
                    .map_err(|problem| usage!("cannot write `{}`: {problem}", path.display()))?;
            }
            findings = plan.findings(&target).await?;
        }
        if self.json {
            output.json(&plan.document(write, &findings))?;
        } else {
            let written = if write { plan.files.len() } else { 0 };
            output.print(&outcome(written, &findings))?;
        }
        if !plan.files.is_empty() && !write && !self.dry_run {
            let problem = usage!("nothing was written");
            return Err(problem
                .help("review the files above, then add `--yes`")
                .into());
        }
        Ok(Exit::Done)
    }
}

impl ImportPlan {
    fn new(folder: &Path, target: &Path) -> anyhow::Result<Self> {
        if !folder.is_dir() {
            return Err(usage!("`{}` is not a folder", folder.display()).into());
        }
        let mut sources = Vec::new();
        markdown_files(folder, "", DEPTH, &mut sources);
        sources.sort();
        if sources.is_empty() {
            return Err(usage!("`{}` has no Markdown files", folder.display())
                .help("give the folder that holds the older project's `.harness` or its artifacts")
                .into());
        }
        if sources.len() > FILES {
            let shown = folder.display();
            return Err(usage!("`{shown}` has more than {FILES} Markdown files")
                .help("give the folder of one project")
                .into());
        }
        let mut plan = Self {
            files: Vec::new(),
            left: Vec::new(),
        };
        for source in sources {
            let made = read(&folder.join(&source)).and_then(|text| import(&source, &text));
            match made.and_then(|file| plan.fitting(file, target)) {
                Ok(file) => plan.files.push(file),
                Err(why) => plan.left.push((source, why)),
            }
        }
        Ok(plan)
    }

    /// A file that overwrites nothing; the error says what is in its way.
    fn fitting(&self, file: ImportedFile, target: &Path) -> Result<ImportedFile, String> {
        let path = &file.target;
        if let Some(other) = self.files.iter().find(|other| other.target == *path) {
            return Err(format!("`{}` becomes `{path}` already", other.source));
        }
        if ROOT_FILES.contains(&path.as_str())
            && let Some(root) = ROOT_FILES.iter().find(|name| target.join(name).exists())
        {
            return Err(format!(
                "the project has `{root}`; move what you need into it by hand"
            ));
        }
        match fs::read_to_string(target.join(path)) {
            Ok(text) if text == file.after => Err(format!("`{path}` has this text already")),
            Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => Ok(file),
            _ => Err(format!(
                "`{path}` exists and is different; rename or remove it, then import again"
            )),
        }
    }

    /// Each file with its diff, and what could not be carried over.
    fn text(&self) -> String {
        let mut text = String::new();
        for file in &self.files {
            for line in file.difference().lines() {
                let style = match line.chars().next() {
                    Some('+') => style::GOOD,
                    Some('-') => style::BAD,
                    _ => style::QUIET,
                };
                text += &format!("{}\n", paint(style, &plain(line)));
            }
            for note in &file.notes {
                text += &format!("{} {}\n", paint(style::CAREFUL, "note:"), plain(note));
            }
            text.push('\n');
        }
        if !self.left.is_empty() {
            text += "not carried over:\n";
            for (source, why) in &self.left {
                text += &format!("  {}: {}\n", paint(style::NAME, &plain(source)), plain(why));
            }
            text.push('\n');
        }
        let files = count(self.files.len(), "file");
        text + &format!("{files} to write, {} left", self.left.len())
    }

    /// What the checks say about the files that were written.
    async fn findings(&self, target: &Path) -> anyhow::Result<Vec<Diagnostic>> {
        let engine = open::load(open::builder(target)).await?;
        let mut found = engine.report();
        found.retain(|finding| {
            finding.place.as_ref().is_some_and(|place| {
                self.files
                    .iter()
                    .any(|file| *place.source.path == *file.target)
            })
        });
        Ok(found)
    }

    fn document(&self, written: bool, findings: &[Diagnostic]) -> Value {
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|file| {
                json!({"source": file.source, "path": file.target, "diff": file.difference(), "notes": file.notes})
            })
            .collect();
        let left: Vec<Value> = self
            .left
            .iter()
            .map(|(source, why)| json!({"source": source, "why": why}))
            .collect();
        let findings: Vec<Value> = findings.iter().map(Diagnostic::to_json).collect();
        json!({"written": written, "files": files, "left": left, "findings": findings})
    }
}

impl ImportedFile {
    fn difference(&self) -> String {
        let made = diff((&self.source, &self.before), (&self.target, &self.after));
        if made.is_empty() {
            return format!("--- {}\n+++ {}\n unchanged", self.source, self.target);
        }
        made
    }
}

/// What was written, and what is left to do.
fn outcome(written: usize, findings: &[Diagnostic]) -> String {
    if written == 0 {
        return "nothing was written".to_owned();
    }
    let mut text: String = findings
        .iter()
        .map(|finding| format!("{}\n\n", diagnostic(finding)))
        .collect();
    let files = count(written, "file");
    text += &format!("{}: {files} written, ", paint(style::GOOD, "done"));
    text += &match findings.len() {
        0 => "and `harness validate` finds nothing there".to_owned(),
        left => format!("{} left there, shown above", count(left, "finding")),
    };
    text + "\n\ntry next:\n  harness validate\n  harness list"
}

/// The Markdown files below a folder, relative to it. Hidden folders other than `.harness` are left
/// out, and so are readmes.
fn markdown_files(folder: &Path, prefix: &str, depth: usize, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() && depth > 0 && (name == ".harness" || !name.starts_with('.')) {
            markdown_files(&entry.path(), &format!("{path}/"), depth - 1, found);
        } else if kind.is_file()
            && name.ends_with(".md")
            && !name.eq_ignore_ascii_case("readme.md")
            && found.len() <= FILES
        {
            found.push(path);
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    let size = fs::metadata(path).map(|found| found.len());
    match size {
        Ok(size) if size > BYTES => Err("it has more than 1 MiB".to_owned()),
        _ => fs::read_to_string(path).map_err(|problem| problem.to_string()),
    }
}
