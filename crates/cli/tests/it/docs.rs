//! The documents are true: their files load, their commands print what is shown, their links and names exist.
//!
//! In the README and the guides a block marked `title=PATH` is a file of that page's project, unless the path is one of this
//! repository, which it must then equal. In a `console` block each `$ command` is run in that project and must print exactly what is
//! below it; `…` stands for lines left out.

use crate::support::program::example_program;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the root")
}

/// Every hand-written document, relative to the root.
fn documents() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
    ]
    .map(PathBuf::from)
    .to_vec();
    for folder in ["docs", "docs/guide", "docs/recipes", "docs/decisions"] {
        let entries = fs::read_dir(root().join(folder))
            .expect("a folder of documents")
            .flatten();
        let documents = entries.map(|entry| Path::new(folder).join(entry.file_name()));
        found.extend(documents.filter(|path| path.extension().is_some_and(|kind| kind == "md")));
    }
    found.sort();
    found
}

fn text(document: &Path) -> String {
    fs::read_to_string(root().join(document))
        .unwrap_or_else(|problem| panic!("{}: {problem}", document.display()))
}

/// A fenced block: its info string and its lines.
struct Block {
    words: String,
    lines: String,
    line: usize,
}

impl Block {
    fn title(&self) -> Option<&str> {
        self.words
            .split_whitespace()
            .find_map(|word| word.strip_prefix("title="))
    }
}

fn blocks(text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<(String, Block)> = None;
    for (number, line) in text.lines().enumerate() {
        let fence = line.len() - line.trim_start_matches('`').len();
        match &mut open {
            None if fence >= 3 => {
                let words = line[fence..].trim().to_owned();
                open = Some((
                    line[..fence].to_owned(),
                    Block {
                        words,
                        lines: String::new(),
                        line: number + 1,
                    },
                ));
            }
            None => {}
            Some((closing, _)) if line == closing => {
                found.extend(open.take().map(|(_, block)| block))
            }
            Some((_, block)) => block.lines.extend([line, "\n"]),
        }
    }
    assert!(open.is_none(), "a block is not closed");
    found
}

/// Runs a line of a document as a reader would, with the program under test as `harness`.
fn run(line: &str, folder: &Path) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_harness"))
        .parent()
        .expect("a folder");
    let line = match line.strip_prefix("cargo run -p ") {
        Some(example) => example_program(example).display().to_string(),
        None => line.to_owned(),
    };
    let script = format!("exec 2>&1; PATH='{}':\"$PATH\"; {line}", program.display());
    #[expect(clippy::disallowed_methods, reason = "what a document shows is run")]
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder)
        .env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .output();
    output.expect("a shell")
}

/// A line without the parts that differ from run to run.
fn steady(line: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    for index in 1..words.len() {
        if words[index].trim_end_matches([',', ')']) == "ms" {
            words[index - 1] = "N";
        }
    }
    words.join(" ").trim_end().to_owned()
}

/// What a command printed, and how much of it the document has shown.
#[derive(Default)]
struct Printed {
    lines: Vec<String>,
    shown: usize,
    /// Whether the document omits lines here.
    gap: bool,
}

impl Printed {
    fn of(command: &str, folder: &Path) -> Self {
        let output = run(command, folder);
        let lines = String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(steady)
            .filter(|line| !line.is_empty())
            .collect();
        Self {
            lines,
            shown: 0,
            gap: false,
        }
    }

    fn show(&mut self, line: &str) -> Result<(), String> {
        let rest = self.lines.get(self.shown..).unwrap_or_default();
        let skipped = rest.iter().position(|printed| *printed == steady(line));
        match skipped {
            Some(0) => {}
            Some(_) if self.gap => {}
            _ => {
                return Err(format!(
                    "this does not come next: {line}\nprinted: {}",
                    rest.join("\n")
                ));
            }
        }
        self.shown += skipped.unwrap_or_default() + 1;
        self.gap = false;
        Ok(())
    }

    fn end(&self) -> Result<(), String> {
        let rest = self.lines.get(self.shown..).unwrap_or_default();
        if rest.is_empty() || self.gap {
            Ok(())
        } else {
            Err(format!("printed and not shown: {}", rest.join("\n")))
        }
    }
}

/// Runs the commands of a console block; returns the first difference between their output and the document.
fn follow(block: &Block, folder: &Path) -> Result<(), String> {
    let mut printed = Printed::default();
    for line in block.lines.lines().filter(|line| !line.trim().is_empty()) {
        if let Some(command) = line.strip_prefix("$ ") {
            printed.end()?;
            let place = if command.starts_with("cargo run") {
                root()
            } else {
                folder.to_owned()
            };
            printed = Printed::of(command, &place);
        } else if line.trim() == "…" {
            printed.gap = true;
        } else {
            printed.show(line)?;
        }
    }
    printed.end()
}

/// What a document shows: the number of files and commands, and what is wrong with them.
#[derive(Default)]
struct Shown {
    files: usize,
    commands: usize,
    wrong: Vec<String>,
}

fn played(document: &Path) -> Shown {
    let mut shown = Shown::default();
    let scratch = tempfile::tempdir().expect("a folder");
    let mut wrote = false;
    for block in blocks(&text(document)) {
        let problem = if let Some(title) = block.title() {
            shown.files += 1;
            if title.starts_with("examples/") {
                (block.lines != text(Path::new(title))).then(|| format!("{title} differs"))
            } else {
                let path = scratch.path().join(title);
                fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
                fs::write(path, &block.lines).expect("a file");
                wrote = true;
                None
            }
        } else if block.words == "console" {
            let commands = block.lines.lines().filter(|line| line.starts_with("$ "));
            shown.commands += commands.count();
            follow(&block, scratch.path()).err()
        } else {
            None
        };
        let at = |problem| format!("{}:{}: {problem}", document.display(), block.line);
        shown.wrong.extend(problem.map(at));
    }
    for command in ["harness validate --deny-warnings", "harness test"] {
        if !wrote {
            break;
        }
        let output = run(command, scratch.path());
        if !output.status.success() {
            let printed = String::from_utf8_lossy(&output.stdout);
            shown
                .wrong
                .push(format!("{}: {command}\n{printed}", document.display()));
        }
    }
    shown
}

#[test]
fn the_readme_and_the_guides_show_what_really_happens() {
    let mut documents = documents();
    documents.retain(|document| *document == *"README.md" || document.starts_with("docs"));
    let shown: Vec<Shown> = std::thread::scope(|scope| {
        let playing: Vec<_> = documents
            .iter()
            .map(|document| scope.spawn(|| played(document)))
            .collect();
        playing
            .into_iter()
            .map(|one| one.join().expect("it runs"))
            .collect()
    });
    let wrong: Vec<&str> = shown
        .iter()
        .flat_map(|one| &one.wrong)
        .map(String::as_str)
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let files: usize = shown.iter().map(|one| one.files).sum();
    let commands: usize = shown.iter().map(|one| one.commands).sum();
    assert!(files >= 8, "{files} files are shown");
    assert!(commands >= 15, "{commands} commands are shown");
}

#[test]
fn every_command_in_the_documents_exists() {
    let help = run("harness help", Path::new("/"));
    let help = String::from_utf8(help.stdout).expect("text");
    let known: BTreeSet<&str> = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(known.len() >= 12, "{known:?}");
    for document in documents() {
        let text = text(&document);
        // In code: after a backtick, a prompt or a double dash.
        for start in ["`harness ", "$ harness ", "-- harness "] {
            for rest in text.split(start).skip(1) {
                let word: String = rest
                    .chars()
                    .take_while(|c| c.is_ascii_lowercase())
                    .collect();
                assert!(
                    word.is_empty() || known.contains(word.as_str()),
                    "{}: there is no `harness {word}`",
                    document.display()
                );
            }
        }
    }
}

/// The document without its fenced blocks.
fn prose(document: &Path) -> String {
    let text = text(document);
    let mut inside = false;
    let fences = |line: &&str| {
        let fence = line.starts_with("```");
        inside ^= fence;
        !inside && !fence
    };
    text.lines().filter(fences).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_link_in_the_documents_leads_to_a_file() {
    let mut links = 0;
    for document in documents() {
        let folder = root().join(document.parent().expect("a folder"));
        for rest in prose(&document).split("](").skip(1) {
            let target = rest.split(')').next().expect("a target");
            if target.starts_with("http") || target.starts_with('#') {
                continue;
            }
            links += 1;
            let path = folder.join(target.split('#').next().unwrap_or_default());
            assert!(
                path.exists(),
                "{}: {target} does not exist",
                document.display()
            );
        }
    }
    assert!(links >= 30, "{links} links");
}

#[test]
fn every_path_and_test_in_the_documents_exists() {
    let root = root();
    let mut sources = String::new();
    gather(&root.join("crates"), &mut sources);
    for document in documents() {
        for name in prose(&document).split('`').skip(1).step_by(2) {
            let is_path = ["crates/", "docs/", "examples/", "bench/", "tests/cases/"]
                .iter()
                .any(|start| name.starts_with(start));
            if is_path && !name.contains(['*', '<', ' ', '{']) {
                assert!(
                    root.join(name).exists(),
                    "{}: {name} does not exist",
                    document.display()
                );
            }
            // A folder of the map, below the `src` of a crate.
            if document.ends_with("ARCHITECTURE.md") && name.ends_with('/') {
                let found = std::fs::read_dir(root.join("crates")).expect("the crates");
                let mut sources = found.map(|entry| entry.expect("a crate").path().join("src"));
                assert!(
                    sources.any(|source| source.join(name).is_dir()),
                    "{}: {name} is not a folder of a crate",
                    document.display()
                );
            }
            let is_test = name.matches('_').count() >= 3
                && name
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            if is_test {
                let known = sources.contains(&format!("fn {name}("))
                    || sources.contains(&format!("\"{name}\""));
                assert!(known, "{}: no test is called {name}", document.display());
            }
        }
    }
}

fn gather(folder: &Path, sources: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push_str(&fs::read_to_string(&path).expect("text"));
        }
    }
}

#[test]
fn the_guides_list_every_dependency_of_their_programs() {
    for (guide, example) in [
        ("write-a-tool-in-rust", "typed"),
        ("embed-in-rust", "embed"),
    ] {
        let guide = text(&Path::new("docs/guide").join(guide).with_extension("md"));
        let listed: BTreeSet<String> = dependencies(
            guide
                .split("\n```")
                .find(|block| block.starts_with("toml"))
                .expect("a list"),
        )
        .collect();
        let manifest = text(&Path::new("examples").join(example).join("Cargo.toml"));
        assert_eq!(
            listed,
            dependencies(&manifest).collect::<BTreeSet<String>>(),
            "examples/{example}"
        );
    }
}

/// The names of a manifest's dependencies.
fn dependencies(manifest: &str) -> impl Iterator<Item = String> {
    let section = manifest
        .split("[dependencies]")
        .nth(1)
        .and_then(|rest| rest.split("\n[").next())
        .expect("dependencies");
    section
        .lines()
        .filter(|line| line.contains('='))
        .filter_map(|line| Some(line.split(['.', ' ', '=']).next()?.to_owned()))
}

#[test]
fn the_architecture_gives_a_reason_for_every_dependency() {
    let architecture = text(Path::new("ARCHITECTURE.md"));
    for name in ["sandbox", "core", "script", "cli"] {
        let manifest = text(&Path::new("crates").join(name).join("Cargo.toml"));
        for dependency in dependencies(&manifest) {
            assert!(
                architecture.contains(&format!("`{dependency}`")),
                "crates/{name}: `{dependency}` has no reason in ARCHITECTURE.md"
            );
        }
    }
}
