//! Recursion, what hooks read and return, `when`, and the arguments that every run reads.

use super::*;

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
fn a_long_chain_of_calls_without_a_cycle_is_not_recursion() {
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
    let when = of(ScriptKind::When, "payload['a'] and payload.get('b')");
    assert_eq!(shown(&when.payload_keys), "a@1:9");
    assert_eq!(shown(&when.optional_payload_keys), "b@1:30");
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
fn keys_whose_absence_is_handled_are_kept_apart() {
    for (body, expected) in [
        ("return payload.get('a', 1)", "a@2:22"),
        (
            "return payload.get('tool', {}).get('name')",
            "tool@2:22, tool.name@2:38",
        ),
        ("return payload['a'] if 'a' in payload else 1", "a@2:18"),
        ("return payload['a']", ""),
    ] {
        let facts = of(ScriptKind::Hook, &hook(body));
        assert_eq!(shown(&facts.optional_payload_keys), expected, "{body}");
    }
}

#[test]
fn fields_of_a_payload_are_found_and_methods_are_not() {
    for (body, expected) in [
        ("return payload.agent", "agent@2:18"),
        ("return payload['args'].path", "args.path@2:26"),
        ("return payload.tool.name", "tool@2:18"),
        ("p = payload\nreturn p.name", "name@3:12"),
        ("return payload.get('a')", ""),
        ("return payload['args'].items()", ""),
        ("return payload['result'].lower()", ""),
        ("return event.lower()", ""),
    ] {
        let facts = of(ScriptKind::Hook, &hook(body));
        assert_eq!(shown(&facts.payload_fields), expected, "{body}");
    }
    let when = of(ScriptKind::When, "payload.agent == 'a'");
    assert_eq!(shown(&when.payload_fields), "agent@1:9");
}

#[test]
fn changes_of_a_payload_that_is_never_returned_are_found() {
    for (body, expected) in [
        ("payload['a'] = 1\nreturn allow()", "payload['a']@2:3"),
        (
            "args = payload['args']\npath = args.get('p', {})\npath['x'] += 1",
            "path['x']@4:3",
        ),
        (
            "payload['args'].pop('token', None)",
            "payload['args'].pop@2:3",
        ),
        ("payload.update({'a': 1})", "payload.update@2:3"),
        ("payload['tags'].append('x')", "payload['tags'].append@2:3"),
        ("payload['a'] = 1\nreturn modify(payload)", ""),
        (
            "payload['a'] = 1\nreturn {'action': 'modify', 'payload': payload}",
            "",
        ),
        ("args = dict(payload['args'])\nargs['x'] = 1", ""),
        (
            "args = payload['args']\nargs = dict(args)\nargs['x'] = 1",
            "",
        ),
        ("seen = []\nseen.append(payload['name'])", ""),
        ("return payload['args'].get('x')", ""),
    ] {
        let facts = of(ScriptKind::Hook, &hook(body));
        assert_eq!(shown(&facts.payload_changes), expected, "{body}");
    }
}

#[test]
fn what_only_text_allows_is_found_on_results() {
    for (body, expected) in [
        ("return 'x' in payload['result'].lower()", "lower@2:35"),
        (
            "r = payload.get('result', '')\nreturn r.split(' ')",
            "split@3:12",
        ),
        ("return hash.sha256(payload['result'])", "hash.sha256@2:22"),
        ("return payload['content'].lower()", ""),
        ("return str(payload['result']).lower()", ""),
        ("return payload['result'].get('x')", ""),
        (
            "r = payload['result']\nif type(r) == 'string':\n  return r.lower()",
            "",
        ),
        ("r = payload['result']\nr = str(r)\nreturn r.lower()", ""),
    ] {
        let facts = of(ScriptKind::Hook, &hook(body));
        assert_eq!(shown(&facts.text_results), expected, "{body}");
    }
}

#[test]
fn variables_and_formats_are_read_from_literals() {
    for (expression, variables, formats) in [
        ("env('A') + env(name = 'B') + env(args['c'])", "A B", ""),
        ("'%.2f' % args['x']", "", "%.2f"),
        ("'%5d|%s' % (1, 2)", "", "%5d"),
        ("'{:.2f} {}'.format(1, 2)", "", "{:.2f}"),
        ("'{x:>8}'.format(x = 1)", "", "{x:>8}"),
        ("'%d%% of %s' % (1, 2)", "", ""),
        ("'{} {a} {{:}}'.format(1, a = 2)", "", ""),
        ("fs.read('%.2f')", "", ""),
    ] {
        let facts = of(
            ScriptKind::Tool,
            &format!("def run(args):\n  return {expression}"),
        );
        assert_eq!(
            (
                names(&facts.variables).as_str(),
                names(&facts.number_formats).as_str()
            ),
            (variables, formats),
            "{expression}"
        );
    }
}

#[test]
fn a_match_that_is_never_tested_is_found_where_matched_is_read() {
    for (body, expected) in [
        (
            "m = re.match('a', 'b')\nreturn m['matched']",
            "matched@3:12",
        ),
        ("return re.search('a', 'b').get('matched')", "matched@2:34"),
        ("m = re.match('a', 'b')\nreturn m and m['matched']", ""),
        (
            "m = re.match('a', 'b')\nif m != None:\n  return m['matched']",
            "",
        ),
        ("m = re.match('a', 'b')\nreturn m[1]", ""),
        ("m = args['m']\nreturn m['matched']", ""),
    ] {
        let source = format!("def run(args):\n  {}", body.replace('\n', "\n  "));
        let facts = of(ScriptKind::Tool, &source);
        assert_eq!(shown(&facts.untested_matches), expected, "{body}");
    }
}

#[test]
fn compared_names_are_texts_compared_with_the_tool_name() {
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
fn names_that_are_compared_only_to_block_them_are_told_apart() {
    for (body, compared, forbidden) in [
        (
            "if payload['name'] == 'x':\n  return block('no')\nreturn allow()",
            "",
            "x@2:25",
        ),
        (
            "if payload['name'] == 'x':\n  if event:\n    return block('no')\nreturn allow()",
            "x@2:25",
            "",
        ),
        (
            "if payload['name'] == 'x':\n  if event:\n    return block('a')\n  else:\n    return block('b')\nreturn allow()",
            "",
            "x@2:25",
        ),
        (
            "if not payload['name'] == 'x':\n  return allow()\nreturn block('no')",
            "",
            "x@2:29",
        ),
        (
            "if payload['name'] != 'x':\n  return block('no')\nreturn allow()",
            "x@2:25",
            "",
        ),
        (
            "if payload['name'] == 'x':\n  return block('no')\nif payload['name'] == 'x':\n  log('seen')\nreturn allow()",
            "x@4:25",
            "",
        ),
        (
            "if payload['name'] == 'x':\n  return block('no')\nelif payload['name'] == 'y':\n  log('y')\nreturn allow()",
            "y@4:27",
            "x@2:25",
        ),
        (
            "if payload['name'] == 'x' and 'prod' in payload['args']['to']:\n  return block('no')\nreturn allow()",
            "x@2:25",
            "",
        ),
        (
            "if env('STRICT') and payload['name'] == 'x':\n  return block('no')\nreturn allow()",
            "",
            "x@2:43",
        ),
        (
            "block = allow\nif payload['name'] == 'x':\n  return block('no')\nreturn allow()",
            "x@3:25",
            "",
        ),
    ] {
        let facts = of(ScriptKind::Hook, &hook(body));
        assert_eq!(
            (
                shown(&facts.compared_names).as_str(),
                shown(&facts.forbidden_names).as_str()
            ),
            (compared, forbidden),
            "{body}"
        );
        assert!(!facts.always_blocks, "{body}");
    }
    for (body, expected) in [
        ("return block('no')", true),
        ("log('x')\nreturn {'action': 'block', 'reason': 'no'}", true),
        ("if event:\n  return block('a')", false),
        ("if event:\n  return allow()\nreturn block('a')", false),
    ] {
        assert_eq!(
            of(ScriptKind::Hook, &hook(body)).always_blocks,
            expected,
            "{body}"
        );
    }
}

#[test]
fn a_script_that_does_not_parse_is_marked_where_the_mistake_is() {
    for (source, expected) in [
        (
            "def f():\n  return (1, 2\n",
            "this `(` is never closed@2:10",
        ),
        (
            "def f():\n  x = g([1,\n  return x\n\ndef h():\n  pass\n",
            "this `[` is never closed@2:9",
        ),
        ("x = {'a': 1\n", "this `{` is never closed@1:5"),
        (
            "x = (1]\n",
            "unexpected symbol ']', expected symbol ')'@1:7",
        ),
        (
            "def f():\n  x = 1\n    y = 2\n",
            "this line is indented more than the line above it, which ends without `:`@3:5",
        ),
        (
            "def f():\n    if 1:\n        x = 1\n      y = 2\n",
            "this line is indented less than the line above it, and like no other line@4:7",
        ),
        ("def f():\n  x = 1\n\ty = 2\n", "tabs are not allowed@3:1"),
    ] {
        let found = facts(ScriptKind::Tool, source, &[&FS]);
        let problem = found.syntax.expect("a problem");
        assert_eq!(shown(&[problem]), expected, "{source}");
    }
}

#[test]
fn odd_returns_are_literals_that_are_not_decisions() {
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
fn a_when_must_be_one_pure_expression() {
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
fn arguments_that_every_run_reads_are_found() {
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
