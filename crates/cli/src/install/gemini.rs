//! Gemini CLI: servers in `.gemini/settings.json`, of the project or the home.

use super::{About, Scope, Syntax, Target};

pub(super) const ABOUT: About = About {
    title: "Gemini CLI",
    targets: |setting| {
        let root = if setting.scope == Scope::Project {
            setting.project
        } else {
            setting.home
        };
        let server = setting.server(&["mcpServers"])?;
        Ok(vec![Target {
            path: root.join(".gemini/settings.json"),
            root: root.to_owned(),
            syntax: Syntax::Json,
            entries: vec![server],
        }])
    },
    judged: false,
    in_projects: true,
    start: "gemini",
    then: &[
        "trust the folder when Gemini CLI asks: it starts no MCP server in one that is not trusted",
    ],
};
