//! Reads values of a tree whose shape was checked.

use super::node::Node;
use crate::span::Spanned;

/// The texts of a list, each with its place; other items were reported already.
pub(in crate::artifact) fn texts(node: Option<&Node>) -> Vec<Spanned<String>> {
    let items = node.map(Node::items).unwrap_or_default();
    items
        .iter()
        .filter_map(|item| Some(item.spanned(item.text()?.to_owned())))
        .collect()
}

/// The texts of a list without their places.
pub(in crate::artifact) fn words(node: Option<&Node>) -> Vec<String> {
    texts(node).into_iter().map(|at| at.value).collect()
}

/// An integer that is not negative.
pub(in crate::artifact) fn natural(node: Option<&Node>) -> Option<u64> {
    node?.integer().and_then(|value| u64::try_from(value).ok())
}

/// A boolean that is `false` unless written.
pub(in crate::artifact) fn flag(node: Option<&Node>) -> bool {
    node.and_then(Node::bool).unwrap_or(false)
}

/// The entries of a map from names to strings.
pub(in crate::artifact) fn pairs(
    node: Option<&Node>,
) -> impl Iterator<Item = (String, Spanned<String>)> {
    let entries = node.map(Node::entries).unwrap_or_default();
    entries
        .iter()
        .filter_map(|(key, node)| Some((key.name.clone(), node.spanned(node.text()?.to_owned()))))
}
