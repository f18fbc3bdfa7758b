//! `ENV_UNLISTED`.

use super::Check;
use crate::artifact::tool::Script;
use crate::check::subject::{Findings, Owner, Project, hook_scripts};
use crate::diagnostic::{Rule, Severity};
use crate::facts::ScriptKind;

pub(super) const RULE: Rule<Check> = Rule {
    code: "ENV_UNLISTED",
    severity: Severity::Warning,
    why: "Scripts read only the environment variables that `sandbox.env` lists. For any other \
          name `env` raises, and the call fails.",
    bad: &[(
        ".harness/tools/read_region.md",
        "---\nscript: |\n  def run(args):\n      return env(\"CLOUD_REGION\")\n---\nReads the region.\n",
    )],
    good: &[
        (
            ".harness/tools/read_region.md",
            "---\nscript: |\n  def run(args):\n      return env(\"CLOUD_REGION\")\n---\nReads the region.\n",
        ),
        (
            "harness.md",
            "---\nsandbox: {env: [CLOUD_REGION]}\n---\nYou know regions.\n",
        ),
    ],
    check: Check::Project(check),
};

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    let roots = project.layers.iter().map(|layer| &layer.root);
    let listed: Vec<&str> = roots
        .chain([project.root])
        .flat_map(|root| root.sandbox.env.iter().map(|name| name.value.as_str()))
        .collect();
    let mut look = |owner: Owner, kind: ScriptKind, script: &Script| {
        let Some(facts) = project.read_facts(kind, script) else {
            return;
        };
        for name in &facts.variables {
            if listed.contains(&name.name.as_str()) {
                continue;
            }
            findings.add_for(
                owner,
                RULE.finding(format!("`sandbox.env` does not list `{}`, so `env` raises", name.name))
                    .at(script.place_of(name.position()))
                    .field(kind.field())
                    .help(format!(
                        "add `sandbox: {{env: [{}]}}` to your own file, `harness/harness.md` in your settings folder; a project's list counts only once the project is trusted",
                        name.name
                    )),
            );
        }
    };
    for (index, tool) in project.tools.iter().enumerate() {
        if let Some(script) = &tool.script {
            look(Owner::Tool(index), ScriptKind::Tool, script);
        }
    }
    for (index, hook) in project.hooks.iter().enumerate() {
        for (kind, script) in hook_scripts(hook) {
            look(Owner::Hook(index), kind, script);
        }
    }
}
