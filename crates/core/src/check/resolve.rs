//! Decides which definition of a name counts. Only an override may replace; any other second
//! definition is a clash, and neither side of a clash is used.

use super::subject::{hook_place, tool_place};
use crate::artifact::{Artifacts, Hook, Layer, Tool};
use crate::span::Place;
use std::collections::HashMap;
use std::mem;

/// The names that are defined more than once.
#[derive(Debug, Default)]
pub(crate) struct Resolution {
    /// Tools whose name has another definition.
    pub(crate) tool_clashes: Vec<Clash>,
    /// Hooks whose name has another definition.
    pub(crate) hook_clashes: Vec<Clash>,
    /// Tools that gave way to an override.
    pub(crate) replaced_tools: Vec<Replacement>,
    /// Hooks that gave way to an override.
    pub(crate) replaced_hooks: Vec<Replacement>,
}

/// One side of a clash.
#[derive(Debug)]
pub(crate) struct Clash {
    /// The definition, as an index into the ones that remain.
    pub index: usize,
    /// Another definition, where its place is known.
    pub other: Option<Place>,
}

/// A definition that an override replaced.
#[derive(Debug)]
pub(crate) struct Replacement {
    /// The override, as an index into the definitions that remain.
    pub by: usize,
    /// The definition that is gone.
    pub gone: Place,
}

/// Removes the definitions that overrides replace, and finds the clashes.
pub(super) fn resolve(artifacts: &mut Artifacts) -> Resolution {
    let broken = artifacts.broken_tools.iter();
    let unread = broken.map(|tool| (tool.name.as_str(), tool.problem.place.clone()));
    let tools = settle(mem::take(&mut artifacts.tools), unread.collect());
    let hooks = settle(mem::take(&mut artifacts.hooks), Vec::new());
    (artifacts.tools, artifacts.hooks) = (tools.kept, hooks.kept);
    Resolution {
        tool_clashes: tools.clashes,
        hook_clashes: hooks.clashes,
        replaced_tools: tools.replaced,
        replaced_hooks: hooks.replaced,
    }
}

trait Definition {
    fn name(&self) -> &str;
    fn layer(&self) -> Layer;
    fn place(&self) -> Place;
}

impl Definition for Tool {
    fn name(&self) -> &str {
        &self.name
    }
    fn layer(&self) -> Layer {
        self.origin.layer
    }
    fn place(&self) -> Place {
        tool_place(self)
    }
}

impl Definition for Hook {
    fn name(&self) -> &str {
        &self.name
    }
    fn layer(&self) -> Layer {
        self.origin.layer
    }
    fn place(&self) -> Place {
        hook_place(self)
    }
}

struct ResolvedNames<T> {
    kept: Vec<T>,
    clashes: Vec<Clash>,
    replaced: Vec<Replacement>,
}

/// `unread` are definitions that could not be read: they cannot be used, but their names are taken.
fn settle<T: Definition>(all: Vec<T>, unread: Vec<(&str, Option<Place>)>) -> ResolvedNames<T> {
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, one) in all.iter().enumerate() {
        by_name
            .entry(one.name().to_owned())
            .or_default()
            .push(index);
    }
    let mut unread_by_name: HashMap<&str, Option<Place>> = HashMap::new();
    for (name, place) in unread {
        unread_by_name.entry(name).or_insert(place);
    }

    let mut replaced_by: HashMap<usize, usize> = HashMap::new();
    let mut clashing: HashMap<usize, Option<Place>> = HashMap::new();
    for (name, group) in &by_name {
        let overrides: Vec<usize> = group
            .iter()
            .copied()
            .filter(|&index| all[index].layer() == Layer::Override)
            .collect();
        if let [winner] = overrides[..] {
            replaced_by.extend(
                group
                    .iter()
                    .filter(|&&index| index != winner)
                    .map(|&index| (index, winner)),
            );
        } else if let Some(other) = unread_by_name.get(name.as_str()) {
            clashing.extend(group.iter().map(|&index| (index, other.clone())));
        } else if let [first, second, ..] = group[..] {
            clashing.extend(group.iter().map(|&index| {
                (
                    index,
                    Some(all[if index == first { second } else { first }].place()),
                )
            }));
        }
    }

    let mut kept_index = vec![0; all.len()];
    let mut kept = Vec::with_capacity(all.len());
    let mut clashes = Vec::new();
    let mut gone = Vec::new();
    for (index, one) in all.into_iter().enumerate() {
        if let Some(&winner) = replaced_by.get(&index) {
            gone.push((winner, one.place()));
            continue;
        }
        if let Some(other) = clashing.remove(&index) {
            clashes.push(Clash {
                index: kept.len(),
                other,
            });
        }
        kept_index[index] = kept.len();
        kept.push(one);
    }
    let replaced = gone
        .into_iter()
        .map(|(winner, place)| Replacement {
            by: kept_index[winner],
            gone: place,
        })
        .collect();
    ResolvedNames {
        kept,
        clashes,
        replaced,
    }
}
