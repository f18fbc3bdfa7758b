//! `NAME_VERB`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::artifact::tool::is_offerable;
use crate::check::subject::{Findings, ToolSubject, tool_place};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "NAME_VERB",
    severity: Severity::Note,
    why: "A name that starts with a verb says what a call does; a noun leaves the model to guess \
          whether it reads, writes or deletes.",
    bad: &[(".harness/tools/note_reader.md", READ_NOTE.1)],
    good: &[READ_NOTE],
    check: Check::Tool(check),
};

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    let tool = subject.tool;
    if is_offerable(&tool.name) && !says_what_it_does(&tool.name) {
        findings.add(
            RULE.finding(format!(
                "the name `{}` does not start with a verb",
                tool.name
            ))
            .at(tool_place(tool))
            .help("start with what a call does, as in `read_note` or `list_orders`"),
        );
    }
}

/// A verb first, or second after its object, as in `http_get`; or a word that says it alone. A name
/// without a word is not judged.
fn says_what_it_does(name: &str) -> bool {
    let words = words(name);
    let is_known = matches!(&*words, [word] if KNOWN.contains(&word.as_str()));
    words.is_empty()
        || is_known
        || words
            .iter()
            .take(2)
            .any(|word| VERBS.binary_search(&word.as_str()).is_ok())
}

fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if matches!(c, '_' | '-') {
            words.push(String::new());
        } else if c.is_ascii_uppercase() {
            words.push(c.to_ascii_lowercase().to_string());
        } else if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Names that say what a call does without a verb: how work ended, and commands everybody knows.
#[rustfmt::skip]
const KNOWN: &[&str] = &[
    "bash", "cat", "cd", "completed", "cp", "curl", "done", "failed", "finished", "jq", "ls", "mkdir", "mv", "noop", "ok", "ps",
    "pwd", "ready", "rm", "sed", "sh", "tree", "wc",
];

#[rustfmt::skip]
const VERBS: &[&str] = &[
    "abort", "accept", "acknowledge", "activate", "add", "adjust", "advance", "aggregate", "alert", "align", "allocate", "allow", "amend",
    "analyse", "analyze", "annotate", "answer", "append", "apply", "appraise", "approve", "archive", "arrange", "ask", "assert",
    "assess", "assign", "attach", "audit", "authorize", "back", "backup", "bake", "batch", "begin", "bind", "block", "book", "branch",
    "bring", "browse", "build", "bump", "buy", "calculate", "call", "cancel", "capture", "change", "chat", "check", "checkout",
    "choose", "claim", "classify", "clean", "clear", "click", "clone", "close", "collect", "combine", "comment", "commit", "compact",
    "compare", "compile", "complete", "compose", "compress", "compute", "configure", "confirm", "connect", "consult", "convert", "cook",
    "copy", "correct", "count", "crash", "crawl", "create", "crop", "cut", "deactivate", "debug", "decide", "declare", "decline",
    "decode", "decrypt", "deduct", "dedupe", "define", "delay", "delegate", "delete", "deliver", "deny", "deploy", "describe", "detach",
    "detect", "dial", "diff", "dig", "disable", "discard", "disconnect", "discover", "discuss", "dismiss", "dispatch", "display",
    "divert", "divide", "do", "download", "draft", "drag", "draw", "drive", "drop", "dump", "duplicate", "eat", "echo", "edit", "email",
    "embed", "emit", "enable", "encode", "encourage", "encrypt", "end", "engage", "enqueue", "enrich", "ensure", "enter", "enumerate",
    "erase", "escalate", "estimate", "evaluate", "examine", "exclaim", "exclude", "exec", "execute", "exit", "expand", "explain",
    "explore", "export", "expose", "extend", "extract", "fail", "fetch", "fill", "filter", "find", "finish", "fix", "flag", "flatten",
    "flush", "focus", "fold", "follow", "forecast", "forget", "fork", "format", "forward", "freeze", "gather", "generate", "get",
    "give", "go", "grade", "grant", "greet", "grep", "group", "guess", "handle", "hang", "hash", "hear", "help", "hide", "highlight",
    "hold", "hunt", "identify", "ignore", "import", "include", "increase", "increment", "index", "infer", "inform", "ingest", "init",
    "initialize", "inquire", "insert", "inspect", "install", "interpret", "introduce", "invert", "invite", "invoke", "issue", "iterate",
    "join", "judge", "keep", "kill", "label", "launch", "learn", "leave", "lend", "lift", "link", "lint", "list", "load", "locate",
    "lock", "log", "login", "look", "lookup", "loop", "lower", "mail", "make", "manage", "map", "mark", "mask", "match", "measure",
    "mend", "merge", "migrate", "mimic", "minify", "mint", "mirror", "mix", "mock", "modify", "monitor", "mount", "move", "multiply",
    "mute", "name", "navigate", "negate", "negotiate", "normalize", "notify", "number", "obfuscate", "observe", "obtain",
    "offer", "open", "optimize", "order", "organize", "outline", "overwrite", "pack", "pad", "paint", "parse", "partition", "paste",
    "patch", "pause", "pay", "peek", "peel", "perform", "permit", "persist", "pick", "pin", "ping", "pipe", "plan", "play", "plot",
    "poll", "pop", "post", "predict", "prepare", "press", "preview", "print", "probe", "process", "produce", "profile", "promote",
    "prompt", "propose", "prove", "provision", "prune", "publish", "pull", "punch", "punctuate", "purchase", "purge", "push", "put",
    "query", "queue", "quit", "quote", "raise", "rank", "rate", "reach", "read", "rebalance", "rebase", "rebuild", "recall", "receive",
    "recognise", "recognize", "recommend", "reconcile", "record", "recover", "redact", "reduce", "refactor", "refine", "refresh",
    "refund", "register", "reindex", "reinstall", "reject", "relabel", "relate", "relay", "release", "reload", "rely", "remap",
    "remember", "remind", "remove", "rename", "render", "renew", "reopen", "reorder", "repackage", "repair", "repay", "repeat",
    "rephrase", "replace", "replay", "reply", "report", "reproduce", "request", "reschedule", "resend", "reserve", "reset", "resize",
    "resolve", "respond", "restart", "restore", "restrict", "resume", "retain", "retitle", "retrieve", "retry", "return", "reverse",
    "revert", "review", "revoke", "rewrite", "rinse", "roll", "rollback", "rotate", "round", "route", "run", "sample", "sanitise",
    "sanitize", "save", "say", "scaffold", "scale", "scan", "schedule", "scold", "score", "scrape", "scroll", "scrub", "seal", "search",
    "seek", "select", "sell", "send", "sense", "serve", "set", "settle", "share", "shift", "ship", "shorten", "show", "shrink",
    "shuffle", "shut", "sift", "sign", "silence", "simulate", "sing", "skip", "sleep", "slice", "smooth", "snapshot", "solve", "sort",
    "spawn", "speak", "spell", "spin", "split", "squash", "stage", "stamp", "start", "stat", "stitch", "stop", "store", "stream",
    "strip", "submit", "subscribe", "substitute", "subtract", "suggest", "sum", "summarise", "summarize", "supply", "survey", "suspend",
    "swap", "switch", "sync", "synthesize", "tag", "tail", "take", "tally", "tap", "teach", "tell", "terminate", "test", "think",
    "throw", "tidy", "toggle", "tokenise", "tokenize", "touch", "trace", "track", "train", "transcribe", "transfer", "transform",
    "translate", "trigger", "trim", "truncate", "tune", "turn", "tweak", "type", "unarchive", "unassign", "unblock", "undo", "unfold",
    "unify", "uninstall", "unlink", "unlock", "unmount", "unmute", "unpack", "unpin", "unregister", "unset", "unsubscribe", "unwrap",
    "unzip", "update", "upgrade", "upload", "upsert", "use", "vacuum", "validate", "vectorize", "verify", "view", "visit", "vote",
    "wait", "wake", "walk", "warn", "watch", "weigh", "win", "wipe", "withdraw", "wrap", "write", "yield", "zip", "zoom",
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
    fn a_verb_may_come_second_and_words_end_at_any_of_the_usual_borders() {
        for (name, expected) in [
            ("read_note", true),
            ("readNote", true),
            ("Read-note", true),
            ("_grep", true),
            ("__", true),
            ("http_get", true),
            ("httpGet", true),
            ("say_hello", true),
            ("done", true),
            ("Done", true),
            ("bash", true),
            ("done_tasks", false),
            ("note_reader", false),
            ("weather", false),
            ("big_old_list", false),
        ] {
            assert_eq!(says_what_it_does(name), expected, "{name}");
        }
    }
}
