//! Goose: extensions in the user's `config.yaml`. It has no configuration of a project.

use super::ClientSpec;
use crate::install::{ConfigEntry, ConfigFile, ConfigSyntax, EntrySlot, InstallScope, NAME};
use serde_json::json;

pub(super) const SPEC: ClientSpec = ClientSpec {
    name: "goose",
    title: "Goose",
    help: "Goose",
    start: "goose",
    scopes: &[InstallScope::User],
    files: |context| {
        let folder = context.folder("XDG_CONFIG_HOME", ".config").join("goose");
        let value = json!({
            "enabled": true,
            "type": "stdio",
            "name": NAME,
            "description": "The governed tools of the project",
            "cmd": context.program,
            "args": context.mcp_words()?,
            "envs": {},
            "env_keys": [],
            "timeout": 300,
        });
        Ok(vec![ConfigFile {
            root: context.root_of(&folder),
            path: folder.join("config.yaml"),
            syntax: ConfigSyntax::Yaml,
            entries: vec![ConfigEntry {
                path: vec!["extensions"],
                slot: EntrySlot::Member,
                value,
            }],
        }])
    },
    then: &[],
    hooks: None,
};
