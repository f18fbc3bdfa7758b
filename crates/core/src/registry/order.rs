//! The order of hooks with equal priority: by path, but a bundle comes after those it depends on.

use crate::artifact::Bundle;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// The position of each file. Bundles that depend on each other in a circle stay in the order of
/// their paths.
pub(super) fn positions(
    paths: impl Iterator<Item = Arc<str>>,
    bundles: &[Bundle],
) -> HashMap<Arc<str>, usize> {
    let paths: BTreeSet<Arc<str>> = paths.collect();
    let after = dependencies(bundles);
    let mut positions = HashMap::with_capacity(paths.len());
    let mut seen = HashSet::new();
    for path in &paths {
        // A stack of our own: a chain of bundles may be long.
        let mut open = vec![(path, 0)];
        seen.insert(path);
        while let Some((path, next)) = open.pop() {
            match after.get(&**path).and_then(|after| after.get(next)) {
                Some(&first) => {
                    open.push((path, next + 1));
                    if seen.insert(first) {
                        open.push((first, 0));
                    }
                }
                None => {
                    let position = positions.len();
                    positions.entry(Arc::clone(path)).or_insert(position);
                }
            }
        }
    }
    positions
}

/// The files that come before the file of each bundle.
fn dependencies(bundles: &[Bundle]) -> HashMap<&str, Vec<&Arc<str>>> {
    if bundles.iter().all(|bundle| bundle.depends_on.is_empty()) {
        return HashMap::new();
    }
    let mut named: HashMap<&str, Vec<&Arc<str>>> = HashMap::new();
    for bundle in bundles {
        let files = named.entry(bundle.name.as_str()).or_default();
        files.push(&bundle.source.path);
    }
    let before = |bundle: &Bundle| {
        let names = bundle.depends_on.iter().map(|name| name.value.trim());
        names
            .flat_map(|name| named.get(name).cloned().unwrap_or_default())
            .collect()
    };
    bundles
        .iter()
        .map(|bundle| (&*bundle.source.path, before(bundle)))
        .collect()
}
