//! `SECRET_IN_ARTIFACT`.

use super::Check;
use crate::artifact::rule::secret_in_artifact;
use crate::check::subject::{Findings, Project};
use crate::diagnostic::Rule;
use std::collections::HashSet;

pub(super) const RULE: Rule<Check> = secret_in_artifact::RULE.with(Check::Report(check));

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    let of_tools = project.tools.iter().map(|tool| &tool.origin.source);
    let of_hooks = project.hooks.iter().map(|hook| &hook.origin.source);
    let texts = project
        .root
        .prose
        .iter()
        .map(|place| &place.source)
        .chain(&project.root.source);
    let mut seen = HashSet::new();
    for source in of_tools
        .chain(of_hooks)
        .chain(texts)
        .filter(|source| seen.insert(&*source.path))
    {
        secret_in_artifact::found(source)
            .into_iter()
            .for_each(|finding| findings.add(finding));
    }
}
