//! `harness install`.

use crate::exit::{Exit, Usage};
use crate::install::{Change, Client, Plan, Scope, Setting};
use crate::open::{self, Folder, environment};
use crate::output::{Output, count, look, paint, plain};
use crate::scaffold;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use tool_harness::builtin::diff;

#[derive(Args)]
pub(crate) struct Install {
    /// The client
    #[arg(value_enum)]
    client: Client,
    /// For whom the client is configured [default: project; for goose, which has no other: user]
    #[arg(long, value_enum)]
    scope: Option<Scope>,
    /// Show what would change and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write without asking
    #[arg(long, short)]
    yes: bool,
    /// Take out what was put in
    #[arg(long)]
    uninstall: bool,
    /// One JSON document on standard output
    #[arg(long)]
    json: bool,
}

impl Install {
    pub(super) fn run(self, folder: &Folder, output: &mut Output) -> anyhow::Result<Exit> {
        let about = self.client.about();
        let scope = self.scope.unwrap_or(if about.in_projects {
            Scope::Project
        } else {
            Scope::User
        });
        if scope == Scope::Project && !about.in_projects {
            let problem = Usage::new(format!("{} has no configuration of a project", about.title));
            return Err(problem.help("use `--scope user`").into());
        }
        let (home, state) = places(scope)?;
        let found = folder.find().ok();
        if let Some(named) = folder.named().filter(|named| !named.is_dir()) {
            return Err(
                Usage::new(format!("there is no folder `{}`", named.display()))
                    .help("make it first; nothing was written")
                    .into(),
            );
        }
        let project = match &found {
            Some(project) => project.clone(),
            None => std::path::absolute(folder.named().unwrap_or(Path::new(".")))?,
        };
        let program = std::env::current_exe()?;
        let program = program
            .to_str()
            .ok_or_else(|| Usage::new("the path of this program is not UTF-8"))?;
        let setting = Setting {
            scope,
            project: &project,
            home: &home,
            program,
            environment,
        };
        let plan = if self.uninstall {
            Plan::uninstall(self.client, &setting, &state)?
        } else {
            Plan::install(self.client, &setting, &state)?
        };
        let needed = !self.uninstall && scope == Scope::Project && found.is_none();
        let new_project = needed.then_some(project.as_path());
        let report = Report {
            install: &self,
            plan: &plan,
            new_project,
            project: found.as_deref().or(new_project),
        };
        let changes = plan.changes().count() > 0 || new_project.is_some();
        if !self.json {
            output.print(&report.changes(about.title))?;
        }
        let write = changes && !self.dry_run && (self.yes || ask(output)?);
        if write {
            if let Some(project) = new_project {
                scaffold::write(project)?;
            }
            plan.write()?;
        }
        if self.json {
            output.json(&report.document(scope, write))?;
        } else {
            let outcome = report.outcome(write, changes);
            if !outcome.is_empty() {
                output.print(&outcome)?;
            }
        }
        if changes && !write && !self.dry_run {
            return Err(Usage::new("nothing was written")
                .help("look at the change above, then add `--yes`")
                .into());
        }
        Ok(Exit::Done)
    }
}

/// The user's home, and where installations are remembered. A project's files are found without a home.
fn places(scope: Scope) -> Result<(PathBuf, PathBuf), Usage> {
    let state = environment("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|named| named.is_absolute());
    let why = match environment("HOME") {
        Some(home) if Path::new(&home).is_absolute() => {
            let state = state.unwrap_or_else(|| Path::new(&home).join(".local/state"));
            return Ok((PathBuf::from(home), state.join("harness")));
        }
        None => "`HOME` is not set".to_owned(),
        Some(home) if home.is_empty() => "`HOME` is empty".to_owned(),
        Some(home) => format!("`HOME` is `{home}`, which is not a whole path"),
    };
    match (scope, state) {
        (Scope::Project, Some(state)) => Ok((PathBuf::from("/"), state.join("harness"))),
        (Scope::Project, None) => {
            let problem = Usage::new(format!(
                "{why}, so there is no place to remember what is written"
            ));
            Err(problem.help("set `HOME`, or `XDG_STATE_HOME`"))
        }
        (Scope::User, _) => Err(Usage::new(format!(
            "{why}, so the files of clients cannot be found"
        ))),
    }
}

/// Whether the project has the guard that the first steps try, and is in order.
fn guard_works(project: &Path) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let loaded = runtime
        .ok()
        .and_then(|runtime| runtime.block_on(open::load(project, None)).ok());
    project.join(".harness/hooks/guard_commands.md").exists()
        && loaded.is_some_and(|engine| engine.stopped().is_none())
}

/// Asks on a terminal; without one nobody agrees.
fn ask(output: &mut Output) -> anyhow::Result<bool> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Ok(false);
    }
    output.say("write this? [y/N]")?;
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// What the person is shown.
struct Report<'r> {
    install: &'r Install,
    plan: &'r Plan,
    new_project: Option<&'r Path>,
    project: Option<&'r Path>,
}

impl Report<'_> {
    fn changes(&self, title: &str) -> String {
        let mut text = String::new();
        for change in self.plan.changes() {
            for line in difference(change).lines() {
                let style = match line.chars().next() {
                    Some('+') => look::GOOD,
                    Some('-') => look::BAD,
                    _ => look::QUIET,
                };
                text += &format!("{}\n", paint(style, &plain(line)));
            }
            text.push('\n');
        }
        if let Some(project) = self.new_project {
            text += &format!(
                "there is no project here: one is made in `{}`, {}\n",
                project.display(),
                count(scaffold::FILES.len(), "file")
            );
        }
        if text.is_empty() {
            let files: Vec<String> = self
                .plan
                .files()
                .map(|file| format!("`{}`", file.display()))
                .collect();
            let state = if self.install.uninstall {
                "is not in"
            } else {
                "is already in"
            };
            text = format!(
                "harness {state} the configuration of {title}: {}\n",
                files.join(", ")
            );
        }
        text
    }

    fn outcome(&self, written: bool, changes: bool) -> String {
        let about = self.install.client.about();
        if !written && changes {
            return if self.install.dry_run {
                "nothing was written".to_owned()
            } else {
                String::new()
            };
        }
        let files = count(self.plan.changes().count(), "file");
        let mut text = if written {
            format!("{}: {files} changed\n", paint(look::GOOD, "done"))
        } else {
            String::new()
        };
        if self.install.uninstall {
            text += "the files of projects stay; remove `.harness` and `harness.md` by hand where they are not wanted";
            return text;
        }
        if !about.judged {
            let own = format!(
                "{} can now use the project's tools; its own shell and edit tools are not judged",
                about.title
            );
            text += &format!("{} {own}\n", paint(look::CAREFUL, "note:"));
        }
        for step in about.then {
            text += &format!("{} {step}\n", paint(look::CAREFUL, "then:"));
        }
        text + &self
            .next()
            .iter()
            .map(|line| format!("\n  {line}"))
            .fold("\ntry next:".to_owned(), |all, line| all + &line)
    }

    /// The exact thing to try.
    fn next(&self) -> Vec<String> {
        let about = self.install.client.about();
        if self.project.is_none() {
            return vec!["cd YOUR_PROJECT && harness init".to_owned()];
        }
        if self.new_project.is_none() && !self.project.is_some_and(guard_works) {
            return vec![
                "harness validate     # what the project has, and what is wrong with it".to_owned(),
                about.start.to_owned(),
            ];
        }
        let tool = if about.judged {
            "its shell"
        } else {
            "the tool run_command"
        };
        vec![
            "harness call run_command command='rm -rf /'".to_owned()
                + "     # the guard stops it; nothing runs",
            format!(
                "{}     # and ask it to run `sudo true` with {tool}: stopped by the same guard",
                about.start
            ),
        ]
    }

    fn document(&self, scope: Scope, written: bool) -> Value {
        let name = |value: Option<clap::builder::PossibleValue>| {
            value.map(|value| value.get_name().to_owned())
        };
        let files: Vec<Value> = self
            .plan
            .changes()
            .map(|change| {
                let what = match (&change.before, &change.after) {
                    (None, _) => "create",
                    (_, None) => "remove",
                    _ => "edit",
                };
                json!({"path": change.path.to_string_lossy(), "change": what, "diff": difference(change)})
            })
            .collect();
        json!({
            "client": name(self.install.client.to_possible_value()),
            "scope": name(scope.to_possible_value()),
            "action": if self.install.uninstall { "uninstall" } else { "install" },
            "written": written,
            "files": files,
            "new_project": self.new_project.map(|project| project.to_string_lossy()),
            "next": if self.install.uninstall { Vec::new() } else { self.next() },
        })
    }
}

fn difference(change: &Change) -> String {
    let path = change.path.to_string_lossy();
    let name = |text: &Option<String>| {
        if text.is_some() {
            path.to_string()
        } else {
            "/dev/null".to_owned()
        }
    };
    let (before, after) = (name(&change.before), name(&change.after));
    diff(
        (&before, change.before.as_deref().unwrap_or_default()),
        (&after, change.after.as_deref().unwrap_or_default()),
    )
}
