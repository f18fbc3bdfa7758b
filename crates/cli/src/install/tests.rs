//! Whatever a file looks like: entries go in, come out again byte for byte, and nothing else is
//! touched.

use super::record::{InstallRecord, Piece};
use super::{ConfigEntry, EntryState, Slot, Syntax, hook};
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
        slot: Slot::Member,
        value: json!({"command": PROGRAM, "args": ["mcp", "--project", "/p \"q\""]}),
    }]
}

/// All entries in, all out; gives the text with them.
fn there_and_back(syntax: Syntax, text: &str, entries: &[ConfigEntry]) -> String {
    let mut record = InstallRecord::default();
    let mut with = text.to_owned();
    for entry in entries {
        assert_eq!(syntax.look(&with, entry), Ok(EntryState::Absent), "{with}");
        let added = syntax
            .add(&with, entry)
            .unwrap_or_else(|why| panic!("{why} in\n{with}"));
        assert!(
            added.text.len() == with.len() + added.piece.len() && added.text.contains(&added.piece),
            "only one piece is added\n{with}"
        );
        record.pieces.push(Piece {
            at: added.at,
            text: added.piece,
        });
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
fn json_of_any_layout_takes_entries_and_gives_them_back() {
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
        there_and_back(Syntax::Json, text, &server("mcpServers"));
        there_and_back(
            Syntax::Json,
            text,
            &hook::entries(PROGRAM, "claude-code", ALL_EVENTS),
        );
    }
}

#[test]
fn json_is_laid_out_like_its_neighbours() {
    let with = there_and_back(
        Syntax::Json,
        "{\n\t\"mcpServers\": { // all\n\t\t\"b\": {}\n\t}\n}",
        &server("mcpServers"),
    );
    assert!(
        with.starts_with(
            "{\n\t\"mcpServers\": { // all\n\t\t\"harness\": {\n\t\t\t\"command\": \""
        ),
        "{with}"
    );
    let with = there_and_back(Syntax::Json, "{ \"a\": 1 }", &server("mcpServers"));
    assert!(
        with.starts_with("{ \"mcpServers\": {\"harness\"") && with.ends_with("}}, \"a\": 1 }"),
        "{with}"
    );
}

#[test]
fn toml_and_yaml_of_any_layout_take_the_entry_and_give_it_back() {
    for text in [
        "",
        "# only a comment",
        "a = 1 # x",
        "[mcp_servers.other]\r\ncommand = 'x'\r\n\r\n# y\r\n[z]\r\n",
        "mcp_servers.x.command = \"y\"\n",
    ] {
        there_and_back(Syntax::Toml, text, &server("mcp_servers"));
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
        there_and_back(Syntax::Yaml, text, &server("extensions"));
    }
    let flow = Syntax::Yaml
        .add("extensions: {}\n", &server("extensions")[0])
        .map(|added| added.text)
        .unwrap_or_default();
    assert!(flow.starts_with("extensions: {harness: {"), "{flow}");
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let (json, toml, yaml) = (
        &server("mcpServers")[0],
        &server("mcp_servers")[0],
        &server("extensions")[0],
    );
    // Only the record tells this text from a table.
    let quoted = Syntax::Toml
        .add("a = \"\"\"\n[mcp_servers.harness]\n\"\"\"\n", toml)
        .map(|added| added.text)
        .unwrap_or_default();
    assert!(Syntax::Toml.remove(&quoted, toml, &[]).is_err(), "{quoted}");
    for (syntax, text, entry) in [
        (Syntax::Json, "{", json),
        (Syntax::Json, "[]", json),
        (Syntax::Json, "{\"a\": 1 \"b\": 2}", json),
        (Syntax::Json, "{\"mcpServers\": []}", json),
        (
            Syntax::Json,
            "{\"mcpServers\": {}, \"mcpServers\": {}}",
            json,
        ),
        (Syntax::Toml, "a = ", toml),
        (Syntax::Toml, "mcp_servers = 1\n", toml),
        (
            Syntax::Toml,
            "mcp_servers = { x = { command = \"y\" } }\n",
            toml,
        ),
        (Syntax::Yaml, "a: [", yaml),
        (Syntax::Yaml, "- a\n", yaml),
        (Syntax::Yaml, "a: 1\n---\nb: 1\n", yaml),
        (Syntax::Yaml, "extensions: [a]\n", yaml),
        (Syntax::Yaml, "extensions: &x\n  a: {}\n", yaml),
    ] {
        assert!(
            syntax.look(text, entry).is_err() || syntax.add(text, entry).is_err(),
            "{text}"
        );
    }
}

#[test]
fn an_entry_of_another_is_never_taken_for_ours() {
    let ours = server("mcpServers");
    let look = |value: Value| {
        Syntax::Json.look(
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
        Syntax::Json.look(&of("codex"), &hooks[1]),
        Ok(EntryState::Outdated)
    );
    assert_eq!(
        Syntax::Json.look(&of("claude-code"), &hooks[1]),
        Ok(EntryState::Absent)
    );
    let later = of("codex").replace(" || ", " --then ");
    assert_eq!(
        Syntax::Json.look(&later, &hooks[1]),
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
    fn any_json_is_taken_and_given_back_or_refused(text in documents()) {
        for entries in [server("mcpServers"), hook::entries(PROGRAM, "claude-code", ALL_EVENTS)] {
            let fits = entries.iter().all(|entry| Syntax::Json.look(&text, entry) == Ok(EntryState::Absent) && Syntax::Json.add(&text, entry).is_ok());
            if fits {
                there_and_back(Syntax::Json, &text, &entries);
            }
        }
    }

    #[test]
    fn no_bytes_make_the_editors_panic(text in ".{0,60}", which in 0..3_usize) {
        let (syntax, entries) = [
            (Syntax::Json, server("mcpServers")),
            (Syntax::Toml, server("mcp_servers")),
            (Syntax::Yaml, server("extensions")),
        ].into_iter().nth(which).expect("one of three");
        if syntax.look(&text, &entries[0]) == Ok(EntryState::Absent) && syntax.add(&text, &entries[0]).is_ok() {
            there_and_back(syntax, &text, &entries);
        }
    }
}
