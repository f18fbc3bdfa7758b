//! A client's tools do not change what governs them. Each attack has a harmless twin that goes through.

use super::support::Project;
use super::{before, hook, refusal};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;

fn project() -> Project {
    let project =
        Project::new(&[("harness.md", "---\nformat: 1\n---\n"), (".harness/README.md", "x"), ("src/a.rs", "x"), ("docs/a.md", "x")]);
    let top = project.path();
    symlink(".harness", top.join("rules")).expect("a link");
    symlink(top.join(".harness/hooks/new.md"), top.join("dangling")).expect("a link");
    std::fs::create_dir(top.join(".claude")).expect("a folder");
    symlink("src", top.join("source")).expect("a link");
    project
}

#[track_caller]
fn check(project: &Project, client: &str, tool: &str, attack: &Value, twin: &Value) {
    let judged = |input: &Value| refusal(hook(project.path(), client, &before(project.path(), tool, input)));
    let reason = judged(attack).unwrap_or_else(|| panic!("{tool} {attack} went through"));
    assert!(reason.starts_with("tool.denied") && reason.contains("a person"), "{reason}");
    assert_eq!(judged(twin), None, "{tool} {twin}");
}

#[test]
fn files_that_govern_are_not_edited_by_whatever_path() {
    let project = project();
    let top = project.path().to_string_lossy().into_owned();
    for (attack, twin) in [
        (format!("{top}/.harness/hooks/guard.md"), format!("{top}/hooks/guard.md")),
        (format!("{top}/harness.md"), format!("{top}/docs/harness.txt")),
        (format!("{top}/harness.lock"), format!("{top}/Cargo.lock")),
        (format!("{top}/src/../.harness/x.md"), format!("{top}/src/../x.md")),
        (".harness/x.md".to_owned(), "x.md".to_owned()),
        (format!("{top}/rules/hooks/x.md"), format!("{top}/source/x.md")),
        (format!("{top}/dangling"), format!("{top}/plain")),
        (format!("{top}/.claude/settings.json"), format!("{top}/settings.json")),
        (format!("{top}/.claude/settings.local.json"), format!("{top}/claude/settings.json")),
        (format!("{top}/.codex/config.toml"), format!("{top}/config.toml")),
        (format!("{top}/.mcp.json"), format!("{top}/mcp.json")),
        (format!("{top}/.git/hooks/pre-commit"), format!("{top}/.github/workflows/ci.yml")),
        (format!("{top}/.HARNESS/x.md"), format!("{top}/.harnessed/x.md")),
        ("~/.claude/settings.json".to_owned(), "~/.claude/plans/today.md".to_owned()),
        ("~/.codex/config.toml".to_owned(), "~/notes.txt".to_owned()),
        (format!("{top}/.claude/worktrees/one/.harness/x.md"), format!("{top}/.claude/worktrees/one/src/x.rs")),
        (format!("{top}/.claude/worktrees/one/.claude/settings.json"), format!("{top}/.claude/worktrees/one/settings.json")),
    ] {
        check(&project, "claude-code", "Write", &json!({"file_path": attack, "content": ""}), &json!({"file_path": twin, "content": ""}));
        let edit = |path: &str| json!({"file_path": path, "old_string": "a", "new_string": "b"});
        check(&project, "claude-code", "Edit", &edit(&attack), &edit(&twin));
        let patch =
            |path: &str| json!({"command": format!("*** Begin Patch\n*** Add File: ok\n+x\n*** Add File: {path}\n+x\n*** End Patch")});
        check(&project, "codex", "apply_patch", &patch(&attack), &patch(&twin));
        check(&project, "claude-code", "mcp__files__write", &json!({"to": {"path": attack}}), &json!({"to": {"path": twin}}));
    }
    let edits = |path: &str| json!({"file_path": path, "edits": [{"old_string": "a", "new_string": "b"}]});
    check(&project, "claude-code", "MultiEdit", &edits(&format!("{top}/harness.md")), &edits(&format!("{top}/a.md")));
    let cell = |path: &str| json!({"notebook_path": path, "new_source": "x"});
    check(&project, "claude-code", "NotebookEdit", &cell(&format!("{top}/.harness/n.ipynb")), &cell(&format!("{top}/n.ipynb")));
    // Reading is no change.
    assert_eq!(
        refusal(hook(project.path(), "claude-code", &before(project.path(), "Read", &json!({"file_path": format!("{top}/harness.md")})))),
        None
    );
}

#[test]
fn commands_name_what_governs_only_to_read_it() {
    let project = project();
    for (attack, twin) in [
        ("rm -rf .harness", "rm -rf build"),
        ("echo x > harness.md", "echo x > readme.md"),
        ("echo x >> .claude/settings.json", "echo x >> settings.json"),
        ("cat x | tee .mcp.json", "cat .mcp.json | head"),
        ("sed -i s/block/allow/ .harness/hooks/guard.md", "grep -n block .harness/hooks/guard.md"),
        ("mv \".har\"ness x", "ls \".har\"ness"),
        ("rm -r .har\\ness", "ls .har\\ness"),
        ("cd .harness && rm -r hooks", "cd .harness && ls hooks"),
        ("rm -r .h*", "rm -r .x*"),
        ("d=.harn; rm -r ${d}ess", "d=tmp; rm -r ${d}dir"),
        ("rm *.md", "rm *.txt"),
        ("rm -r rules/hooks", "rm -r source/hooks"),
        ("cp evil.md ./src/../.harness/hooks/", "cp a.md ./src/../docs/"),
        ("git checkout HEAD~1 -- .harness", "git diff HEAD~1 -- .harness"),
        ("git -c core.fsmonitor=x status .harness", "git status .harness"),
        ("cat .harness/x $(rm x)", "cat .harness/x | wc -l"),
        ("python3 -c 'open(\".harness/x\",\"w\")'", "python3 -c 'print(1)'"),
        ("printf x > .git/hooks/pre-commit", "printf x > hooks.txt"),
        ("ln -s .harness y", "ln -s src y"),
        ("$'\\x2eharness/x' && rm $'\\x2eharness'", "$'\\x2fx' && rm $'\\x2fy'"),
        ("harness trust", "harness validate"),
        ("env X=1 timeout 5 /usr/bin/harness approvals approve 1", "env X=1 timeout 5 /usr/bin/harness list"),
        ("sh -c 'harness lock'", "sh -c 'harness version'"),
        ("echo token | xargs harness", "echo token | xargs echo"),
        ("harness install claude-code --uninstall", "npm install"),
    ] {
        for client in ["claude-code", "codex"] {
            check(&project, client, "Bash", &json!({"command": attack}), &json!({"command": twin}));
        }
    }
}

#[test]
fn a_folder_that_governs_is_no_place_to_work_in() {
    let project = project();
    let judged = |cwd: &str, command: &str| {
        let message = before(&project.path().join(cwd), "Bash", &json!({"command": command}));
        refusal(hook(project.path(), "claude-code", &message))
    };
    assert!(judged(".harness", "rm README.md").is_some());
    assert!(judged("rules", "rm README.md").is_some());
    assert_eq!(judged(".harness", "cat README.md"), None);
    assert_eq!(judged("src", "rm README.md"), None);
}

#[test]
fn what_harness_serves_itself_is_judged_there() {
    let project = Project::new(&[("harness.md", "---\nformat: 1\ntools_policy: { deny: [\"*\"] }\n---\n")]);
    let judged = |tool: &str| refusal(hook(project.path(), "claude-code", &before(project.path(), tool, &json!({}))));
    assert_eq!(judged("mcp__harness__read_file"), None);
    assert!(judged("mcp__other__read_file").is_some());
}
