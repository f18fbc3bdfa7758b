//! Help for names and members that scripts do not have.

/// Names of Python, JavaScript, JSON and other harnesses, with their module where they have one,
/// and what to write instead.
const INSTEAD: &[(&[&str], &str)] = &[
    (
        &["open", "file"],
        "write `fs.read(path)` to read a file, `fs.write(path, text)` to write one",
    ),
    (
        &["isinstance", "issubclass"],
        "compare the type's name: `type(x) == \"string\"`; others are `\"int\"`, `\"float\"`, `\"bool\"`, `\"list\"`, `\"dict\"`, `\"tuple\"`, `\"NoneType\"`",
    ),
    (
        &["input"],
        "a script cannot ask the user: add `name: {type: string}` to `parameters`, and read `args[\"name\"]`",
    ),
    (
        &["exit", "quit"],
        "write `return`, or `fail(\"why\")` to end the call with an error",
    ),
    (
        &["format"],
        "write `str(x)` or `\"{}\".format(x)`; `string.format_number(x, 2)` gives two decimals",
    ),
    (
        &[
            "super",
            "object",
            "self",
            "this",
            "property",
            "classmethod",
            "staticmethod",
        ],
        "there are no classes: write functions, and keep values in a dict or in `struct(name = value)`",
    ),
    (
        &["eval", "compile", "__import__", "globals", "locals", "vars"],
        "code cannot be made from text; write a function, and choose it with `if`",
    ),
    (
        &["iter", "next"],
        "index the list instead: `items[0]`, or loop with `for x in items:`",
    ),
    (
        &["callable"],
        "compare the type's name: `type(x) == \"function\"`",
    ),
    (
        &["hex", "oct", "bin"],
        "write `\"%x\" % n` for hexadecimal, `\"%o\" % n` for octal",
    ),
    (&["divmod"], "write `a // b` and `a % b`"),
    (&["frozenset"], "write `set(items)`"),
    (
        &[
            "bytearray",
            "memoryview",
            "complex",
            "ascii",
            "id",
            "setattr",
            "delattr",
            "slice",
        ],
        "there is nothing like it here; text, numbers, lists, dicts and `struct(name = value)` are what scripts have",
    ),
    (&["true"], "write `True`"),
    (&["false"], "write `False`"),
    (
        &["null", "nil", "none", "undefined", "NULL"],
        "write `None`",
    ),
    (
        &["sys", "shutil", "pathlib", "Path", "glob", "io", "tempfile"],
        "files are reached with `fs`: `fs.read`, `fs.write`, `fs.list`, `fs.glob`, `fs.copy`, `fs.remove`",
    ),
    (
        &["subprocess", "Popen", "shell", "system", "popen"],
        "write `exec.run(\"program\", [\"argument\"])[\"stdout\"]` for its output",
    ),
    (
        &[
            "requests", "urllib", "httpx", "aiohttp", "fetch", "axios", "curl",
        ],
        "write `http.get(url)[\"body\"]` for the text at an address, and `http.post(url, body)` to send one",
    ),
    (
        &["datetime", "date", "timedelta", "Date"],
        "`time.now()` is the time as a string, `time.unix()` in seconds, and `time.format(seconds)` turns seconds into a string",
    ),
    (
        &[
            "console", "logging", "logger", "println", "puts", "printf", "echo",
        ],
        "write `print(value)` or `log.info(\"message\")`",
    ),
    (
        &["JSON"],
        "write `json.encode(value)` or `json.decode(text)`",
    ),
    (
        &[
            "Exception",
            "ValueError",
            "TypeError",
            "KeyError",
            "RuntimeError",
            "Error",
            "throw",
        ],
        "write `fail(\"why\")` to end the call, or `return error(\"code\", \"why\")` for an error with a code",
    ),
    (
        &[
            "collections",
            "itertools",
            "functools",
            "OrderedDict",
            "defaultdict",
            "Counter",
        ],
        "use dicts, which keep their order, lists and comprehensions: `d[key] = d.get(key, 0) + 1`",
    ),
    (
        &["typing", "Optional", "List", "Dict", "Any", "Union"],
        "leave types out; the types of arguments go into `parameters`",
    ),
    (
        &["require", "module", "exports"],
        "nothing is imported: built-in modules such as `fs`, `json`, `re` and `http` are always there",
    ),
    (
        &["__name__", "__file__"],
        "leave it out: the harness calls `run(args)`",
    ),
    (
        &["params", "arguments", "kwargs", "parameters"],
        "the arguments are in the parameter of `run`: `args[\"name\"]`",
    ),
    (&["events"], "write `emit(name, payload)`"),
    (
        &["parallel"],
        "a script makes its calls one after the other; the calls that a model makes in one turn already run at the same time",
    ),
    (
        &["json.dumps", "json.dump", "json.stringify"],
        "write `json.encode(value)`",
    ),
    (
        &["json.loads", "json.load", "json.parse"],
        "write `json.decode(text)`",
    ),
    (
        &["re.compile"],
        "patterns need no compiling: `re.search(pattern, text)`",
    ),
    (
        &["re.sub", "re.subn"],
        "write `re.replace(pattern, repl, text)`",
    ),
    (&["re.finditer"], "write `re.find_all(pattern, text)`"),
    (
        &["re.fullmatch", "re.test"],
        "write `re.match(\"^...$\", text)`",
    ),
    (
        &["os.path"],
        "join paths as text: `folder + \"/\" + name`; `fs.exists(path)` and `fs.stat(path)` tell about files",
    ),
    (
        &["os.environ", "os.getenv", "os.putenv"],
        "write `env(\"NAME\")`; `sandbox.env` in `harness.md` must list the name",
    ),
    (
        &["os.listdir", "os.walk", "os.scandir"],
        "write `fs.list(path)` or `fs.glob(pattern)`",
    ),
    (
        &["os.remove", "os.unlink", "os.rmdir"],
        "write `fs.remove(path)`",
    ),
    (&["os.makedirs", "os.mkdir"], "write `fs.mkdir(path)`"),
    (&["os.rename"], "write `fs.move(source, target)`"),
    (
        &["os.system", "os.popen"],
        "write `exec.run(\"program\", [\"argument\"])[\"stdout\"]` for its output",
    ),
    (&["time.time"], "write `time.unix()`"),
    (&["time.sleep"], "write `sleep(seconds)`"),
    (
        &["time.strftime"],
        "write `time.format(seconds, \"%Y-%m-%d\")`",
    ),
    (&["time.strptime"], "write `time.parse(text, \"%Y-%m-%d\")`"),
    (
        &["http.put", "http.delete", "http.patch", "http.head"],
        "write `http.request(\"PUT\", url, body)`, with the method you need",
    ),
    (&["http.fetch"], "write `http.get(url)`"),
    (
        &[
            "fs.open",
            "fs.read_text",
            "fs.readFile",
            "fs.read_file",
            "fs.readFileSync",
        ],
        "write `fs.read(path)`",
    ),
    (
        &[
            "fs.write_text",
            "fs.writeFile",
            "fs.write_file",
            "fs.writeFileSync",
        ],
        "write `fs.write(path, text)`",
    ),
    (
        &["fs.delete", "fs.unlink", "fs.rm"],
        "write `fs.remove(path)`",
    ),
    (
        &["fs.readdir", "fs.listdir", "fs.ls"],
        "write `fs.list(path)`",
    ),
    (&["fs.rename"], "write `fs.move(source, target)`"),
    (
        &[
            "exec.call",
            "exec.shell",
            "exec.check_output",
            "exec.command",
            "exec.system",
        ],
        "write `exec.run(\"program\", [\"argument\"])[\"stdout\"]` for its output",
    ),
    (&["string.format"], "write `\"{} {}\".format(a, b)`"),
    (&["hash.new"], "write `hash.sha256(text)`"),
    (&["log.warning"], "write `log.warn(message)`"),
    (
        &["ctx.agent"],
        "`ctx` holds values only: keep a flag with `ctx.set(\"done\", True)` for the turn, or with `state.set` for the session",
    ),
    (
        &["meta.register_agent"],
        "an agent is a file in `.harness/agents`; scripts cannot add one",
    ),
];

/// What to write instead of a name, such as `open`, or of a member, such as `json.dumps`, that does
/// not exist here.
pub(in crate::check) fn instead_of(name: &str) -> Option<&'static str> {
    INSTEAD
        .iter()
        .find(|(names, _)| names.contains(&name))
        .map(|(_, help)| *help)
}

#[cfg(test)]
mod tests {
    use super::INSTEAD;
    use crate::builtin;
    use std::collections::HashSet;

    #[test]
    fn every_built_in_that_the_help_names_exists() {
        let modules: HashSet<&str> = builtin::MODULES.iter().map(|module| module.name).collect();
        for (_, help) in INSTEAD {
            for words in help.split('`').skip(1).step_by(2) {
                let call = words.split('(').next().unwrap_or_default();
                let Some((module, _)) = call.split_once('.') else {
                    continue;
                };
                if !module.is_empty() && modules.contains(module) {
                    assert!(builtin::find(call).is_some(), "{call} in: {help}");
                }
            }
        }
    }

    #[test]
    fn every_name_is_in_the_table_once_and_is_no_built_in() {
        let mut seen = HashSet::new();
        for name in INSTEAD.iter().flat_map(|(names, _)| *names) {
            assert!(seen.insert(name), "{name}");
            assert!(builtin::find(name).is_none(), "{name}");
        }
    }
}
