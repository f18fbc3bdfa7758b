//! A workspace that is a person's home.

use super::{run, shell};
use crate::support::{call, tool};
use serde_json::json;
use tool_harness::plan::Surroundings;

#[tokio::test(flavor = "multi_thread")]
async fn no_script_and_no_process_sees_what_is_private_in_a_home_or_what_harness_keeps() {
    let project = shell("");
    let private = [
        ".claude/.credentials.json",
        ".codex/auth.json",
        ".config/gh/hosts.yml",
        ".ssh/id",
        "state/harness/notes/artifacts/art_1",
    ];
    for name in private {
        project.write(name, b"private");
    }
    project.write("notes/.ssh/id", b"public");
    let read = "def run(args):\n    return fs.read(args[\"path\"])";
    project.write(".harness/tools/read_it.md", tool(read).as_bytes());
    let search = "def run(args):\n    return [p for p in fs.glob(\"**\") if \".harness\" not in p]";
    project.write(".harness/tools/list_it.md", tool(search).as_bytes());
    let home = project.path().canonicalize().expect("a path");
    let person = |home| Surroundings::new(Some(home), |_| None);
    let elsewhere = project
        .builder()
        .surroundings(person("/nowhere".into()))
        .load()
        .await
        .expect("an engine");
    let state = home.join("state/harness");
    let at_home = project
        .builder()
        .surroundings(person(home).keeping(Some(state)))
        .load()
        .await
        .expect("an engine");
    for name in private {
        let arguments = json!({"path": name});
        let result = elsewhere.call(call("read_it", arguments.clone())).await;
        assert_eq!(result.value, Some(json!("private")), "{name}");
        let result = at_home.call(call("read_it", arguments)).await;
        assert!(
            result.is_error && result.text().contains("is private: no tool sees keys"),
            "{name}: {}",
            result.text()
        );
        let line = format!("cat {name} 2>/dev/null; true");
        assert_eq!(run(&elsewhere, &line).await["stdout"], json!("private"));
        assert_eq!(run(&at_home, &line).await["stdout"], json!(""), "{name}");
    }
    assert!(project.events.names().contains(&"file.denied".to_owned()));
    let result = at_home.call(call("list_it", json!({}))).await;
    assert_eq!(
        result.value,
        Some(json!([
            "harness.md",
            "notes/.ssh/id",
            "secret/key.txt",
            "src/a.txt"
        ]))
    );
    assert_eq!(
        run(&at_home, "cat notes/.ssh/id").await["stdout"],
        json!("public")
    );
}
