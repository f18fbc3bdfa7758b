//! Decides which bundles count: by their conditions, and by the bundles they depend on.

use super::python::instead_of_syntax;
use super::rule::{bundle_condition_failed, bundle_dependency, bundle_off};
use crate::artifact::{Answer, Artifacts, Bundle, BundleState, Form};
use crate::facts::{Facts, FactsBySource, ScriptKind, Unread};
use crate::span::Position;
use bundle_dependency::Missing;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// Why a condition cannot be evaluated at all; `None` when it can.
pub(crate) fn condition_problem(
    facts: Option<&Result<Facts, Unread>>,
) -> Option<(String, Option<Position>)> {
    let facts = match facts {
        None => return Some(("nothing has read it".to_owned(), None)),
        Some(Err(Unread::Crashed(why) | Unread::NoWorker { why, .. })) => {
            return Some((why.clone(), None));
        }
        Some(Ok(facts)) => facts,
    };
    if let Some(syntax) = &facts.syntax {
        return Some((
            format!("it does not parse: {}", syntax.name),
            Some(syntax.position()),
        ));
    }
    let unknown = facts.unknown_names.iter().chain(&facts.unknown_members);
    if let Some(unknown) = unknown.min_by_key(|unknown| unknown.position()) {
        return Some((
            format!("`{}` is not defined", unknown.name),
            Some(unknown.position()),
        ));
    }
    let impure = facts.impure.as_ref()?;
    Some((impure.name.clone(), Some(impure.position())))
}

/// Settles the state of every bundle, and takes out what a bundle that is off defines. The tools of
/// a doubtful bundle stay, because they may replace others, and are marked broken later.
pub(super) fn settle(artifacts: &mut Artifacts, facts: &FactsBySource) {
    if artifacts.bundles.is_empty() {
        return;
    }
    for bundle in &mut artifacts.bundles {
        bundle.state = by_condition(bundle, facts);
    }
    by_dependencies(&mut artifacts.bundles);
    for bundle in &artifacts.bundles {
        if let (BundleState::Off, Some(condition)) = (&bundle.state, &bundle.condition) {
            let found = bundle_off::found(bundle, condition.place.clone());
            artifacts.problems.push(found);
        }
    }
    let off = |bundle: &&Bundle| matches!(bundle.state, BundleState::Off);
    let off: HashSet<Arc<str>> = artifacts
        .bundles
        .iter()
        .filter(off)
        .map(|bundle| Arc::clone(&bundle.source.path))
        .collect();
    if off.is_empty() {
        return;
    }
    artifacts
        .tools
        .retain(|tool| !off.contains(&tool.origin.source.path));
    artifacts
        .hooks
        .retain(|hook| !off.contains(&hook.origin.source.path));
    artifacts
        .broken_tools
        .retain(|tool| !off.contains(&tool.source.path));
    // A mistake in the bundle itself may hide anything, so it goes on blocking.
    artifacts
        .broken_hooks
        .retain(|hook| hook.form == Form::File || !off.contains(&hook.source.path));
    let prose = &mut artifacts.root.prose;
    prose.retain(|place| !off.contains(&place.source.path));
}

fn by_condition(bundle: &Bundle, facts: &FactsBySource) -> BundleState {
    let Some(condition) = &bundle.condition else {
        return BundleState::On;
    };
    let key = (ScriptKind::Condition, Arc::clone(&condition.text));
    let failed = match (condition_problem(facts.get(&key)), &bundle.answer) {
        (None, Some(Answer::True)) => return BundleState::On,
        (None, Some(Answer::False)) => return BundleState::Off,
        (Some(problem), _) => problem,
        (None, Some(Answer::Failed(why, position))) => (why.clone(), *position),
        (None, None) => ("nothing has evaluated it".to_owned(), None),
    };
    let (why, position) = failed;
    let syntax = facts
        .get(&key)
        .and_then(|facts| facts.as_ref().ok()?.syntax.as_ref());
    let help = syntax
        .map(|syntax| instead_of_syntax(&syntax.name, &condition.text, syntax.line, syntax.column));
    let place = position.map_or_else(
        || condition.place.clone(),
        |position| condition.place_of(position),
    );
    BundleState::HooksOnly(Box::new(bundle_condition_failed::found(why, help, place)))
}

/// Visits bundles after those they depend on; what is left depends on itself.
fn by_dependencies(bundles: &mut [Bundle]) {
    let needs = needs(bundles);
    let mut waiting: Vec<usize> = needs
        .iter()
        .map(|needed| needed.iter().map(|one| one.found.len()).sum())
        .collect();
    let mut needed_by: Vec<Vec<usize>> = vec![Vec::new(); bundles.len()];
    for (index, needed) in needs.iter().enumerate() {
        for &found in needed.iter().flat_map(|one| &one.found) {
            needed_by[found].push(index);
        }
    }
    let mut ready: VecDeque<usize> = (0..bundles.len())
        .filter(|&index| waiting[index] == 0)
        .collect();
    let mut visited = vec![false; bundles.len()];
    while let Some(index) = ready.pop_front() {
        visited[index] = true;
        judge(bundles, index, &needs[index], |_| false);
        for &other in &needed_by[index] {
            waiting[other] -= 1;
            if waiting[other] == 0 {
                ready.push_back(other);
            }
        }
    }
    for index in (0..bundles.len()).filter(|&index| !visited[index]) {
        judge(bundles, index, &needs[index], |found| !visited[found]);
    }
}

/// One entry of `depends_on`: its position there, and the bundles of that name.
struct Need {
    entry: usize,
    found: Vec<usize>,
}

fn needs(bundles: &[Bundle]) -> Vec<Vec<Need>> {
    let mut named: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, bundle) in bundles.iter().enumerate() {
        named.entry(&bundle.name).or_default().push(index);
    }
    // The file decides; a name that only the file's `name` says is second.
    let mut other_names: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, bundle) in bundles.iter().enumerate() {
        if let Some(other) = &bundle.other_name {
            other_names.entry(other).or_default().push(index);
        }
    }
    let of = |(index, bundle): (usize, &Bundle)| {
        // A bundle that is off needs nothing.
        if matches!(bundle.state, BundleState::Off) {
            return Vec::new();
        }
        let entries = bundle.depends_on.iter().enumerate();
        entries
            .map(|(entry, name)| {
                let name = name.value.trim();
                let found = named.get(name).or_else(|| other_names.get(name));
                let found = found.cloned().unwrap_or_default();
                // A bundle in another folder may have the same name.
                let others: Vec<usize> =
                    found.iter().copied().filter(|&one| one != index).collect();
                let found = if others.is_empty() { found } else { others };
                Need { entry, found }
            })
            .collect()
    };
    bundles.iter().enumerate().map(of).collect()
}

/// Turns the tools of a bundle off if something it needs is not there.
fn judge(bundles: &mut [Bundle], index: usize, needs: &[Need], circular: impl Fn(usize) -> bool) {
    let bundle = &bundles[index];
    if !matches!(bundle.state, BundleState::On) {
        return;
    }
    let missing = |need: &Need| {
        let is = |wanted: fn(&BundleState) -> bool| {
            need.found.iter().any(|&one| wanted(&bundles[one].state))
        };
        let why = if need.found.is_empty() {
            Missing::Absent
        } else if need.found.iter().any(|&one| circular(one)) {
            Missing::Circular
        } else if is(|state| matches!(state, BundleState::On)) {
            return None;
        } else if is(|state| matches!(state, BundleState::HooksOnly(_))) {
            Missing::HooksOnly
        } else {
            Missing::Off
        };
        Some((need.entry, why))
    };
    let missing: Vec<_> = needs.iter().filter_map(missing).collect();
    if !missing.is_empty() {
        let names = bundles.iter().map(|bundle| bundle.name.as_str());
        let found = bundle_dependency::found(bundle, &missing, names);
        bundles[index].state = BundleState::HooksOnly(Box::new(found));
    }
}
