//! The tools of Claude Code 2.1, from the types that its package publishes and its tools reference.

use super::native::{CHANGES, Native, RUNS};
use crate::artifact::client::Split;
use crate::effect::Effects;

const READS: Effects = Effects::READ;
const FETCHES: Effects = Effects::NET_READ;
const SENDS: Effects = Effects::NET_READ.and(Effects::NET_WRITE);

pub(super) const TOOLS: &[Native] = &[
    // What runs commands.
    Native::with("Bash", RUNS)
        .named("run_command")
        .command()
        .result(&["stdout", "stderr"]),
    Native::with("PowerShell", RUNS)
        .named("run_command")
        .command()
        .result(&["stdout", "stderr"]),
    Native::with("Monitor", RUNS).named("run_command").command(),
    Native::with("BashOutput", READS),
    Native::with("TaskOutput", READS),
    Native::with("KillShell", Effects::EXEC),
    Native::with("TaskStop", Effects::EXEC),
    // What changes files.
    Native::with("Write", CHANGES)
        .named("write_file")
        .args(&[("file_path", "path")])
        .path(),
    Native::with("Edit", CHANGES)
        .named("write_file")
        .args(&[("file_path", "path"), ("new_string", "content")])
        .path(),
    Native::with("MultiEdit", CHANGES)
        .named("write_file")
        .args(&[("file_path", "path"), ("new_string", "content")])
        .path()
        .split(Split::Edits),
    Native::with("NotebookEdit", CHANGES)
        .named("write_file")
        .args(&[("notebook_path", "path"), ("new_source", "content")])
        .path(),
    Native::with("EnterWorktree", RUNS).path(),
    Native::with("ExitWorktree", RUNS),
    // What reads files.
    Native::with("Read", READS)
        .named("read_file")
        .args(&[("file_path", "path")])
        .path()
        .result(&["file.content"]),
    Native::with("NotebookRead", READS)
        .named("read_file")
        .args(&[("notebook_path", "path")])
        .path(),
    Native::with("Grep", READS)
        .named("search_code")
        .args(&[("pattern", "text"), ("glob", "files")])
        .path()
        .result(&["content", "filenames"]),
    Native::with("Glob", READS)
        .named("find_files")
        .args(&[("pattern", "files")])
        .path()
        .result(&["filenames"]),
    Native::with("LS", READS).named("list_files").path(),
    Native::with("LSP", READS)
        .named("search_code")
        .args(&[("filePath", "path")])
        .path(),
    // What reaches the network.
    Native::with("WebFetch", FETCHES)
        .named("http_get")
        .result(&["result"]),
    Native::with("WebSearch", FETCHES)
        .named("web_search")
        .result(&["results"]),
    Native::with("RemoteTrigger", SENDS),
    Native::with("PushNotification", Effects::NET_WRITE),
    Native::with("SendFeedback", Effects::NET_WRITE),
    Native::with("Artifact", SENDS.and(READS))
        .args(&[("file_path", "path")])
        .path(),
    Native::with("Projects", SENDS),
    Native::with("ClaudeDesign", SENDS),
    // What starts others that call tools of their own, each judged when it does.
    Native::inner("Agent")
        .named("run_agent")
        .result(&["content"]),
    Native::inner("Task")
        .named("run_agent")
        .result(&["content"]),
    Native::inner("Workflow")
        .args(&[("scriptPath", "path")])
        .path(),
    Native::inner("Skill"),
    Native::inner("SlashCommand"),
    // What stays inside the client.
    Native::inner("TodoWrite"),
    Native::inner("TaskCreate"),
    Native::inner("TaskGet"),
    Native::inner("TaskUpdate"),
    Native::inner("TaskList"),
    Native::inner("EnterPlanMode"),
    Native::inner("ExitPlanMode"),
    Native::inner("AskUserQuestion"),
    Native::inner("ToolSearch"),
    Native::inner("StructuredOutput"),
    Native::inner("SendMessage"),
    Native::inner("TeamCreate"),
    Native::inner("TeamDelete"),
    Native::inner("CronCreate"),
    Native::inner("CronDelete"),
    Native::inner("CronList"),
    Native::inner("ScheduleWakeup"),
    Native::inner("ReadNotifications"),
    Native::inner("ReportFindings"),
    Native::inner("ProposeSkills"),
    Native::inner("ProposeGoal"),
    Native::inner("ShowOnboardingRolePicker"),
    Native::inner("OfferChromeSetup"),
    // What MCP servers offer.
    Native::with("ListMcpResourcesTool", FETCHES),
    Native::with("ReadMcpResourceTool", FETCHES),
    Native::with("ReadMcpResourceDirTool", FETCHES),
    Native::with("RefreshMcpTools", FETCHES),
    Native::own("mcp__harness__*"),
    Native::unknown("*"),
];
