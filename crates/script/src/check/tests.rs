//! Tables of scripts and what is found in them.

use super::{SOURCE_LIMIT, facts};
use serde_json::Value;
use tool_harness::builtin::{Args, Body, Builtin, Module, Scope};
use tool_harness::effect::Effects;
use tool_harness::facts::{Facts, Named, ScriptKind};

const fn builtin(name: &'static str, body: Body) -> Builtin {
    Builtin {
        name,
        params: &[],
        doc: "",
        returns: "",
        effects: Effects::NONE,
        scope: Scope::Both,
        body,
        examples: &[],
    }
}

const fn absent(name: &'static str) -> Builtin {
    builtin(name, Body::Absent("a test"))
}

fn nothing(_: &Args) -> Result<Value, String> {
    Ok(Value::Null)
}

const FS: Module = Module {
    name: "fs",
    doc: "",
    constants: &[],
    calls: &[absent("read"), absent("write")],
};
const MATH: Module = Module {
    name: "math",
    doc: "",
    constants: &[("pi", 3.0)],
    calls: &[builtin("abs", Body::Pure(nothing))],
};
const LOG: Module = Module {
    name: "log",
    doc: "",
    constants: &[],
    calls: &[absent(""), absent("info")],
};
const HASH: Module = Module {
    name: "hash",
    doc: "",
    constants: &[],
    calls: &[absent("sha256")],
};
const GLOBALS: Module = Module {
    name: "",
    doc: "",
    constants: &[],
    calls: &[absent("env"), builtin("print", Body::Worker)],
};

fn of(kind: ScriptKind, source: &str) -> Facts {
    let facts = facts(kind, source, &[&FS, &MATH, &LOG, &HASH, &GLOBALS]);
    assert_eq!(facts.syntax, None, "{source}");
    facts
}

/// `name@line:column`, joined by spaces.
fn shown(found: &[Named]) -> String {
    found
        .iter()
        .map(|named| format!("{}@{}:{}", named.name, named.line, named.column))
        .collect::<Vec<_>>()
        .join(", ")
}

fn names(found: &[Named]) -> String {
    found
        .iter()
        .map(|named| named.name.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_script_that_does_not_parse_gives_the_message_and_its_place() {
    for (source, message, line, column) in [
        ("x = (1,\n", "unexpected new line", 0, 0),
        ("x = 'é' $", "invalid input `$`", 1, 9),
        ("def f():\n    return 1 +\n", "unexpected new line", 2, 15),
        (
            "load('a', 'b')",
            "`load` is not allowed in this dialect",
            1,
            1,
        ),
        (
            "x = 1\nfor a in []:\n  pass",
            "`for` cannot be used outside `def` in this dialect",
            2,
            1,
        ),
        (
            "if 1:\n  pass",
            "`if` cannot be used outside `def` in this dialect",
            1,
            1,
        ),
        ("x: int = 1", "type annotations", 1, 4),
        (
            "while True: pass",
            "cannot use reserved keyword `while`",
            1,
            1,
        ),
        ("x = ((((", "unexpected new line", 0, 0),
    ] {
        let found = facts(ScriptKind::Tool, source, &[&FS]);
        let syntax = found.syntax.clone().expect(source);
        assert!(syntax.name.contains(message), "{source:?}: {}", syntax.name);
        assert!(
            !syntax.name.contains("Parse error") && !syntax.name.contains("script:"),
            "{}",
            syntax.name
        );
        if line > 0 {
            assert_eq!(
                (syntax.line, syntax.column),
                (line, column),
                "{source:?}: {}",
                syntax.name
            );
        }
        assert_eq!(
            found,
            Facts {
                syntax: Some(syntax),
                ..Facts::default()
            }
        );
    }
}

#[test]
fn a_script_too_deep_or_too_long_is_refused_before_parsing() {
    let deep = facts(
        ScriptKind::Tool,
        &format!("x = 1\ny = {}", "(".repeat(300)),
        &[],
    );
    assert_eq!(shown(deep.syntax.as_slice()), "nested too deeply@2:205");
    let long = facts(ScriptKind::Tool, &"#".repeat(SOURCE_LIMIT + 1), &[]);
    assert_eq!(
        shown(long.syntax.as_slice()),
        "longer than 1048576 bytes@1:1"
    );
    assert_eq!(
        facts(ScriptKind::Tool, &"#".repeat(SOURCE_LIMIT), &[]),
        Facts::default()
    );
}

#[test]
fn deep_but_allowed_scripts_are_read_on_a_small_stack() {
    let scripts = [
        format!("x = {}fs.read{}", "(".repeat(199), ")".repeat(199)),
        format!("x = fs.read{}", " + 1".repeat(990)),
        format!("x = {}fs.read", "not ".repeat(990)),
        format!("x = {}fs.read", "lambda a: ".repeat(990)),
        format!("x = {}fs.read", "[1] if 1 else ".repeat(400)),
    ];
    let walk = move || {
        scripts.map(|script| assert_eq!(names(&of(ScriptKind::Tool, &script).reaches), "fs.read"))
    };
    let thread = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(walk)
        .expect("a thread");
    thread.join().expect("no overflow");
}

#[test]
fn functions_have_their_arity() {
    for (source, expected) in [
        ("def run(args):\n  pass", "run 1 1 1:5"),
        ("def run():\n  pass", "run 0 0 1:5"),
        ("def run(a, b=1, *c, d=2, **e):\n  pass", "run 1 any 1:5"),
        ("def run(a, *, b=1):\n  pass", "run 1 1 1:5"),
        ("def run(a, *, b):\n  pass", "run 2 1 1:5"),
        ("def run(**a):\n  pass", "run 0 0 1:5"),
        ("run = lambda args, more=1: args", "run 1 2 1:1"),
        ("def f(a, b):\n  pass\nrun = f", "f 2 2 1:5, run 2 2 3:1"),
        ("def run():\n  pass\ndef run(a):\n  pass", "run 1 1 3:5"),
        ("def f():\n  def g(a):\n    pass", "f 0 0 1:5"),
        ("run = 1\nx, y = 1, 2", ""),
    ] {
        let found: Vec<String> = of(ScriptKind::Tool, source)
            .functions
            .into_iter()
            .map(|function| {
                let accepted = function
                    .accepted
                    .map_or("any".to_owned(), |count| count.to_string());
                let Named { name, line, column } = function.at;
                format!("{name} {} {accepted} {line}:{column}", function.required)
            })
            .collect();
        assert_eq!(found.join(", "), expected, "{source}");
    }
}

#[test]
fn reach_counts_every_way_to_a_built_in() {
    let all = "fs.read fs.write";
    for (source, expected) in [
        ("fs.read('a')", "fs.read"),
        ("x = fs.read", "fs.read"),
        ("x = [fs.write, fs.read]", "fs.write fs.read"),
        ("x = math.pi", ""),
        ("x = fs.nope", ""),
        ("x = fs", ""),
        ("x = fs\nx.read()", "fs.read"),
        ("x = fs\ny = x\nz = y\nz.write()", "fs.write"),
        ("def f():\n  x.read()\nx = fs", "fs.read"),
        ("x = fs if env else math\nx.read()", "env fs.read"),
        (
            "x = 1 if fs else math\nx.abs()",
            "fs.read fs.write math.abs",
        ),
        ("x = fs\ny = [x]", all),
        ("x = fs\ngetattr(x, 'read')", all),
        (
            "def f(a):\n  x = fs\n  def g():\n    return x\n  return g",
            all,
        ),
        ("getattr(fs, 'read')", all),
        ("x, y = fs, 1", all),
        ("x = {'a': fs}", all),
        ("x = [s.read for s in [fs]]", all),
        ("def f(s=fs):\n  pass", all),
        ("x = lambda s=fs: 1", all),
        ("x = lambda: fs", all),
        ("def f():\n  return fs", all),
        ("def f():\n  def g():\n    fs.read()", "fs.read"),
        ("x = f'{fs}'", all),
        ("x = f'{fs.read(1)}'", "fs.read"),
        ("x = (fs).read", "fs.read"),
        ("x = fs or 1", all),
        ("x = fs()", all),
        ("x = [1][fs.read()]", "fs.read"),
        ("x = {}\nx[fs.read()] = fs.write()", all),
        ("x = 1\nx += fs.read()", "fs.read"),
        ("def f():\n  for a in fs.read():\n    fs.write(a)", all),
        (
            "x = [fs.write() for a in [1] if fs.read()]",
            "fs.write fs.read",
        ),
        ("env('A')", "env"),
        ("x = env", "env"),
        ("x = {1: env}", "env"),
        ("x = env.y", "env"),
        ("log('a')", "log"),
        ("log.info('a')", "log.info"),
        ("x = [log]", "log log.info"),
        ("run = log", "log"),
        ("x = log\nx.info(1)", "log log.info"),
        ("x = hash('a')", ""),
        ("x = hash.sha256('a')", "hash.sha256"),
        ("x = map(hash, ['a'])", "hash.sha256"),
        ("x = len([1])", ""),
        ("x = 'fs.read'", ""),
        ("x = {'fs': 1}['fs']", ""),
        ("x = dict(fs=1)", ""),
        ("x = [].fs", ""),
    ] {
        assert_eq!(
            names(&of(ScriptKind::Tool, source).reaches),
            expected,
            "{source}"
        );
    }
}

#[test]
fn a_shadowed_name_is_not_the_module() {
    for (source, expected) in [
        ("def f(fs):\n  fs.read()", ""),
        ("def f(fs):\n  pass\nfs.read()", "fs.read"),
        ("def f(a=fs.read, fs=1):\n  pass", "fs.read"),
        ("fs = 1\nfs.read()", ""),
        ("def f():\n  fs.read()\nfs = 1", ""),
        ("def f():\n  fs.read()\n  fs = 1", ""),
        ("def f():\n  fs = 1\ndef g():\n  fs.read()", "fs.read"),
        ("def f():\n  fs = 1\n  def g():\n    fs.read()", ""),
        ("def f():\n  def fs():\n    pass\n  fs.read()", ""),
        ("def fs():\n  pass\nfs.read", ""),
        ("def f():\n  for fs in []:\n    fs.read()", ""),
        (
            "def f():\n  for a, (fs, b) in []:\n    pass\n  fs.read()",
            "",
        ),
        ("x = [fs.read for fs in []]", ""),
        ("x = [1 for fs in fs.read()]", "fs.read"),
        ("x = [1 for a in [] for fs in fs.read()]", ""),
        ("x = [fs for a in fs.read() for fs in []]", "fs.read"),
        ("x = {fs: fs.write for fs in []}\nfs.read()", "fs.read"),
        ("x = [lambda: fs.read() for fs in []]", ""),
        ("x = lambda fs: fs.read()", ""),
        ("x = lambda *fs, **env: (fs.read(), env())", ""),
        ("def f():\n  if 1:\n    fs = 1\n  else:\n    fs.read()", ""),
        ("def f():\n  fs += 1\n  fs.read()", ""),
        ("def f(env):\n  env()", ""),
        ("fs = math\nfs.abs()", "math.abs"),
        (
            "def f():\n  fs = math\n  fs.abs()\nfs.read()",
            "math.abs fs.read",
        ),
    ] {
        assert_eq!(
            names(&of(ScriptKind::Tool, source).reaches),
            expected,
            "{source}"
        );
    }
}

#[test]
fn reach_is_in_source_order_at_the_first_mention() {
    let source = "def run(args):\n  x = 'é'; fs.write(x)\n  env(x)\n  fs.read()\n  fs.write()\n  return [fs, math]";
    assert_eq!(
        shown(&of(ScriptKind::Tool, source).reaches),
        "fs.write@2:12, env@3:3, fs.read@4:3, math.abs@6:15"
    );
}

#[test]
fn names_that_lead_nowhere_are_found() {
    for (kind, source, unknown, members) in [
        (ScriptKind::Tool, "x = nope + 1\ny = nope", "nope@1:5", ""),
        (
            ScriptKind::Tool,
            "x = nope\nnope()\ny = other.z",
            "nope@1:5, other@3:5",
            "",
        ),
        (ScriptKind::Tool, "def f(a):\n  return a + b\nb = 1", "", ""),
        (ScriptKind::Tool, "x = [a for a in [1]]\ny = a", "a@2:5", ""),
        (
            ScriptKind::Tool,
            "def f():\n  a = 1\ndef g():\n  return a",
            "a@4:10",
            "",
        ),
        (
            ScriptKind::Tool,
            "x = (True, False, None, len, sorted, fail, getattr, range, zip, str, set, struct, map, filter, partial)",
            "",
            "",
        ),
        (
            ScriptKind::Tool,
            "x = (event, payload)",
            "event@1:6, payload@1:13",
            "",
        ),
        (ScriptKind::When, "event and payload", "", ""),
        (ScriptKind::When, "event and payloads", "payloads@1:11", ""),
        (
            ScriptKind::Hook,
            "def handle(event, payload):\n  return f'{event} {paylod}'",
            "paylod@2:21",
            "",
        ),
        (
            ScriptKind::Tool,
            "x = fs.nope\ny = fs.nope\nz = math.pi",
            "",
            "fs.nope@1:5",
        ),
        (ScriptKind::Tool, "def f(fs):\n  return fs.nope", "", ""),
        (
            ScriptKind::Tool,
            "fs.raed('x')\nlog.warn(1)",
            "",
            "fs.raed@1:1, log.warn@2:1",
        ),
    ] {
        let found = of(kind, source);
        assert_eq!(shown(&found.unknown_names), unknown, "{source}");
        assert_eq!(shown(&found.unknown_members), members, "{source}");
    }
}

#[test]
fn recursion_is_found_by_name() {
    for (source, expected) in [
        ("def f():\n  f()", "f -> f@1:5"),
        ("def f(n):\n  return 1 if n else f(n - 1)", "f -> f@1:5"),
        ("def f():\n  g()\ndef g():\n  f()", "f -> g -> f@1:5"),
        (
            "def b():\n  c()\ndef a():\n  b()\ndef c():\n  a()",
            "b -> c -> a -> b@1:5",
        ),
        ("f = lambda n: f(n)", "f -> f@1:1"),
        (
            "def f():\n  return [g() for x in [1]]\ng = lambda: f()",
            "f -> g -> f@1:5",
        ),
        ("def f():\n  def g():\n    f()\n  g()", "f -> g -> f@1:5"),
        ("def f():\n  def g():\n    g()\n  return g", "g -> g@2:7"),
        (
            "def f():\n  h = lambda: f()\n  return h()",
            "f -> h -> f@1:5",
        ),
        (
            "def f(x):\n  return sorted(x, key=lambda y: f(y))",
            "f -> f@1:5",
        ),
        (
            "def f():\n  f()\n  g()\ndef g():\n  f()\n  g()",
            "f -> f@1:5, f -> g -> f@1:5, g -> g@4:5",
        ),
        (
            "def f():\n  g()\ndef g():\n  f()\n  h()\ndef h():\n  g()",
            "f -> g -> f@1:5, g -> h -> g@3:5",
        ),
        ("def f():\n  g()\ndef g():\n  pass", ""),
        ("def f(f):\n  f()", ""),
        ("def f():\n  f = len\n  f([])", ""),
        ("def f():\n  def f():\n    pass\n  f()", ""),
        ("def f():\n  return f", ""),
        ("def f():\n  return [f]", ""),
        ("def f():\n  pass\nf()", ""),
        ("def f():\n  def g():\n    f()\n  return g", ""),
        ("def f(x=1):\n  pass\ndef g(x=f()):\n  pass", ""),
        ("def f():\n  x.f()\nx = 1", ""),
    ] {
        assert_eq!(
            shown(&of(ScriptKind::Tool, source).recursion),
            expected,
            "{source}"
        );
    }
}

#[test]
fn a_long_chain_of_calls_without_a_circle_is_no_recursion() {
    let chain: String = (0..5000)
        .map(|n| format!("def f{n}():\n  f{}()\n", n + 1))
        .collect();
    assert_eq!(
        of(ScriptKind::Tool, &(chain.clone() + "def f5000():\n  pass")).recursion,
        []
    );
    let ring = of(ScriptKind::Tool, &(chain + "def f5000():\n  f0()")).recursion;
    assert_eq!(ring.len(), 1);
    assert_eq!(ring[0].name.matches(" -> ").count(), 5001);
}

fn hook(body: &str) -> String {
    format!(
        "def handle(event, payload):\n  {}",
        body.replace('\n', "\n  ")
    )
}

#[test]
fn payload_keys_are_what_a_hook_reads() {
    for (source, expected) in [
        (hook("return payload['a']"), "a@2:18"),
        (hook("return payload.get('a', 1)"), "a@2:22"),
        (
            hook("return payload['a'] + payload['a'] + payload['b']"),
            "a@2:18, b@2:48",
        ),
        (
            hook("p = payload\nq = p if event else payload\nreturn q['a']"),
            "a@4:12",
        ),
        (
            hook("return payload['tool']['name']"),
            "tool@2:18, tool.name@2:26",
        ),
        (
            hook("return payload.get('tool', {}).get('name')"),
            "tool@2:22, tool.name@2:38",
        ),
        (
            hook("tool = payload['tool']\nreturn tool['name']"),
            "tool@2:18, tool.name@3:15",
        ),
        (hook("return payload['args']['path']"), "args@2:18"),
        (hook("def f():\n  return payload['a']\nreturn f"), "a@3:20"),
        (hook("return 'a' in payload"), ""),
        (hook("payload['a'] = 1"), ""),
        (hook("return payload[event]"), ""),
        (hook("return payload.keys()"), ""),
        (hook("return event['a']"), ""),
        (hook("return [payload['a'] for payload in []]"), ""),
        (
            "def handle(e, data):\n  return data['a']".to_owned(),
            "a@2:15",
        ),
        ("handle = lambda e, data: data['a']".to_owned(), "a@1:31"),
        (
            "def other(event, payload):\n  return payload['a']".to_owned(),
            "",
        ),
        ("def handle(event):\n  return event['a']".to_owned(), ""),
    ] {
        assert_eq!(
            shown(&of(ScriptKind::Hook, &source).payload_keys),
            expected,
            "{source}"
        );
    }
    assert_eq!(
        shown(&of(ScriptKind::When, "payload['a'] and payload.get('b')").payload_keys),
        "a@1:9, b@1:30"
    );
    assert_eq!(
        shown(&of(ScriptKind::When, "[payload['a'] for payload in []]").payload_keys),
        ""
    );
    assert_eq!(
        shown(
            &of(
                ScriptKind::Tool,
                "def handle(event, payload):\n  return payload['a']"
            )
            .payload_keys
        ),
        ""
    );
}

#[test]
fn compared_names_are_texts_next_to_the_tools_name() {
    for (source, expected) in [
        ("return payload['name'] == 'x'", "x@2:29"),
        ("return 'x' != payload.get('name')", "x@2:10"),
        ("return payload['tool_name'] == 'x'", "x@2:34"),
        ("return payload['tool']['name'] == 'x'", "x@2:37"),
        ("return payload['name'] in ['a', 'b']", "a@2:30, b@2:35"),
        ("return payload['name'] not in ('a', 'b')", "a@2:34, b@2:39"),
        ("return payload['name'] in {'a': 1}", "a@2:30"),
        (
            "name = payload['name']\nreturn name == 'x' or name == 'y'",
            "x@3:18, y@3:33",
        ),
        (
            "name = payload.get('tool_name', '')\nn = name\nif n == 'x':\n  pass",
            "x@4:11",
        ),
        (
            "bad = ['x', 'y']\nreturn payload['name'] in bad",
            "x@2:10, y@2:15",
        ),
        (
            "bad = ['x']\nbad = ['y']\nreturn payload['name'] in bad",
            "",
        ),
        ("return payload['args'] == 'x'", ""),
        ("return event == 'x'", ""),
        ("return 'x' in payload['name']", ""),
        ("return payload['name'] < 'x'", ""),
        ("return payload['name'] == event", ""),
        ("name = event\nreturn name == 'x'", ""),
    ] {
        let source = hook(source);
        assert_eq!(
            shown(&of(ScriptKind::Hook, &source).compared_names),
            expected,
            "{source}"
        );
    }
    assert_eq!(
        shown(&of(ScriptKind::When, "payload['name'] in ('a',)").compared_names),
        "a@1:21"
    );
}

#[test]
fn odd_returns_are_literals_that_decide_nothing() {
    for (source, expected) in [
        (
            "return {'decision': 'block', 'reason': 'x'}",
            "decision@2:11",
        ),
        ("return {'reason': 'x'}", "reason@2:11"),
        ("return {}", "{}@2:10"),
        ("return {1: 2}", "1@2:11"),
        (
            "return {'reason': 'x', 'action': 'deny'}",
            "action: deny@2:36",
        ),
        ("return {'action': True}", "action: True@2:21"),
        (
            "return {'action': 'block' if event else 'stop'}",
            "action: stop@2:43",
        ),
        ("return True", "True@2:10"),
        ("return None", "None@2:10"),
        ("return", "None@2:3"),
        ("return -1", "-1@2:10"),
        ("return 'block'", "'block'@2:10"),
        ("return f'{event}'", "f'{event}'@2:10"),
        (
            "if event:\n  for x in []:\n    return False\nreturn block() if event else {'deny': 1}\ndef block():\n  pass",
            "False@4:14, deny@5:33",
        ),
        ("return {'action': 'allow'}", ""),
        (
            "return {'action': 'continue'} if event else {'action': 'block', 'reason': 'x'}",
            "",
        ),
        ("return {'action': event}", ""),
        ("return {event: 1}", ""),
        ("return event", ""),
        ("return dict(a=1)", ""),
        ("def f():\n  return 1\nreturn f()", ""),
        ("f = lambda: 1\nreturn f()", ""),
        ("x = {'decision': 1}", ""),
    ] {
        let source = hook(source);
        assert_eq!(
            shown(&of(ScriptKind::Hook, &source).odd_returns),
            expected,
            "{source}"
        );
    }
    assert_eq!(
        shown(&of(ScriptKind::Hook, "handle = lambda e, p: {'deny': 1}").odd_returns),
        "deny@1:24"
    );
    assert_eq!(
        shown(&of(ScriptKind::Hook, "def other(e, p):\n  return 1").odd_returns),
        ""
    );
    assert_eq!(
        shown(&of(ScriptKind::Tool, &hook("return 1")).odd_returns),
        ""
    );
}

#[test]
fn a_when_is_one_pure_expression() {
    for (source, expected) in [
        ("event == 'tool.pre'", ""),
        ("payload['name'] == 'x' and len(payload) > math.abs(1)", ""),
        ("any([x == payload for x in ['a']])", ""),
        ("(payload['a'] or\n payload['b'])", ""),
        ("", "it has no expression@1:1"),
        ("# nothing", "it has no expression@1:1"),
        ("x = 1", "it is an assignment@1:1"),
        ("def f():\n  pass", "it is a `def`@1:1"),
        ("pass", "it is a statement@1:1"),
        ("1\n2", "it has more than one statement@2:1"),
        ("1; 2", "it has more than one statement@1:4"),
        (
            "True and fs.read('x')",
            "it uses `fs.read`, which is not pure@1:10",
        ),
        ("env('A') or fs", "it uses `env`, which is not pure@1:1"),
        ("[print, fail]", "it uses `print`, which is not pure@1:2"),
        ("True or fail('x')", "it uses `fail`, which is not pure@1:9"),
        ("[print for print in []]", ""),
    ] {
        assert_eq!(
            shown(of(ScriptKind::When, source).impure.as_slice()),
            expected,
            "{source}"
        );
    }
    assert_eq!(of(ScriptKind::Hook, "x = 1").impure, None);
}

#[test]
fn arguments_that_every_run_reads_are_known() {
    let body = |lines: &str| format!("def run(args):\n    {}\n", lines.replace('\n', "\n    "));
    for (lines, expected) in [
        ("return args[\"a\"]", "a"),
        ("x = args[\"a\"] + args[\"b\"]\nreturn x", "a b"),
        ("return fs.read(args[\"a\"], [args[\"b\"]])", "a b"),
        (
            "for x in args[\"a\"]:\n    print(x)\nreturn args[\"b\"]",
            "a b",
        ),
        ("if args[\"a\"]:\n    print(1)\nreturn args[\"b\"]", "a b"),
        ("if args[\"a\"]:\n    return 1\nreturn args[\"b\"]", "a"),
        ("if True:\n    print(args[\"a\"])", ""),
        ("return args[\"a\"] if True else 1", ""),
        ("return True and args[\"a\"]", ""),
        ("return args[\"a\"] and args[\"b\"]", "a"),
        ("return [args[\"a\"] for x in [1]]", ""),
        ("return (lambda: args[\"a\"])()", ""),
        ("return args.get(\"a\")", ""),
        ("if \"a\" in args:\n    print(1)\nreturn args[\"a\"]", ""),
        (
            "if args.get(\"a\", 1) == 1:\n    print(1)\nreturn args[\"a\"]",
            "",
        ),
        ("args[\"a\"] = 1\nreturn args[\"a\"]", ""),
        ("args.setdefault(\"a\", 1)\nreturn args[\"a\"]", ""),
        ("args = {}\nreturn args[\"a\"]", ""),
        ("fill(args)\nreturn args[\"a\"]", ""),
        ("k = \"b\"\nreturn args[k] + args[\"a\"]", ""),
    ] {
        let source = format!("def fill(x):\n    pass\n\n{}", body(lines));
        assert_eq!(
            names(&of(ScriptKind::Tool, &source).required_arguments),
            expected,
            "{lines}"
        );
    }
    assert_eq!(
        names(&of(ScriptKind::Tool, "def run(a):\n    return a[\"x\"]\n").required_arguments),
        "x"
    );
    assert_eq!(
        names(&of(ScriptKind::Tool, "def go(args):\n    return args[\"x\"]\n").required_arguments),
        ""
    );
}
