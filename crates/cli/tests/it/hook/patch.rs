//! harness finds every file that Codex's own `apply_patch` touches. Codex itself says which those
//! are.

use super::{before, hook, refusal};
use crate::support::Project;
use crate::support::program::{command, repository};
use serde_json::json;
use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Patches that touch what governs, each written in a way that somebody could read otherwise, and
/// a twin that does not.
const PATCHES: &[(&str, &str)] = &[
    // A line of a file that looks like a mark.
    (
        "*** Begin Patch\n*** Update File: notes.txt\n@@\n one\n  *** End Patch\n-two\n+2\n*** Update File: harness.md\n@@\n-g\n+h\n*** End Patch",
        "*** Begin Patch\n*** Update File: notes.txt\n@@\n one\n  *** End Patch\n-two\n+2\n*** Update File: other.md\n@@\n-g\n+h\n*** End Patch",
    ),
    // Spaces around marks, where they count as marks.
    (
        "  *** Begin Patch  \n\t*** Add File: a.txt\n+x\n   *** Delete File: harness.md  \n *** End Patch ",
        "*** Begin Patch\n*** Add File: a.txt\n+x\n+*** Delete File: harness.md\n*** End Patch",
    ),
    // A here-document around it, and returns.
    (
        "<<'EOF'\r\n*** Begin Patch\r\n*** Update File: harness.md\r\n@@\r\n-g\r\n+h\r\n*** End Patch\r\nEOF\r\n",
        "<<'EOF'\r\n*** Begin Patch\r\n*** Update File: other.md\r\n@@\r\n-g\r\n+h\r\n*** End Patch\r\nEOF\r\n",
    ),
    // A file that is moved there.
    (
        "*** Begin Patch\n*** Update File: other.md\n*** Move to: .harness/hooks/x.md\n@@\n-g\n+h\n*** End of File\n*** End Patch",
        "*** Begin Patch\n*** Update File: other.md\n*** Move to: docs/x.md\n@@\n-g\n+h\n*** End of File\n*** End Patch",
    ),
    // Codex drops tabs from names, and takes names back before it follows links.
    (
        "*** Begin Patch\n*** Add File: har\tness.md\n+h\n*** End Patch",
        "*** Begin Patch\n*** Add File: mad\tness.md\n+h\n*** End Patch",
    ),
    (
        "*** Begin Patch\n*** Add File: sub/.\t./harness.md\n+h\n*** End Patch",
        "*** Begin Patch\n*** Add File: sub/.\t./madness.md\n+h\n*** End Patch",
    ),
    (
        "*** Begin Patch\n*** Add File: link/../.harness/x.md\n+h\n*** End Patch",
        "*** Begin Patch\n*** Add File: link/../x.md\n+h\n*** End Patch",
    ),
    // Names that mean something else to others.
    (
        "*** Begin Patch\n*** Add File: ~/x.md\n+h\n*** End Patch",
        "*** Begin Patch\n*** Add File: sub/~x.md\n+h\n*** End Patch",
    ),
    (
        "*** Begin Patch\n*** Add File: file:/x.md\n+h\n*** End Patch",
        "*** Begin Patch\n*** Add File: sub/file:x.md\n+h\n*** End Patch",
    ),
    // What Codex refuses changes nothing, and harness refuses it, too.
    (
        "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\n*** Begin Patch\n*** Add File: harness.md\n+h\n*** End Patch",
        "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Add File: b.txt\n+x\n*** End Patch",
    ),
    (
        "*** Begin Patch\n*** Update File: notes.txt\n@@\n one\n\t*** Update File: harness.md\n*** End Patch",
        "*** Begin Patch\n*** Update File: notes.txt\n@@\n-one\n+*** Update File: harness.md\n*** End Patch",
    ),
];

fn project() -> Project {
    let project = Project::new(&[
        ("harness.md", "---\nformat: 1\n---\ng\n"),
        (".harness/README.md", "x\n"),
        ("notes.txt", "one\n *** End Patch\ntwo\n"),
        ("other.md", "g\n"),
        ("sub/deep/x.txt", "x\n"),
    ]);
    let top = project.path();
    // Where a link leads is not where its name would.
    symlink("sub/deep", top.join("link")).expect("a link");
    symlink(".harness", top.join("~")).expect("a link");
    symlink(".harness", top.join("file:")).expect("a link");
    project
}

fn judged(project: &Project, patch: &str) -> Option<String> {
    let message = before(project.path(), "apply_patch", &json!({"command": patch}));
    refusal(hook(project.path(), "codex", &message))
}

/// Every file with its content.
fn files(top: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![top.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
            if kind.is_dir() {
                left.push(path);
            } else if kind.is_file() {
                let name = path.strip_prefix(top).expect("inside").to_string_lossy();
                found.insert(
                    name.into_owned(),
                    std::fs::read_to_string(&path).unwrap_or_default(),
                );
            }
        }
    }
    found
}

#[test]
fn patches_are_read_as_codex_reads_them() {
    for (attack, twin) in PATCHES {
        let project = project();
        let reason = judged(&project, attack);
        assert!(reason.is_some(), "{attack} went through");
        assert_eq!(judged(&project, twin), None, "{twin}");
    }
}

#[test]
fn codex_touches_no_other_file_than_harness_judged() {
    let codex = repository("target/clients/node_modules/.bin/codex");
    if !codex.exists() {
        println!(
            "skipped: {} is not installed; ./check installs it",
            codex.display()
        );
        return;
    }
    let apply = |project: &Project, patch: &str| {
        let before = files(project.path());
        let words = ["--codex-run-as-apply-patch", patch];
        let ran = command(&codex, project.path(), &words).output();
        let applied = ran.expect("codex runs").status.success();
        let after = files(project.path());
        let same = |name: &&String| before.get(*name) == after.get(*name);
        let names = before.keys().chain(after.keys());
        let changed: Vec<String> = names.filter(|name| !same(name)).cloned().collect();
        (applied, changed)
    };
    let governs = |name: &String| name == "harness.md" || name.starts_with(".harness/");
    let mut reached = 0;
    for (attack, twin) in PATCHES {
        let (applied, changed) = apply(&project(), attack);
        assert!(
            !applied || changed.iter().any(governs),
            "not an attack: {attack}: {changed:?}"
        );
        reached += usize::from(applied);
        let (applied, changed) = apply(&project(), twin);
        assert!(applied, "not a patch: {twin}");
        assert!(!changed.iter().any(governs), "{twin}: {changed:?}");
    }
    assert!(reached >= 8, "Codex applied {reached} of the attacks");
}
