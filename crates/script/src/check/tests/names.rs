//! Parsing, functions, and the names and built-ins that a script reaches.

use super::*;

#[test]
fn a_syntax_error_has_a_message_and_a_place() {
    for (source, message, line, column) in [
        ("x = (1,\n", "this `(` is never closed", 1, 5),
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
        ("x = ((((", "this `(` is never closed", 1, 8),
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
fn a_script_that_is_too_deep_or_too_long_is_refused_before_parsing() {
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
fn functions_are_found_with_their_arity() {
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
fn reach_covers_every_way_to_a_builtin() {
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
fn reach_is_in_source_order_by_first_mention() {
    let source = "def run(args):\n  x = 'é'; fs.write(x)\n  env(x)\n  fs.read()\n  fs.write()\n  return [fs, math]";
    assert_eq!(
        shown(&of(ScriptKind::Tool, source).reaches),
        "fs.write@2:12, env@3:3, fs.read@4:3, math.abs@6:15"
    );
}

#[test]
fn unknown_names_and_members_are_found() {
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
