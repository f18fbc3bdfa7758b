//! `docs` is a book: its table of contents lists every page, its links and pictures are right, and mdBook builds it
//! without a warning where mdBook is installed (`./check` installs it below `target/tools`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// The parts of the book, and their pages in reading order. A folder stands for its remaining pages, by name.
const PARTS: &[(&str, &[&str])] = &[
    ("Start", &["concepts.md", "limits.md"]),
    (
        "Guides",
        &[
            "guide/write-a-tool.md",
            "guide/starlark.md",
            "guide/test-your-tools.md",
            "guide/write-a-hook.md",
            "guide/bundles.md",
            "guide/policy.md",
            "guide/secrets-and-long-results.md",
            "guide/install.md",
            "guide/claude-code.md",
            "guide/codex.md",
            "guide/mcp.md",
            "guide/check-in-ci.md",
            "guide/write-a-tool-in-rust.md",
            "guide/embed-in-rust.md",
            "guide/give-tools-to-a-model.md",
            "guide/how-scripts-are-contained.md",
            "guide/how-processes-are-contained.md",
            "guide",
        ],
    ),
    ("Recipes", &["recipes/tools.md", "recipes/policies.md"]),
    (
        "Reference",
        &["reference/cli.md", "reference/builtins.md", "reference"],
    ),
    ("Diagnostics", &["diagnostics/README.md", "diagnostics"]),
    (
        "Figures and decisions",
        &[
            "benchmarks.md",
            "tinyagents.md",
            "mcp-conformance.md",
            "decisions",
        ],
    ),
];

fn docs() -> PathBuf {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    docs.canonicalize().expect("the documents")
}

/// Every page, by its path below `docs`, with its text.
fn pages() -> BTreeMap<String, String> {
    fn gather(folder: &Path, top: &Path, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = path
                .strip_prefix(top)
                .expect("below")
                .to_string_lossy()
                .into_owned();
            if path.is_dir() {
                gather(&path, top, found);
            } else if name.ends_with(".md") && name != "SUMMARY.md" {
                found.insert(name, fs::read_to_string(&path).expect("text"));
            }
        }
    }
    let mut found = BTreeMap::new();
    gather(&docs(), &docs(), &mut found);
    found
}

fn title(page: &str) -> &str {
    let heading = page.lines().find_map(|line| line.strip_prefix("# "));
    heading.expect("a page has a title").trim_matches('`')
}

/// The table of contents, of the pages by hand and of those made from the code.
pub(crate) fn summary(made: &BTreeMap<String, String>) -> String {
    let mut pages = pages();
    pages.retain(|page, _| !page.starts_with("reference/") && !page.starts_with("diagnostics/"));
    let is_page = |name: &str| name.ends_with(".md") && !name.starts_with("..");
    let made = made.iter().filter(|(name, _)| is_page(name));
    pages.extend(made.map(|(name, text)| (name.clone(), text.clone())));
    let mut left: BTreeSet<&str> = pages.keys().map(String::as_str).collect();
    let mut text = String::from(
        "# Summary\n\n<!-- Made by crates/cli/tests/it/book.rs. Do not edit; run `reference::` with UPDATE=1. -->\n\n[harness](README.md)\n",
    );
    left.remove("README.md");
    for (part, listed) in PARTS {
        let _ = write!(text, "\n# {part}\n\n");
        for entry in *listed {
            let of_folder = format!("{entry}/");
            let these: Vec<&str> = if entry.ends_with(".md") {
                vec![entry]
            } else {
                left.iter()
                    .copied()
                    .filter(|page| page.starts_with(&of_folder))
                    .collect()
            };
            for page in these {
                assert!(left.remove(page), "{page} is not there, or is listed twice");
                let _ = writeln!(text, "- [{}]({page})", title(&pages[page]));
            }
        }
    }
    assert!(
        left.is_empty(),
        "these pages are in no part of the book: {left:?}"
    );
    text
}

/// A page without its fenced blocks.
fn prose(page: &str) -> String {
    let mut is_inside = false;
    let mut kept = String::new();
    for line in page.lines() {
        let is_fence = line.starts_with("```");
        is_inside ^= is_fence;
        if !is_inside && !is_fence {
            kept.extend([line, "\n"]);
        }
    }
    kept
}

/// The anchors of a page, as mdBook and GitHub make them from headings.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = prose(page);
    let headings = headings.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let words = line.trim_start_matches('#').trim().to_lowercase();
            let kept = words
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[test]
fn every_link_of_the_book_stays_in_the_book_and_leads_somewhere() {
    let pages = pages();
    let mut links = 0;
    for (name, text) in &pages {
        for rest in prose(text).split("](").skip(1) {
            let link = rest.split(')').next().expect("a target");
            if link.starts_with("http") || link.contains(' ') {
                continue;
            }
            links += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let mut parts: Vec<&str> = name.split('/').collect();
            parts.pop();
            for part in Path::new(path).components() {
                match part {
                    Component::ParentDir => {
                        assert!(parts.pop().is_some(), "{name}: {link} leaves the book");
                    }
                    Component::Normal(part) => parts.push(part.to_str().expect("text")),
                    _ => {}
                }
            }
            let target = if path.is_empty() {
                name.clone()
            } else {
                parts.join("/")
            };
            assert!(
                docs().join(&target).is_file(),
                "{name}: {link} leads to no file"
            );
            let found = anchor.is_empty() || anchors(&pages[&target]).contains(anchor);
            assert!(found, "{name}: {target} has no heading for #{anchor}");
        }
    }
    assert!(links >= 100, "{links} links");
}

#[test]
fn every_picture_is_drawn_from_its_source() {
    let mut pictures = 0;
    for entry in fs::read_dir(docs().join("drawing"))
        .expect("drawings")
        .flatten()
    {
        let source = entry.path();
        if source
            .extension()
            .is_some_and(|extension| extension == "dot")
        {
            let picture = fs::read_to_string(source.with_extension("svg")).expect("a picture");
            let text = fs::read_to_string(&source)
                .expect("text")
                .replace("--", "- -");
            let is_current = picture.contains(text.trim_end());
            assert!(is_current, "{}: run docs/drawing/draw", source.display());
            pictures += 1;
        }
    }
    assert!(pictures >= 3);
}

#[test]
fn the_book_builds_without_a_warning() {
    let program = docs().join("../target/tools/bin/mdbook");
    if !program.exists() {
        println!("skipped: mdBook is not installed, so the book was not built");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    #[expect(clippy::disallowed_methods, reason = "the real mdBook")]
    let built = Command::new(program)
        .arg("build")
        .arg(docs())
        .arg("--dest-dir")
        .arg(folder.path())
        .output()
        .expect("mdBook runs");
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{said}");
    assert!(!said.contains("WARN") && !said.contains("ERROR"), "{said}");
    for page in [
        "index.html",
        "concepts.html",
        "recipes/tools.html",
        "diagnostics/index.html",
    ] {
        assert!(folder.path().join(page).is_file(), "{page} was not built");
    }
}
