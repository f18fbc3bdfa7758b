//! Hooks, inline and in bundles, and what blocks when they are broken.

use super::{codes, hook, problems, project};
use crate::artifact::hook::OnError;
use crate::artifact::permission::PermissionKind;
use crate::diagnostic::Severity;
use serde_json::json;

const GUARD: &str =
    "event: tool.pre\nscript: |\n  def handle(event, payload):\n      return allow()\n";

#[test]
fn every_field_of_a_hook_reaches_its_place() {
    let (hook, artifacts) = hook(&format!(
        "{GUARD}when: payload['name'] == 'x'\npriority: -5\non_error: allow\ntimeout_ms: 20\ntags: [t]\nexamples:\n  - payload: {{ name: x }}\n    decision: block\n    reason: no\n"
    ));
    assert_eq!(codes(&artifacts), ["FIELD_WRONG_TYPE"; 0]);
    assert_eq!(hook.event.as_ref().expect("an event").value, "tool.pre");
    assert_eq!(
        &*hook.when.as_ref().expect("a condition").text,
        "payload['name'] == 'x'"
    );
    assert_eq!(
        (hook.priority, hook.timeout_ms, hook.on_error),
        (-5, 20, Some(OnError::Allow))
    );
    assert_eq!(hook.examples[0].value.payload, json!({ "name": "x" }));
    assert_eq!(
        hook.examples[0].value.reason.as_deref(),
        Some("no"),
        "`no` is text in YAML 1.2"
    );
    assert_eq!(
        (hook.body.as_str(), hook.tags.as_slice()),
        ("Guards.", &["t".to_owned()][..])
    );
}

#[test]
fn a_hook_has_the_defaults_of_the_design() {
    let (hook, artifacts) = hook(GUARD);
    assert_eq!(codes(&artifacts), [""; 0]);
    assert_eq!(
        (hook.priority, hook.timeout_ms, hook.on_error),
        (100, 1000, None)
    );
    assert!(artifacts.broken_hooks.is_empty() && hook.unsupported.is_empty());
}

#[test]
fn an_unknown_key_of_a_hook_is_an_error_and_blocks_its_event() {
    let (_, artifacts) = hook(&format!("{GUARD}wen: 'True'\n"));
    assert_eq!(artifacts.problems[0].severity, Severity::Error);
    assert_eq!(
        artifacts.problems[0].help.as_deref(),
        Some("did you mean `when`?")
    );
    let broken = &artifacts.broken_hooks[0];
    assert_eq!(
        (broken.name.as_str(), broken.event.as_deref()),
        ("h", Some("tool.pre"))
    );
}

#[test]
fn a_hook_file_that_cannot_be_read_blocks_every_gating_event() {
    for text in [
        "no frontmatter\n",
        "---\nevent: tool.pre\n",
        "---\nevent: [\n---\n",
        "---\nscript: x\n---\n",
        "---\nevent: 3\n---\n",
        "---\n- event\n---\n",
    ] {
        let artifacts = project(&[(".harness/hooks/h.md", text)]);
        assert_eq!(artifacts.broken_hooks.len(), 1, "{text:?}");
        assert_eq!(artifacts.broken_hooks[0].event, None, "{text:?}");
    }
}

#[test]
fn a_hook_with_two_events_blocks_as_if_it_had_none() {
    let artifacts = project(&[(
        ".harness/hooks/h.md",
        "---\nevent: tool.post\nevent: tool.pre\n---\n",
    )]);
    assert_eq!(
        problems(&artifacts),
        ["KEY_DUPLICATE 3:1 the key `event` is already written on line 2, column 1"]
    );
    assert_eq!(artifacts.broken_hooks[0].event, None);
}

#[test]
fn an_inline_hook_is_named_by_name_or_handler() {
    let root = "---\nhooks:\n  - { name: a, event: tool.pre }\n  - { handler: b, event: tool.pre }\n  - { event: tool.post }\n---\n";
    let artifacts = project(&[("harness.md", root)]);
    assert_eq!(
        artifacts
            .hooks
            .iter()
            .map(|hook| hook.name.as_str())
            .collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert_eq!(
        problems(&artifacts),
        ["INLINE_NAME_EMPTY 5:5 hooks[2].name cannot be empty"]
    );
    assert_eq!(
        (
            artifacts.broken_hooks[0].name.as_str(),
            artifacts.broken_hooks[0].event.as_deref()
        ),
        ("hooks[2]", Some("tool.post"))
    );
    assert!(!artifacts.root_broken);
}

#[test]
fn a_hook_can_be_given_hosts_and_nothing_else() {
    let (given, artifacts) = hook(&format!(
        "{GUARD}permissions: [{{ kind: network, hosts: [a.example] }}]\n"
    ));
    assert_eq!(codes(&artifacts), [""; 0]);
    assert_eq!(
        given.permissions[0].kind,
        PermissionKind::Network {
            hosts: vec!["a.example".into()]
        }
    );
    for entry in [
        "{ kind: shell, programs: [sh] }",
        "{ kind: filesystem, access: write }",
    ] {
        let (_, artifacts) = hook(&format!("{GUARD}permissions: [{entry}]\n"));
        assert_eq!(codes(&artifacts), ["FIELD_WRONG_TYPE"], "{entry}");
    }
}

#[test]
fn a_bundle_gives_tools_and_hooks_of_its_layer_and_what_decides_about_them() {
    let bundle = "---\ntype: plugin\nname: p\nversion: 1.2\ndescription: d\nauthor: a\ncondition: env('x') == ''\ndepends_on: [q]\ntools:\n  - name: a\nhooks:\n  - { handler: h, event: tool.pre }\n---\n";
    let artifacts = project(&[(".harness/plugins/p.md", bundle)]);
    assert_eq!(codes(&artifacts), [""; 0]);
    assert_eq!(artifacts.hooks[0].name, "h");
    let bundle = &artifacts.bundles[0];
    assert_eq!(
        (
            bundle.name.as_str(),
            bundle.version.as_deref(),
            bundle.kind()
        ),
        ("p", Some("1.2"), "plugin")
    );
    assert_eq!(
        bundle.condition.as_ref().map(|script| &*script.text),
        Some("env('x') == ''")
    );
    assert_eq!(bundle.depends_on[0].value, "q");
    assert_eq!(bundle.tools, ["a"]);
    assert_eq!(artifacts.tools[0].layer(), crate::artifact::Layer::Plugin);
}

#[test]
fn the_folder_and_the_file_decide_what_a_bundle_is_and_nothing_breaks() {
    for (text, expected) in [
        ("type: plugin\nname: p\n", &[][..]),
        ("type: override\n", &["BUNDLE_TYPE_DIFFERS"]),
        ("type: plugins\n", &["BUNDLE_TYPE_DIFFERS"]),
        (
            "type: model\nmodels: [{name: m}]\n",
            &["BUNDLE_TYPE_DIFFERS"],
        ),
        (
            "type: harness\nname: other\n",
            &["BUNDLE_TYPE_DIFFERS", "BUNDLE_NAME_DIFFERS"],
        ),
        ("priority: 3\ntags: [a]\n", &["BUNDLE_FIELD_IDLE"]),
        ("models: [{name: m}]\n", &["KEY_UNKNOWN"]),
        (
            "type: model\nmodel: m\n",
            &["BUNDLE_TYPE_DIFFERS", "KEY_UNKNOWN"],
        ),
    ] {
        let artifacts = project(&[(".harness/plugins/p.md", &format!("---\n{text}---\n"))]);
        assert_eq!(codes(&artifacts), expected, "{text}");
        let breaks = expected.contains(&"KEY_UNKNOWN");
        assert_eq!(artifacts.broken_hooks.len(), usize::from(breaks), "{text}");
    }
}

#[test]
fn a_broken_bundle_may_hide_a_hook_and_so_blocks() {
    for text in [
        "no frontmatter\n",
        "---\nhoks: []\n---\n",
        "---\nhooks: { name: h }\n---\n",
        "---\nhooks: [h]\n---\n",
    ] {
        let artifacts = project(&[(".harness/overrides/o.md", text)]);
        assert_eq!(
            (
                artifacts.broken_hooks.len(),
                artifacts.broken_hooks[0].event.as_deref()
            ),
            (1, None),
            "{text:?}"
        );
    }
    let one_bad_tool = "---\ntools:\n  - { name: a, timeout_ms: -1 }\nhooks:\n  - { name: h, event: tool.pre }\n---\n";
    let artifacts = project(&[(".harness/overrides/o.md", one_bad_tool)]);
    assert!(
        artifacts.broken_hooks.is_empty(),
        "a broken tool of a bundle blocks nothing"
    );
    assert_eq!(
        problems(&artifacts),
        ["TIMEOUT_NEGATIVE 3:28 tool \"a\" timeout_ms must be >= 0"]
    );
}
