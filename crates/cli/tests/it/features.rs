//! What works and what does not: one list, from which the README's tables and docs/reference/unsupported.md are made.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use tool_harness::artifact::unsupported_fields;

/// What works, and the pages about it.
const WORKS: &[(&str, &[(&str, &str)])] = &[
    (
        "tools and hooks as files, inline in `harness.md`, or in bundles",
        &[("reference", "docs/reference/tool.md")],
    ),
    (
        "every file checked; each finding has a code, a place and a page",
        &[("diagnostics", "docs/diagnostics/README.md")],
    ),
    (
        "files written for the original system",
        &[("what happens to each", "docs/reference/portability.md")],
    ),
    (
        "arguments checked against JSON Schema; policy by name, effect and argument",
        &[("policy", "docs/guide/policy.md")],
    ),
    (
        "policy for a machine and for a user, above every project",
        &[("policy", "docs/guide/policy.md#above-every-project")],
    ),
    (
        "hooks before and after calls and built-ins, failing closed",
        &[("write a hook", "docs/guide/write-a-hook.md")],
    ),
    (
        "scripts in confined worker processes, with limits on time, memory and output",
        &[("scripts", "docs/guide/how-scripts-are-contained.md")],
    ),
    (
        "files inside the workspace, and nothing outside it",
        &[("built-ins", "docs/reference/builtins.md")],
    ),
    (
        "processes in a kernel sandbox, network to listed hosts only; `harness exec` for any command, `harness doctor` for the machine",
        &[("processes", "docs/guide/how-processes-are-contained.md")],
    ),
    (
        "secrets given to tools by name, and removed from results, events and logs; long results stored and read by handle",
        &[(
            "secrets and long results",
            "docs/guide/secrets-and-long-results.md",
        )],
    ),
    (
        "Claude Code's and Codex's own tools judged by the same rules and hooks",
        &[
            ("Claude Code", "docs/guide/claude-code.md"),
            ("Codex", "docs/guide/codex.md"),
        ],
    ),
    (
        "the tools for any MCP client, over standard input and output",
        &[
            ("MCP", "docs/guide/mcp.md"),
            ("install", "docs/guide/install.md"),
        ],
    ),
    (
        "the tools in the formats of OpenAI, Anthropic and Gemini",
        &[(
            "give tools to a model",
            "docs/guide/give-tools-to-a-model.md",
        )],
    ),
    (
        "tools, policy and prompts checked together in CI, with SARIF and GitHub annotations",
        &[("check in CI", "docs/guide/check-in-ci.md")],
    ),
    (
        "typed tools in Rust with middleware, turns and limits, in a program of yours",
        &[
            ("write a tool in Rust", "docs/guide/write-a-tool-in-rust.md"),
            ("embed", "docs/guide/embed-in-rust.md"),
        ],
    ),
];

/// Something that does not work yet.
struct Gap {
    what: &'static str,
    /// What happens today.
    today: &'static str,
    /// The fields whose declaration refuses calls until it works.
    fields: &'static [&'static str],
    /// The commands that do not exist until it works.
    commands: &'static [&'static str],
}

const NOT_YET: &[Gap] = &[
    Gap {
        what: "approval by a person",
        today: "a call that needs one is refused",
        fields: &[
            "tool.requires_approval as an expression",
            "root.approval_policy",
        ],
        commands: &["approvals", "grants", "trust"],
    },
    Gap {
        what: "modes",
        today: "there is one mode, `default`",
        fields: &["root.modes"],
        commands: &[],
    },
    Gap {
        what: "agents, skills, contexts, an agent loop",
        today: "their files are read and checked, and change nothing",
        fields: &[],
        commands: &["run", "context"],
    },
    Gap {
        what: "background tasks",
        today: "a tool with `async: true` runs, and the caller waits",
        fields: &[],
        commands: &["tasks", "worker"],
    },
    Gap {
        what: "a durable record, state across restarts",
        today: "`harness call --events` prints events; `cache`, `ctx` and `state` are in memory",
        fields: &[],
        commands: &["log", "replay", "backtest"],
    },
    Gap {
        what: "MCP over HTTP, hooks of other clients",
        today: "MCP over standard input and output; hooks of Claude Code and Codex",
        fields: &[],
        commands: &["serve", "token"],
    },
];

/// The README with its two tables made anew.
pub(crate) fn readme(readme: &str) -> String {
    let mut works = String::from("| | |\n| --- | --- |\n");
    for (what, pages) in WORKS {
        let pages: Vec<String> = pages
            .iter()
            .map(|(name, path)| format!("[{name}]({path})"))
            .collect();
        let _ = writeln!(works, "| {what} | {} |", pages.join(", "));
    }
    let mut not_yet = String::from("| not yet | today |\n| --- | --- |\n");
    for gap in NOT_YET {
        let _ = writeln!(not_yet, "| {} | {} |", gap.what, gap.today);
    }
    let readme = section(readme, "## What works today\n\n", &works);
    section(&readme, "## What does not work yet\n\n", &not_yet)
}

/// The text with another table below a heading.
fn section(text: &str, heading: &str, table: &str) -> String {
    let (before, after) = text
        .split_once(heading)
        .expect("the README has this heading");
    let rest = after.trim_start_matches('\n');
    let end = rest.find("\n\n").map_or(rest.len(), |end| end + 1);
    let end = if rest.starts_with('|') { end } else { 0 };
    format!("{before}{heading}{table}{}", &rest[end..])
}

/// The page about fields that refuse calls.
pub(crate) fn unsupported() -> String {
    let mut text = String::from(
        "# Declared and not enforced yet\n\nA restriction that nothing enforces must not be passed over: writing one of these refuses the call as `tool.unsupported`.\n\n| field | waits for |\n| --- | --- |\n",
    );
    for gap in NOT_YET {
        for field in gap.fields {
            let _ = writeln!(text, "| `{field}` | {} |", gap.what);
        }
    }
    text
}

#[test]
fn the_list_of_what_does_not_work_matches_the_program() {
    let listed: BTreeSet<&str> = NOT_YET.iter().flat_map(|gap| gap.fields).copied().collect();
    let refused: BTreeSet<&str> = unsupported_fields().into_iter().collect();
    assert_eq!(listed, refused, "the fields that refuse calls");
    let help = crate::support::program::harness(std::path::Path::new("/"), &["help"])
        .ends(0)
        .out;
    for command in NOT_YET.iter().flat_map(|gap| gap.commands) {
        let exists = help
            .lines()
            .any(|line| line.trim_start().split(' ').next() == Some(command));
        assert!(!exists, "`harness {command}` exists; take it off the list");
    }
}
