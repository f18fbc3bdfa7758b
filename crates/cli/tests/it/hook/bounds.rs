//! What is too large to be judged is not harmless, and judging it costs little. Each attack has a
//! harmless twin that is allowed.

use super::{before, hook, refusal};
use crate::support::Project;
use crate::support::program::{Ran, command};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

fn project() -> Project {
    Project::new(&[
        ("harness.md", "---\nformat: 1\n---\n"),
        (".harness/README.md", "x"),
        ("src/a.rs", "x"),
    ])
}

fn judged(project: &Project, tool: &str, input: &Value) -> Option<String> {
    let message = before(project.path(), tool, input);
    refusal(hook(project.path(), "claude-code", &message))
}

/// Runs the hook with so many KiB of address space.
fn hook_within(folder: &Path, kib: u64, message: &str) -> Ran {
    let script = format!("ulimit -v {kib}; exec \"$0\" hook claude-code");
    let words = ["-c", &script, env!("CARGO_BIN_EXE_harness")];
    let mut child = command("/bin/sh", folder, &words)
        .env_remove("CLAUDE_PROJECT_DIR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell starts");
    // A process that ends early reads none of it.
    let mut input = child.stdin.take().expect("its input");
    let _ = input.write_all(message.as_bytes());
    drop(input);
    Ran::from(child.wait_with_output().expect("it ends"))
}

/// Variables that each hold the one before twice.
fn doubling(count: usize) -> String {
    let mut text = "a1=xx".to_owned();
    for next in 2..=count {
        let last = next - 1;
        text += &format!(";a{next}=$a{last}$a{last}");
    }
    text
}

#[test]
fn a_short_command_that_expands_without_end_is_refused_at_once() {
    let project = project();
    for (attack, twin) in [
        (doubling(60), doubling(8)),
        (
            (1..60).fold("a=xx".to_owned(), |text, _| text + ";a=$a$a;a+=$a"),
            "a=xx;a=$a$a;a+=y;echo $a".to_owned(),
        ),
        (
            format!("a={};echo ${{a%*}}${{a%*}}", "x".repeat(5000)),
            "a=x.tar.gz;echo ${a%.*}${a##*.}".to_owned(),
        ),
        (
            format!("a={0};echo ${{a//x/{0}}}", "x".repeat(20_000)),
            "a=x-y;echo ${a//-/_}".to_owned(),
        ),
        (
            format!("echo {}", "{a,b}".repeat(40)),
            format!("echo {}", "{a,b}".repeat(6)),
        ),
        (
            format!("echo {}x{}", "${a:-".repeat(5000), "}".repeat(5000)),
            "echo ${a:-${b:-x}}".to_owned(),
        ),
    ] {
        let bash = |text: &str| before(project.path(), "Bash", &json!({"command": text}));
        let start = Instant::now();
        let reason = refusal(hook_within(project.path(), 1 << 20, &bash(&attack)));
        let reason = reason.unwrap_or_else(|| panic!("{attack:.100} went through"));
        assert!(
            reason.contains("too large to be judged") && reason.contains("a person"),
            "{attack:.100}: {reason}"
        );
        assert!(start.elapsed() < Duration::from_secs(15), "{attack:.100}");
        let allowed = refusal(hook_within(project.path(), 1 << 20, &bash(&twin)));
        assert_eq!(allowed, None, "{twin:.100}");
    }
}

#[test]
fn what_lies_beyond_a_limit_is_not_harmless() {
    let project = project();
    let words = |count: usize| "word ".repeat(count);
    let nested = |depth: usize, inner: &str| {
        format!(
            "echo {}{inner}{}",
            "$(echo ".repeat(depth),
            ")".repeat(depth)
        )
    };
    let values = |count: usize| (0..count).map(|n| format!("a=x{n};")).collect::<String>();
    let list = |count: usize| (0..count).map(|n| format!("x{n},")).collect::<String>();
    let text = |bytes: usize| "a line of a text\n".repeat(bytes / 17);
    for (attack, twin) in [
        (
            format!("touch {} .harness/x.md", words(2500)),
            format!("touch {} docs/x.md", words(2500)),
        ),
        (
            format!("{} rm -rf .", "true;".repeat(2500)),
            format!("{} rm -rf build", "true;".repeat(2500)),
        ),
        (
            format!("{}a=.harn;rm -r ${{a}}ess", values(70)),
            format!("{}a=.buil;rm -r ${{a}}d", values(70)),
        ),
        (
            format!("rm -r {{{}.h}}arness", list(70)),
            format!("rm -r {{{}.h}}ouse", list(70)),
        ),
        (nested(9, "$(rm -rf .)"), nested(3, "$(rm -rf build)")),
        (
            "eval eval eval eval eval rm -rf .".to_owned(),
            "eval eval eval rm -rf build".to_owned(),
        ),
        (
            format!("{}rm -rf .{}", "(".repeat(101), ")".repeat(101)),
            format!("{}rm -rf build{}", "(".repeat(20), ")".repeat(20)),
        ),
        (
            format!("cat > x.txt <<'E'\n{}E\nrm -rf .harness", text(600 << 10)),
            format!("cat > x.txt <<'E'\n{}E\nrm -rf build", text(100 << 10)),
        ),
        // A list in quotes is no list to this shell, and JSON has many.
        (
            format!("ssh here 'rm -r {{.h,x}}arness{}'", "{a,b}".repeat(20)),
            format!(
                "curl -d '[{}]' localhost",
                "{\"id\":1,\"name\":\"x\",\"tags\":[\"a\",\"b\"]},".repeat(400)
            ),
        ),
    ] {
        let bash = |text: &str| judged(&project, "Bash", &json!({"command": text}));
        let reason = bash(&attack).unwrap_or_else(|| panic!("{attack:.100} went through"));
        assert!(
            reason.starts_with("tool.denied") && reason.contains("a person"),
            "{reason}"
        );
        assert_eq!(bash(&twin), None, "{twin:.100}");
    }
    // However much there is of it, what plainly reads may run.
    let read = format!("cat {}", words(120_000));
    assert_eq!(judged(&project, "Bash", &json!({"command": read})), None);
}

#[test]
fn every_text_for_an_unknown_tool_is_looked_at() {
    let project = project();
    let many = |count: usize, last: &str| {
        let mut texts = vec!["x"; count];
        texts.push(last);
        json!({ "rows": texts })
    };
    let long = |last: &str| json!({"path": format!("{}{last}", "./".repeat(3000))});
    let document = "A line about src/../harness and a/b/c.\n".repeat(20_000);
    for (attack, twin) in [
        (many(12_000, "harness.md"), many(12_000, "readme.md")),
        (long("harness.md"), long("readme.md")),
        (
            json!({"path": format!("{}harness.md", "src/../".repeat(1000))}),
            json!({"text": document}),
        ),
    ] {
        let tool = "mcp__files__write";
        let reason = judged(&project, tool, &attack);
        let reason = reason.unwrap_or_else(|| panic!("{:.100} went through", attack.to_string()));
        assert!(reason.contains("a person"), "{reason:.300}");
        assert_eq!(judged(&project, tool, &twin), None);
    }
}

#[test]
fn a_hook_that_runs_out_of_memory_stops_the_call() {
    let project = project();
    let message = |bytes: usize| {
        let input = json!({"file_path": "a.txt", "content": "x".repeat(bytes)});
        before(project.path(), "Write", &input)
    };
    // The least space in which the program starts at all.
    let starts = |kib: &u64| {
        let script = format!("ulimit -v {kib}; exec \"$0\" version");
        let words = ["-c", &script, env!("CARGO_BIN_EXE_harness")];
        let ran = command("/bin/sh", project.path(), &words).output();
        ran.expect("a shell runs").status.success()
    };
    let least = (0..40)
        .map(|step| (16 << 10) + step * (8 << 10))
        .find(starts);
    let least = least.expect("it starts in less than 400 MB");
    let mut without = 0;
    for more in [0, 1, 4, 8, 16, 24, 32] {
        let ran = hook_within(project.path(), least + (more << 10), &message(15 << 20));
        assert!(
            matches!(ran.code, Some(0 | 2)),
            "with {more} MiB more: {:?} {}",
            ran.code,
            ran.err
        );
        if ran.code == Some(2) {
            assert!(!ran.err.is_empty(), "Codex takes silence for permission");
            without += 1;
        }
    }
    assert!(without > 0, "memory never ran out");
    // With room, the same call is judged.
    let ran = hook_within(project.path(), 4 << 20, &message(15 << 20)).ends(0);
    assert_eq!(ran.out, "");
}
