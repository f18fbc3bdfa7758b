//! `harness doctor`: what this machine can contain, and what would make it better.

use crate::exit::Exit;
use crate::open::Folder;
use crate::output::{Output, look, paint};
use clap::Args;
use serde_json::{Value, json};
use tool_harness::containment::Containment;
use tool_harness::diagnostic::Severity;
use tool_harness::outside::Machine;
use tool_harness::plan::{plan_lines, plan_to_json};
use tool_harness_sandbox::process::Sandbox;
use tool_harness_sandbox::tier::{LayerReport, SandboxReport, Tier};

/// What nothing here can close.
const CLIENTS: &str = "a client that loses patience with a hook runs its call; harness decides within 20 s, so keep a client's hook timeout above that";

#[derive(Args)]
pub(crate) struct Doctor {
    /// One JSON document
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(super) async fn run(self, folder: &Folder, output: &mut Output) -> anyhow::Result<Exit> {
        let machine = Machine::default();
        let sandbox = machine.sandbox(Containment::On);
        let scripts = tool_harness::worker::try_start().await;
        let project = Project::look_at(folder).await;
        if self.json {
            let report = sandbox.report();
            let layers: Vec<Value> = report.layers.iter().map(layer_document).collect();
            output.json(&json!({
                "tier": report.tier.to_string(),
                "meaning": meaning(report),
                "layers": layers,
                "scripts": match &scripts { Ok(()) => json!({"works": true}), Err(problem) => json!({"works": false, "detail": problem}) },
                "project": project.document(),
                "notes": [CLIENTS],
            }))?;
        } else {
            output.print(&lines(sandbox, &scripts, &project).join("\n"))?;
        }
        Ok(
            if sandbox.tier() == Tier::None || scripts.is_err() || project.is_broken() {
                Exit::Failed
            } else {
                Exit::Done
            },
        )
    }
}

fn lines(sandbox: &Sandbox, scripts: &Result<(), String>, project: &Project) -> Vec<String> {
    let mark = |works: bool| {
        if works {
            paint(look::GOOD, "yes")
        } else {
            paint(look::BAD, "no ")
        }
    };
    let report = sandbox.report();
    let mut lines = vec![format!(
        "{} {}: {}",
        paint(look::STRONG, "processes: tier"),
        report.tier,
        meaning(report)
    )];
    for layer in &report.layers {
        lines.push(format!(
            "  {} {:<11} {}",
            mark(layer.works),
            layer.name,
            layer.detail
        ));
        lines.extend(layer.fix.iter().map(|fix| {
            format!(
                "      {:<11} {} {fix}",
                "",
                paint(look::CAREFUL, "to mend:")
            )
        }));
    }
    lines.push(match scripts {
        Ok(()) => format!(
            "{} {} confined workers start",
            paint(look::STRONG, "scripts:"),
            mark(true)
        ),
        Err(problem) => format!(
            "{} {} {problem}",
            paint(look::STRONG, "scripts:"),
            mark(false)
        ),
    });
    lines.extend(project.lines());
    lines.push(format!("{} {CLIENTS}", paint(look::STRONG, "clients:")));
    lines
}

fn meaning(report: &SandboxReport) -> &'static str {
    let has_landlock = report
        .layers
        .iter()
        .any(|layer| layer.name == "landlock" && layer.works);
    match report.tier {
        Tier::A if !has_landlock => {
            "namespaces, with a system call filter inside; hosts of the list can be reached"
        }
        Tier::A => {
            "namespaces, with Landlock and a system call filter inside; hosts of the list can be reached"
        }
        Tier::B => {
            "Landlock and a system call filter; no network for processes, and less is hidden than in tier A"
        }
        Tier::None => "commands cannot be contained here, so none is run",
    }
}

fn layer_document(layer: &LayerReport) -> Value {
    let mut document = json!({"name": layer.name, "works": layer.works, "detail": layer.detail});
    if let Some(fix) = &layer.fix {
        document["fix"] = json!(fix);
    }
    document
}

/// What there is to say about the project.
enum Project {
    /// There is none here.
    None(String),
    /// It can be read.
    Read {
        errors: usize,
        stopped: Option<String>,
        plan: Value,
        lines: Vec<String>,
        off: bool,
    },
}

impl Project {
    async fn look_at(folder: &Folder) -> Self {
        let engine = match folder.load().await {
            Ok(engine) => engine,
            Err(problem) => return Self::None(problem.to_string()),
        };
        let errors = engine
            .diagnostics()
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .count();
        let plan = engine.plan(None);
        Self::Read {
            errors,
            stopped: engine.stopped().map(|problem| problem.message.clone()),
            plan: plan.as_ref().map(plan_to_json).unwrap_or_default(),
            lines: plan.as_ref().map(plan_lines).unwrap_or_default(),
            off: engine.registry().confines.containment == Containment::Off,
        }
    }

    fn is_broken(&self) -> bool {
        matches!(
            self,
            Self::Read { errors: 1.., .. }
                | Self::Read {
                    stopped: Some(_),
                    ..
                }
        )
    }

    fn document(&self) -> Value {
        match self {
            Self::None(why) => json!({"found": false, "detail": why}),
            Self::Read {
                errors,
                stopped,
                plan,
                off,
                ..
            } => {
                json!({"found": true, "errors": errors, "stopped": stopped, "plan": plan, "sandbox_off": off})
            }
        }
    }

    fn lines(&self) -> Vec<String> {
        let title = paint(look::STRONG, "project:");
        match self {
            Self::None(why) => vec![format!("{title} {why}")],
            Self::Read {
                errors,
                stopped,
                lines,
                off,
                ..
            } => {
                let state = match (stopped, errors) {
                    (Some(problem), _) => format!("nothing runs: {problem}"),
                    (None, 0) => "no errors; its processes get".to_owned(),
                    (None, 1) => {
                        "1 error (`harness validate` shows it); its processes get".to_owned()
                    }
                    (None, errors) => format!(
                        "{errors} errors (`harness validate` shows them); its processes get"
                    ),
                };
                let mut all = vec![format!("{title} {state}")];
                if *off {
                    all.push(format!(
                        "  {} `sandbox.mode: off` in the user's or the machine's file",
                        paint(look::BAD, "not contained:")
                    ));
                }
                all.extend(lines.iter().map(|line| format!("  {line}")));
                all
            }
        }
    }
}
