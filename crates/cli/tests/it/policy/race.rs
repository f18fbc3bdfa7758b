//! Constraints on paths while another process changes where the paths lead.

use super::root;
use crate::support::{Project, call, tool};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tool_harness::engine::Engine;

/// Calls while folders are swapped; the jail's own tests make thousands.
const RACED: usize = 400;
const QUIET: usize = 60;

/// Writes, or makes a folder and writes in it, only in `src`. `src/d` is a folder, `src/other` a
/// link to `lib`, and `src/inner` a link to another folder in `src`.
fn project() -> Project {
    let write = "def run(args):\n    fs.write(args[\"path\"], \"text\")\n    return fs.read(args[\"path\"])";
    let make = "def run(args):\n    fs.mkdir(args[\"path\"])\n    fs.write(args[\"path\"] + \"/file\", \"text\")";
    let constraint =
        |tool: &str| format!("    - {{tool: {tool}, arg_key: path, arg_patterns: [\"src/**\"]}}\n");
    let rules = format!(
        "policy:\n  tool_arg_constraints:\n{}{}",
        constraint("write_it"),
        constraint("make_it")
    );
    let project = Project::new(&[
        ("harness.md", &root(&rules)),
        (".harness/tools/write_it.md", &tool(write)),
        (".harness/tools/make_it.md", &tool(make)),
        ("src/d/file", "text"),
        ("src/e/file", "text"),
        ("lib/file", "kept"),
    ]);
    for (link, target) in [("src/other", "../lib"), ("src/inner", "e")] {
        std::os::unix::fs::symlink(target, project.path().join(link)).expect("a link");
    }
    project
}

/// Calls both tools in turn, and returns how many calls succeeded.
async fn write_many(engine: &Engine, folder: &str, calls: usize) -> usize {
    let mut done = 0;
    for index in 0..calls {
        let (tool, path) = match index % 2 {
            0 => ("write_it", format!("{folder}/new{}", index % 50)),
            _ => ("make_it", format!("{folder}/made{}/deep", index % 50)),
        };
        let result = engine.call(call(tool, json!({"path": path}))).await;
        done += usize::from(!result.is_error);
    }
    done
}

fn names(project: &Project, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(project.path().join(folder)).expect("a folder");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry
            .expect("an entry")
            .file_name()
            .to_string_lossy()
            .into_owned()
    };
    entries.map(name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_writes_where_its_argument_would_not_be_accepted_however_links_are_swapped() {
    let project = project();
    let engine = project.engine().await;
    let (stop, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (d, other) = (
        project.path().join("src/d"),
        project.path().join("src/other"),
    );
    // Other threads of the runtime run the calls meanwhile.
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &d, CWD, &other, RenameFlags::EXCHANGE).expect("an exchange");
                swaps.fetch_add(1, Ordering::Relaxed);
                // Long enough that a call often meets both.
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        let calls = write_many(&engine, "src/d", RACED);
        let done =
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(calls));
        stop.store(true, Ordering::Relaxed);
        done
    });
    println!("{done} of {RACED} calls wrote, {swaps:?} swaps");
    assert!(swaps.into_inner() > 100, "the race did not take place");
    assert_eq!(names(&project, "lib"), ["file"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_that_stay_where_they_are_are_written_through_links_too() {
    let project = project();
    let engine = project.engine().await;
    for folder in ["src/d", "src/inner", "src/new/folder"] {
        let done = write_many(&engine, folder, QUIET).await;
        assert_eq!(done, QUIET, "{folder}");
    }
    assert!(names(&project, "src/e").contains(&"made1".to_owned()));
    assert_eq!(write_many(&engine, "src/other", QUIET).await, 0);
    assert_eq!(names(&project, "lib"), ["file"]);
    // What an argument stands for is judged below it as well.
    let list = "def run(args):\n    return fs.read(args[\"path\"] + \"/link/file\")";
    project.write(".harness/tools/write_it.md", tool(list).as_bytes());
    for (link, target) in [("src/d/link", "../../lib"), ("src/e/link", "../d")] {
        std::os::unix::fs::symlink(target, project.path().join(link)).expect("a link");
    }
    let engine = project.engine().await;
    let read = async |path: &str| engine.call(call("write_it", json!({"path": path}))).await;
    assert_eq!(read("src/e").await.value, Some(json!("text")));
    let refused = read("src/d").await;
    assert!(
        refused.text().contains("`src/d/link/file` leads to `lib/file`: `policy.tool_arg_constraints: write_it path: src/**` at harness.md:")
            && refused.text().contains("accepts src/**"),
        "{}",
        refused.text()
    );
    assert!(project.events.names().contains(&"file.denied".to_owned()));
}
