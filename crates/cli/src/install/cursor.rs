//! Cursor: servers in `.cursor/mcp.json`, of the project or the home.

use super::{About, Scope, Syntax, Target};

pub(super) const ABOUT: About = About {
    title: "Cursor",
    targets: |setting| {
        let root = if setting.scope == Scope::Project {
            setting.project
        } else {
            setting.home
        };
        let server = setting.server(&["mcpServers"])?;
        Ok(vec![Target {
            path: root.join(".cursor/mcp.json"),
            root: root.to_owned(),
            syntax: Syntax::Json,
            entries: vec![server],
        }])
    },
    judged: false,
    in_projects: true,
    start: "cursor",
    then: &[],
};
