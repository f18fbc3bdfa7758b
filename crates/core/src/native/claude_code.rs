//! The tools of Claude Code 2.1, from the types in its package and its tools reference.

use super::{BuiltinMap, CHANGES, NativeTool, RUNS, Split};
use crate::effect::Effects;

const READS: Effects = Effects::READ;
const FETCHES: Effects = Effects::NET_READ;
const SENDS: Effects = Effects::NET_READ.and(Effects::NET_WRITE);

pub(super) const MAP: BuiltinMap = BuiltinMap {
    client: "claude-code",
    tools: TOOLS,
};

const TOOLS: &[NativeTool] = &[
    // Commands.
    NativeTool::with("Bash", RUNS)
        .named("run_command")
        .command()
        .result(&["stdout", "stderr"]),
    NativeTool::with("PowerShell", RUNS)
        .named("run_command")
        .command()
        .result(&["stdout", "stderr"]),
    NativeTool::with("Monitor", RUNS)
        .named("run_command")
        .command(),
    NativeTool::with("BashOutput", READS),
    NativeTool::with("TaskOutput", READS),
    NativeTool::with("KillShell", Effects::EXEC),
    NativeTool::with("TaskStop", Effects::EXEC),
    // Changes to files.
    NativeTool::with("Write", CHANGES)
        .named("write_file")
        .args(&[("file_path", "path")])
        .path(),
    NativeTool::with("Edit", CHANGES)
        .named("write_file")
        .args(&[("file_path", "path"), ("new_string", "content")])
        .path(),
    NativeTool::with("MultiEdit", CHANGES)
        .named("write_file")
        .args(&[("file_path", "path"), ("new_string", "content")])
        .path()
        .split(Split::Edits),
    NativeTool::with("NotebookEdit", CHANGES)
        .named("write_file")
        .args(&[("notebook_path", "path"), ("new_source", "content")])
        .path(),
    NativeTool::with("EnterWorktree", RUNS).path(),
    NativeTool::with("ExitWorktree", RUNS),
    // Reading files.
    NativeTool::with("Read", READS)
        .named("read_file")
        .args(&[("file_path", "path")])
        .path()
        .result(&["file.content"]),
    NativeTool::with("NotebookRead", READS)
        .named("read_file")
        .args(&[("notebook_path", "path")])
        .path(),
    NativeTool::with("Grep", READS)
        .named("search_code")
        .args(&[("pattern", "text"), ("glob", "files")])
        .path()
        .result(&["content", "filenames"]),
    NativeTool::with("Glob", READS)
        .named("find_files")
        .args(&[("pattern", "files")])
        .path()
        .result(&["filenames"]),
    NativeTool::with("LS", READS).named("list_files").path(),
    NativeTool::with("LSP", READS)
        .named("search_code")
        .args(&[("filePath", "path")])
        .path(),
    // The network.
    NativeTool::with("WebFetch", FETCHES)
        .named("http_get")
        .result(&["result"]),
    NativeTool::with("WebSearch", FETCHES)
        .named("web_search")
        .result(&["results"]),
    NativeTool::with("RemoteTrigger", SENDS),
    NativeTool::with("PushNotification", Effects::NET_WRITE),
    NativeTool::with("SendFeedback", Effects::NET_WRITE),
    NativeTool::with("Artifact", SENDS.and(READS))
        .args(&[("file_path", "path")])
        .path(),
    NativeTool::with("Projects", SENDS),
    NativeTool::with("ClaudeDesign", SENDS),
    // Agents, whose own calls are judged when they make them.
    NativeTool::inner("Agent")
        .named("run_agent")
        .result(&["content"]),
    NativeTool::inner("Task")
        .named("run_agent")
        .result(&["content"]),
    NativeTool::inner("Workflow")
        .args(&[("scriptPath", "path")])
        .path(),
    NativeTool::inner("Skill"),
    NativeTool::inner("SlashCommand"),
    // Inside the client.
    NativeTool::inner("TodoWrite"),
    NativeTool::inner("TaskCreate"),
    NativeTool::inner("TaskGet"),
    NativeTool::inner("TaskUpdate"),
    NativeTool::inner("TaskList"),
    NativeTool::inner("EnterPlanMode"),
    NativeTool::inner("ExitPlanMode"),
    NativeTool::inner("AskUserQuestion"),
    NativeTool::inner("ToolSearch"),
    NativeTool::inner("StructuredOutput"),
    NativeTool::inner("SendMessage"),
    NativeTool::inner("TeamCreate"),
    NativeTool::inner("TeamDelete"),
    NativeTool::inner("CronCreate"),
    NativeTool::inner("CronDelete"),
    NativeTool::inner("CronList"),
    NativeTool::inner("ScheduleWakeup"),
    NativeTool::inner("ReadNotifications"),
    NativeTool::inner("ReportFindings"),
    NativeTool::inner("ProposeSkills"),
    NativeTool::inner("ProposeGoal"),
    NativeTool::inner("ShowOnboardingRolePicker"),
    NativeTool::inner("OfferChromeSetup"),
    // MCP servers.
    NativeTool::with("ListMcpResourcesTool", FETCHES),
    NativeTool::with("ReadMcpResourceTool", FETCHES),
    NativeTool::with("ReadMcpResourceDirTool", FETCHES),
    NativeTool::with("RefreshMcpTools", FETCHES),
    NativeTool::own("mcp__harness__*"),
    NativeTool::unknown("*"),
];
