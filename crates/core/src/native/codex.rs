//! The tools of Codex 0.166, from its hook messages and public sources. Hooks see every command as
//! `Bash`.

use super::{BuiltinMap, CHANGES, NativeTool, RUNS, Split};
use crate::effect::Effects;

const READS: Effects = Effects::READ;

pub(super) const MAP: BuiltinMap = BuiltinMap {
    client: "codex",
    tools: TOOLS,
};

const TOOLS: &[NativeTool] = &[
    // Commands. The names other than `Bash` are those the model sees.
    NativeTool::with("Bash", RUNS)
        .named("run_command")
        .command(),
    NativeTool::with("shell", RUNS)
        .named("run_command")
        .command(),
    NativeTool::with("shell_command", RUNS)
        .named("run_command")
        .command(),
    NativeTool::with("local_shell", RUNS)
        .named("run_command")
        .command(),
    NativeTool::with("container.exec", RUNS)
        .named("run_command")
        .command(),
    NativeTool::with("exec_command", RUNS)
        .named("run_command")
        .args(&[("cmd", "command")])
        .command(),
    NativeTool::with("unified_exec", RUNS)
        .named("run_command")
        .args(&[("cmd", "command")])
        .command(),
    NativeTool::with("write_stdin", RUNS)
        .named("run_command")
        .args(&[("chars", "command")])
        .command(),
    // Changes to files.
    NativeTool::with("apply_patch", CHANGES)
        .named("write_file")
        .args(&[("command", "patch"), ("input", "patch")])
        .path()
        .split(Split::Patch),
    // Reading files.
    NativeTool::with("read_file", READS)
        .args(&[("file_path", "path")])
        .path(),
    NativeTool::with("view_image", READS)
        .named("read_file")
        .path(),
    NativeTool::with("list_dir", READS)
        .named("list_files")
        .args(&[("dir_path", "path")])
        .path(),
    NativeTool::with("grep_files", READS)
        .named("search_code")
        .args(&[("pattern", "text"), ("include", "files")])
        .path(),
    NativeTool::with("web_search", Effects::NET_READ),
    // Inside the client, and agents, whose own calls are judged when they make them.
    NativeTool::inner("update_plan"),
    NativeTool::inner("request_user_input"),
    NativeTool::inner("request_permissions"),
    NativeTool::inner("tool_search"),
    NativeTool::inner("spawn_agent")
        .named("run_agent")
        .args(&[("message", "prompt")]),
    NativeTool::inner("send_input"),
    NativeTool::inner("send_message"),
    NativeTool::inner("wait_agent"),
    NativeTool::inner("close_agent"),
    NativeTool::inner("resume_agent"),
    NativeTool::inner("list_agents"),
    NativeTool::with("list_mcp_resources", Effects::NET_READ),
    NativeTool::with("list_mcp_resource_templates", Effects::NET_READ),
    NativeTool::with("read_mcp_resource", Effects::NET_READ),
    NativeTool::own("mcp__harness__*"),
    NativeTool::unknown("*"),
];
