//! Two files with the same name.

use super::{READ_NOTE, WATCH, expect, found, judge, tool};

fn bundle(tool: &str) -> String {
    format!(
        "---\ntools:\n  - name: {tool}\n    description: Reads.\n    script: |\n      def run(args):\n          return 1\n---\n"
    )
}

#[test]
fn a_name_defined_twice_is_offered_by_neither_file() {
    let plugin = bundle("read_note");
    let checked = expect(
        &[
            (".harness/tools/read_note.md", READ_NOTE),
            (".harness/plugins/notes.md", &plugin),
        ],
        &[
            "TOOL_DUPLICATE .harness/plugins/notes.md:3:11",
            "TOOL_DUPLICATE .harness/tools/read_note.md:1:1",
        ],
    );
    assert!(checked.tools.iter().all(|tool| !tool.usable()));
    assert_eq!(
        checked.diagnostics[0].message,
        "tool \"read_note\" is defined more than once"
    );
    let help = checked.diagnostics[0].help.as_deref().unwrap_or_default();
    assert!(help.contains(".harness/tools/read_note.md:1:1"), "{help}");
}

#[test]
fn an_alias_that_clashes_with_another_tool_disables_its_tool() {
    let claims = |names: &str| tool(&format!("aliases: {{ {names} }}\n"), "1");
    let (plan, list) = (
        claims("openai: readPlan, gemini: read_note"),
        claims("anthropic: readPlan"),
    );
    let checked = expect(
        &[
            (".harness/tools/read_note.md", READ_NOTE),
            (".harness/tools/read_plan.md", &plan),
            (".harness/tools/list_plans.md", &list),
        ],
        &[
            "ALIAS_CLASH .harness/tools/list_plans.md:2:23",
            "ALIAS_CLASH .harness/tools/read_plan.md:2:20",
            "ALIAS_CLASH .harness/tools/read_plan.md:2:38",
        ],
    );
    let usable: Vec<&str> = checked
        .tools
        .iter()
        .filter(|tool| tool.usable())
        .map(|tool| tool.tool.name.as_str())
        .collect();
    assert_eq!(usable, ["read_note"]);
    assert_eq!(
        checked.diagnostics[0].message,
        "the alias `readPlan` is also an alias of `read_plan`"
    );
    let twice = claims("openai: readPlan, gemini: readPlan, anthropic: read_plan");
    expect(&[(".harness/tools/read_plan.md", &twice)], &[]);
}

#[test]
fn an_alias_no_provider_accepts_and_an_injected_parameter_are_errors_at_their_place() {
    let odd = tool("aliases: { openai: read plan }\n", "1");
    expect(
        &[(".harness/tools/read_plan.md", &odd)],
        &["ALIAS_NOT_OFFERED .harness/tools/read_plan.md:2:20"],
    );
    for schema in [
        "parameters: { id: { type: string } }\n",
        "input_schema: { type: object, properties: { id: {} } }\n",
        "input_schema: { type: object, required: [id] }\n",
        "input_schema: { type: object, anyOf: [{ properties: { id: {} } }, true] }\n",
        "input_schema: { type: object, $ref: '#/$defs/a', $defs: { a: { patternProperties: { '^i': {} } } } }\n",
    ] {
        let both = tool(&format!("{schema}inject: {{ id: call_id }}\n"), "1");
        let checked = expect(
            &[(".harness/tools/read_plan.md", &both)],
            &["INJECT_IS_PARAMETER .harness/tools/read_plan.md:3:15"],
        );
        assert!(!checked.tools[0].usable());
    }
}

#[test]
fn an_override_replaces_the_tool() {
    let local = bundle("read_note");
    let checked = expect(
        &[
            (".harness/tools/read_note.md", READ_NOTE),
            (".harness/overrides/local.md", &local),
        ],
        &["OVERRIDE_REPLACES .harness/overrides/local.md:3:11"],
    );
    assert_eq!(checked.tools.len(), 1);
    assert!(checked.tools[0].usable() && checked.tools[0].reaches.is_empty());
    assert!(
        checked.diagnostics[0]
            .message
            .contains(".harness/tools/read_note.md:1:1")
    );
}

#[test]
fn two_overrides_of_one_name_clash_and_nothing_falls_back() {
    let (one, two) = (bundle("read_note"), bundle("read_note"));
    let checked = judge(&[
        (".harness/tools/read_note.md", READ_NOTE),
        (".harness/overrides/a.md", &one),
        (".harness/overrides/b.md", &two),
    ]);
    assert!(
        checked.tools.iter().all(|tool| !tool.usable()),
        "{:?}",
        found(&checked)
    );
    assert_eq!(
        checked
            .diagnostics
            .iter()
            .filter(|found| found.code == "TOOL_DUPLICATE")
            .count(),
        3
    );
}

#[test]
fn a_tool_next_to_an_unreadable_file_of_its_name_is_not_offered() {
    let plugin = bundle("read_note");
    let checked = judge(&[
        (".harness/tools/read_note.md", "no frontmatter\n"),
        (".harness/plugins/notes.md", &plugin),
    ]);
    assert!(
        checked.tools.iter().all(|tool| !tool.usable()),
        "{:?}",
        found(&checked)
    );
    let twin = judge(&[
        (".harness/tools/read_mail.md", "no frontmatter\n"),
        (".harness/plugins/notes.md", &plugin),
    ]);
    assert!(
        twin.tools
            .iter()
            .all(tool_harness::check::CheckedTool::usable),
        "{:?}",
        found(&twin)
    );
}

#[test]
fn two_hooks_with_one_name_both_stay_and_both_block() {
    let plugin = "---\nhooks:\n  - name: watch_calls\n    event: tool.post\n    script: |\n      def handle(event, payload):\n          return allow()\n---\n";
    let checked = judge(&[
        (".harness/hooks/watch_calls.md", WATCH),
        (".harness/plugins/watching.md", plugin),
    ]);
    assert_eq!(checked.hooks.len(), 2);
    assert!(checked.hooks.iter().all(|hook| {
        hook.broken
            .as_ref()
            .is_some_and(|broken| broken.code == "HOOK_DUPLICATE")
    }));
}

#[test]
fn a_tool_with_an_alias_may_have_a_name_that_providers_reject() {
    let aliased = READ_NOTE.replace("---\nscript", "---\naliases: {openai: read_note}\nscript");
    expect(&[(".harness/tools/read.note.md", &aliased)], &[]);
    expect(
        &[(".harness/tools/read.note.md", READ_NOTE)],
        &["NAME_NOT_OFFERED .harness/tools/read.note.md:1:1"],
    );
}
