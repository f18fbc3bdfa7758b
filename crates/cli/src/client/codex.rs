//! Codex: servers in `config.toml`, hooks in `hooks.json` beside it.
//!
//! Hooks: <https://developers.openai.com/codex/hooks>. Codex ignores an answer with anything in it
//! that it does not know, and then runs the call: write only what it accepts.

use super::{CallPhase, ClientSpec, HookProtocol, deny, hook_output};
use crate::exit::UsageError;
use crate::install::{ConfigFile, ConfigSyntax, InstallContext, InstallScope};
use serde_json::{Map, Value, json};
use tool_harness::Door;
use tool_harness::client::{Inline, inline, inline_words};
use tool_harness::{Arguments, Call, Client};

pub(super) const SPEC: ClientSpec = ClientSpec {
    name: "codex",
    title: "Codex",
    help: "OpenAI's Codex",
    start: "codex",
    scopes: &[InstallScope::Project, InstallScope::User],
    files,
    then: &[
        "in Codex, trust the project when asked, then open `/hooks` and trust the two hooks: until then Codex silently skips them",
    ],
    hooks: Some(HookProtocol {
        events: EVENTS,
        other_events: OTHER_EVENTS,
        started_in: None,
        deny,
        // Codex accepts new arguments only with `allow`, which approves nothing there.
        rewrite: |input| {
            hook_output(json!({
                "hookEventName": "PreToolUse",
                "permissionDecision": "allow",
                "updatedInput": input,
            }))
        },
        amend: |new| json!({"decision": "block", "reason": new.text}),
        inner_calls: inline_patches,
    }),
};

const EVENTS: &[(&str, CallPhase)] = &[
    ("PreToolUse", CallPhase::Before),
    ("PostToolUse", CallPhase::After),
];

const OTHER_EVENTS: &[&str] = &[
    "PermissionRequest",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "Stop",
    "StopFailure",
    "Interrupt",
];

fn files(context: &InstallContext<'_>) -> Result<Vec<ConfigFile>, UsageError> {
    let folder = match context.scope {
        InstallScope::Project => context.project.join(".codex"),
        InstallScope::User => context.folder("CODEX_HOME", ".codex"),
    };
    let root = context.root_of(&folder);
    Ok(vec![
        ConfigFile {
            path: folder.join("config.toml"),
            root: root.clone(),
            syntax: ConfigSyntax::Toml,
            entries: vec![context.server("mcp_servers")?],
        },
        ConfigFile::json(
            folder.join("hooks.json"),
            &root,
            context.hooks(SPEC.name, EVENTS),
        ),
    ])
}

/// The patches in a shell command, each as a call of its own: Codex takes them out and applies them
/// itself.
fn inline_patches(call: &Call, caller: &Client) -> Vec<(Call, Client)> {
    let Arguments::Value(Value::Object(input)) = &call.arguments else {
        return Vec::new();
    };
    let found = match input.get("command").or_else(|| input.get("cmd")) {
        Some(Value::Array(words)) => {
            inline_words(&words.iter().filter_map(Value::as_str).collect::<Vec<_>>())
        }
        Some(Value::String(command)) => inline(command),
        _ => return Vec::new(),
    };
    if call.tool == "apply_patch" {
        return Vec::new();
    }
    let as_call = |(index, found): (usize, Inline)| {
        let patch = Map::from_iter([("command".to_owned(), json!(found.patch))]);
        let mut caller = caller.clone();
        caller.cwd.extend(found.folder);
        let patch = Call::new("apply_patch", Arguments::Value(Value::Object(patch)));
        let mut patch = patch.door(Door::Hook).part_of(call);
        patch.id = match index {
            0 => format!("{}/patch", call.id).into(),
            _ => format!("{}/patch-{index}", call.id).into(),
        };
        (patch, caller)
    };
    found.into_iter().enumerate().map(as_call).collect()
}
