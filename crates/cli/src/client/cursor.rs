//! Cursor: servers in `.cursor/mcp.json`, of the project or the home.

use super::ClientSpec;
use crate::install::InstallScope;

pub(super) const SPEC: ClientSpec = ClientSpec {
    name: "cursor",
    title: "Cursor",
    help: "Cursor",
    start: "cursor",
    scopes: &[InstallScope::Project, InstallScope::User],
    files: |context| context.server_file(".cursor/mcp.json"),
    then: &[],
    hooks: None,
};
