//! `annotations` of a tool. One bad field is a problem of its own; the others count.

use super::{Reader, UnknownKey};
use crate::artifact::node::{Kind, Node};
use crate::artifact::tool::{Annotations, HINTS};
use crate::effect::Level;
use crate::nearest::backticked;
use serde_json::{Map, Value};

/// What seed 004 and MCP write.
const ANNOTATIONS: &str = "\
    kind side_effect_level arg_schema capabilities emits_artifacts result_readers \
    inline_result readOnlyHint destructiveHint idempotentHint openWorldHint title audience \
    priority";

impl Reader {
    /// Reads them for the tool at `path`.
    pub(super) fn annotations(&mut self, node: &Node, path: &str) -> Annotations {
        let field = |name: &str| format!("{path}.annotations.{name}");
        if !node.is_map() {
            self.wrong(node, &format!("{path}.annotations"), "a map");
            return Annotations::default();
        }
        self.unknown_keys(
            node,
            &format!("{path}.annotations"),
            ANNOTATIONS,
            UnknownKey::WhenClose,
        );
        let part = |name: &str| node.given(name);
        let level = part("side_effect_level")
            .and_then(|node| self.level(node, &field("side_effect_level")));
        let arguments = part("arg_schema");
        if let Some(node) = arguments {
            if !node.is_map() {
                self.wrong(node, &field("arg_schema"), "a map");
            }
            self.unknown_keys(
                node,
                &field("arg_schema"),
                "path_params arg_aliases required",
                UnknownKey::WhenClose,
            );
        }
        let of_arguments = |name: &str| arguments.and_then(|node| node.get(name));
        let mut hints = Map::new();
        for hint in HINTS {
            if let Some(value) = self.flag(part(hint), &field(hint)) {
                hints.insert(hint.to_owned(), Value::Bool(value));
            }
        }
        Annotations {
            kind: self.text(part("kind"), &field("kind")),
            level,
            path_params: self.texts(
                of_arguments("path_params"),
                &field("arg_schema.path_params"),
            ),
            arg_aliases: self.aliases(
                of_arguments("arg_aliases"),
                &field("arg_schema.arg_aliases"),
            ),
            required: self.texts(of_arguments("required"), &field("arg_schema.required")),
            capabilities: part("capabilities")
                .map(|node| self.capabilities(node, &field("capabilities")))
                .unwrap_or_default(),
            emits_artifacts: self
                .flag(part("emits_artifacts"), &field("emits_artifacts"))
                .unwrap_or(false),
            result_readers: self.texts(part("result_readers"), &field("result_readers")),
            inline_result: self
                .flag(part("inline_result"), &field("inline_result"))
                .unwrap_or(false),
            hints,
        }
    }

    /// A side-effect level; anything else is reported.
    pub(super) fn level(&mut self, node: &Node, field: &str) -> Option<Level> {
        let level = node.text().and_then(Level::named);
        if level.is_none() {
            let words = backticked(Level::LADDER.map(Level::word));
            self.wrong(node, field, &format!("one of {words}"));
        }
        level
    }

    /// A boolean; anything else is reported.
    pub(super) fn flag(&mut self, node: Option<&Node>, field: &str) -> Option<bool> {
        let node = node.filter(|node| !node.is_null())?;
        if node.bool().is_none() {
            self.wrong(node, field, "`true` or `false`");
        }
        node.bool()
    }

    /// A string; anything else is reported.
    pub(super) fn text(&mut self, node: Option<&Node>, field: &str) -> Option<String> {
        let node = node.filter(|node| !node.is_null())?;
        if node.text().is_none() {
            self.wrong(node, field, "text");
        }
        node.text().map(str::to_owned)
    }

    fn aliases(&mut self, node: Option<&Node>, field: &str) -> Vec<(String, String)> {
        let Some(node) = node.filter(|node| !node.is_null()) else {
            return Vec::new();
        };
        let Kind::Map(entries) = &node.kind else {
            self.wrong(node, field, "a map from alias to argument");
            return Vec::new();
        };
        let mut aliases = Vec::new();
        for (alias, canonical) in entries {
            match canonical.text() {
                Some(name) => aliases.push((alias.name.clone(), name.to_owned())),
                None => self.wrong(
                    canonical,
                    &format!("{field}.{}", alias.name),
                    "the name of an argument",
                ),
            }
        }
        aliases
    }
}
