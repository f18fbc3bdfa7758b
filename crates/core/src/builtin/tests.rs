//! Tests of the whole table, and what the tests of modules share.

use super::*;
use crate::outside::{End, Ran, Request, Response, Text};
use crate::result::ArtifactRef;
use crate::store::{KeyValue, MemoryStore, Metrics};
use serde_json::json;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;
use tool_harness_sandbox::file::{FileError, Jail};

/// A host with stores in memory, and a jail when it is given a folder.
#[derive(Default)]
pub(super) struct TestHost {
    jail: Option<(Jail, tempfile::TempDir)>,
    stores: [MemoryStore; 3],
    metrics: Metrics,
    pub(super) emitted: Mutex<Vec<(String, Value)>>,
    kept: Mutex<Vec<String>>,
    pub(super) warned: Mutex<Vec<String>>,
    pub(super) over: bool,
}

impl TestHost {
    /// With a fresh empty workspace.
    pub(super) fn with_files() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let jail = Jail::open(folder.path()).expect("a jail");
        Self {
            jail: Some((jail, folder)),
            ..Self::default()
        }
    }

    /// The folder of the workspace.
    pub(super) fn folder(&self) -> &Path {
        self.jail.as_ref().expect("a workspace").1.path()
    }
}

impl BuiltinHost for TestHost {
    fn files(&self) -> Result<&Jail, String> {
        self.jail
            .as_ref()
            .map(|(jail, _)| jail)
            .ok_or_else(|| "no files here".to_owned())
    }

    fn store(&self, scope: StoreScope) -> &dyn KeyValue {
        match scope {
            StoreScope::Run => &self.stores[0],
            StoreScope::Turn => &self.stores[1],
            StoreScope::Session => &self.stores[2],
        }
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    fn env(&self, name: &str) -> Result<Option<String>, String> {
        match name {
            "LISTED" => Ok(Some("value".to_owned())),
            "LISTED_UNSET" => Ok(None),
            _ => Err(format!("`{name}` is not listed in `sandbox.env`")),
        }
    }

    fn emit(&self, name: &str, payload: &Value) -> Result<(), String> {
        self.emitted
            .lock()
            .expect("a lock")
            .push((name.to_owned(), payload.clone()));
        Ok(())
    }

    fn sleep(&self, _: Duration) -> Result<(), String> {
        Ok(())
    }

    fn progress(&self, _: f64, _: &str) {}

    fn file_denied(&self, _: &FileError) {}

    fn is_over(&self) -> bool {
        self.over
    }

    fn warn(&self, message: &str) {
        let mut warned = self.warned.lock().expect("a lock");
        warned.push(message.to_owned());
    }

    fn keep(&self, content: &str, media_type: &str) -> Result<ArtifactRef, String> {
        let digest = blake3::hash(content.as_bytes()).to_hex().to_string();
        self.kept.lock().expect("a lock").push(content.to_owned());
        Ok(ArtifactRef {
            id: "art_0".into(),
            media_type: media_type.into(),
            bytes: content.len() as u64,
            digest,
        })
    }

    fn read_artifact(&self, id: &str, offset: u64, length: u64) -> Result<Vec<u8>, String> {
        let kept = self.kept.lock().expect("a lock");
        let content = kept
            .first()
            .filter(|_| id == "art_0")
            .ok_or("there is no artifact")?;
        Ok(content
            .bytes()
            .skip(usize::try_from(offset).expect("small"))
            .take(usize::try_from(length).expect("small"))
            .collect())
    }

    fn run(&self, program: Program) -> Result<Ran, String> {
        let end = if program.timeout.is_zero() {
            End::TimedOut
        } else {
            End::Exited(i32::try_from(program.args.len()).unwrap_or(0))
        };
        let text = Text::whole;
        let words = format!("{:?} {:?} {:?}", program.env, program.cwd, program.timeout);
        Ok(Ran {
            end,
            stdout: text(program.stdin),
            stderr: text(words),
            duration: Duration::ZERO,
            enforced: None,
            denials: Vec::new(),
        })
    }

    fn send(&self, request: Request, time: Duration) -> Result<Response, String> {
        let headers = request
            .headers
            .into_iter()
            .chain([("timeout".to_owned(), format!("{time:?}"))])
            .collect();
        let status = if request.body.is_empty() { 404 } else { 201 };
        Ok(Response {
            status,
            headers,
            body: request.body,
            truncated: false,
            url: request.url,
        })
    }
}

/// Binds a list of positional arguments and runs the body.
fn outcome(host: &dyn BuiltinHost, name: &str, args: Value) -> Result<Value, String> {
    let (_, _, builtin) = find(name).unwrap_or_else(|| panic!("no built-in `{name}`"));
    let Value::Array(args) = args else {
        panic!("arguments are a list")
    };
    let args = bind(name, builtin.params, args, Vec::new())?;
    let args = verify(builtin, args.0)?;
    match builtin.body {
        Body::Pure(body) => body(&args),
        Body::Host(body) => body(host, &args),
        _ => panic!("`{name}` has no body here"),
    }
}

/// What a pure call gives.
pub(super) fn call(name: &str, args: Value) -> Value {
    call_on(&TestHost::default(), name, args)
}

/// The message a pure call raises.
pub(super) fn refused(name: &str, args: Value) -> String {
    refused_on(&TestHost::default(), name, args)
}

/// What a call gives.
pub(super) fn call_on(host: &TestHost, name: &str, args: Value) -> Value {
    outcome(host, name, args).unwrap_or_else(|message| panic!("`{name}` raised: {message}"))
}

/// The message a call raises.
pub(super) fn refused_on(host: &TestHost, name: &str, args: Value) -> String {
    outcome(host, name, args).expect_err("should raise")
}

#[test]
fn names_are_unique_and_numbers_lead_back() {
    let mut seen = HashSet::new();
    for (index, module, builtin) in all() {
        let name = full_name(module, builtin);
        assert!(seen.insert(name.clone()), "{name} twice");
        assert_eq!(find(&name).map(|(index, ..)| index), Some(index), "{name}");
        assert_eq!(
            at(index).map(|(module, builtin)| full_name(module, builtin)),
            Some(name)
        );
    }
    assert!(at(u32::try_from(seen.len()).expect("few")).is_none());
    for unknown in ["", ".", "fs", "fs.", ".env", "fs.red", "log.", "fs.read.x"] {
        assert!(find(unknown).is_none(), "{unknown}");
    }
    assert_eq!(
        MODULES
            .iter()
            .map(|module| module.name)
            .collect::<HashSet<_>>()
            .len(),
        MODULES.len()
    );
}

#[test]
fn every_call_is_described_with_an_example() {
    for (_, module, builtin) in all() {
        let name = full_name(module, builtin);
        assert!(
            !module.doc.is_empty() && !builtin.doc.is_empty() && !builtin.returns.is_empty(),
            "{name}"
        );
        assert!(builtin.doc.ends_with('.'), "{name}");
        assert!(!builtin.examples.is_empty(), "{name}");
        for example in builtin.examples {
            assert!(example.script.contains(&name), "{name}: {}", example.script);
            let is_json = serde_json::from_str::<Value>(example.gives).is_ok();
            assert!(
                is_json || example.gives.starts_with("error: "),
                "{name}: {}",
                example.gives
            );
        }
    }
}

#[test]
fn parameters_can_be_passed_and_defaults_fit_them() {
    const RESERVED: [&str; 24] = [
        "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
        "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "not",
        "or", "pass", "return",
    ];
    for (_, module, builtin) in all() {
        let name = full_name(module, builtin);
        let mut optional = false;
        for (at, param) in builtin.params.iter().enumerate() {
            assert!(!RESERVED.contains(&param.name), "{name}: {}", param.name);
            assert!(
                builtin
                    .params
                    .iter()
                    .take(at)
                    .all(|earlier| earlier.name != param.name),
                "{name}: {}",
                param.name
            );
            let rest = builtin.params.len() - at;
            assert!(
                param.kind != Kind::Named || rest == 1,
                "{name}: named arguments come last"
            );
            let only_named_follow = builtin
                .params
                .iter()
                .skip(at + 1)
                .all(|later| later.kind == Kind::Named);
            assert!(
                param.kind != Kind::Rest || only_named_follow,
                "{name}: further arguments come last"
            );
            assert!(
                param.default.is_some() || !optional,
                "{name}: `{}` is required after one that is not",
                param.name
            );
            optional |= param.default.is_some();
            if let Some(default) = param.default {
                assert!(
                    serde_json::from_str::<Value>(default).is_ok(),
                    "{name}: {default}"
                );
            }
        }
        let required = builtin
            .params
            .iter()
            .filter(|param| param.default.is_none())
            .map(sample)
            .collect();
        let bound = bind(&name, builtin.params, required, Vec::new()).expect("defaults fit");
        verify(builtin, bound.0).expect("what was bound is accepted");
    }
}

fn sample(param: &Param) -> Value {
    match param.kind {
        Kind::Any | Kind::Text => json!("x"),
        Kind::Bool => json!(true),
        Kind::Int | Kind::Number => json!(1),
        Kind::List | Kind::Rest => json!([]),
        Kind::Dict | Kind::Named => json!({}),
    }
}

#[test]
fn pure_built_ins_have_no_effect_and_hooks_cannot_write() {
    for (_, module, builtin) in all() {
        let name = full_name(module, builtin);
        assert!(
            !builtin.is_pure() || (builtin.effects.is_empty() && builtin.scope == Scope::Both),
            "{name}"
        );
        let hook = builtin.scope != Scope::Tools;
        assert!(
            !hook
                || !builtin.effects.contains(Effects::WRITE)
                    && !builtin.effects.contains(Effects::EXEC),
            "{name}"
        );
    }
}

#[test]
fn everything_the_design_names_is_there() {
    let expected = "exec.run fs.read fs.write fs.append fs.exists fs.stat fs.list fs.glob fs.mkdir fs.remove fs.copy fs.move fs.diff \
        fs.replace fs.replace_all fs.read_lines fs.line_count fs.insert_at fs.replace_lines fs.delete_lines fs.find http.get http.post \
        http.request json.encode json.decode re.match re.search re.find_all re.findall re.replace string.truncate string.contains \
        time.now time.unix url.parse url.encode uuid.v4 uuid.v7 hash.sha1 hash.sha256 hash.sha512 base64.encode crypto.hmac_sha512 \
        template.render validate.schema set.union cache.get ctx.snapshot state.update state.increment state.append \
        state.compare_and_set metrics.incr metrics.set metrics.get metrics.snapshot log log.info log.warn log.error emit print env \
        delegate task.poll task.wait task.cancel artifact.read artifact.write progress tool_surface_validate meta.list_tools \
        meta.call_tool meta.register_tool meta.tool_register meta.register_hook meta.hook_register allow block modify ask result \
        error sleep os.platform os.hostname";
    for name in expected.split_whitespace() {
        assert!(find(name).is_some(), "{name}");
    }
    assert_eq!(
        absent("task.poll", "tasks come later"),
        "`task.poll` is not available yet: tasks come later"
    );
}

#[test]
fn a_bare_number_is_milliseconds_for_processes_and_seconds_for_requests() {
    let ran = call(
        "exec.run",
        json!(["cmd", ["a", "b"], 1500, "in", {"A": "1"}, "sub"]),
    );
    assert_eq!(
        (&ran["exit_code"], &ran["ok"], &ran["stdout"]),
        (&json!(2), &json!(false), &json!("in"))
    );
    assert_eq!(ran["stderr"], json!("[(\"A\", \"1\")] Some(\"sub\") 1.5s"));
    assert_eq!(
        call("exec.run", json!(["cmd", [], 0]))["timed_out"],
        json!(true)
    );
    assert_eq!(
        call("exec.run", json!(["cmd", [], 5, "", null, null, 2.5]))["stderr"],
        json!("[] None 2.5s")
    );
    let got = call("http.get", json!(["https://example.com/", {"X-A": "1"}, 2]));
    assert_eq!(
        got,
        json!({"ok": false, "status": 404, "headers": {"X-A": "1", "timeout": "2s"}, "body": "", "url": "https://example.com/", "truncated": false})
    );
    let posted = call(
        "http.post",
        json!(["https://example.com/", {"n": 1}, {}, 30, 250]),
    );
    assert_eq!(
        (&posted["ok"], &posted["body"]),
        (&json!(true), &json!("{\"n\":1}"))
    );
    assert_eq!(
        posted["headers"],
        json!({"content-type": "application/json", "timeout": "250ms"})
    );
}

#[test]
fn invalid_arguments_of_processes_and_requests_are_refused_first() {
    assert!(refused("exec.run", json!([""])).contains("name a program"));
    assert!(refused("exec.run", json!(["a", [1]])).contains("must be a string"));
    assert!(refused("exec.run", json!(["a", [], -1])).contains("0 or more"));
    assert!(refused("exec.run", json!(["a\0b"])).contains("zero byte"));
    assert!(
        refused("exec.run", json!(["a", [], 1, "", {"A=B": "1"}])).contains("is not a variable")
    );
    assert!(refused("exec.run", json!(["a", [], 1, "", {"A": 1}])).contains("must be a string"));
    assert!(refused("http.request", json!(["G T", "https://example.com/"])).contains("method"));
    assert!(
        refused("http.get", json!(["https://example.com/", {"A": []}]))
            .contains("must be a string")
    );
}
