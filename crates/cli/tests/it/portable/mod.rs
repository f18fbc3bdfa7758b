//! `docs/reference/portability.md`: files in the shapes that authors of the original system write, and what happens to
//! them here. The test runs each shape, so no row can be blank or out of date.

mod rows;

use crate::support::program::harness;
use rows::{PARTS, Row, Shape};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The table, made by running every row.
pub(crate) fn page() -> String {
    let mut text = String::from(
        "# Files written for the original system\n\nharness reads the artifact format of an earlier system. Each row is a shape that its authors write, run by a test in a\nproject of its own; the last column is what harness says or returns.\n",
    );
    for (part, rows) in PARTS {
        let _ = write!(
            text,
            "\n## {part}\n\n| shape | what happens here |\n| --- | --- |\n"
        );
        let outcomes: Vec<String> = std::thread::scope(|scope| {
            let running: Vec<_> = rows
                .iter()
                .map(|row| scope.spawn(|| outcome(row)))
                .collect();
            running
                .into_iter()
                .map(|one| one.join().expect("it runs"))
                .collect()
        });
        for (row, outcome) in rows.iter().zip(outcomes) {
            assert!(!outcome.trim().is_empty(), "{}: nothing happens", row.says);
            let _ = writeln!(text, "| {} | {} |", cell(row.says), cell(&outcome));
        }
    }
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', "<br>")
}

fn outcome(row: &Row) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    };
    match row.shape {
        Shape::Expression(expression) => {
            write(
                ".harness/tools/try_it.md",
                &format!(
                    "---\nscript: |\n  def run(args):\n      return {{\"value\": {expression}}}\n---\n\nTry it.\n"
                ),
            );
            let value = match answer(folder.path(), "call try_it --json") {
                refused if refused.starts_with("tool.not_advertised") => {
                    answer(folder.path(), "validate")
                }
                value => value,
            };
            format!("`{expression}` → {value}")
        }
        Shape::Project(files, commands) => {
            files.iter().for_each(|(path, text)| write(path, text));
            let answers = commands.iter().map(|command| {
                let answer = answer(folder.path(), command);
                format!("`harness {command}`: {answer}")
            });
            answers.collect::<Vec<_>>().join("\n")
        }
        Shape::Fact(fact, test) => format!("{fact} (`{test}`)"),
    }
}

/// The part of an answer that says what happened, without times and places of this run.
fn answer(folder: &Path, command: &str) -> String {
    let words = shell_words(command);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let said = harness(folder, &words);
    if command.contains("--json") {
        let result = said.document();
        let message = &result["error"]["message"];
        return match message.as_str() {
            Some(message) => format!(
                "{}: {message}",
                result["error"]["code"].as_str().expect("a code")
            ),
            None => format!(
                "`{}`",
                result["value"].get("value").unwrap_or(&result["value"])
            ),
        };
    }
    let text = format!("{}\n{}", said.out, said.err);
    let mut told: Vec<String> = Vec::new();
    let mut is_help_wanted = false;
    for line in text.lines() {
        const SAID: [&str; 7] = [
            "note[",
            "valid:",
            "not valid:",
            "refused:",
            "failed:",
            "stopped:",
            "  what",
        ];
        let is_finding = line.starts_with("error[") || line.starts_with("warning[");
        let help = line.trim_start().strip_prefix("= help: ");
        if is_finding || SAID.iter().any(|start| line.starts_with(start)) {
            told.push(steady(line));
            is_help_wanted = is_finding;
        } else if let (true, Some(help), Some(last)) = (is_help_wanted, help, told.last_mut()) {
            last.push_str(&format!(" ({help})"));
            is_help_wanted = false;
        }
    }
    if told.is_empty() {
        steady(text.lines().next().unwrap_or_default())
    } else {
        told.join("; ")
    }
}

fn steady(line: &str) -> String {
    let line = line.trim().trim_start_matches("what").trim();
    line.split(" in ")
        .next()
        .filter(|_| line.ends_with(" ms"))
        .unwrap_or(line)
        .to_owned()
}

/// A command's words; a quoted part is one word.
fn shell_words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in command.chars() {
        match c {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            _ => words.last_mut().expect("a word").push(c),
        }
    }
    words
}
