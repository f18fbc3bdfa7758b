//! Shows a plan to people and programs.

use serde_json::{Value, json};
use std::path::PathBuf;
use tool_harness_sandbox::plan::{Access, Network, Plan, Programs};

/// A plan as one JSON object. It names the variables but leaves out their values.
#[must_use]
pub fn plan_to_json(plan: &Plan) -> Value {
    let limits = &plan.limits;
    json!({
        "files": {
            "workspace": plan.files.workspace,
            "access": access(plan.files.access),
            "only": plan.files.only,
            "hidden": plan.files.hidden,
            "readable": plan.files.readable,
            "writable": plan.files.writable,
            "read_only": plan.files.read_only,
        },
        "programs": match &plan.programs {
            Programs::Any => json!("any"),
            Programs::Only(programs) => json!(programs),
        },
        "network": match &plan.network {
            Network::None => json!([]),
            Network::Allowed(domains) => json!(domains.to_string().split(", ").collect::<Vec<_>>()),
        },
        "environment": plan.environment.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        "limits": {
            "deadline_ms": u64::try_from(limits.deadline.as_millis()).unwrap_or(u64::MAX),
            "memory_bytes": limits.memory_bytes,
            "cpu_ms": u64::try_from(limits.cpu.as_millis()).unwrap_or(u64::MAX),
            "processes": limits.processes,
            "file_bytes": limits.file_bytes,
            "tmp_bytes": limits.tmp_bytes,
            "output_bytes": limits.output_bytes,
            "flood_bytes": limits.flood_bytes,
        },
    })
}

/// A plan in a few lines.
#[must_use]
pub fn plan_lines(plan: &Plan) -> Vec<String> {
    let files = &plan.files;
    let places = |places: &[PathBuf]| {
        places
            .iter()
            .map(|place| place.display().to_string())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut lines = vec![format!(
        "workspace {}: {}",
        access(files.access),
        files.workspace.display()
    )];
    for (words, list) in [
        ("writable there only", &files.only),
        ("hidden", &files.hidden),
        ("readable", &files.readable),
        ("writable", &files.writable),
        ("read-only", &files.read_only),
    ] {
        if !list.is_empty() {
            lines.push(format!("{words}: {}", places(list)));
        }
    }
    lines.push(match &plan.programs {
        Programs::Any => "programs: any".to_owned(),
        Programs::Only(programs) if programs.is_empty() => {
            "programs: none of those listed is there".to_owned()
        }
        Programs::Only(programs) => format!("programs: {}", places(programs)),
    });
    lines.push(match &plan.network {
        Network::None => "network: none".to_owned(),
        Network::Allowed(domains) => format!("network: {domains}"),
    });
    let names: Vec<&str> = plan
        .environment
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    lines.push(format!("environment: {}", names.join(", ")));
    let limits = &plan.limits;
    lines.push(format!(
        "limits: {} ms, {} MiB of memory, {} ms of processor time, {} processes",
        limits.deadline.as_millis(),
        limits.memory_bytes >> 20,
        limits.cpu.as_millis(),
        limits.processes
    ));
    lines
}

fn access(access: Access) -> &'static str {
    match access {
        Access::Hidden => "hidden",
        Access::Read => "read",
        Access::Write => "write",
    }
}
