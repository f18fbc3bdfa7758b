//! Visual Studio Code: servers in `.vscode/mcp.json`, or in `mcp.json` of the user's profile.

use super::ClientSpec;
use crate::install::{ConfigFile, InstallScope};
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
    scopes: &[InstallScope::Project, InstallScope::User],
    files: |context| {
        let folder = match context.scope {
            InstallScope::Project => context.project.join(".vscode"),
            InstallScope::User => context
                .folder("XDG_CONFIG_HOME", SETTINGS)
                .join("Code/User"),
        };
        let mut server = context.server("servers")?;
        server.value["type"] = json!("stdio");
        let root = context.root_of(&folder);
        Ok(vec![ConfigFile::json(
            folder.join("mcp.json"),
            &root,
            vec![server],
        )])
    },
    then: &[
        "open `.vscode/mcp.json` or the user's `mcp.json` in VS Code and start the server; VS Code asks once whether to trust it",
    ],
    hooks: None,
};
