//! The root file.

use super::{codes, problems, project};
use crate::artifact::Root;
use crate::artifact::root::{Ceiling, ListMode};
use crate::containment::Containment;
use crate::effect::{Effects, Level};

#[test]
fn every_field_of_the_root_reaches_its_place() {
    let artifacts = project(&[(
        "harness.md",
        "---\nformat: 1\ntools_policy: { mode: allowlist, allow: ['read_*'], deny: [exec.run], builtins: { allow: [fs], deny: [fs.remove] } }\npolicy:\n  side_effect_level: workspace_write\n  \
         capabilities: { git: [read] }\n  tool_arg_constraints:\n    - { tool: write_*, arg_key: path, arg_patterns: ['src/**'] }\n\
         limits: { memory_mb: 64 }\nsandbox: { env: [HOME] }\nmodel: { name: m }\n---\nYou help.\n",
    )]);
    // Nothing uses `model` yet.
    assert_eq!(codes(&artifacts), ["NOT_IN_EFFECT"]);
    let root = &artifacts.root;
    assert!(!artifacts.root_broken && root.unsupported.is_empty());
    assert_eq!(root.body, "You help.");
    assert_eq!(
        root.tools_policy.mode.as_ref().expect("a mode").value,
        ListMode::Allowlist
    );
    assert_eq!(
        (
            root.tools_policy.allow[0].value.as_str(),
            root.tools_policy.deny[0].value.as_str()
        ),
        ("read_*", "exec.run")
    );
    let builtins = &root.tools_policy.builtins;
    let allow = builtins.allow.as_ref().expect("a list");
    assert_eq!(
        (
            allow.value[0].value.as_str(),
            builtins.deny[0].value.as_str()
        ),
        ("fs", "fs.remove")
    );
    assert_eq!(
        root.policy.ceiling.as_ref().expect("a ceiling").value,
        Ceiling::Level(Level::WorkspaceWrite)
    );
    assert_eq!(
        root.policy
            .capabilities
            .as_ref()
            .expect("capabilities")
            .value,
        [("git".to_owned(), vec!["read".to_owned()])]
    );
    let constraint = &root.policy.constraints[0].value;
    assert_eq!(
        (
            constraint.tool.as_str(),
            constraint.arg_key.as_deref(),
            constraint.arg_patterns.len()
        ),
        ("write_*", Some("path"), 1)
    );
    assert_eq!(
        (root.limits.memory_mb, root.sandbox.env[0].value.as_str()),
        (Some(64), "HOME")
    );
}

#[test]
fn effects_are_the_precise_form_of_the_ceiling() {
    let artifacts = project(&[("harness.yaml", "policy: { effects: [read, spend] }\n")]);
    assert_eq!(
        artifacts.root.policy.ceiling.expect("a ceiling").value,
        Ceiling::Effects(Effects::READ | Effects::SPEND)
    );
    let artifacts = project(&[("harness.yaml", "\u{feff}---\npolicy: { effects: [reed] }\n")]);
    assert_eq!(codes(&artifacts), ["FIELD_WRONG_TYPE"]);
    assert!(artifacts.root_broken);
}

#[test]
fn a_mistake_in_the_root_breaks_it() {
    let check = |text: &str, code: &str| {
        let artifacts = project(&[("harness.md", text)]);
        assert_eq!(codes(&artifacts), [code], "{text:?}");
        assert!(artifacts.root_broken, "{text:?}");
    };
    check("You help.\n", "FRONTMATTER_MISSING");
    check("---\ntool_policy: {}\n---\n", "KEY_UNKNOWN");
    check("---\ntools_policy: { denied: [x] }\n---\n", "KEY_UNKNOWN");
    check(
        "---\ntools_policy: { builtins: { only: [x] } }\n---\n",
        "KEY_UNKNOWN",
    );
    check(
        "---\ntools_policy: { builtins: { deny: ['['] } }\n---\n",
        "PATTERN_INVALID",
    );
    check("---\nformat: 2\n---\n", "FORMAT_UNKNOWN");
    check(
        "---\npolicy: { tool_arg_constraints: [{ tool: x }] }\n---\n",
        "FIELD_MISSING",
    );
    check(
        "---\ntools_policy: { deny: ['{a'] }\n---\n",
        "PATTERN_INVALID",
    );
    check(
        "---\ntools_policy: { allow: [read_note, '[z-a]'] }\n---\n",
        "PATTERN_INVALID",
    );
    check(
        "---\npolicy: { tool_arg_constraints: [{ tool: '[', arg_patterns: ['*'] }] }\n---\n",
        "PATTERN_INVALID",
    );
    check(
        "---\npolicy: { tool_arg_constraints: [{ tool: x, arg_patterns: ['*', 'a}'] }] }\n---\n",
        "PATTERN_INVALID",
    );
    check(
        "---\nchecks: { paths: [{ path: '[', severity: {} }] }\n---\n",
        "PATTERN_INVALID",
    );
    check("---\nformat: 1\nformat: 1\n---\n", "KEY_DUPLICATE");
    check("---\n- 1\n---\n", "FIELD_WRONG_TYPE");
    check("---\ntools: [x]\n---\n", "FIELD_WRONG_TYPE");
}

#[test]
fn two_root_files_are_an_error_and_neither_counts() {
    let artifacts = project(&[
        ("harness.yml", "limits: { memory_mb: 8 }\n"),
        ("harness.md", "---\n---\nHi.\n"),
        (".harness/tools/x.md", "---\n---\nDoes x.\n"),
    ]);
    assert_eq!(
        problems(&artifacts),
        ["ROOT_TWICE 1:1 `harness.md` and `harness.yml` both exist; a project has one root file"]
    );
    assert!(artifacts.root_broken && artifacts.root.source.is_none());
    assert_eq!(artifacts.tools.len(), 1, "the rest loads");
}

#[test]
fn a_duplicate_key_inside_an_inline_tool_breaks_the_tool_and_not_the_root() {
    let artifacts = project(&[(
        "harness.md",
        "---\ntools:\n  - name: x\n    risk: read\n    risk: write\n---\n",
    )]);
    assert_eq!(codes(&artifacts), ["KEY_DUPLICATE"]);
    assert!(!artifacts.root_broken);
    assert_eq!(
        (
            artifacts.broken_tools[0].name.as_str(),
            artifacts.problems[0].tool.as_deref()
        ),
        ("x", Some("x"))
    );
}

#[test]
fn restrictions_of_the_root_that_nothing_enforces_are_listed() {
    let artifacts = project(&[(
        "harness.yaml",
        "approval_policy: {}\nsandbox: { mode: off }\nlimits: { processes: 1 }\nnetwork: {}\n",
    )]);
    assert_eq!(codes(&artifacts), [""; 0]);
    let names: Vec<_> = artifacts
        .root
        .unsupported
        .iter()
        .map(|at| at.value)
        .collect();
    assert_eq!(names, ["approval_policy"]);
}

#[test]
fn hosts_and_the_sandbox_reach_their_place() {
    let artifacts = project(&[(
        "harness.yaml",
        "network: { allowed_domains: [a.example, '*.b.example'] }\nlimits: { processes: 7 }\n\
         sandbox: { mode: off, env: [A], hidden: [secret], read_only: [infra], readable: [/r], writable: [/w] }\n",
    )]);
    assert_eq!(codes(&artifacts), [""; 0]);
    let Root {
        network,
        sandbox,
        limits,
        ..
    } = artifacts.root;
    assert_eq!(
        network.expect("a list").value.to_string(),
        "a.example, *.b.example"
    );
    assert_eq!(
        (sandbox.mode.expect("a mode").value, limits.processes),
        (Containment::Off, Some(7))
    );
    let lists = [
        sandbox.env,
        sandbox.hidden,
        sandbox.read_only,
        sandbox.readable,
        sandbox.writable,
    ]
    .map(|list| list[0].value.clone());
    assert_eq!(lists, ["A", "secret", "infra", "/r", "/w"]);
    let artifacts = project(&[(
        "harness.yaml",
        "network: { allowed_domains: ['https://a.example', a.example] }\n",
    )]);
    assert_eq!(
        (codes(&artifacts), artifacts.root_broken),
        (vec!["DOMAIN_INVALID"], true)
    );
    assert!(
        artifacts.root.network.expect("a list").value.is_empty(),
        "a list that cannot be read admits nothing"
    );
}

#[test]
fn an_empty_list_or_map_may_be_left_blank() {
    let artifacts = project(&[
        (
            "harness.md",
            "---\ntools:\nhooks:\ntools_policy:\n  deny:\n---\n",
        ),
        (
            ".harness/tools/x.md",
            "---\nparameters:\ntags:\n---\nDoes x.\n",
        ),
    ]);
    assert_eq!(codes(&artifacts), [""; 0]);
    let artifacts = project(&[("harness.md", "---\npolicy:\n  side_effect_level:\n---\n")]);
    assert_eq!(
        codes(&artifacts),
        ["FIELD_WRONG_TYPE"],
        "a ceiling left blank is a ceiling forgotten"
    );
}
