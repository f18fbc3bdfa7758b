//! `NAME_VERB`.

use super::name_not_offered::is_offerable;
use super::subject::{Findings, ToolSubject, tool_place};
use super::{Check, Rule};
use crate::diagnostic::Severity;

pub(super) const RULE: Rule = Rule {
    code: "NAME_VERB",
    severity: Severity::Note,
    why: "A name that starts with a verb says what a call does; a noun leaves the model to guess whether it reads, writes or deletes.",
    bad: &[(
        ".harness/tools/note_reader.md",
        "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    check: Check::Tool(check),
};

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    let tool = subject.tool;
    let word = first_word(&tool.name);
    if is_offerable(&tool.name) && !word.is_empty() && VERBS.binary_search(&word.as_str()).is_err() {
        findings.add(
            RULE.finding(format!("the name `{}` does not start with a verb", tool.name))
                .at(tool_place(tool))
                .help("start with what a call does, as in `read_note` or `list_orders`"),
        );
    }
}

fn first_word(name: &str) -> String {
    let name = name.trim_start_matches(['_', '-']);
    let end = name.char_indices().skip(1).find(|&(_, c)| matches!(c, '_' | '-') || c.is_ascii_uppercase()).map_or(name.len(), |(at, _)| at);
    name[..end].to_ascii_lowercase()
}

#[rustfmt::skip]
const VERBS: &[&str] = &[
    "accept", "acknowledge", "activate", "add", "adjust", "aggregate", "allocate", "amend", "analyse", "analyze", "annotate", "answer",
    "append", "apply", "approve", "archive", "ask", "assert", "assign", "attach", "audit", "authorize", "back", "backup", "batch",
    "begin", "bind", "block", "book", "branch", "browse", "build", "bump", "calculate", "call", "cancel", "capture", "change", "check",
    "checkout", "choose", "claim", "classify", "clean", "clear", "click", "clone", "close", "collect", "combine", "comment", "commit",
    "compact", "compare", "compile", "complete", "compose", "compress", "compute", "configure", "confirm", "connect", "consult",
    "convert", "copy", "correct", "count", "crawl", "create", "cut", "deactivate", "debug", "decide", "declare", "decline", "decode",
    "decrypt", "deduct", "define", "delegate", "delete", "deliver", "deploy", "describe", "detach", "detect", "diff", "disable",
    "discard", "disconnect", "discover", "dismiss", "dispatch", "display", "divide", "do", "download", "draft", "drag", "draw", "drop",
    "dump", "echo", "edit", "email", "embed", "emit", "enable", "encode", "encrypt", "end", "enqueue", "ensure", "enter", "escalate",
    "estimate", "evaluate", "examine", "exec", "execute", "exit", "expand", "explain", "explore", "export", "extend", "extract", "fail",
    "fetch", "fill", "filter", "find", "finish", "fix", "flag", "flatten", "flush", "focus", "follow", "forget", "fork", "format",
    "forward", "freeze", "gather", "generate", "get", "give", "go", "grant", "greet", "grep", "group", "guess", "handle", "hide",
    "highlight", "hold", "identify", "import", "include", "increase", "increment", "index", "infer", "ingest", "init", "initialize",
    "insert", "inspect", "install", "invite", "invoke", "issue", "join", "judge", "keep", "kill", "label", "launch", "learn", "link",
    "lint", "list", "load", "locate", "lock", "log", "login", "look", "lookup", "make", "manage", "map", "mark", "match", "measure",
    "merge", "migrate", "minify", "mint", "modify", "monitor", "mount", "move", "multiply", "mute", "name", "navigate", "normalize",
    "notify", "number", "observe", "offer", "open", "optimize", "order", "organize", "parse", "patch", "pause", "pay", "perform", "pick",
    "pin", "ping", "plan", "play", "poll", "post", "predict", "prepare", "press", "preview", "print", "probe", "process", "produce",
    "profile", "promote", "propose", "provision", "prune", "publish", "pull", "purchase", "purge", "push", "put", "query", "queue",
    "quote", "raise", "rank", "rate", "reach", "read", "rebase", "rebuild", "receive", "recommend", "record", "recover", "redact",
    "reduce", "refactor", "refresh", "refund", "register", "reject", "release", "reload", "remember", "remind", "remove", "rename",
    "render", "renew", "reopen", "reorder", "repair", "repeat", "replace", "replay", "reply", "report", "request", "reserve", "reset",
    "resize", "resolve", "respond", "restart", "restore", "resume", "retrieve", "retry", "return", "revert", "review", "revoke",
    "rewrite", "roll", "rotate", "route", "run", "sample", "save", "scaffold", "scale", "scan", "schedule", "score", "scrape", "scroll",
    "search", "select", "sell", "send", "serve", "set", "share", "ship", "show", "shut", "sign", "simulate", "skip", "sleep", "solve",
    "sort", "spawn", "speak", "split", "stage", "start", "stat", "stop", "store", "stream", "strip", "submit", "subscribe", "subtract",
    "suggest", "sum", "summarise", "summarize", "suspend", "swap", "switch", "sync", "synthesize", "tag", "tail", "take", "tell",
    "terminate", "test", "toggle", "touch", "trace", "track", "train", "transcribe", "transfer", "transform", "translate", "trigger",
    "trim", "truncate", "tune", "type", "unarchive", "unassign", "unblock", "undo", "uninstall", "unlink", "unlock", "unpack", "unpin",
    "unregister", "unsubscribe", "unzip", "update", "upgrade", "upload", "upsert", "use", "validate", "verify", "view", "visit", "vote",
    "wait", "walk", "warn", "watch", "withdraw", "wrap", "write", "zip", "zoom",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verbs_are_sorted_for_the_search() {
        for pair in VERBS.windows(2) {
            assert!(pair[0] < pair[1], "{pair:?}");
        }
    }

    #[test]
    fn the_first_word_ends_at_any_of_the_usual_borders() {
        for (name, expected) in [("read_note", "read"), ("readNote", "read"), ("Read-note", "read"), ("_grep", "grep"), ("__", "")] {
            assert_eq!(first_word(name), expected);
        }
    }
}
