//! `harness doctor`: what this machine can contain, and what would make it better.

use crate::exit::Exit;
use crate::output::{Output, error_count, paint, style};
use crate::project::ProjectArgs;
use clap::Args;
use serde_json::{Value, json};
use tool_harness::containment::Containment;
use tool_harness::outside::Machine;
use tool_harness::plan::{plan_lines, plan_to_json};
use tool_harness_sandbox::plan::Plan;
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
    pub(super) async fn run(
        self,
        project: &ProjectArgs,
        output: &mut Output,
    ) -> anyhow::Result<Exit> {
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
                "project": match &project { Ok(project) => project.document(), Err(why) => json!({"found": false, "detail": why}) },
                "notes": [CLIENT_TIMEOUT],
            }))?;
        } else {
            output.print(&lines(sandbox, &scripts, &project).join("\n"))?;
        }
        let broken = project.is_ok_and(|it| it.errors > 0 || it.stopped.is_some());
        let failed = sandbox.tier() == Tier::None || scripts.is_err() || broken;
        Ok(Exit::failed_if(failed))
    }
}

fn lines(
    sandbox: &Sandbox,
    scripts: &Result<(), String>,
    project: &Result<ProjectSummary, String>,
) -> Vec<String> {
    let mark = |works: bool| match works {
        true => paint(style::GOOD, "yes"),
        false => paint(style::BAD, "no "),
    };
    let title = |text: &str| paint(style::STRONG, text);
    let report = sandbox.report();
    let mut lines = vec![format!(
        "{} {}: {}",
        title("processes: tier"),
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
        let to_fix = paint(style::CAREFUL, "to fix:");
        lines.extend(
            layer
                .fix
                .iter()
                .map(|fix| format!("{:18}{to_fix} {fix}", "")),
        );
    }
    let state = scripts
        .as_ref()
        .map_or_else(String::as_str, |()| "confined workers start");
    let scripts = mark(scripts.is_ok());
    lines.push(format!("{} {scripts} {state}", title("scripts:")));
    let project = match project {
        Ok(project) => project.lines().join("\n"),
        Err(why) => why.clone(),
    };
    lines.push(format!("{} {project}", title("project:")));
    lines.push(format!("{} {CLIENT_TIMEOUT}", title("clients:")));
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

/// The state of a project that was loaded.
struct ProjectSummary {
    errors: usize,
    stopped: Option<String>,
    plan: Option<Plan>,
    off: bool,
}

impl ProjectSummary {
    /// The error says why there is none.
    async fn of(project: &ProjectArgs) -> Result<Self, String> {
        let engine = project
            .load()
            .await
            .map_err(|problem| problem.to_string())?;
        Ok(Self {
            errors: error_count(engine.diagnostics()),
            stopped: engine.stopped().map(|problem| problem.message.clone()),
            plan: engine.plan(None),
            off: engine.default_view().sandbox.containment == Containment::Off,
        })
    }

    fn document(&self) -> Value {
        let plan = self.plan.as_ref().map(plan_to_json);
        json!({"found": true, "errors": self.errors, "stopped": self.stopped, "plan": plan, "sandbox_off": self.off})
    }

    fn lines(&self) -> Vec<String> {
        let state = match (&self.stopped, self.errors) {
            (Some(problem), _) => format!("nothing runs: {problem}"),
            (None, 0) => "no errors; its processes get".to_owned(),
            (None, 1) => "1 error (`harness validate` shows it); its processes get".to_owned(),
            (None, errors) => {
                format!("{errors} errors (`harness validate` shows them); its processes get")
            }
        };
        let mut all = vec![state];
        if self.off {
            all.push(format!(
                "  {} `sandbox.mode: off` in the user's or the machine's file",
                paint(style::BAD, "not contained:")
            ));
        }
        let plan = self.plan.as_ref().map(plan_lines).unwrap_or_default();
        all.extend(plan.iter().map(|line| format!("  {line}")));
        all
    }
}
