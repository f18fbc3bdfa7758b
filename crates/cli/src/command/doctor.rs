//! `harness doctor`: what this machine can contain, and what would make it better.

use crate::exit::Exit;
use crate::output::{Output, paint, style};
use crate::project::Project;
use clap::Args;
use serde_json::{Value, json};
use tool_harness::containment::Containment;
use tool_harness::diagnostic::Severity;
use tool_harness::outside::Machine;
use tool_harness::plan::{plan_lines, plan_to_json};
use tool_harness_sandbox::process::Sandbox;
use tool_harness_sandbox::tier::{LayerReport, SandboxReport, Tier};

/// A gap that harness cannot close.
const CLIENT_TIMEOUT: &str = "a client whose hook times out runs its call; harness decides within 20 s, so keep the client's hook timeout above that";

#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// One JSON document
    #[arg(long)]
    json: bool,
}

impl DoctorArgs {
    pub(super) async fn run(self, project: &Project, output: &mut Output) -> anyhow::Result<Exit> {
        let machine = Machine::default();
        let sandbox = machine.sandbox(Containment::On);
        let scripts = tool_harness::worker::try_start().await;
        let project = ProjectSummary::of(project).await;
        if self.json {
            let report = sandbox.report();
            let layers: Vec<Value> = report.layers.iter().map(layer_document).collect();
            output.json(&json!({
                "tier": report.tier.to_string(),
                "meaning": meaning(report),
                "layers": layers,
                "scripts": match &scripts { Ok(()) => json!({"works": true}), Err(problem) => json!({"works": false, "detail": problem}) },
                "project": project.document(),
                "notes": [CLIENT_TIMEOUT],
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

fn lines(sandbox: &Sandbox, scripts: &Result<(), String>, project: &ProjectSummary) -> Vec<String> {
    let mark = |works: bool| {
        if works {
            paint(style::GOOD, "yes")
        } else {
            paint(style::BAD, "no ")
        }
    };
    let report = sandbox.report();
    let mut lines = vec![format!(
        "{} {}: {}",
        paint(style::STRONG, "processes: tier"),
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
                paint(style::CAREFUL, "to fix:")
            )
        }));
    }
    lines.push(match scripts {
        Ok(()) => format!(
            "{} {} confined workers start",
            paint(style::STRONG, "scripts:"),
            mark(true)
        ),
        Err(problem) => format!(
            "{} {} {problem}",
            paint(style::STRONG, "scripts:"),
            mark(false)
        ),
    });
    lines.extend(project.lines());
    lines.push(format!(
        "{} {CLIENT_TIMEOUT}",
        paint(style::STRONG, "clients:")
    ));
    lines
}

fn meaning(report: &SandboxReport) -> &'static str {
    let has_landlock = report
        .layers
        .iter()
        .any(|layer| layer.name == "landlock" && layer.works);
    match report.tier {
        Tier::A if !has_landlock => {
            "namespaces, with a system call filter inside; processes reach only listed hosts"
        }
        Tier::A => {
            "namespaces, with Landlock and a system call filter inside; processes reach only listed hosts"
        }
        Tier::B => {
            "Landlock and a system call filter; processes have no network, and see more of the machine than in tier A"
        }
        Tier::None => "commands cannot be contained here, so harness runs none",
    }
}

fn layer_document(layer: &LayerReport) -> Value {
    let mut document = json!({"name": layer.name, "works": layer.works, "detail": layer.detail});
    if let Some(fix) = &layer.fix {
        document["fix"] = json!(fix);
    }
    document
}

/// The state of the project.
enum ProjectSummary {
    /// No project was found.
    None(String),
    /// It was loaded.
    Loaded {
        errors: usize,
        stopped: Option<String>,
        plan: Value,
        lines: Vec<String>,
        off: bool,
    },
}

impl ProjectSummary {
    async fn of(project: &Project) -> Self {
        let engine = match project.load().await {
            Ok(engine) => engine,
            Err(problem) => return Self::None(problem.to_string()),
        };
        let errors = engine
            .diagnostics()
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .count();
        let plan = engine.plan(None);
        Self::Loaded {
            errors,
            stopped: engine.stopped().map(|problem| problem.message.clone()),
            plan: plan.as_ref().map(plan_to_json).unwrap_or_default(),
            lines: plan.as_ref().map(plan_lines).unwrap_or_default(),
            off: engine.default_view().sandbox.containment == Containment::Off,
        }
    }

    fn is_broken(&self) -> bool {
        matches!(
            self,
            Self::Loaded { errors: 1.., .. }
                | Self::Loaded {
                    stopped: Some(_),
                    ..
                }
        )
    }

    fn document(&self) -> Value {
        match self {
            Self::None(why) => json!({"found": false, "detail": why}),
            Self::Loaded {
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
        let title = paint(style::STRONG, "project:");
        match self {
            Self::None(why) => vec![format!("{title} {why}")],
            Self::Loaded {
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
                        paint(style::BAD, "not contained:")
                    ));
                }
                all.extend(lines.iter().map(|line| format!("  {line}")));
                all
            }
        }
    }
}
