//! Gemini CLI: servers in `.gemini/settings.json`, of the project or the home.

use super::ClientSpec;
use crate::install::InstallScope;

pub(super) const SPEC: ClientSpec = ClientSpec {
    name: "gemini",
    title: "Gemini CLI",
    help: "Google's Gemini CLI",
    start: "gemini",
    scopes: &[InstallScope::Project, InstallScope::User],
    files: |context| context.server_file(".gemini/settings.json"),
    then: &[
        "trust the folder when Gemini CLI asks: it starts no MCP server in an untrusted folder",
    ],
    hooks: None,
};
