//! The reference pages are rendered from the code. `UPDATE=1 cargo test -p tool-harness-cli --test it reference::` rewrites them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use tool_harness::Code;
use tool_harness::artifact::shape::{Field, FieldStatus, Shape};
use tool_harness::artifact::{ArtifactKind, fields_of, json_schema};
use tool_harness::builtin::{Body, Builtin, MODULES, Module, Scope, full_name};
use tool_harness::check::{index, page, rules};
use tool_harness::event::EventName;
use tool_harness::hook_event::{HOOK_EVENTS, Keys};
use tool_harness::native::{CLIENTS, MAPS, Served, Split};

const MADE: &str = "<!-- Made from the code by crates/cli/tests/it/reference.rs. Do not edit; run it with UPDATE=1. -->\n\n";

#[test]
fn every_reference_page_matches_the_code() {
    let mut pages: BTreeMap<String, String> = BTreeMap::new();
    for kind in ArtifactKind::ALL {
        pages.insert(format!("reference/{}.md", kind.word()), artifact_page(kind));
        let schema = serde_json::to_string_pretty(&json_schema(kind)).expect("JSON");
        pages.insert(
            format!("reference/schema/{}.json", kind.word()),
            schema + "\n",
        );
    }
    pages.insert(
        "reference/unsupported.md".into(),
        format!("{MADE}{}", crate::features::unsupported()),
    );
    let readme = include_str!("../../../../README.md");
    pages.insert("../README.md".into(), crate::features::readme(readme));
    pages.insert("reference/builtins.md".into(), builtins_page());
    pages.insert("reference/hook-events.md".into(), hook_events_page());
    pages.insert("reference/events.md".into(), events_page());
    pages.insert("reference/refusals.md".into(), refusals_page());
    pages.insert("reference/cli.md".into(), cli_page());
    pages.insert("reference/clients.md".into(), clients_page());
    for rule in rules() {
        pages.insert(format!("diagnostics/{}.md", rule.code), page(&rule));
    }
    pages.insert("diagnostics/README.md".into(), index());
    pages.insert(
        "reference/surface-compared.md".into(),
        format!("{MADE}{}", crate::compared::page()),
    );
    pages.insert(
        "reference/portability.md".into(),
        format!("{MADE}{}", crate::portable::page()),
    );
    pages.insert("SUMMARY.md".into(), crate::book::summary(&pages));
    compare(&pages);
}

/// Compares the pages with the files, or writes them; a file without a page is stale.
fn compare(pages: &BTreeMap<String, String>) {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    #[expect(clippy::disallowed_methods, reason = "a switch of this test")]
    let update = std::env::var_os("UPDATE").is_some();
    let mut stale = Vec::new();
    for folder in ["reference", "reference/schema", "diagnostics"] {
        for entry in std::fs::read_dir(docs.join(folder))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_file() && !pages.contains_key(&name) {
                if update {
                    std::fs::remove_file(entry.path()).expect("removes");
                }
                stale.push(name);
            }
        }
    }
    for (name, text) in pages {
        let path = docs.join(name);
        if std::fs::read_to_string(&path).ok().as_deref() == Some(text) {
            continue;
        }
        if update {
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            std::fs::write(&path, text).expect("writes");
        }
        stale.push(name.clone());
    }
    assert!(
        update || stale.is_empty(),
        "stale pages, run with UPDATE=1: {stale:?}"
    );
}

fn artifact_page(kind: ArtifactKind) -> String {
    let (title, intro) = match kind {
        ArtifactKind::Tool => (
            "Tool",
            "`.harness/tools/<name>.md`, or an entry of `tools:` in `harness.md` or a bundle.",
        ),
        ArtifactKind::Hook => (
            "Hook",
            "`.harness/hooks/<name>.md`, or an entry of `hooks:` in `harness.md` or a bundle.",
        ),
        ArtifactKind::Root => (
            "Root",
            "`harness.md`, `harness.yaml` or `harness.yml` at the top of the project. The body is the system prompt.",
        ),
        ArtifactKind::Bundle => (
            "Bundle",
            "`.harness/builtins/`, `.harness/plugins/` or `.harness/overrides/`, one file each.",
        ),
        ArtifactKind::Layer => (
            "Files above a project",
            "`/etc/harness/harness.md` for a machine, `$XDG_CONFIG_HOME/harness/harness.md` (or `~/.config/harness/harness.md`) for a user. What they say holds in every project: nothing in a project opens what they close.",
        ),
        ArtifactKind::Agent => (
            "Agent",
            "`.harness/agents/<name>.md`. The body is the agent's system prompt. Nothing runs agents yet.",
        ),
        ArtifactKind::Skill => (
            "Skill",
            "`.harness/skills/<name>/SKILL.md`, or `.harness/skills/<name>.md`. The body is what the skill says. No model is told of skills yet.",
        ),
        ArtifactKind::Context => (
            "Context",
            "`.harness/context/<name>.md`; the fields may be left out. The body is a text for the prompt. No prompt contains contexts yet.",
        ),
        ArtifactKind::Client => (
            "Client map",
            "`.harness/clients/<client>.md`, for {clients}. What it does not say, the [built-in map](clients.md) says.",
        ),
    };
    let clients = CLIENTS.map(|client| format!("`{client}`")).join(" or ");
    let intro = intro.replace("{clients}", &clients);
    let mut text = format!(
        "{MADE}# {title}\n\n{intro}\n\nJSON Schema: [schema/{word}.json](schema/{word}.json).\n\n",
        word = kind.word()
    );
    text.push_str("| field | accepted | default | |\n| --- | --- | --- | --- |\n");
    rows(fields_of(kind), "", &mut text);
    text
}

fn rows(fields: &[Field], path: &str, text: &mut String) {
    for field in fields {
        let name = if path.is_empty() {
            field.name.to_owned()
        } else {
            format!("{path}.{}", field.name)
        };
        let status = match field.status {
            FieldStatus::Enforced => String::new(),
            FieldStatus::Unsupported => {
                " **Not enforced yet: calls are refused as `tool.unsupported`.**".into()
            }
            FieldStatus::Idle => " *Has no effect yet.*".into(),
            FieldStatus::Partly(forms) => {
                format!(
                    " **Not enforced yet, so calls are refused:** {}.",
                    forms
                        .iter()
                        .map(|form| form.name.trim())
                        .collect::<Vec<_>>()
                        .join(", ")
                )
            }
        };
        let _ = writeln!(
            text,
            "| `{name}` | {} | {} | {}{status} |",
            cell(&field.shape.accepted()),
            cell(field.default),
            cell(field.doc)
        );
        inside(&field.shape, &name, text);
    }
}

fn inside(shape: &Shape, name: &str, text: &mut String) {
    match shape {
        Shape::Record(fields) => rows(fields, name, text),
        Shape::List(item) => inside(item, &format!("{name}[]"), text),
        Shape::Map(item) => inside(item, &format!("{name}.*"), text),
        Shape::Either(shapes) => shapes.iter().for_each(|shape| inside(shape, name, text)),
        _ => {}
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn builtins_page() -> String {
    let mut text = format!(
        "{MADE}# Built-ins\n\nWhat scripts can call. *Effects* are what a mention of the call adds to a tool's effects.\n"
    );
    for module in MODULES {
        let title = if module.name.is_empty() {
            "Globals"
        } else {
            module.name
        };
        let _ = write!(text, "\n## {title}\n\n{}\n", module.doc);
        for (name, value) in module.constants {
            let _ = write!(text, "\n- `{}.{name}` = {value}\n", module.name);
        }
        for builtin in module.calls {
            builtin_entry(module, builtin, &mut text);
        }
    }
    text
}

fn builtin_entry(module: &Module, builtin: &Builtin, text: &mut String) {
    let params: Vec<String> = builtin
        .params
        .iter()
        .map(|param| match (param.kind, param.default) {
            (tool_harness::builtin::Kind::Rest, _) => format!("*{}", param.name),
            (tool_harness::builtin::Kind::Named, _) => format!("**{}", param.name),
            (_, Some(default)) => format!("{}={default}", param.name),
            (_, None) => param.name.to_owned(),
        })
        .collect();
    let _ = write!(
        text,
        "\n### `{}({})`\n\n{}\n",
        full_name(module, builtin),
        params.join(", "),
        builtin.doc
    );
    for param in builtin.params.iter().filter(|param| !param.also.is_empty()) {
        let also: Vec<String> = param.also.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(
            text,
            "`{}` may also be written {}.",
            param.name,
            also.join(" or ")
        );
    }
    let _ = write!(text, "\nReturns {}.", builtin.returns.trim_end_matches('.'));
    let side = match builtin.scope {
        Scope::Both => "",
        Scope::Tools => " Tools only.",
        Scope::Hooks => " Hooks only.",
    };
    let missing = if let Body::Absent(why) = builtin.body {
        format!(" **Not available yet:** {why}.")
    } else {
        String::new()
    };
    let _ = writeln!(text, " Effects: {}.{side}{missing}", builtin.effects);
    if !builtin.examples.is_empty() {
        text.push_str("\n```python\n");
        for example in builtin.examples {
            let _ = writeln!(text, "{}  # {}", example.script, example.gives);
        }
        text.push_str("```\n");
    }
}

fn hook_events_page() -> String {
    let mut text = format!(
        "{MADE}# Events hooks can listen to\n\nA gating event waits for its hooks: a block, a failure or a timeout stops what was about to happen. On `tool.post`, a block, a failure or a timeout withholds the result.\n\n| event | when | gating | payload |\n| --- | --- | --- | --- |\n"
    );
    for event in HOOK_EVENTS {
        let keys = match event.keys {
            Keys::Only(keys) => keys
                .split(' ')
                .map(|key| format!("`{key}`"))
                .collect::<Vec<_>>()
                .join(", "),
            Keys::Any => "whatever was sent".into(),
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {keys} |",
            event.name,
            cell(event.doc),
            if event.gating { "yes" } else { "no" }
        );
    }
    text
}

fn events_page() -> String {
    let mut text = format!(
        "{MADE}# Events of the record\n\nEvery event has `event`, `time_ms`, `sequence` (its number among the events of this engine; calls that run at once may write theirs in another order), `session_id`, `run_id`, `turn_id` and, where it belongs to a call, `call_id`. Version 1.\n"
    );
    for event in EventName::ALL {
        let _ = write!(text, "\n## `{}`\n\n{}\n\n", event.text(), event.doc());
        for (field, doc) in event.fields() {
            let _ = writeln!(text, "- `{field}`: {doc}");
        }
    }
    text
}

fn clients_page() -> String {
    let mut text = format!(
        "{MADE}# The tools of clients\n\nHow `harness hook` shows each client's own tools to hooks and policy, unless a [client map](client.md) of the project says otherwise. \
         The first entry that fits counts; `*` stands for any text.\n"
    );
    let ticked = |words: &[&str]| {
        words
            .iter()
            .map(|word| format!("`{word}`"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    for map in MAPS {
        let _ = write!(
            text,
            "\n## {}\n\n| the client's tool | hooks see | its arguments as | paths | commands | effects | text of the result |\n| --- | --- | --- | --- | --- | --- | --- |\n",
            map.client
        );
        for tool in map.tools {
            let seen = match (tool.served, tool.name) {
                (Served::Here, _) => "nothing: harness serves it, and judges it there".to_owned(),
                (Served::Elsewhere, "") => "the same name".to_owned(),
                (Served::Elsewhere, name) => format!("`{name}`"),
            };
            let mut args: Vec<String> = tool
                .args
                .iter()
                .map(|(from, to)| format!("`{from}` as `{to}`"))
                .collect();
            args.extend(tool.split.map(|split| {
                match split {
                    Split::Edits => "one judgement for each of `edits`".to_owned(),
                    Split::Patch => {
                        "one judgement for each file of the patch: `path`, `content`, `change`"
                            .to_owned()
                    }
                }
            }));
            let _ = writeln!(
                text,
                "| `{}` | {seen} | {} | {} | {} | {} | {} |",
                tool.pattern,
                args.join("; "),
                ticked(tool.paths),
                ticked(tool.commands),
                tool.effects,
                ticked(tool.result)
            );
        }
    }
    text
}

fn refusals_page() -> String {
    let mut text = format!(
        "{MADE}# Refusals and failures\n\nRepairable: another call, changed, may succeed. Retryable: the same call may succeed later. Fatal: a person must act first.\n\n| code | class | meaning |\n| --- | --- | --- |\n"
    );
    for code in Code::ALL {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            code.text(),
            code.class(),
            code.meaning().trim()
        );
    }
    text
}

fn cli_page() -> String {
    let mut text = format!(
        "{MADE}# The `harness` program\n\n```text\n{}```\n",
        help(&[])
    );
    let commands: Vec<String> = help(&[])
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .filter(|name| name != "help")
        .collect();
    assert!(commands.len() >= 12, "{commands:?}");
    for command in commands {
        let _ = write!(
            text,
            "\n## `harness {command}`\n\n```text\n{}```\n",
            help(&[&command])
        );
    }
    let _ = write!(
        text,
        "\n## `harness surface check`\n\n```text\n{}```\n",
        help(&["surface", "check"])
    );
    text
}

fn help(command: &[&str]) -> String {
    #[expect(clippy::disallowed_methods, reason = "the program under test")]
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_harness"))
        .args(command)
        .arg("--help")
        .env("COLUMNS", "100")
        .output()
        .expect("runs");
    assert!(output.status.success(), "{command:?} --help");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}
