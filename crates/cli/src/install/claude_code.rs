//! Claude Code: servers in `.mcp.json` or `~/.claude.json`, hooks in `settings.json`.

use super::{About, Scope, Syntax, Target, hook};
use serde_json::json;

pub(super) const ABOUT: About = About {
    title: "Claude Code",
    targets: |setting| {
        let named = (setting.environment)("CLAUDE_CONFIG_DIR").is_some();
        let folder = setting.folder("CLAUDE_CONFIG_DIR", ".claude");
        let (servers, settings, root) = match setting.scope {
            Scope::Project => (
                setting.project.join(".mcp.json"),
                setting.project.join(".claude/settings.json"),
                setting.project,
            ),
            Scope::User if named => (
                folder.join(".claude.json"),
                folder.join("settings.json"),
                folder.as_path(),
            ),
            Scope::User => (
                setting.home.join(".claude.json"),
                folder.join("settings.json"),
                setting.home,
            ),
        };
        let mut server = setting.server(&["mcpServers"])?;
        server.value["type"] = json!("stdio");
        let hooks = hook::entries(
            setting.program,
            "claude-code",
            hook::BEFORE_AFTER_AND_FAILED,
        );
        Ok(vec![
            Target {
                path: servers,
                root: root.to_owned(),
                syntax: Syntax::Json,
                entries: vec![server],
            },
            Target {
                path: settings,
                root: root.to_owned(),
                syntax: Syntax::Json,
                entries: hooks,
            },
        ])
    },
    judged: true,
    in_projects: true,
    start: "claude",
    then: &[
        "start a new session: Claude Code reads hooks when it starts, and asks once about a project's MCP server",
    ],
};
