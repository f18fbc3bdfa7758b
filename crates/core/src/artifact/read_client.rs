//! A client map's tree to a [`ClientMap`].

use super::ArtifactKind;
use super::client::{ClientMap, ClientTool, Commands, Served, Split};
use super::fields::fields_of;
use super::fit::fit;
use super::node::{Key, Node};
use super::problem::{Problems, words};
use crate::effect::Effects;
use std::sync::Arc;

/// Reads every entry; a wrong value is reported, and any error makes the map broken.
pub(super) fn read_client(problems: &mut Problems<'_>, client: &str, node: &Node) -> ClientMap {
    fit(problems, &[], fields_of(ArtifactKind::Client), node);
    let entries = node.get("tools").map(Node::entries).unwrap_or_default();
    ClientMap {
        client: client.to_owned(),
        source: Arc::clone(problems.source),
        tools: entries
            .iter()
            .map(|(key, node)| Arc::new(tool(key, node)))
            .collect(),
        commands: if node.get("contain").and_then(Node::bool) == Some(true) {
            Commands::Contained
        } else {
            Commands::Free
        },
        broken: None,
    }
}

fn tool(key: &Key, node: &Node) -> ClientTool {
    let effects = node.get("effects").map_or(Effects::ALL, |node| {
        words(Some(node))
            .into_iter()
            .filter_map(|word| Effects::named(&word))
            .fold(Effects::NONE, Effects::and)
    });
    let args = node.get("args").map(Node::entries).unwrap_or_default();
    ClientTool {
        pattern: key.name.clone(),
        name: node.get("as").and_then(Node::text).map(str::to_owned),
        args: args
            .iter()
            .filter_map(|(key, node)| Some((key.name.clone(), node.text()?.to_owned())))
            .collect(),
        paths: words(node.get("paths")),
        commands: words(node.get("commands")),
        split: match node.get("split").and_then(Node::text) {
            Some("edits") => Some(Split::Edits),
            Some("patch") => Some(Split::Patch),
            _ => None,
        },
        effects,
        result: words(node.get("result")),
        tags: words(node.get("tags")),
        served: if node.get("own").and_then(Node::bool) == Some(true) {
            Served::Here
        } else {
            Served::Elsewhere
        },
    }
}
