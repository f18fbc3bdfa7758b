//! Claude Code: servers in `.mcp.json` or `~/.claude.json`, hooks in `settings.json`.
//!
//! Hooks: <https://code.claude.com/docs/en/hooks>.

use super::{Amendment, CallPhase, ClientSpec, HookProtocol, deny, hook_output};
use crate::exit::UsageError;
use crate::install::{ConfigFile, InstallContext, InstallScope};
use serde_json::{Map, Value, json};

pub(super) const SPEC: ClientSpec = ClientSpec {
    name: "claude-code",
    title: "Claude Code",
    help: "Anthropic's Claude Code",
    start: "claude",
    scopes: &[InstallScope::Project, InstallScope::User],
    files,
    then: &[
        "start a new session: Claude Code reads hooks when it starts, and asks once about a project's MCP server",
    ],
    hooks: Some(HookProtocol {
        events: EVENTS,
        other_events: OTHER_EVENTS,
        started_in: Some("CLAUDE_PROJECT_DIR"),
        deny,
        rewrite,
        amend,
        inner_calls: |_, _| Vec::new(),
    }),
};

const EVENTS: &[(&str, CallPhase)] = &[
    ("PreToolUse", CallPhase::Before),
    ("PostToolUse", CallPhase::After),
    ("PostToolUseFailure", CallPhase::Failed),
];

const OTHER_EVENTS: &[&str] = &[
    "PermissionRequest",
    "PermissionDenied",
    "PostToolBatch",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "SessionStart",
    "SessionEnd",
    "Setup",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "PreModelSwitch",
    "PostModelSwitch",
    "Notification",
    "MessageDisplay",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "WorktreeCreate",
    "WorktreeRemove",
];

fn files(context: &InstallContext<'_>) -> Result<Vec<ConfigFile>, UsageError> {
    let named = (context.environment)("CLAUDE_CONFIG_DIR").is_some();
    let folder = context.folder("CLAUDE_CONFIG_DIR", ".claude");
    let (servers, settings, root) = match context.scope {
        InstallScope::Project => (
            context.project.join(".mcp.json"),
            context.project.join(".claude/settings.json"),
            context.project,
        ),
        InstallScope::User if named => (
            folder.join(".claude.json"),
            folder.join("settings.json"),
            folder.as_path(),
        ),
        InstallScope::User => (
            context.home.join(".claude.json"),
            folder.join("settings.json"),
            context.home,
        ),
    };
    let mut server = context.server("mcpServers")?;
    server.value["type"] = json!("stdio");
    Ok(vec![
        ConfigFile::json(servers, root, vec![server]),
        ConfigFile::json(settings, root, context.hooks(SPEC.name, EVENTS)),
    ])
}

/// Without a decision, so that the client's own permissions still apply.
fn rewrite(input: Map<String, Value>) -> Value {
    hook_output(json!({"hookEventName": "PreToolUse", "updatedInput": input}))
}

/// After a failure the client accepts only additional text. A result that cannot hold the text gets
/// it appended.
fn amend(new: Amendment<'_>) -> Value {
    match (new.phase, new.response) {
        (CallPhase::Failed, _) => hook_output(
            json!({"hookEventName": "PostToolUseFailure", "additionalContext": new.text}),
        ),
        (_, None) => json!({"decision": "block", "reason": new.text}),
        // Older versions replace only the results of MCP tools, under another name.
        (_, Some(response)) if new.tool.starts_with("mcp__") => hook_output(json!({
            "hookEventName": "PostToolUse",
            "updatedToolOutput": response,
            "updatedMCPToolOutput": response,
        })),
        (_, Some(response)) => {
            hook_output(json!({"hookEventName": "PostToolUse", "updatedToolOutput": response}))
        }
    }
}
