//! Visual Studio Code: servers in `.vscode/mcp.json`, or in `mcp.json` of the user's profile.

use super::{About, Scope, Syntax, Target};
use serde_json::json;

pub(super) const ABOUT: About = About {
    title: "VS Code",
    targets: |setting| {
        let (path, root) = match setting.scope {
            Scope::Project => (
                setting.project.join(".vscode/mcp.json"),
                setting.project.to_owned(),
            ),
            Scope::User => {
                let usual = if cfg!(target_os = "macos") {
                    "Library/Application Support"
                } else {
                    ".config"
                };
                let folder = setting.folder("XDG_CONFIG_HOME", usual).join("Code/User");
                let root = if folder.starts_with(setting.home) {
                    setting.home.to_owned()
                } else {
                    folder.clone()
                };
                (folder.join("mcp.json"), root)
            }
        };
        let mut server = setting.server(&["servers"])?;
        server.value["type"] = json!("stdio");
        Ok(vec![Target {
            path,
            root,
            syntax: Syntax::Json,
            entries: vec![server],
        }])
    },
    judged: false,
    in_projects: true,
    start: "code .",
    then: &[
        "open `.vscode/mcp.json` or the user's `mcp.json` in VS Code and start the server; VS Code asks once whether to trust it",
    ],
};
