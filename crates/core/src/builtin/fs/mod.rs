//! `fs`: files of the workspace, through the jail.

mod access;
pub(super) mod diff;
mod edit;
mod find;
mod lines;
#[cfg(test)]
mod tests;

use super::{Body, Builtin, Example, Module, PLAIN, Param, Scope, Shape};
use crate::effect::Effects;

const PATH: Param = Param::text("path");
const SOURCE_TARGET: &[Param] = &[
    Param::text("source").also(&["src"]),
    Param::text("target").also(&["dst"]),
];
const TEXT: Param = Param::text("text").also(&["content"]);
const ENCODING: Param = Param::text("encoding").or("\"utf-8\"");

/// Whether a search includes what `.gitignore` files list.
const IGNORED: Param = Param::bool("ignored").or("false");
/// Whether a search includes names that begin with a dot.
const DOTFILES: Param = Param::bool("dotfiles").or("true");
/// Whether a search says if there is more.
const DETAILS: Param = Param::bool("details").or("false");

/// What the calls that only read share.
const READING: Builtin = Builtin {
    effects: Effects::READ,
    ..PLAIN
};
/// What the calls that write share.
const CHANGING: Builtin = Builtin {
    effects: Effects::READ.and(Effects::WRITE),
    scope: Scope::Tools,
    ..PLAIN
};

pub(super) const MODULE: Module = Module {
    name: "fs",
    doc: "Files of the workspace. Paths are relative to it and cannot leave it. Only regular files and directories are touched, and everything is bounded.",
    constants: &[],
    calls: &[
        Builtin {
            name: "read",
            params: &[PATH, Param::int("max_bytes").or("1048576"), ENCODING],
            doc: "The text of a file; raises if it has more than `max_bytes`. `encoding` is `utf-8` (other bytes raise), \
                `lossy` (they become `\u{fffd}`) or `base64`.",
            returns: "a string",
            body: Body::Host(access::read),
            examples: &[
                Example::new(
                    r#"[fs.write("a.txt", "hi"), fs.read("a.txt")][1]"#,
                    r#""hi""#,
                ),
                Example::new(
                    r#"[fs.write("a.txt", "hi"), fs.read("a.txt", encoding="base64")][1]"#,
                    r#""aGk=""#,
                ),
                Example::new(r#"fs.read("missing.txt")"#, "error: missing.txt"),
            ],
            ..READING
        },
        Builtin {
            name: "write",
            params: &[PATH, Param::text("content"), ENCODING],
            doc: "Creates or replaces a file in one step, and the directories it needs. With `encoding=\"base64\"`, `content` is \
                decoded first.",
            returns: "a dict with `path`, `bytes` and `created`",
            body: Body::Host(access::write),
            examples: &[Example::new(
                r#"fs.write("notes/a.txt", "hé")"#,
                r#"{"path": "notes/a.txt", "bytes": 3, "created": true}"#,
            )],
            ..CHANGING
        },
        Builtin {
            name: "append",
            params: &[PATH, Param::text("content")],
            doc: "Appends to a file, which is created if needed.",
            returns: "a dict with `path` and `bytes`",
            body: Body::Host(access::append),
            examples: &[Example::new(
                r#"[fs.append("log.txt", "a\n"), fs.append("log.txt", "b\n"), fs.read("log.txt")][2]"#,
                r#""a\nb\n""#,
            )],
            ..CHANGING
        },
        Builtin {
            name: "exists",
            params: &[PATH],
            doc: "Whether the path exists.",
            returns: "True or False",
            body: Body::Host(access::exists),
            examples: &[
                Example::new(r#"fs.exists("a.txt")"#, "false"),
                Example::new(r#"[fs.mkdir("d"), fs.exists("d")][1]"#, "true"),
            ],
            ..READING
        },
        Builtin {
            name: "stat",
            params: &[PATH],
            doc: "Facts about a path.",
            returns: "None if the path does not exist, or a dict with `name`, `kind` (`file`, `directory` or `other`), `size`, `mode` (as `644`), \
                `modified` (milliseconds since 1970), `is_file`, `is_dir`, also as fields",
            body: Body::Host(access::stat),
            shape: Shape::Record,
            examples: &[
                Example::new(
                    r#"[fs.write("d/a.txt", "hi"), fs.stat("d/a.txt").name][1]"#,
                    r#""a.txt""#,
                ),
                Example::new(
                    r#"[fs.write("a.txt", "hi"), fs.stat("a.txt")["size"]][1]"#,
                    "2",
                ),
                Example::new(r#"fs.stat("a.txt")"#, "null"),
            ],
            ..READING
        },
        Builtin {
            name: "list",
            params: &[Param::text("path").or("\".\"")],
            doc: "The entries of a directory, by name.",
            returns: "a list of dicts with `name`, `kind` (`file`, `directory`, `link` or `other`), `size`, `modified` (milliseconds since \
                1970), `is_file` and `is_dir`",
            body: Body::Host(access::list),
            examples: &[Example::new(
                r#"[fs.write("d/a.txt", "hi"), [(e["name"], e["kind"], e["is_dir"]) for e in fs.list()]][1]"#,
                r#"[["d", "directory", true]]"#,
            )],
            ..READING
        },
        Builtin {
            name: "glob",
            params: &[
                Param::text("pattern"),
                Param::int("max_results").or("10000"),
                IGNORED,
                DOTFILES,
                DETAILS,
            ],
            doc: "The regular files whose path matches; `*` stays in one directory, `**` crosses them. Links are not followed. \
                `.git` is left out, and so is what `.gitignore` files list, unless `ignored` is True or the pattern names the \
                folder or the file in full; `dotfiles=False` also leaves out names that begin with a dot.",
            returns: "a list of paths, sorted, at most `max_results`; with `details=True` a dict with `paths`, `truncated` and `hint`, \
                which says how to narrow the pattern",
            body: Body::Host(find::glob),
            examples: &[
                Example::new(
                    r#"[fs.write("src/a.py", ""), fs.write("b.txt", ""), fs.glob("**/*.py")][2]"#,
                    r#"["src/a.py"]"#,
                ),
                Example::new(
                    r#"[fs.write(".gitignore", "out/\n"), fs.write("out/a.py", ""), fs.glob("**/*.py"), fs.glob("**/*.py", ignored=True)][2:]"#,
                    r#"[[], ["out/a.py"]]"#,
                ),
            ],
            ..READING
        },
        Builtin {
            name: "mkdir",
            params: &[PATH],
            doc: "Creates a directory and its parents, if needed.",
            body: Body::Host(access::mkdir),
            examples: &[Example::new(
                r#"[fs.mkdir("a/b"), fs.stat("a/b")["is_dir"]][1]"#,
                "true",
            )],
            ..CHANGING
        },
        Builtin {
            name: "remove",
            params: &[PATH, Param::bool("recursive").or("false")],
            doc: "Removes a file or an empty directory; with `recursive`, a directory with everything in it. Links are removed, \
                never followed.",
            body: Body::Host(access::remove),
            examples: &[Example::new(
                r#"[fs.write("a.txt", ""), fs.remove("a.txt"), fs.exists("a.txt")][2]"#,
                "false",
            )],
            ..CHANGING
        },
        Builtin {
            name: "copy",
            params: SOURCE_TARGET,
            doc: "Copies a regular file.",
            body: Body::Host(access::copy),
            examples: &[Example::new(
                r#"[fs.write("a.txt", "hi"), fs.copy("a.txt", "b.txt"), fs.read("b.txt")][2]"#,
                r#""hi""#,
            )],
            ..CHANGING
        },
        Builtin {
            name: "move",
            params: SOURCE_TARGET,
            doc: "Moves a file or directory within the workspace.",
            body: Body::Host(access::rename),
            examples: &[Example::new(
                r#"[fs.write("a.txt", "hi"), fs.move("a.txt", "b.txt"), fs.exists("a.txt")][2]"#,
                "false",
            )],
            ..CHANGING
        },
        Builtin {
            name: "diff",
            params: &[
                Param::text("a_path").also(&["a"]),
                Param::text("b_path").also(&["b"]),
            ],
            doc: "A unified diff that turns one file into the other, with three lines of context; empty when they are equal. \
                `string.diff` compares texts.",
            returns: "a string",
            body: Body::Host(edit::diff),
            examples: &[Example::new(
                r#"[fs.write("a", "x\ny\n"), fs.write("b", "x\nz\n"), fs.diff("a", "b")][2]"#,
                r#""--- a\n+++ b\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n""#,
            )],
            ..READING
        },
        Builtin {
            name: "replace",
            params: &[PATH, Param::text("old"), Param::text("new")],
            doc: "Replaces the only occurrence of `old` in a file; raises if there is none or more than one, and says how many.",
            returns: "a dict with `path` and `line`, where the replacement starts",
            body: Body::Host(edit::replace),
            examples: &[
                Example::new(
                    r#"[fs.write("a", "x = 1\n"), fs.replace("a", "1", "2"), fs.read("a")][2]"#,
                    r#""x = 2\n""#,
                ),
                Example::new(
                    r#"[fs.write("a", "11"), fs.replace("a", "1", "2")][1]"#,
                    "error: occurs 2 times",
                ),
            ],
            ..CHANGING
        },
        Builtin {
            name: "replace_all",
            params: &[PATH, Param::text("old"), Param::text("new")],
            doc: "Replaces every occurrence of `old` in a file.",
            returns: "how many there were",
            body: Body::Host(edit::replace_all),
            examples: &[Example::new(
                r#"[fs.write("a", "1 1"), fs.replace_all("a", "1", "2"), fs.read("a")][1:]"#,
                r#"[2, "2 2"]"#,
            )],
            ..CHANGING
        },
        Builtin {
            name: "read_lines",
            params: &[
                PATH,
                Param::int("start").or("1"),
                Param::int("end").or("null"),
            ],
            doc: "Lines `start` to `end` of a file, counted from 1, both included, without their ends; None or 0 as `end` means to the last.",
            returns: "a list of strings",
            body: Body::Host(edit::read_lines),
            examples: &[Example::new(
                r#"[fs.write("a", "x\ny\nz\n"), fs.read_lines("a", 2)][1]"#,
                r#"["y", "z"]"#,
            )],
            ..READING
        },
        Builtin {
            name: "line_count",
            params: &[PATH],
            doc: "How many lines a file has; a last line without an end counts.",
            returns: "an integer",
            body: Body::Host(edit::line_count),
            examples: &[Example::new(
                r#"[fs.write("a", "x\ny"), fs.line_count("a")][1]"#,
                "2",
            )],
            ..READING
        },
        Builtin {
            name: "insert_at",
            params: &[PATH, Param::int("line"), TEXT],
            doc: "Inserts lines before line `line`, counted from 1; one more than the last adds them at the end.",
            returns: "a dict with `path` and `lines`, how many there are now",
            body: Body::Host(edit::insert_at),
            examples: &[Example::new(
                r#"[fs.write("a", "x\nz\n"), fs.insert_at("a", 2, "y"), fs.read("a")][2]"#,
                r#""x\ny\nz\n""#,
            )],
            ..CHANGING
        },
        Builtin {
            name: "replace_lines",
            params: &[PATH, Param::int("start"), Param::int("end"), TEXT],
            doc: "Replaces lines `start` to `end`, both included, by the lines of `text`.",
            returns: "a dict with `path` and `lines`, how many there are now",
            body: Body::Host(edit::replace_lines),
            examples: &[Example::new(
                r#"[fs.write("a", "x\ny\nz\n"), fs.replace_lines("a", 1, 2, "w"), fs.read("a")][2]"#,
                r#""w\nz\n""#,
            )],
            ..CHANGING
        },
        Builtin {
            name: "delete_lines",
            params: &[PATH, Param::int("start"), Param::int("end")],
            doc: "Removes lines `start` to `end`, both included.",
            returns: "a dict with `path` and `lines`, how many there are now",
            body: Body::Host(edit::delete_lines),
            examples: &[
                Example::new(
                    r#"[fs.write("a", "x\ny\nz\n"), fs.delete_lines("a", 1, 2), fs.read("a")][2]"#,
                    r#""z\n""#,
                ),
                Example::new(
                    r#"[fs.write("a", "x\n"), fs.delete_lines("a", 1, 9)][1]"#,
                    "error: `a` has 1 line",
                ),
            ],
            ..CHANGING
        },
        Builtin {
            name: "find",
            params: &[
                Param::text("pattern"),
                Param::text("path").or("\"**/*\""),
                Param::bool("regex").or("false"),
                Param::int("max_results").or("100"),
                IGNORED,
                DOTFILES,
                DETAILS,
            ],
            doc: "Lines that contain a text, or match it as a regular expression, in a file, below a directory, or in the files whose path \
                matches the glob `path`. Written the other way round, `fs.find(\"notes.txt\", \"TODO.*\")`, it is taken as it is elsewhere: \
                if the first argument is a path that exists and the second is none, the second is a regular expression. \
                Leaves out what `fs.glob` leaves out, files with a zero byte near their start, and files of more than 16 MiB. \
                Long lines are cut, and bytes that are not UTF-8 become `\u{fffd}`.",
            returns: "a list of dicts with `path`, `line` and `text`, sorted, at most `max_results`; with `details=True` a dict with \
                `matches`, `truncated` and `hint`, which says how to narrow the search",
            body: Body::Host(find::find),
            examples: &[Example::new(
                r#"[fs.write("src/a.py", "import os\nx = 1\n"), fs.find("x =", "**/*.py")][1]"#,
                r#"[{"path": "src/a.py", "line": 2, "text": "x = 1"}]"#,
            )],
            ..READING
        },
    ],
};
