//! Checks surfaces, and whether twice as much takes at most twice as long.

use crate::{Report, Samples};
use anyhow::ensure;
use serde_json::{Value, json};
use tool_harness::surface::{check, read_text};

/// The bytes of the prompt.
const PROMPT: usize = 100_000;

/// A surface, and the number of findings it must have, by size.
struct Case {
    name: &'static str,
    rounds: usize,
    surface: fn(usize) -> Value,
    findings: fn(usize) -> usize,
}

const CASES: &[Case] = &[
    Case {
        name: "100 tools and 100 KB of prompt",
        rounds: 41,
        surface: |times| json!({"tools": tools(100 * times, false), "system": prompt(PROMPT * times)}),
        findings: |_| 0,
    },
    Case {
        name: "1,000 tools with 3 aliases each and 100 KB of prompt",
        rounds: 21,
        surface: |times| json!({"tools": tools(1000 * times, true), "system": prompt(PROMPT * times)}),
        findings: |_| 0,
    },
    Case {
        name: "1,000 executing tools without a reader",
        rounds: 21,
        surface: |times| json!({"tools": executing(1000 * times)}),
        findings: |times| 1000 * times,
    },
    Case {
        name: "96 KB of unclosed <tool_call>",
        rounds: 41,
        surface: |times| json!({"tools": tools(1, false), "system": "<tool_call>".repeat(96_000 * times / 11)}),
        findings: |_| 0,
    },
    Case {
        name: "10,000 tools",
        rounds: 7,
        surface: |times| json!({ "tools": tools(10_000 * times, false) }),
        findings: |_| 0,
    },
];

/// Measures every case at its size and at twice that size.
pub fn run(report: &mut Report) -> anyhow::Result<()> {
    for case in CASES {
        let [once, twice] = [1, 2].map(|times| (case.surface)(times).to_string());
        let surfaces = [&once, &twice].map(|text| read_text("surface.json", text));
        for (times, surface) in [1, 2].into_iter().zip(&surfaces) {
            let found = check(surface).diagnostics.len();
            ensure!(
                found == (case.findings)(times),
                "{}: {found} findings",
                case.name
            );
        }
        // In turns, so that a busy moment of the machine affects both.
        let mut checked = [Samples::default(), Samples::default()];
        let mut whole = [Samples::default(), Samples::default()];
        for _ in 0..case.rounds {
            for (index, text) in [&once, &twice].into_iter().enumerate() {
                checked[index].push(
                    Samples::of(1, || drop(std::hint::black_box(check(&surfaces[index])))).median(),
                );
                whole[index].push(
                    Samples::of(1, || {
                        drop(check(&read_text(
                            "surface.json",
                            std::hint::black_box(text),
                        )))
                    })
                    .median(),
                );
            }
        }
        report.add_samples(
            &format!("{}, check", case.name),
            &checked[0].times(0.001),
            "ms",
        );
        report.add(
            format!("{}, with reading the JSON, median", case.name),
            whole[0].median() / 1000.0,
            "ms",
        );
        report.add(
            format!("{}, check, twice as much / once", case.name),
            checked[1].median() / checked[0].median(),
            "ratio",
        );
        report.add(
            format!("{}, with reading, twice as much / once", case.name),
            whole[1].median() / whole[0].median(),
            "ratio",
        );
    }
    Ok(())
}

fn tools(count: usize, aliased: bool) -> Vec<Value> {
    let aliases = if aliased {
        json!({"file": "path", "filename": "path", "target": "path"})
    } else {
        json!({})
    };
    let tool = |number: usize| {
        json!({
            "name": format!("read_note_{number}"),
            "description": "Reads one note of the project and returns its text. Say which by its path.",
            "parameters": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The note, relative to the project"},
                    "max_lines": {"type": "integer", "description": "At most this many lines"},
                },
                "required": ["path"],
            },
            "executor": "harn",
            "annotations": {"kind": "read", "side_effect_level": "read_only", "arg_schema": {"path_params": ["path"], "arg_aliases": aliases}},
        })
    };
    (0..count).map(tool).collect()
}

fn executing(count: usize) -> Vec<Value> {
    let tool = |number: usize| {
        json!({
            "name": format!("run_step_{number}"),
            "description": "Runs one step of the build.",
            "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
            "executor": "harn",
            "annotations": {"kind": "execute", "side_effect_level": "process_exec", "emits_artifacts": true},
        })
    };
    (0..count).map(tool).collect()
}

/// Prose with calls, code and markup.
fn prompt(bytes: usize) -> String {
    let part = "Look before you change: call read_note_7(path=\"a.md\", max_lines=20), then `read_note_8`. It's (mostly) prose; see \
                https://example.com/a_b(c) and df.group_by(x).\n\n```py\nread_note_1(file)\n```\n\n<tool_call>{\"name\": \"read_note_3\", \
                \"arguments\": {\"path\": \"b.md\"}}</tool_call>\n\n";
    part.repeat(bytes / part.len() + 1)
}
