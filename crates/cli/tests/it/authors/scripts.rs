//! Mistakes in scripts.

use super::{TOOL, told, tool, untold};

/// Bodies of `run` that are Python, or JavaScript, and not Starlark.
const SYNTAX: &[(&str, &str)] = &[
    ("try", "try:\n    x = 1\nexcept:\n    x = 2\nreturn x"),
    ("raise", "raise ValueError(\"no\")"),
    ("with", "with open(\"note.txt\") as f:\n    return f.read()"),
    ("is", "x = None\nreturn x is None"),
    ("assert", "assert 1 == 1\nreturn 1"),
    ("del", "x = {\"a\": 1}\ndel x[\"a\"]\nreturn x"),
    ("global", "global COUNT\nreturn 1"),
    ("nonlocal", "nonlocal count\nreturn 1"),
    ("while", "while True:\n    pass"),
    ("import", "import os\nreturn 1"),
    ("from", "from os import path\nreturn 1"),
    ("class", "class Note:\n    pass\nreturn 1"),
    ("yield", "yield 1"),
    ("async", "async def f():\n    return 1\nreturn 1"),
    ("await", "return await f()"),
    ("load", "load(\"a.star\", \"b\")\nreturn 1"),
    ("type_hint", "x: int = 1\nreturn x"),
    ("walrus", "if (n := len(args)) > 1:\n    return n\nreturn 1"),
    ("generator", "return any(x for x in [1])"),
    ("chained_comparison", "x = 1\nreturn 0 < x < 2"),
    ("decorator", "@cached\ndef f():\n    return 1\nreturn f()"),
    ("set_literal", "return {1, 2}"),
    ("set_comprehension", "return {x for x in [1]}"),
    ("power", "return 2 ** 3"),
    ("list_unpacked", "a = [1]\nreturn [*a, 2]"),
    ("dict_unpacked", "a = {}\nreturn {**a, \"b\": 1}"),
    ("starred_assignment", "a, *b = [1, 2, 3]\nreturn a"),
    ("two_lists_of_arguments", "return max(*[1], *[2])"),
    ("named_before_positional", "return dict(a = 1, [])"),
    ("chained_assignment", "a = b = 1\nreturn a"),
    ("adjacent_strings", "return \"a\" \"b\""),
    ("format_in_f_string", "x = 1.5\nreturn f\"{x:.2f}\""),
    ("equals_in_f_string", "x = 1\nreturn f\"{x=}\""),
    ("ampersands", "return True && False"),
    ("bars", "return True || False"),
    ("exclamation_mark", "return !True"),
    ("increment", "x = 1\nx++\nreturn x"),
    ("print_statement", "print \"x\"\nreturn 1"),
    ("underscores_in_number", "return 1_000"),
    ("match", "match 1:\n    case 1:\n        return 1"),
    (
        "for_else",
        "for x in [1]:\n    pass\nelse:\n    pass\nreturn 1",
    ),
    ("question_mark", "x = 1\nreturn x ? 1 : 2"),
    (
        "else_if",
        "if True:\n    return 1\nelse if False:\n    return 2",
    ),
    ("no_colon", "if True\n    return 1"),
    ("open_bracket", "return (1, 2"),
    ("open_string", "return \"abc"),
    ("tab", "x = 1\nif x:\n\treturn 1\nreturn 2"),
    ("uneven_indentation", "x = 1\n   y = 2\nreturn x"),
    ("curly_block", "if True {\n    return 1\n}"),
    ("let", "let x = 1\nreturn x"),
    ("slashes", "// a comment\nreturn 1"),
];

#[test]
fn each_construct_that_starlark_lacks_has_a_help_of_its_own() {
    for (name, body) in SYNTAX {
        told(&format!("syntax_{name}"), &[(TOOL, &tool("", body))]);
    }
}

#[test]
fn what_starlark_has_of_python_is_not_reported() {
    for body in [
        "return 7 // 2",
        "f = lambda x: x + 1\nreturn f(1)",
        "x = [1, 2]\nreturn f\"{x[0]} and {len(x)}\"",
        "return [x for x in range(3) if x != 1]",
        "return {x: 1 for x in range(3)}",
        "a, b = 1, 2\nreturn a + b",
        "return max(*[1, 2])",
        "x = 1 if True else 2\nreturn x",
        "return {\"a\": 1} | {\"b\": 2}",
        "if not True: fail(\"why\")\nreturn set([1, 2]) == set([2, 1])",
        "d = {\"a\": 1}\nd.pop(\"a\")\nreturn d",
        "return \"%s %d\" % (\"a\", 1)",
        "return sorted([2, 1])[::-1]",
    ] {
        untold(&[(TOOL, &tool("", body))]);
    }
}

/// Names and members of other languages.
const NAMES: &[(&str, &str)] = &[
    ("open", "return open(\"note.txt\").read()"),
    ("isinstance", "return isinstance(1, int)"),
    ("sum", "return sum([1])"),
    ("round", "return round(1.5)"),
    ("input", "return input()"),
    ("exit", "exit(1)"),
    ("format", "return format(1.5, \".2f\")"),
    ("super", "return super()"),
    ("eval", "return eval(\"1\")"),
    ("null", "return null"),
    ("true", "return true"),
    ("next", "return next([1])"),
    ("subprocess", "return subprocess.run([\"ls\"])"),
    ("requests", "return requests.get(\"https://example.com\")"),
    ("datetime", "return datetime.now()"),
    ("exception", "return Exception(\"no\")"),
    ("os_path", "return os.path.join(\"a\", \"b\")"),
    ("os_environ", "return os.environ[\"HOME\"]"),
    ("json_dumps", "return json.dumps({})"),
    ("json_loads", "return json.loads(\"{}\")"),
    ("re_sub", "return re.sub(\"a\", \"b\", \"c\")"),
    ("time_sleep", "return time.sleep(1)"),
    ("fs_open", "return fs.open(\"note.txt\")"),
];

#[test]
fn each_name_of_another_language_has_a_help_of_its_own() {
    for (name, body) in NAMES {
        told(&format!("name_{name}"), &[(TOOL, &tool("", body))]);
    }
}

const PATH: &str = "parameters:\n  path: {type: string, required: true}\n";

#[test]
fn an_argument_that_is_not_declared_is_reported_where_it_is_read() {
    let closed = format!("strict: true\n{PATH}");
    for (name, frontmatter, body) in [
        ("index", PATH, "return fs.read(args[\"pth\"])"),
        (
            "get",
            PATH,
            "return fs.read(args[\"path\"]) + args.get(\"suffix\", \"\")",
        ),
        ("without_parameters", "", "return fs.read(args[\"path\"])"),
        ("strict", closed.as_str(), "return fs.read(args[\"file\"])"),
        (
            "sometimes",
            PATH,
            "if args[\"path\"]:\n    return args[\"mode\"]\nreturn 1",
        ),
        (
            "alias",
            "parameters:\n  path: {type: string, required: true}\nannotations:\n  arg_schema: {arg_aliases: {file: path}}\n",
            "return fs.read(args[\"file\"])",
        ),
        ("attribute", PATH, "return fs.read(args.path)"),
    ] {
        told(
            &format!("argument_{name}"),
            &[(TOOL, &tool(frontmatter, body))],
        );
    }
}

#[test]
fn arguments_that_may_come_are_not_reported() {
    for (frontmatter, body) in [
        (PATH, "return fs.read(args[\"path\"])"),
        // The script sets it, tests it, or may set anything.
        (
            PATH,
            "args[\"mode\"] = \"r\"\nreturn args[\"path\"] + args[\"mode\"]",
        ),
        (
            PATH,
            "args.setdefault(\"mode\", \"r\")\nreturn args[\"path\"] + args[\"mode\"]",
        ),
        (
            PATH,
            "args.update({\"mode\": \"r\"})\nreturn args[\"path\"] + args[\"mode\"]",
        ),
        // The schema admits more than it names.
        (
            "input_schema: {type: object, additionalProperties: {type: string}}\n",
            "return args[\"anything\"]",
        ),
        (
            "input_schema: {type: object, anyOf: [{properties: {a: {type: string}}}]}\n",
            "return args[\"a\"]",
        ),
        (
            "parameters: {}\ninject: {who: session_id}\n",
            "return args[\"who\"]",
        ),
        (
            "parameters:\n  path: {type: string, required: true}\nannotations:\n  arg_schema: {arg_aliases: {file: path}}\n",
            "return fs.read(args[\"path\"])",
        ),
        // Another dict.
        (
            PATH,
            "other = {\"a\": args[\"path\"]}\nreturn other[\"a\"] + other.get(\"b\", \"\")",
        ),
    ] {
        untold(&[(TOOL, &tool(frontmatter, body))]);
    }
}

const EXEC: &str =
    "parameters: { timeout_ms: { type: number, description: How long } }\ntimeout_ms: 60000\n";

#[test]
fn a_timeout_in_the_wrong_unit_is_reported() {
    for (name, body) in [
        (
            "exec_seconds",
            "return exec.run(\"make\", [], 30)[\"stdout\"]",
        ),
        (
            "exec_minutes",
            "return exec.run(\"make\", [], 300)[\"stdout\"]",
        ),
        (
            "exec_named_seconds",
            "return exec.run(\"make\", timeout_seconds = 5000)[\"stdout\"]",
        ),
        (
            "http_position",
            "return http.get(\"http://localhost\", {}, 10000)[\"body\"]",
        ),
        (
            "http_post_position",
            "return http.post(\"http://localhost\", \"\", {}, 30 * 1000)[\"body\"]",
        ),
        (
            "exec_variable",
            "limit = 30\nreturn exec.run(\"make\", [], limit)[\"stdout\"]",
        ),
        (
            "http_default_of_an_argument",
            "timeout = args.get(\"timeout_ms\", 10000)\nreturn http.get(\"http://localhost\", {}, timeout)[\"body\"]",
        ),
        (
            "http_name",
            "return http.get(\"http://localhost\", timeout_seconds = 5000)[\"body\"]",
        ),
    ] {
        let root = "---\nnetwork: {allowed_domains: [localhost]}\n---\n";
        let files = [(TOOL, &*tool(EXEC, body)), ("harness.md", root)];
        told(&format!("timeout_{name}"), &files);
    }
}

#[test]
fn timeouts_in_the_right_unit_are_not_reported() {
    for body in [
        "return exec.run(\"make\", [], 30000)[\"stdout\"]",
        "return exec.run(\"make\", [], 500)[\"stdout\"]",
        "return exec.run(\"make\", timeout_ms = 30)[\"stdout\"]",
        "return exec.run(\"make\", timeout_seconds = 7200)[\"stdout\"]",
        "return exec.run(\"make\", [], 30 * 1000)[\"stdout\"]",
        "limit = 30000\nreturn exec.run(\"make\", [], limit)[\"stdout\"]",
        "limit = 30\nlimit = limit * 1000\nreturn exec.run(\"make\", [], limit)[\"stdout\"]",
    ] {
        untold(&[(TOOL, &tool(EXEC, body))]);
    }
    let root = "---\nnetwork: {allowed_domains: [localhost]}\n---\n";
    for body in [
        "return http.get(\"http://localhost\", {}, 30)[\"body\"]",
        "return http.get(\"http://localhost\", timeout_ms = 10000)[\"body\"]",
    ] {
        untold(&[(TOOL, &tool(EXEC, body)), ("harness.md", root)]);
    }
}

#[test]
fn a_method_on_a_value_that_does_not_have_it_is_reported() {
    for (name, body) in [
        ("exec_strip", "return exec.run(\"ls\").strip()"),
        ("exec_stdout", "r = exec.run(\"ls\")\nreturn r.stdout"),
        (
            "exec_returncode",
            "r = exec.run(\"ls\")\nreturn r.returncode",
        ),
        (
            "http_lower",
            "return http.get(\"http://localhost\").lower()",
        ),
        ("http_json", "return http.get(\"http://localhost\").json()"),
        (
            "http_text",
            "r = http.get(\"http://localhost\")\nreturn r.text",
        ),
        ("fs_list_split", "return fs.list(\".\").split(\"\\n\")"),
        ("list_sort", "items = [2, 1]\nitems.sort()\nreturn items"),
        ("dict_attribute", "d = {\"a\": 1}\nreturn d.a"),
        ("text_encode", "return \"abc\".encode()"),
        ("text_trim", "return fs.read(\"note.txt\").trim()"),
    ] {
        let root = "---\nnetwork: {allowed_domains: [localhost]}\n---\n";
        let files = [(TOOL, &*tool(EXEC, body)), ("harness.md", root)];
        told(&format!("attribute_{name}"), &files);
    }
}

#[test]
fn methods_that_values_have_are_not_reported() {
    for body in [
        "return exec.run(\"ls\")[\"stdout\"].strip()",
        "r = exec.run(\"ls\")\nreturn r.get(\"stdout\", \"\").strip()",
        // It may be either.
        "r = exec.run(\"ls\")\nif args:\n    r = \"text\"\nreturn r.strip()",
        "for r in [exec.run(\"ls\"), \"text\"]:\n    log(r.strip())\nreturn 1",
        "def f(r):\n    return r.strip()\nreturn f(\"a\")",
        "r = exec.run(\"ls\")\nr = r[\"stdout\"]\nreturn r.strip()",
        "items = [2, 1]\nitems.append(3)\nreturn sorted(items)",
        "d = {\"a\": 1}\nreturn d.items()",
        "return struct(a = 1).a",
        "return \", \".join([entry[\"name\"] for entry in fs.list(\".\")])",
    ] {
        untold(&[(TOOL, &tool(EXEC, body))]);
    }
}

#[test]
fn changing_a_global_names_state() {
    let counts = |body: &str| {
        format!(
            "---\nparameters: {{}}\nscript: |\n  SEEN = []\n\n  def run(args):\n      {body}\n      return len(SEEN)\n---\nCount calls.\n"
        )
    };
    told(
        "global_list_appended",
        &[(".harness/tools/count_calls.md", &counts("SEEN.append(1)"))],
    );
    told(
        "global_dict_assigned",
        &[(
            ".harness/tools/count_calls.md",
            &counts("SEEN[\"a\"] = 1").replace("SEEN = []", "SEEN = {}"),
        )],
    );
    for fine in [
        counts("items = list(SEEN)\n      items.append(1)"),
        counts("SEEN = []\n      SEEN.append(1)"),
        counts("state.append(\"seen\", 1)"),
        // The top level itself may still change it.
        counts("pass").replace("SEEN = []\n", "SEEN = []\n  SEEN.append(1)\n"),
    ] {
        untold(&[(".harness/tools/count_calls.md", &fine)]);
    }
}
