//! The real clients, headless, with a scripted model (`model.py`): they do what their hooks decide.

use crate::support::program::{command, repository};
use crate::support::{Project, hook as hook_file};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The project's hooks: each looks for a word in the commands of the script.
const PRE: &str = r#"
def handle(event, payload):
    command = payload["args"].get("command", "")
    if "forbidden" in command:
        return block("this word is forbidden here")
    if "private" in command:
        args = dict(payload["args"])
        args["command"] = command.replace("private", "public")
        return modify({"args": args})
    return allow()
"#;
const POST: &str = r#"
def handle(event, payload):
    if "hush" in payload["content"]:
        return modify({"content": payload["content"].replace("hush", "[removed]")})
    return allow()
"#;

/// A tool that harness serves to the client.
const GREET: &str = r#"
def run(args):
    return "hello " + args["name"]
"#;

/// Maps of the client's tools: its commands run as usual, or inside the sandbox.
const FREE: &str = "---\ncontain: false\n---\n";
const CONTAINED: &str = "---\ncontain: true\n---\n";

/// The program under test.
const HARNESS: &str = env!("CARGO_BIN_EXE_harness");
/// The names that clients give their shell.
const SHELL: [&str; 4] = ["Bash", "exec_command", "shell_command", "shell"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Client {
    ClaudeCode,
    Codex,
}

/// The outcome of one session.
struct Session {
    project: Project,
    /// The result that the model got.
    told: String,
}

/// A process that is killed when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a client whose model calls the first of these tools that it is offered. The error says what failed.
fn session(client: Client, map: &str, tool: &[&str], input: &Value) -> Result<Session, String> {
    let binary = repository("target/clients/node_modules/.bin").join(if client == Client::Codex {
        "codex"
    } else {
        "claude"
    });
    if !binary.exists() {
        return Err(format!(
            "{} is not installed; ./check installs it",
            binary.display()
        ));
    }
    let name = if client == Client::Codex {
        "codex"
    } else {
        "claude-code"
    };
    let project = Project::new(&[
        (&format!(".harness/clients/{name}.md"), map),
        (".harness/hooks/pre.md", &hook_file("tool.pre", PRE)),
        (".harness/hooks/post.md", &hook_file("tool.post", POST)),
        (
            ".harness/tools/greet.md",
            &crate::support::tool_with(
                "parameters:\n  name: { type: string, required: true }\n",
                GREET,
            ),
        ),
    ]);
    let scratch = tempfile::tempdir().map_err(|problem| problem.to_string())?;
    let (_model, port, notes) = model(scratch.path(), tool, input)?;
    let mut run = match client {
        Client::ClaudeCode => claude(&binary, &project, scratch.path(), port),
        Client::Codex => codex(&binary, &project, scratch.path(), port),
    };
    let shown = format!(
        "{} {}",
        binary.display(),
        run.get_args()
            .map(|word| word.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ")
    );
    #[expect(clippy::disallowed_methods, reason = "clients find their shell by it")]
    let path = std::env::var_os("PATH").unwrap_or_default();
    run.env_clear()
        .env("PATH", path)
        .envs(environment(client, scratch.path(), port))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output =
        finished(run, Duration::from_secs(90)).map_err(|problem| format!("{shown}: {problem}"))?;
    let notes = std::fs::read_to_string(notes).unwrap_or_default();
    let told = notes
        .lines()
        .filter_map(|line| {
            serde_json::from_str::<Value>(line)
                .ok()?
                .get("result")
                .map(Value::to_string)
        })
        .next_back();
    told.map(|told| Session { project, told })
        .ok_or_else(|| format!("{shown}: the model got no result: {output}"))
}

/// Starts the model; returns its port and its log file.
fn model(scratch: &Path, tool: &[&str], input: &Value) -> Result<(Running, u16, PathBuf), String> {
    let (port, notes) = (scratch.join("port"), scratch.join("notes"));
    let call = json!({"tool": tool, "input": input}).to_string();
    let script = repository("crates/cli/tests/it/clients/model.py");
    let words = [script.as_os_str(), port.as_os_str(), notes.as_os_str()];
    let mut python = command("/usr/bin/python3", scratch, &[]);
    let child = python
        .args(words)
        .arg(call)
        .spawn()
        .map_err(|problem| format!("/usr/bin/python3 {}: {problem}", script.display()))?;
    let model = Running(child);
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(60) {
        if let Some(port) = std::fs::read_to_string(&port)
            .ok()
            .and_then(|text| text.parse().ok())
        {
            return Ok((model, port, notes));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(format!(
        "/usr/bin/python3 {}: it does not listen",
        script.display()
    ))
}

fn environment(client: Client, scratch: &Path, port: u16) -> Vec<(&'static str, String)> {
    let mut all = vec![("HOME", scratch.display().to_string())];
    match client {
        Client::ClaudeCode => all.extend([
            ("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{port}")),
            ("ANTHROPIC_API_KEY", "sk-scripted".to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
            // Offer the tools of servers at once, not only after a search.
            ("ENABLE_TOOL_SEARCH", "false".to_owned()),
        ]),
        Client::Codex => all.push(("SCRIPTED_KEY", "x".to_owned())),
    }
    all
}

/// The hooks in a client's settings: every event of a call runs the program under test.
fn hooks(client: &str, events: &[&str]) -> Value {
    let run = json!([{"hooks": [{"type": "command", "command": format!("'{HARNESS}' hook {client}"), "timeout": 60}]}]);
    json!({"hooks": events.iter().map(|event| ((*event).to_owned(), run.clone())).collect::<serde_json::Map<_, _>>()})
}

fn claude(binary: &Path, project: &Project, scratch: &Path, _: u16) -> Command {
    let settings = scratch.join("settings.json");
    let hooks = hooks(
        "claude-code",
        &["PreToolUse", "PostToolUse", "PostToolUseFailure"],
    );
    std::fs::write(&settings, hooks.to_string()).expect("settings");
    let mut run = command(
        binary,
        project.path(),
        &[
            "-p",
            "go",
            "--model",
            "claude-sonnet-4-5",
            "--allowedTools",
            "Bash,mcp__harness__greet",
            "--settings",
        ],
    );
    run.arg(settings)
        .arg("--mcp-config")
        .arg(json!({"mcpServers": {"harness": {"command": HARNESS, "args": ["mcp"]}}}).to_string());
    run
}

fn codex(binary: &Path, project: &Project, scratch: &Path, port: u16) -> Command {
    let home = scratch.join(".codex");
    std::fs::create_dir_all(&home).expect("a folder");
    std::fs::write(
        home.join("hooks.json"),
        hooks("codex", &["PreToolUse", "PostToolUse"]).to_string(),
    )
    .expect("hooks");
    let config = format!(
        "model = \"gpt-5-codex\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"scripted\"\n\
         base_url = \"http://127.0.0.1:{port}/v1\"\nwire_api = \"responses\"\nenv_key = \"SCRIPTED_KEY\"\n\
         [mcp_servers.harness]\ncommand = \"{HARNESS}\"\nargs = [\"mcp\"]\n"
    );
    std::fs::write(home.join("config.toml"), config).expect("settings");
    let words = [
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        "--dangerously-bypass-hook-trust",
        "go",
    ];
    command(binary, project.path(), &words)
}

/// Waits for a program to end; returns the end of its output.
fn finished(mut run: Command, limit: Duration) -> Result<String, String> {
    let mut child = Running(run.spawn().map_err(|problem| problem.to_string())?);
    let started = Instant::now();
    while child
        .0
        .try_wait()
        .map_err(|problem| problem.to_string())?
        .is_none()
    {
        if started.elapsed() > limit {
            return Err(format!("it does not end within {} s", limit.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut said = String::new();
    let streams = [
        child
            .0
            .stdout
            .take()
            .map(|out| Box::new(out) as Box<dyn std::io::Read>),
        child.0.stderr.take().map(|err| Box::new(err) as _),
    ];
    for mut stream in streams.into_iter().flatten() {
        let _ = stream.read_to_string(&mut said);
    }
    Ok(said
        .replace('\n', " ")
        .chars()
        .rev()
        .take(300)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .collect())
}

#[track_caller]
fn check(client: Client, shell_command: &str, judge: impl FnOnce(&Session)) {
    check_call(
        client,
        FREE,
        &SHELL,
        &json!({"command": shell_command}),
        judge,
    );
}

#[track_caller]
fn check_call(
    client: Client,
    map: &str,
    tool: &[&str],
    input: &Value,
    judge: impl FnOnce(&Session),
) {
    match session(client, map, tool, input) {
        Ok(session) => judge(&session),
        Err(problem) => println!("skipped: {problem}"),
    }
}

fn a_blocked_command_does_not_run(client: Client) {
    check(client, "echo forbidden > canary", |session| {
        assert!(
            !session.project.path().join("canary").exists(),
            "{}",
            session.told
        );
        assert!(
            session.told.contains("this word is forbidden here"),
            "{}",
            session.told
        );
    });
}

fn a_rewritten_command_runs_as_rewritten(client: Client) {
    check(client, "echo private > canary", |session| {
        let canary =
            std::fs::read_to_string(session.project.path().join("canary")).unwrap_or_default();
        assert_eq!(canary, "public\n", "{}", session.told);
    });
}

fn an_allowed_command_runs_as_it_is(client: Client) {
    check(client, "echo plain | tee canary", |session| {
        let canary =
            std::fs::read_to_string(session.project.path().join("canary")).unwrap_or_default();
        assert!(
            canary == "plain\n" && session.told.contains("plain"),
            "{}",
            session.told
        );
    });
}

fn an_amended_result_is_all_the_model_reads(client: Client) {
    check(client, "echo hush; touch canary", |session| {
        assert!(
            session.project.path().join("canary").exists(),
            "{}",
            session.told
        );
        assert!(
            session.told.contains("[removed]") && !session.told.contains("hush"),
            "{}",
            session.told
        );
    });
}

fn a_tool_that_harness_serves_answers(client: Client) {
    check_call(
        client,
        FREE,
        &["mcp__harness__greet"],
        &json!({"name": "world"}),
        |session| {
            assert!(session.told.contains("hello world"), "{}", session.told);
        },
    );
}

fn a_contained_command_works_inside_and_cannot_write_outside(client: Client) {
    let outside = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let canary = outside.path().join("canary");
    let command = format!("echo plain | tee canary; echo out > {}", canary.display());
    check_call(
        client,
        CONTAINED,
        &SHELL,
        &json!({"command": command}),
        |session| {
            let inside =
                std::fs::read_to_string(session.project.path().join("canary")).unwrap_or_default();
            assert!(
                inside == "plain\n" && session.told.contains("plain"),
                "{}",
                session.told
            );
            assert!(!canary.exists(), "{}", session.told);
        },
    );
}

macro_rules! for_each_client {
    ($($name:ident),+) => {
        mod claude_code { $(#[test] fn $name() { super::$name(super::Client::ClaudeCode); })+ }
        mod codex { $(#[test] fn $name() { super::$name(super::Client::Codex); })+ }
    };
}

for_each_client!(
    a_blocked_command_does_not_run,
    a_rewritten_command_runs_as_rewritten,
    an_allowed_command_runs_as_it_is,
    an_amended_result_is_all_the_model_reads,
    a_tool_that_harness_serves_answers,
    a_contained_command_works_inside_and_cannot_write_outside
);
