//! Goose: extensions in its `config.yaml`. It knows no configuration of a project.

use super::{About, Entry, Slot, Syntax, Target};
use serde_json::json;

pub(super) const ABOUT: About = About {
    title: "Goose",
    targets: |setting| {
        let folder = setting.folder("XDG_CONFIG_HOME", ".config").join("goose");
        let root = if folder.starts_with(setting.home) {
            setting.home.to_owned()
        } else {
            folder.clone()
        };
        let value = json!({
            "enabled": true,
            "type": "stdio",
            "name": super::NAME,
            "description": "The governed tools of the project",
            "cmd": setting.program,
            "args": setting.mcp_words()?,
            "envs": {},
            "env_keys": [],
            "timeout": 300,
        });
        let entry = Entry {
            path: &["extensions"],
            slot: Slot::Member,
            value,
        };
        Ok(vec![Target {
            path: folder.join("config.yaml"),
            root,
            syntax: Syntax::Yaml,
            entries: vec![entry],
        }])
    },
    judged: false,
    in_projects: false,
    start: "goose",
    then: &[],
};
