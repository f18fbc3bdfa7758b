//! Which bundles count: their conditions, what they depend on, and the order of their hooks.

use super::ECHO;
use crate::support::{Project, call, code, tool};
use serde_json::json;
use std::sync::Arc;
use tool_harness::artifact::BundleState;
use tool_harness::engine::Engine;

/// A bundle with the tool `<name>_tool` and a guard that blocks the tool `guarded`.
fn bundle(name: &str, fields: &str) -> String {
    let guard = "def handle(event, payload):\n          return block(\"no\") if payload[\"name\"] == \"guarded\" else allow()";
    format!(
        "---\n{fields}tools:\n  - name: {name}_tool\n    script: |\n      def run(args):\n          return \"{name}\"\nhooks:\n  - handler: {name}_guard\n    event: tool.pre\n    script: |\n      {guard}\n---\nA bundle.\n"
    )
}

fn states(engine: &Engine) -> Vec<(&str, &str)> {
    let bundles = engine.catalogue().bundles.iter();
    let state = |state: &BundleState| match state {
        BundleState::On => "on",
        BundleState::Off => "off",
        BundleState::HooksOnly(_) => "hooks",
    };
    bundles
        .map(|bundle| (bundle.name.as_str(), state(&bundle.state)))
        .collect()
}

fn codes(engine: &Engine) -> Vec<&str> {
    let found = engine.diagnostics().iter();
    let found = found.filter(|found| found.code.starts_with("BUNDLE_"));
    found.map(|found| found.code).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_turns_a_bundle_on_or_off_and_one_that_fails_keeps_its_guards() {
    let closed = "tool.hook.blocked";
    for (condition, state, of_tool, of_guard, found) in [
        ("True", "on", "none", closed, None),
        ("False", "off", "tool.unknown", "none", Some("BUNDLE_OFF")),
        ("None", "off", "tool.unknown", "none", Some("BUNDLE_OFF")),
        (
            "ctx.has(\\\"mode\\\")",
            "off",
            "tool.unknown",
            "none",
            Some("BUNDLE_OFF"),
        ),
        (
            "not ctx.has(\\\"mode\\\") or ctx.get(\\\"mode\\\") in [\\\"a\\\"]",
            "on",
            "none",
            closed,
            None,
        ),
        (
            "ctx.get(\\\"mode\\\", \\\"a\\\") == \\\"a\\\"",
            "on",
            "none",
            closed,
            None,
        ),
        (
            "ctx.get(key=\\\"mode\\\", default=3) == 3",
            "on",
            "none",
            closed,
            None,
        ),
        (
            "env(\\\"LISTED\\\") == \\\"yes\\\"",
            "on",
            "none",
            closed,
            None,
        ),
        (
            "env(\\\"SECRET\\\") == \\\"\\\"",
            "on",
            "none",
            closed,
            None,
        ),
        (
            "env(\\\"UNTRUSTED\\\") == \\\"\\\"",
            "on",
            "none",
            closed,
            None,
        ),
        (
            "json.decode(\\\"[1]\\\")[0] == 1",
            "on",
            "none",
            closed,
            None,
        ),
        (
            "ctx.get(\\\"a\\\")[\\\"b\\\"]",
            "hooks",
            "tool.not_advertised",
            closed,
            Some("BUNDLE_CONDITION_FAILED"),
        ),
        (
            "fs.exists(\\\"a\\\")",
            "hooks",
            "tool.not_advertised",
            closed,
            Some("BUNDLE_CONDITION_FAILED"),
        ),
        (
            "ctx.set(\\\"a\\\", 1)",
            "hooks",
            "tool.not_advertised",
            closed,
            Some("BUNDLE_CONDITION_FAILED"),
        ),
        (
            "1 +",
            "hooks",
            "tool.not_advertised",
            closed,
            Some("BUNDLE_CONDITION_FAILED"),
        ),
        (
            "mode == 1",
            "hooks",
            "tool.not_advertised",
            closed,
            Some("BUNDLE_CONDITION_FAILED"),
        ),
        (
            "x = 1",
            "hooks",
            "tool.not_advertised",
            closed,
            Some("BUNDLE_CONDITION_FAILED"),
        ),
        (
            "[0] * 1000000000",
            "hooks",
            "tool.not_advertised",
            closed,
            Some("BUNDLE_CONDITION_FAILED"),
        ),
    ] {
        let text = bundle("a", &format!("condition: \"{condition}\"\n"));
        let project = Project::new(&[
            (
                "harness.md",
                "---\nsandbox: {env: [LISTED, UNTRUSTED]}\n---\n",
            ),
            (".harness/tools/guarded.md", &tool(ECHO)),
            (".harness/plugins/a.md", &text),
            (
                ".harness/plugins/b.md",
                &bundle("b", "condition: \"True\"\n").replace("guarded", "other"),
            ),
        ]);
        let variables = |name: &str| match name {
            "UNTRUSTED" => Err("a person must agree first".to_owned()),
            _ => Ok(Some("yes".to_owned())),
        };
        let builder = project.builder().environment(Arc::new(variables));
        let engine = builder.load().await.expect("loads");
        assert_eq!(states(&engine), [("a", state), ("b", "on")], "{condition}");
        assert_eq!(codes(&engine), Vec::from_iter(found), "{condition}");
        for (name, expected) in [
            ("a_tool", of_tool),
            ("guarded", of_guard),
            ("b_tool", "none"),
        ] {
            let result = engine.call(call(name, json!({}))).await;
            assert_eq!(
                code(&result),
                expected,
                "{condition}: {name}: {:?}",
                result.error
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_needs_the_bundles_it_depends_on() {
    for (of_a, of_b, of_c, expected, found) in [
        (
            "",
            "depends_on: [a]\n",
            "depends_on: [a, b]\n",
            ["on", "on", "on"],
            &[][..],
        ),
        // A file of another harness is found by what it calls itself.
        (
            "name: other\n",
            "depends_on: [other]\n",
            "depends_on: [a]\n",
            ["on", "on", "on"],
            &["BUNDLE_NAME_DIFFERS"],
        ),
        (
            "depends_on: [nowhere, nothing]\n",
            "",
            "",
            ["hooks", "on", "on"],
            &["BUNDLE_DEPENDENCY"],
        ),
        (
            "condition: \"False\"\n",
            "depends_on: [a]\n",
            "depends_on: [b]\n",
            ["off", "hooks", "hooks"],
            &["BUNDLE_OFF", "BUNDLE_DEPENDENCY", "BUNDLE_DEPENDENCY"],
        ),
        (
            "condition: \"1 +\"\n",
            "depends_on: [a]\n",
            "",
            ["hooks", "hooks", "on"],
            &["BUNDLE_CONDITION_FAILED", "BUNDLE_DEPENDENCY"],
        ),
        (
            "depends_on: [b]\n",
            "depends_on: [a]\n",
            "",
            ["hooks", "hooks", "on"],
            &["BUNDLE_DEPENDENCY", "BUNDLE_DEPENDENCY"],
        ),
        (
            "depends_on: [a]\n",
            "",
            "depends_on: [a]\n",
            ["hooks", "on", "hooks"],
            &["BUNDLE_DEPENDENCY", "BUNDLE_DEPENDENCY"],
        ),
        (
            "depends_on: [b]\n",
            "depends_on: [a]\ncondition: \"False\"\n",
            "",
            ["hooks", "off", "on"],
            &["BUNDLE_DEPENDENCY", "BUNDLE_OFF"],
        ),
    ] {
        let project = Project::new(&[
            (".harness/plugins/a.md", &bundle("a", of_a)),
            (".harness/plugins/b.md", &bundle("b", of_b)),
            (".harness/plugins/c.md", &bundle("c", of_c)),
        ]);
        let engine = project.engine().await;
        let states: Vec<_> = states(&engine)
            .into_iter()
            .map(|(_, state)| state)
            .collect();
        assert_eq!(states, expected, "{of_a} {of_b} {of_c}");
        assert_eq!(codes(&engine), found, "{of_a} {of_b} {of_c}");
        for (name, state) in ["a", "b", "c"].into_iter().zip(expected) {
            let result = engine.call(call(&format!("{name}_tool"), json!({}))).await;
            assert_eq!(
                result.is_error,
                state != "on",
                "{of_a} {of_b} {of_c}: {name}"
            );
            let hooks = engine.catalogue().hooks();
            let guards = hooks.filter(|hook| hook.hook.name == format!("{name}_guard"));
            assert_eq!(guards.count(), usize::from(state != "off"), "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doubtful_override_does_not_bring_back_what_it_replaces() {
    let lax = tool("def run(args):\n    return \"lax\"");
    let strict = |condition: &str| {
        format!(
            "---\ncondition: {condition}\ntools:\n  - name: t\n    script: |\n      def run(args):\n          return \"strict\"\n---\n"
        )
    };
    for (condition, expected) in [
        ("\"True\"", Some("strict")),
        ("\"False\"", Some("lax")),
        ("fail(1)", None),
    ] {
        let project = Project::new(&[
            (".harness/tools/t.md", &lax),
            (".harness/overrides/o.md", &strict(condition)),
        ]);
        let result = project.engine().await.call(call("t", json!({}))).await;
        assert_eq!(
            result.value,
            expected.map(|text| json!(text)),
            "{condition}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hooks_of_a_bundle_run_after_those_it_depends_on() {
    for (of_a, of_b, order) in [
        ("", "", ["a_guard", "b_guard", "c_guard"]),
        ("depends_on: [c]\n", "", ["c_guard", "a_guard", "b_guard"]),
        (
            "depends_on: [b]\n",
            "depends_on: [c]\n",
            ["c_guard", "b_guard", "a_guard"],
        ),
        (
            "depends_on: [b]\n",
            "depends_on: [a]\n",
            ["b_guard", "a_guard", "c_guard"],
        ),
    ] {
        let project = Project::new(&[
            (".harness/plugins/a.md", &bundle("a", of_a)),
            (".harness/plugins/b.md", &bundle("b", of_b)),
            (".harness/plugins/c.md", &bundle("c", "")),
        ]);
        let engine = project.engine().await;
        let hooks = engine.catalogue().hooks();
        let names: Vec<_> = hooks.map(|hook| hook.hook.name.as_str()).collect();
        assert_eq!(names, order, "{of_a} {of_b}");
    }
}
