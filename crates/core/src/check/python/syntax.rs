//! Help for scripts that do not parse, by what stands at the place.

/// Words that the parser reserves, and what to write instead.
const RESERVED: &[(&[&str], &str)] = &[
    (
        &["try", "except", "finally"],
        "errors cannot be caught: test first, with `fs.exists(path)`, `\"key\" in d` or `json.decode(text, None)`; \
         `exec.run` and `http.get` do not raise: test `result[\"ok\"]`",
    ),
    (
        &["raise"],
        "write `fail(\"why\")` to end the call, or `return error(\"code\", \"why\")` for an error with a code",
    ),
    (
        &["with"],
        "no file needs closing: `fs.read(path)` returns the text, and `fs.write(path, text)` writes it",
    ),
    (&["is"], "write `==` or `!=`: `x == None`, `x != None`"),
    (&["assert"], "write `if not condition: fail(\"why\")`"),
    (
        &["del"],
        "write `d.pop(\"key\")` for a dict, or `items.pop(index)` for a list",
    ),
    (
        &["global"],
        "a function cannot rebind an outer name: return the new value, or keep it between calls with `state.set(\"key\", value)` and `state.get(\"key\", 0)`",
    ),
    (
        &["nonlocal"],
        "an inner function cannot rebind an outer name: return the new value, or change a list: `count = [0]`, then `count[0] += 1`",
    ),
    (
        &["while"],
        "write `for i in range(1000):`, with an upper limit that you choose, and leave the loop with `break`",
    ),
    (
        &["import", "from"],
        "delete this line: nothing is imported. `fs` is for files, `exec.run` for programs, `http` for requests; `json`, `re`, `time` and others are always there",
    ),
    (
        &["class"],
        "write functions, and keep values in a dict or in `struct(name = value)`",
    ),
    (&["yield"], "collect the values in a list, and `return` it"),
    (
        &["async", "await"],
        "every call waits for its result: leave the word out",
    ),
    (&["as"], "`as` is a reserved word: choose another name"),
];

/// The text at the place of an error.
struct Spot<'a> {
    message: &'a str,
    /// The whole line.
    line: &'a str,
    /// The part of the line before the place.
    before: &'a str,
    /// The part of the line from the place on.
    here: &'a str,
}

impl Spot<'_> {
    fn says(&self, words: &str) -> bool {
        self.message.contains(words)
    }

    fn begins(&self, words: &str) -> bool {
        self.here.starts_with(words)
    }

    /// Whether the line begins with this word.
    fn is_led_by(&self, word: &str) -> bool {
        self.line
            .trim_start()
            .strip_prefix(word)
            .is_some_and(|rest| rest.starts_with(char::is_whitespace))
    }
}

/// A test of the place, and the help that it stands for.
type Case = (fn(&Spot<'_>) -> bool, &'static str);

/// The first that holds counts.
const CASES: &[Case] = &[
    (
        |at| at.says("f-string") && at.begins(":"),
        "an f-string takes no format after `:`; write `text = string.format_number(x, 2)`, then `f\"{text}\"`",
    ),
    (
        |at| at.says("f-string") && at.begins("="),
        "write the name as text: `f\"x={x}\"`",
    ),
    (
        |at| at.says("type annotations"),
        "leave the type out: `x = 1`, `def f(a, b):`; the types of arguments go into `parameters`",
    ),
    (
        |at| at.begins(":="),
        "assign on a line of its own, then test the name: `n = len(items)`",
    ),
    (
        |at| at.says("not associative"),
        "compare in pairs: `a < b and b < c`",
    ),
    (
        |at| at.says("keyword 'for'") && at.says("':'"),
        "write `set([x for x in items])`",
    ),
    (
        |at| at.says("keyword 'for'"),
        "write a list, in square brackets: `[x for x in items]`",
    ),
    (
        |at| at.says("expected symbol ':'") && at.begins(",") && at.before.contains('{'),
        "`{...}` makes a dict; write `set([1, 2])`",
    ),
    (
        |at| at.begins("**") && at.says("expected expression"),
        "join dicts with `|`: `a | {\"key\": 1}`",
    ),
    (|at| at.begins("**"), "write `math.pow(x, y)`"),
    (
        |at| at.says("unparenthesized tuple") && at.line.contains(", *"),
        "take the list apart yourself: `first = items[0]`, `rest = items[1:]`",
    ),
    (
        |at| at.begins("*") && at.says("expected expression"),
        "join lists with `+`: `a + [1, 2]`",
    ),
    (
        |at| at.says("Args array after another"),
        "only one `*list` fits into a call: join them first, as in `f(*(a + b))`",
    ),
    (
        |at| at.says("positional argument after"),
        "arguments with a name come last: `f(1, name = 2)`",
    ),
    (
        |at| at.begins("=") && at.says("expected new line"),
        "assign one name at a time: `a = 1`, then `b = a`",
    ),
    (
        |at| at.is_led_by("print") && !at.line.contains('('),
        "write `print(value)`, with brackets",
    ),
    (
        |at| at.says("string literal") && at.says("expected"),
        "join strings with `+`",
    ),
    (
        |at| at.begins("_") && at.before.ends_with(|c: char| c.is_ascii_digit()),
        "write the number without underscores: `1000`",
    ),
    (
        |at| at.is_led_by("match") || at.is_led_by("case"),
        "write `if x == 1:` and `elif x == 2:`",
    ),
    (
        |at| {
            ["let", "const", "var"]
                .iter()
                .any(|word| at.is_led_by(word))
        },
        "write `x = 1`, without a word before the name",
    ),
    (|at| at.is_led_by("function"), "write `def name(a, b):`"),
    (
        |at| at.says("keyword 'else'"),
        "a loop has no `else`: write `found = False` before it, `found = True` before `break`, and `if not found:` after it",
    ),
    (
        |at| at.says("keyword 'if'") && at.before.trim_end().ends_with("else"),
        "write `elif`",
    ),
    (|at| at.begins("&"), "write `and`"),
    (|at| at.begins("|"), "write `or`"),
    (|at| at.begins("!"), "write `not`"),
    (|at| at.begins("?"), "write `a if condition else b`"),
    (
        |at| at.begins("@") && at.before.trim().is_empty(),
        "there are no decorators: delete this line, and write `f = wrap(f)` after the function if it must be wrapped",
    ),
    (
        |at| at.begins(">") && at.before.ends_with('<'),
        "write `!=`",
    ),
    (
        |at| at.begins("//") && at.before.trim().is_empty(),
        "a comment begins with `#`",
    ),
    (
        |at| {
            at.before.ends_with("++")
                || at.before.ends_with("--")
                || at.line.trim_end().ends_with("++")
        },
        "write `x += 1` or `x -= 1`",
    ),
    (
        |at| at.begins("{") && at.says("expected symbol ':'"),
        "write `:` instead of `{`, indent the lines of the block, and leave out the `}`",
    ),
    (
        |at| at.says("unexpected new line, expected symbol ':'"),
        "write `:` at the end of the line",
    ),
    (
        |at| at.says("`(` is never closed"),
        "write `)` where it ends",
    ),
    (
        |at| at.says("`[` is never closed"),
        "write `]` where it ends",
    ),
    (
        |at| at.says("`{` is never closed"),
        "write `}` where it ends",
    ),
    (
        |at| at.says("unexpected new line, expected"),
        "finish the expression, or delete what begins it",
    ),
    (
        |at| at.says("unfinished string"),
        "close the quote on the same line, or use triple quotes for a string of several lines",
    ),
    (|at| at.says("tabs are not allowed"), "indent with spaces"),
    (
        |at| at.says(", expected new indentation block"),
        "write the body below, indented; `pass` does nothing",
    ),
    (
        |at| at.says("is indented more than the line above"),
        "begin it in the column of the line above, or end that line with `:`",
    ),
    (
        |at| at.says("is indented"),
        "begin it in the column of the other lines of its block",
    ),
    (
        |at| at.says("leading 0"),
        "write `0o777` for an octal number, or leave the zero out",
    ),
    (|at| at.says("`...` is not allowed"), "write `pass`"),
    (
        |at| at.says("`load`"),
        "delete this line: nothing is loaded. `fs` is for files, `exec.run` for programs, `http` for requests; `json`, `re`, `time` and others are always there",
    ),
    (
        |at| at.says("`return`"),
        "put it into `def run(args):`, or into a function that `run` calls",
    ),
    (
        |at| at.says("`for`") || at.says("`if`") || at.says("top level"),
        "put it into `def run(args):`, or into a function that `run` calls",
    ),
    (
        |at| at.says("`break`") || at.says("`continue`"),
        "use it inside a `for` loop only",
    ),
];

/// What to write instead, from the parser's message, the script, and the line and column (from one)
/// of the place.
pub(in crate::check) fn instead_of_syntax(
    message: &str,
    script: &str,
    line: u32,
    column: u32,
) -> &'static str {
    let nth = |from_one: u32| usize::try_from(from_one.saturating_sub(1)).unwrap_or(usize::MAX);
    let line = script.lines().nth(nth(line)).unwrap_or_default();
    let at = line
        .char_indices()
        .nth(nth(column))
        .map_or(line.len(), |(at, _)| at);
    let spot = Spot {
        message,
        line,
        before: &line[..at],
        here: &line[at..],
    };
    let reserved = message
        .strip_prefix("cannot use reserved keyword `")
        .and_then(|rest| rest.strip_suffix('`'));
    let of_word = reserved.and_then(|word| {
        RESERVED
            .iter()
            .find(|(words, _)| words.contains(&word))
            .map(|(_, help)| *help)
    });
    let of_place = || {
        CASES
            .iter()
            .find(|(holds, _)| holds(&spot))
            .map(|(_, help)| *help)
    };
    of_word.or_else(of_place).unwrap_or(
        "scripts are Starlark: like Python, without `while`, `try`, `import`, `load` and classes",
    )
}
