//! `harness install`.

use crate::client::ClientSpec;
use crate::exit::{Exit, UsageError, usage};
use crate::install::{FileChange, InstallContext, InstallPlan, InstallScope};
use crate::open::{self, environment};
use crate::output::{Output, count, paint, plain, style};
use crate::project::ProjectArgs;
use crate::scaffold;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use tool_harness::builtin::diff;

#[derive(Args)]
pub(crate) struct InstallArgs {
    /// The client
    #[arg(value_parser = ClientSpec::any())]
    client: &'static ClientSpec,
    /// Whom to configure the client for [default: project; goose has only user]
    #[arg(long, value_enum)]
    scope: Option<InstallScope>,
    /// Show what would change and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write without asking
    #[arg(long, short)]
    yes: bool,
    /// Remove what an installation added
    #[arg(long)]
    uninstall: bool,
    /// One JSON document on standard output
    #[arg(long)]
    json: bool,
}

impl InstallArgs {
    pub(super) fn run(self, project: &ProjectArgs, output: &mut Output) -> anyhow::Result<Exit> {
        let client = self.client;
        let scope = match self.scope {
            Some(scope) if !client.scopes.contains(&scope) => {
                let problem = usage!("{} cannot be configured for a project", client.title);
                return Err(problem.help("use `--scope user`").into());
            }
            Some(scope) => scope,
            None => client.scopes.first().copied().unwrap_or(InstallScope::User),
        };
        let (home, state) = places(scope)?;
        let found = project.find().ok();
        if let Some(named) = project.named().filter(|named| !named.is_dir()) {
            let problem = usage!("there is no folder `{}`", named.display());
            return Err(problem.help("create it first; nothing was written").into());
        }
        let project = match &found {
            Some(project) => project.clone(),
            None => std::path::absolute(project.named().unwrap_or(Path::new(".")))?,
        };
        let program = std::env::current_exe()?;
        let program = program
            .to_str()
            .ok_or_else(|| UsageError::new("the path of this program is not UTF-8"))?;
        let context = InstallContext {
            scope,
            project: &project,
            home: &home,
            program,
            environment,
        };
        let plan = if self.uninstall {
            InstallPlan::uninstall(client, &context, &state)?
        } else {
            InstallPlan::install(client, &context, &state)?
        };
        let needed = !self.uninstall && scope == InstallScope::Project && found.is_none();
        let new_project = needed.then_some(project.as_path());
        let report = InstallReport {
            install: &self,
            plan: &plan,
            new_project,
            project: found.as_deref().or(new_project),
        };
        let changes = plan.changes().count() > 0 || new_project.is_some();
        if !self.json {
            output.print(&report.changes())?;
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
            report
                .outcome(write, changes)
                .map_or(Ok(()), |text| output.print(&text))?;
        }
        if changes && !write && !self.dry_run {
            let problem = UsageError::new("nothing was written");
            return Err(problem
                .help("review the change above, then add `--yes`")
                .into());
        }
        Ok(Exit::Done)
    }
}

/// The user's home, and the folder for records of installations. A project's files need no home.
fn places(scope: InstallScope) -> Result<(PathBuf, PathBuf), UsageError> {
    let state = open::folder_in("XDG_STATE_HOME");
    let why = match environment("HOME") {
        Some(home) if Path::new(&home).is_absolute() => {
            let state = state.unwrap_or_else(|| Path::new(&home).join(".local/state"));
            return Ok((PathBuf::from(home), state.join("harness")));
        }
        None => "`HOME` is not set".to_owned(),
        Some(home) if home.is_empty() => "`HOME` is empty".to_owned(),
        Some(home) => format!("`HOME` is `{home}`, which is not an absolute path"),
    };
    match (scope, state) {
        (InstallScope::Project, Some(state)) => Ok((PathBuf::from("/"), state.join("harness"))),
        (InstallScope::Project, None) => {
            let problem = usage!("{why}, so harness cannot record what it writes");
            Err(problem.help("set `HOME`, or `XDG_STATE_HOME`"))
        }
        (InstallScope::User, _) => {
            Err(usage!("{why}, so harness cannot find the files of clients"))
        }
    }
}

/// Whether the project has the guard that the first steps try, and its root file is sound.
fn guard_works(project: &Path) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let loading = open::load(open::builder(project));
    let loaded = runtime
        .ok()
        .and_then(|runtime| runtime.block_on(loading).ok());
    project.join(".harness/hooks/guard_commands.md").exists()
        && loaded.is_some_and(|engine| engine.stopped().is_none())
}

/// Asks the user; without a terminal the answer is no.
pub(super) fn ask(output: &mut Output) -> anyhow::Result<bool> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Ok(false);
    }
    output.say("write this? [y/N]")?;
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// What the user sees.
struct InstallReport<'r> {
    install: &'r InstallArgs,
    plan: &'r InstallPlan,
    new_project: Option<&'r Path>,
    project: Option<&'r Path>,
}

impl InstallReport<'_> {
    fn changes(&self) -> String {
        let mut text = String::new();
        for change in self.plan.changes() {
            for line in difference(change).lines() {
                let style = match line.chars().next() {
                    Some('+') => style::GOOD,
                    Some('-') => style::BAD,
                    _ => style::QUIET,
                };
                text += &format!("{}\n", paint(style, &plain(line)));
            }
            text.push('\n');
        }
        if let Some(project) = self.new_project {
            text += &format!(
                "there is no project here: creating one in `{}`, {}\n",
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
            let state = match self.install.uninstall {
                true => "is not in",
                false => "is already in",
            };
            text = format!(
                "harness {state} the configuration of {}: {}\n",
                self.install.client.title,
                files.join(", ")
            );
        }
        text
    }

    /// What happened, and what to do next. Without consent, the error says it.
    fn outcome(&self, written: bool, changes: bool) -> Option<String> {
        let client = self.install.client;
        if !written && changes {
            return self
                .install
                .dry_run
                .then(|| "nothing was written".to_owned());
        }
        let mut text = String::new();
        if written {
            let files = count(self.plan.changes().count(), "file");
            text += &format!("{}: {files} changed\n", paint(style::GOOD, "done"));
        }
        if self.install.uninstall {
            text += "projects keep their files; delete `.harness` and `harness.md` yourself where you no longer want them";
            return Some(text);
        }
        if client.hooks.is_none() {
            let own = format!(
                "{} can now use the project's tools; harness does not judge its own shell and edit tools",
                client.title
            );
            text += &format!("{} {own}\n", paint(style::CAREFUL, "note:"));
        }
        for step in client.then {
            text += &format!("{} {step}\n", paint(style::CAREFUL, "then:"));
        }
        Some(format!("{text}\ntry next:\n  {}", self.next().join("\n  ")))
    }

    /// The commands to try next.
    fn next(&self) -> Vec<String> {
        let client = self.install.client;
        if self.project.is_none() {
            return vec!["cd YOUR_PROJECT && harness init".to_owned()];
        }
        if self.new_project.is_none() && !self.project.is_some_and(guard_works) {
            return vec![
                "harness validate     # check the project".to_owned(),
                client.start.to_owned(),
            ];
        }
        let tool = match client.hooks {
            Some(_) => "its shell",
            None => "the tool run_command",
        };
        vec![
            "harness call run_command command='rm -rf /'".to_owned()
                + "     # the guard stops it; nothing runs",
            format!(
                "{}     # and ask it to run `sudo true` with {tool}: stopped by the same guard",
                client.start
            ),
        ]
    }

    fn document(&self, scope: InstallScope, written: bool) -> Value {
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
            "client": self.install.client.name,
            "scope": scope.to_possible_value().map(|value| value.get_name().to_owned()),
            "action": if self.install.uninstall { "uninstall" } else { "install" },
            "written": written,
            "files": files,
            "new_project": self.new_project.map(|project| project.to_string_lossy()),
            "next": if self.install.uninstall { Vec::new() } else { self.next() },
        })
    }
}

fn difference(change: &FileChange) -> String {
    let path = change.path.to_string_lossy();
    fn side<'a>(path: &'a str, text: &'a Option<String>) -> (&'a str, &'a str) {
        text.as_deref()
            .map_or(("/dev/null", ""), |text| (path, text))
    }
    diff(side(&path, &change.before), side(&path, &change.after))
}
