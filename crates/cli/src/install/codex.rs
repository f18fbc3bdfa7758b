//! Codex: servers in `config.toml`, hooks in `hooks.json` beside it.

use super::{About, Scope, Syntax, Target, hook};

pub(super) const ABOUT: About = About {
    title: "Codex",
    targets: |setting| {
        let (folder, root) = match setting.scope {
            Scope::Project => (setting.project.join(".codex"), setting.project.to_owned()),
            Scope::User => {
                let folder = setting.folder("CODEX_HOME", ".codex");
                let root = if folder.starts_with(setting.home) {
                    setting.home.to_owned()
                } else {
                    folder.clone()
                };
                (folder, root)
            }
        };
        let server = setting.server(&["mcp_servers"])?;
        let hooks = hook::entries(setting.program, "codex", hook::BEFORE_AND_AFTER);
        Ok(vec![
            Target {
                path: folder.join("config.toml"),
                root: root.clone(),
                syntax: Syntax::Toml,
                entries: vec![server],
            },
            Target {
                path: folder.join("hooks.json"),
                root,
                syntax: Syntax::Json,
                entries: hooks,
            },
        ])
    },
    judged: true,
    in_projects: true,
    start: "codex",
    then: &[
        "in Codex, trust the project when asked, then open `/hooks` and trust the two hooks: until then Codex skips them without a word",
    ],
};
