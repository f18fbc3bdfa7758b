//! The tools of Codex 0.166, as its hook messages and its public sources name them. Whatever runs a command is `Bash` there.

use super::native::{CHANGES, Native, RUNS};
use crate::artifact::client::Split;
use crate::effect::Effects;

const READS: Effects = Effects::READ;

pub(super) const TOOLS: &[Native] = &[
    // What runs commands; the names other than `Bash` are those the model sees.
    Native::with("Bash", RUNS).named("run_command").command(),
    Native::with("shell", RUNS).named("run_command").command(),
    Native::with("shell_command", RUNS)
        .named("run_command")
        .command(),
    Native::with("local_shell", RUNS)
        .named("run_command")
        .command(),
    Native::with("container.exec", RUNS)
        .named("run_command")
        .command(),
    Native::with("exec_command", RUNS)
        .named("run_command")
        .args(&[("cmd", "command")])
        .command(),
    Native::with("unified_exec", RUNS)
        .named("run_command")
        .args(&[("cmd", "command")])
        .command(),
    Native::with("write_stdin", RUNS)
        .named("run_command")
        .args(&[("chars", "command")])
        .command(),
    // What changes files.
    Native::with("apply_patch", CHANGES)
        .named("write_file")
        .args(&[("command", "patch"), ("input", "patch")])
        .path()
        .split(Split::Patch),
    // What reads files.
    Native::with("read_file", READS)
        .args(&[("file_path", "path")])
        .path(),
    Native::with("view_image", READS).named("read_file").path(),
    Native::with("list_dir", READS)
        .named("list_files")
        .args(&[("dir_path", "path")])
        .path(),
    Native::with("grep_files", READS)
        .named("search_code")
        .args(&[("pattern", "text"), ("include", "files")])
        .path(),
    Native::with("web_search", Effects::NET_READ),
    // What stays inside the client, or starts others that call tools of their own.
    Native::inner("update_plan"),
    Native::inner("request_user_input"),
    Native::inner("request_permissions"),
    Native::inner("tool_search"),
    Native::inner("spawn_agent")
        .named("run_agent")
        .args(&[("message", "prompt")]),
    Native::inner("send_input"),
    Native::inner("send_message"),
    Native::inner("wait_agent"),
    Native::inner("close_agent"),
    Native::inner("resume_agent"),
    Native::inner("list_agents"),
    Native::with("list_mcp_resources", Effects::NET_READ),
    Native::with("list_mcp_resource_templates", Effects::NET_READ),
    Native::with("read_mcp_resource", Effects::NET_READ),
    Native::own("mcp__harness__*"),
    Native::unknown("*"),
];
