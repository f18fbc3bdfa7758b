//! The tree's own rules: dependencies between crates, licences, file lengths.

use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the root")
}

fn metadata() -> Value {
    #[expect(clippy::disallowed_methods, reason = "asks cargo about the tree")]
    let output = std::process::Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn crates_depend_only_as_the_architecture_says() {
    let metadata = metadata();
    let allowed: HashMap<&str, &[&str]> = HashMap::from([
        ("tool-harness-sandbox", [].as_slice()),
        ("tool-harness", &["tool-harness-sandbox"]),
        (
            "tool-harness-script",
            &["tool-harness", "tool-harness-sandbox"],
        ),
        (
            "tool-harness-cli",
            &[
                "tool-harness",
                "tool-harness-sandbox",
                "tool-harness-script",
            ],
        ),
    ]);
    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("a name");
        let Some(allowed) = allowed.get(name) else {
            continue;
        };
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let (of, kind) = (
                dependency["name"].as_str().expect("a name"),
                &dependency["kind"],
            );
            if kind.is_null() {
                assert!(
                    !of.starts_with("tool-harness") || allowed.contains(&of),
                    "{name} must not depend on {of}"
                );
                assert!(
                    !of.starts_with("starlark") || name == "tool-harness-script",
                    "only the script crate may name Starlark"
                );
            }
        }
    }
}

#[test]
fn every_licence_is_one_we_accept() {
    let deny = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    let list = deny
        .split("allow = [")
        .nth(1)
        .and_then(|rest| rest.split(']').next())
        .expect("the list");
    let allowed: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    let mut strange = BTreeMap::new();
    for package in metadata()["packages"].as_array().expect("packages") {
        let licence = package["license"].as_str().unwrap_or("none");
        let acceptable = licence.replace('/', " OR ").split(" AND ").all(|part| {
            let part = part.trim_matches(|c: char| c == '(' || c == ')' || c == ' ');
            part.split(" OR ").any(|choice| {
                allowed.contains(&choice.trim_matches(|c: char| c == '(' || c == ')' || c == ' '))
            })
        });
        if !acceptable {
            strange.insert(package["name"].to_string(), licence.to_owned());
        }
    }
    assert!(strange.is_empty(), "{strange:?}");
}

/// Lines of code: neither blank nor a comment, nor in the tests at the end of a source file.
fn lines_of_code(path: &Path) -> usize {
    let text = std::fs::read_to_string(path).expect("text");
    let code = text
        .split("\n#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    code.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count()
}

#[test]
fn files_stay_readable() {
    let mut files = Vec::new();
    for folder in ["crates", "bench", "examples"] {
        sources(&root().join(folder), &mut files);
    }
    let mut lengths: Vec<(usize, PathBuf)> = files
        .into_iter()
        .map(|path| (lines_of_code(&path), path))
        .collect();
    lengths.sort();
    let long: Vec<String> = lengths
        .iter()
        .filter(|(lines, _)| *lines > 600)
        .map(|(lines, path)| format!("{} has {lines} lines of code", path.display()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
    let at = |share: usize| lengths[lengths.len() * share / 100].0;
    assert!(at(50) <= 120, "the median file has {} lines", at(50));
    assert!(at(90) <= 350, "the 90th percentile has {} lines", at(90));
}

#[test]
fn unsafe_code_is_in_the_sandbox_only_and_says_why() {
    let mut files = Vec::new();
    for name in ["sandbox", "script", "core", "cli"] {
        sources(&root().join("crates").join(name).join("src"), &mut files);
    }
    for path in files {
        let text = std::fs::read_to_string(&path).expect("text");
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let is_unsafe = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"]
                .iter()
                .any(|word| code.contains(word))
                && !code.contains('"');
            if !is_unsafe {
                continue;
            }
            assert!(
                path.components().any(|part| part.as_os_str() == "sandbox"),
                "{}:{} is unsafe",
                path.display(),
                index + 1
            );
            let said = lines[index.saturating_sub(6)..=index]
                .iter()
                .any(|line| line.contains("SAFETY") || line.contains("# Safety"));
            assert!(
                said,
                "{}:{} does not say why it is sound",
                path.display(),
                index + 1
            );
        }
    }
}

#[test]
fn no_file_names_a_registry_host() {
    let hosts = [
        ["crates", "io"].join("."),
        ["pypi", "org"].join("."),
        ["npmjs", "org"].join("."),
        ["deb", "debian", "org"].join("."),
    ];
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "check",
        "Cargo.toml",
        ".ci/run",
    ] {
        let text = std::fs::read_to_string(root().join(name)).unwrap_or_default();
        assert!(
            !hosts.iter().any(|host| text.contains(host.as_str())),
            "{name}"
        );
    }
}

/// The modules of core, lowest first. A module imports only those above it in this list.
const LAYERS: [&str; 45] = [
    // Vocabulary: what everything may use.
    "number",
    "path",
    "pattern",
    "span",
    "nearest",
    "isolate",
    "depth",
    "containment",
    "effect",
    "digest",
    "id",
    "control",
    "stage",
    "door",
    "decision",
    "content",
    "refusal",
    "diagnostic",
    "facts",
    "hook_event",
    "result",
    "message",
    "event",
    "slots",
    // What the stages use.
    "schema",
    "redact",
    "store",
    "call",
    "outside",
    "worker",
    // Text to artifacts to diagnostics.
    "native",
    "artifact",
    "surface",
    "builtin",
    "client",
    "rule",
    "check",
    // What is loaded, and what a mode makes of it.
    "plan",
    "tool",
    "registry",
    "middleware",
    "host",
    "view",
    // A call, and the front.
    "run",
    "engine",
];

/// The modules of `run`, lowest first. `mod` is the path itself.
const STAGES: [&str; 22] = [
    // What the stages use.
    "cut",
    "deadline",
    "outcome",
    "in_flight",
    "secrets",
    "audience",
    "shared",
    "context",
    "record",
    "ask",
    "builtin",
    "chain",
    // The stages.
    "admit",
    "authorize",
    "before",
    "approve",
    "execute",
    "finish",
    "mod",
    // What begins a call: a Rust tool, a client, a question.
    "access",
    "client",
    "explain",
];

#[test]
fn imports_in_core_point_one_way() {
    assert_order("crates/core/src", &LAYERS, |file| {
        match file.contains('/') {
            true => vec!["crate::"],
            false => vec!["crate::", "super::"],
        }
    });
}

#[test]
fn imports_among_the_stages_point_one_way() {
    assert_order("crates/core/src/run", &STAGES, |file| {
        let is_inside = file.contains('/') && !file.ends_with("/mod.rs");
        match is_inside {
            true => vec!["crate::run::", "super::super::"],
            false => vec!["crate::run::", "super::"],
        }
    });
}

/// Checks that a module of a folder imports only modules before it. `roots` gives the ways in which
/// a file writes the folder's path.
fn assert_order(folder: &str, order: &[&str], roots: impl Fn(&str) -> Vec<&'static str>) {
    let folder = root().join(folder);
    let rank = |module: &str| order.iter().position(|name| *name == module);
    let mut files = Vec::new();
    sources(&folder, &mut files);
    let mut backward = Vec::new();
    for path in files {
        let file = path
            .strip_prefix(&folder)
            .expect("below the folder")
            .to_string_lossy()
            .into_owned();
        let module = file
            .split('/')
            .next()
            .unwrap_or_default()
            .trim_end_matches(".rs");
        // The front lists its modules, and may name every one.
        if ["lib", "mod"].contains(&module) || file.contains("/tests") {
            continue;
        }
        let own = rank(module).unwrap_or_else(|| panic!("`{module}` has no rank"));
        let text = std::fs::read_to_string(&path).expect("text");
        for import in imports(&text, &roots(&file)) {
            // A name that is no module stands in the folder's `mod.rs`.
            match rank(&import).or_else(|| rank("mod")) {
                Some(other) if other > own => backward.push(format!("{file} imports {import}")),
                _ => {}
            }
        }
    }
    assert!(backward.is_empty(), "{backward:#?}");
}

/// The names that the code of a file takes from these paths, its tests left out.
fn imports(text: &str, roots: &[&str]) -> Vec<String> {
    // Inline tests end at the next line that is a closing brace and nothing else.
    let mut parts = text.split("#[cfg(test)]\nmod tests {");
    let mut code = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        code.push_str(part.split_once("\n}\n").map_or("", |(_, rest)| rest));
    }
    let code: String = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let mut found = Vec::new();
    for root in roots {
        for (at, _) in code.match_indices(root) {
            let rest = &code[at + root.len()..];
            match rest.strip_prefix('{') {
                None => found.push(word(rest)),
                Some(list) => found.extend(first_words(list)),
            }
        }
    }
    found
}

/// The first word of each entry of a `{…}` list of imports.
fn first_words(list: &str) -> Vec<String> {
    let (mut depth, mut words, mut is_start) = (0, Vec::new(), true);
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => is_start = true,
            _ if letter.is_whitespace() => {}
            _ if is_start && depth == 0 => {
                words.push(word(&list[at..]));
                is_start = false;
            }
            _ => {}
        }
    }
    words
}

fn word(text: &str) -> String {
    let is_part = |letter: &char| letter.is_alphanumeric() || *letter == '_';
    text.chars().take_while(is_part).collect()
}

#[test]
fn the_import_check_finds_backward_imports_in_any_spelling() {
    for (text, expected) in [
        ("use crate::run::Context;\n", vec!["run"]),
        (
            "use crate::{effect::Effects, run::{self, Context}, span};\n",
            vec!["effect", "run", "span"],
        ),
        ("fn f() { crate::engine::load(); }\n", vec!["engine"]),
        ("// crate::run is above\n", vec![]),
        (
            "#[cfg(test)]\nmod tests {\n    use crate::run::Context;\n}\n",
            vec![],
        ),
        (
            "#[cfg(test)]\nmod tests {\n    fn f() {}\n}\nuse crate::run::Context;\n",
            vec!["run"],
        ),
    ] {
        assert_eq!(imports(text, &["crate::"]), expected, "{text}");
    }
}
