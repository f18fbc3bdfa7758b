//! In files of any layout, entries go in and come out again byte for byte, and nothing else is
//! touched.

use super::record::InstallRecord;
use super::{ConfigEntry, ConfigSyntax, EntrySlot, EntryState, hook};
use crate::client::CallPhase;
use proptest::prelude::*;
use serde_json::{Value, json};

const PROGRAM: &str = "/opt/it's here/harness";
const PRE_AND_POST: &[(&str, CallPhase)] = &[
    ("PreToolUse", CallPhase::Before),
    ("PostToolUse", CallPhase::After),
];
const ALL_EVENTS: &[(&str, CallPhase)] = &[
    ("PreToolUse", CallPhase::Before),
    ("PostToolUse", CallPhase::After),
    ("PostToolUseFailure", CallPhase::Failed),
];

fn server(key: &'static str) -> Vec<ConfigEntry> {
    vec![ConfigEntry {
        path: vec![key],
        slot: EntrySlot::Member,
        value: json!({"command": PROGRAM, "args": ["mcp", "--project", "/p \"q\""]}),
    }]
}

/// Adds all entries and removes them again; returns the text with them.
fn there_and_back(syntax: ConfigSyntax, text: &str, entries: &[ConfigEntry]) -> String {
    let mut record = InstallRecord::default();
    let mut with = text.to_owned();
    for entry in entries {
        assert_eq!(syntax.look(&with, entry), Ok(EntryState::Absent), "{with}");
        let added = syntax
            .add(&with, entry)
            .unwrap_or_else(|why| panic!("{why} in\n{with}"));
        assert!(
            added.text.len() == with.len() + added.piece.text.len()
                && added.text.contains(&added.piece.text),
            "only one piece is added\n{with}"
        );
        record.pieces.push(added.piece);
        record.created.extend(added.created);
        with = added.text;
    }
    for entry in entries {
        assert_eq!(syntax.look(&with, entry), Ok(EntryState::Current), "{with}");
    }
    assert_eq!(record.undo(&with).as_deref(), Some(text), "{with}");
    let mut without = with.clone();
    for entry in entries.iter().rev() {
        without = syntax
            .remove(&without, entry, &record.created)
            .unwrap_or_else(|why| panic!("{why} in\n{with}"));
        assert_eq!(
            syntax.look(&without, entry),
            Ok(EntryState::Absent),
            "{without}"
        );
    }
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(
        bare(&without),
        bare(text),
        "by structure all but white space comes back\n{without}"
    );
    with
}

#[test]
fn entries_go_into_json_of_any_layout_and_come_out_again() {
    for text in [
        "",
        "\n",
        "{}",
        "{ }\n",
        "{\n}",
        "{ // all\r\n}\r\n",
        "{ /* c */ }",
        "{\"mcpServers\":{}}",
        "{ \"a\": 1, }",
        "// top\n{\n\t\"a\": [1,2], // one\n\t// two\n\t\"mcpServers\": { // three\n\t\t// four\n\t\t\"b\": {\"command\": \"x\"}, // five\n\t},\n}",
        "{\r\n    \"hooks\": {\r\n        \"PreToolUse\": [],\r\n        \"PostToolUse\": [ { \"matcher\": \"Bash\", \"hooks\": [] } ]\r\n    }\r\n}\r\n",
        "{\"hooks\":{\r\n\t\"PreToolUse\":\r\n\t[]}}",
        "{\n  \"hooks\": { \"Stop\": [\n    1 // é\n  ]}, \"z\": \"}{\" }\n\n\n",
        "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      // mine\n      {\n        \"matcher\": \"Bash\"\n      }\n    ]\n  }\n}",
    ] {
        there_and_back(ConfigSyntax::Json, text, &server("mcpServers"));
        there_and_back(
            ConfigSyntax::Json,
            text,
            &hook::entries(PROGRAM, "claude-code", ALL_EVENTS),
        );
    }
}

#[test]
fn new_json_is_indented_like_its_neighbours() {
    let with = there_and_back(
        ConfigSyntax::Json,
        "{\n\t\"mcpServers\": { // all\n\t\t\"b\": {}\n\t}\n}",
        &server("mcpServers"),
    );
    assert!(
        with.starts_with(
            "{\n\t\"mcpServers\": { // all\n\t\t\"harness\": {\n\t\t\t\"command\": \""
        ),
        "{with}"
    );
    let with = there_and_back(ConfigSyntax::Json, "{ \"a\": 1 }", &server("mcpServers"));
    assert!(
        with.starts_with("{ \"mcpServers\": {\"harness\"") && with.ends_with("}}, \"a\": 1 }"),
        "{with}"
    );
}

#[test]
fn entries_go_into_toml_and_yaml_of_any_layout_and_come_out_again() {
    for text in [
        "",
        "# only a comment",
        "a = 1 # x",
        "[mcp_servers.other]\r\ncommand = 'x'\r\n\r\n# y\r\n[z]\r\n",
        "mcp_servers.x.command = \"y\"\n",
    ] {
        there_and_back(ConfigSyntax::Toml, text, &server("mcp_servers"));
    }
    for text in [
        "",
        "# only a comment",
        "GOOSE_MODE: auto",
        "extensions:\n",
        "extensions: # mine\n    developer:\n        enabled: true\nz: |\n  extensions:\n    harness:\n",
        "a: 1\r\nextensions:\r\n  # first\r\n  b:\r\n    cmd: x\r\n",
        "a: 'it''s'\nextensions:\n",
    ] {
        there_and_back(ConfigSyntax::Yaml, text, &server("extensions"));
    }
    let flow = ConfigSyntax::Yaml
        .add("extensions: {}\n", &server("extensions")[0])
        .map(|added| added.text)
        .unwrap_or_default();
    assert!(flow.starts_with("extensions: {harness: {"), "{flow}");
}

#[test]
fn files_with_an_unknown_layout_are_refused() {
    let (json, toml, yaml) = (
        &server("mcpServers")[0],
        &server("mcp_servers")[0],
        &server("extensions")[0],
    );
    // Only the record tells this text from a table.
    let quoted = ConfigSyntax::Toml
        .add("a = \"\"\"\n[mcp_servers.harness]\n\"\"\"\n", toml)
        .map(|added| added.text)
        .unwrap_or_default();
    assert!(
        ConfigSyntax::Toml.remove(&quoted, toml, &[]).is_err(),
        "{quoted}"
    );
    for (syntax, text, entry) in [
        (ConfigSyntax::Json, "{", json),
        (ConfigSyntax::Json, "[]", json),
        (ConfigSyntax::Json, "{\"a\": 1 \"b\": 2}", json),
        (ConfigSyntax::Json, "{\"mcpServers\": []}", json),
        (
            ConfigSyntax::Json,
            "{\"mcpServers\": {}, \"mcpServers\": {}}",
            json,
        ),
        (ConfigSyntax::Toml, "a = ", toml),
        (ConfigSyntax::Toml, "mcp_servers = 1\n", toml),
        (
            ConfigSyntax::Toml,
            "mcp_servers = { x = { command = \"y\" } }\n",
            toml,
        ),
        (ConfigSyntax::Yaml, "a: [", yaml),
        (ConfigSyntax::Yaml, "- a\n", yaml),
        (ConfigSyntax::Yaml, "a: 1\n---\nb: 1\n", yaml),
        (ConfigSyntax::Yaml, "extensions: [a]\n", yaml),
        (ConfigSyntax::Yaml, "extensions: &x\n  a: {}\n", yaml),
    ] {
        assert!(
            syntax.look(text, entry).is_err() || syntax.add(text, entry).is_err(),
            "{text}"
        );
    }
}

#[test]
fn foreign_entries_are_never_mistaken_for_ours() {
    let ours = server("mcpServers");
    let look = |value: Value| {
        ConfigSyntax::Json.look(
            &json!({"mcpServers": {"harness": value}}).to_string(),
            &ours[0],
        )
    };
    assert_eq!(
        look(json!({"command": "/old/harness", "args": ["mcp"]})),
        Ok(EntryState::Outdated)
    );
    assert_eq!(
        look(json!({"command": "npx", "args": ["harness"]})),
        Ok(EntryState::Foreign)
    );
    assert_eq!(
        look(json!({"url": "https://example.com"})),
        Ok(EntryState::Foreign)
    );
    let hooks = hook::entries(PROGRAM, "codex", PRE_AND_POST);
    let of = |client| {
        json!({"hooks": {"PreToolUse": [hook::entries("/old/harness", client, PRE_AND_POST)[0].value]}}).to_string()
    };
    assert_eq!(
        ConfigSyntax::Json.look(&of("codex"), &hooks[1]),
        Ok(EntryState::Outdated)
    );
    assert_eq!(
        ConfigSyntax::Json.look(&of("claude-code"), &hooks[1]),
        Ok(EntryState::Absent)
    );
    let later = of("codex").replace(" || ", " --then ");
    assert_eq!(
        ConfigSyntax::Json.look(&later, &hooks[1]),
        Ok(EntryState::Outdated),
        "what another version wrote"
    );
}

/// White space and comments between tokens.
fn gap() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just(""),
        Just(" "),
        Just("\n"),
        Just("\r\n\t"),
        Just(" // c\n"),
        Just("/* , } */"),
        Just("\n    ")
    ]
}

/// A document in pieces, with gaps everywhere.
fn documents() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("1"),
        Just("\"}{ // é\""),
        Just("null"),
        Just("{}"),
        Just("[]")
    ]
    .prop_map(str::to_owned);
    let key = prop_oneof![
        Just("a"),
        Just("mcpServers"),
        Just("hooks"),
        Just("PreToolUse"),
        Just("PostToolUse"),
        Just("b")
    ];
    let value = leaf.prop_recursive(3, 16, 3, move |inner| {
        let member = (gap(), key.clone(), gap(), gap(), inner.clone(), gap());
        prop_oneof![
            (prop::collection::vec(member, 0..4), any::<bool>()).prop_map(|(members, trailing)| {
                let made: Vec<String> = members
                    .iter()
                    .map(|(a, key, b, c, value, d)| format!("{a}\"{key}\"{b}:{c}{value}{d}"))
                    .collect();
                format!(
                    "{{{}{}}}",
                    made.join(","),
                    if trailing && !made.is_empty() {
                        ",\n"
                    } else {
                        ""
                    }
                )
            }),
            prop::collection::vec((gap(), inner, gap()), 0..3).prop_map(|items| format!(
                "[{}]",
                items
                    .iter()
                    .map(|(a, item, b)| format!("{a}{item}{b}"))
                    .collect::<Vec<_>>()
                    .join(",")
            )),
        ]
    });
    (gap(), value, gap()).prop_map(|(before, value, after)| format!("{before}{value}{after}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn any_json_file_is_restored_or_refused(text in documents()) {
        for entries in [server("mcpServers"), hook::entries(PROGRAM, "claude-code", ALL_EVENTS)] {
            let fits = entries.iter().all(|entry| ConfigSyntax::Json.look(&text, entry) == Ok(EntryState::Absent) && ConfigSyntax::Json.add(&text, entry).is_ok());
            if fits {
                there_and_back(ConfigSyntax::Json, &text, &entries);
            }
        }
    }

    #[test]
    fn no_bytes_make_the_editors_panic(text in ".{0,60}", which in 0..3_usize) {
        let (syntax, entries) = [
            (ConfigSyntax::Json, server("mcpServers")),
            (ConfigSyntax::Toml, server("mcp_servers")),
            (ConfigSyntax::Yaml, server("extensions")),
        ].into_iter().nth(which).expect("one of three");
        if syntax.look(&text, &entries[0]) == Ok(EntryState::Absent) && syntax.add(&text, &entries[0]).is_ok() {
            there_and_back(syntax, &text, &entries);
        }
    }
}
