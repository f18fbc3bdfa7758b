//! Cursor: servers in `.cursor/mcp.json`, of the project or the home.

use super::ClientSpec;
use crate::install::Scope;

pub(super) const SPEC: ClientSpec = ClientSpec {
    name: "cursor",
    title: "Cursor",
    help: "Cursor",
    start: "cursor",
    scopes: &[Scope::Project, Scope::User],
    files: |context| context.server_file(".cursor/mcp.json"),
    then: &[],
    hooks: None,
};
