//! Visual Studio Code: servers in `.vscode/mcp.json`, or in `mcp.json` of the user's profile.

use super::ClientSpec;
use crate::install::{ConfigFile, Scope, Syntax};
use serde_json::json;

/// Where programs keep a user's settings.
const SETTINGS: &str = if cfg!(target_os = "macos") {
    "Library/Application Support"
} else {
    ".config"
};

pub(super) const SPEC: ClientSpec = ClientSpec {
    name: "vscode",
    title: "VS Code",
    help: "Visual Studio Code",
    start: "code .",
    scopes: &[Scope::Project, Scope::User],
    files: |context| {
        let folder = match context.scope {
            Scope::Project => context.project.join(".vscode"),
            Scope::User => context
                .folder("XDG_CONFIG_HOME", SETTINGS)
                .join("Code/User"),
        };
        let mut server = context.server("servers")?;
        server.value["type"] = json!("stdio");
        Ok(vec![ConfigFile {
            root: context.root_of(&folder),
            path: folder.join("mcp.json"),
            syntax: Syntax::Json,
            entries: vec![server],
        }])
    },
    then: &[
        "open `.vscode/mcp.json` or the user's `mcp.json` in VS Code and start the server; VS Code asks once whether to trust it",
    ],
    hooks: None,
};
