//! `ALIAS_CLASH`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::check::subject::{Findings, Owner, Project};
use crate::diagnostic::{Rule, Severity};
use std::collections::HashMap;

pub(super) const RULE: Rule<Check> = Rule {
    code: "ALIAS_CLASH",
    severity: Severity::Error,
    why: "A call finds its tool by name or alias, whichever provider sent it. An alias that is \
          also the name or alias of another tool could run either, so the tools with that alias \
          are not offered.",
    bad: &[
        READ_NOTE,
        (
            ".harness/tools/read_plan.md",
            "---\naliases: { openai: read_note }\nscript: |\n  def run(args):\n      return fs.read(\"plan.txt\")\n---\nReads the plan.\n",
        ),
    ],
    good: &[
        READ_NOTE,
        (
            ".harness/tools/read_plan.md",
            "---\naliases: { openai: readPlan }\nscript: |\n  def run(args):\n      return fs.read(\"plan.txt\")\n---\nReads the plan.\n",
        ),
    ],
    check: Check::Project(check),
};

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    let mut claims: HashMap<&str, Vec<&str>> = HashMap::new();
    for tool in project.tools {
        let aliases = tool.aliases.iter().map(|(_, alias)| alias.value.as_str());
        for name in aliases.chain([tool.name.as_str()]) {
            claims.entry(name).or_default().push(&tool.name);
        }
    }
    for (index, tool) in project.tools.iter().enumerate() {
        for (provider, alias) in &tool.aliases {
            let other = claims
                .get(alias.value.as_str())
                .and_then(|owners| owners.iter().find(|owner| **owner != tool.name));
            let Some(other) = other else { continue };
            let what = if *other == alias.value {
                "the name of another tool".to_owned()
            } else {
                format!("also an alias of `{other}`")
            };
            findings.add_for(
                Owner::Tool(index),
                RULE.finding(format!("the alias `{}` is {what}", alias.value))
                    .at(tool.place(alias.span))
                    .field(format!("aliases.{provider}"))
                    .help("give each tool an alias that no other tool has as its name or alias"),
            );
        }
    }
}
