//! Each attack has a harmless twin.

use super::*;
use std::path::Path;

fn paths(patch: &str) -> Vec<String> {
    let files = touched(patch).unwrap_or_else(|problem| panic!("{patch}: {problem}"));
    files.into_iter().map(|file| file.path).collect()
}

#[test]
fn every_file_is_found_with_what_is_added_to_it() {
    let patch = "*** Begin Patch\n*** Environment ID: here\n*** Add File: a.txt\n+one\n+two\n*** Update File: b.rs\n*** Move to: c.rs\n@@ fn\n-x\n+y\n z\n\
                 *** End of File\n*** Delete File: d\n*** End Patch\n";
    let expected = [
        ("a.txt", "add", "one\ntwo\n"),
        ("b.rs", "update", "y\n"),
        ("c.rs", "move", "y\n"),
        ("d", "delete", ""),
    ];
    let with_returns = patch.replace('\n', "\r\n");
    for patch in [patch, &with_returns] {
        let found: Vec<_> = touched(patch)
            .expect("a patch")
            .into_iter()
            .map(|file| (file.path, file.change, file.content))
            .collect();
        assert_eq!(
            found,
            expected.map(|(path, change, content)| (path.to_owned(), change, content.to_owned()))
        );
    }
}

#[test]
fn a_line_of_a_file_is_not_taken_for_a_mark() {
    let update = |line: &str| {
        format!(
            "*** Begin Patch\n*** Update File: a\n@@\n{line}\n-x\n+y\n*** Update File: harness.md\n@@\n-b\n+c\n*** End Patch"
        )
    };
    for line in [
        " *** End Patch",
        "  *** End Patch",
        " *** Update File: b",
        "+*** End Patch",
        "-*** Delete File: c",
        "+*** Begin Patch",
        "",
    ] {
        assert_eq!(paths(&update(line)), ["a", "harness.md"], "{line}");
    }
    // In a new file only lines with a plus belong to it.
    let new = "*** Begin Patch\n*** Add File: a\n+x\n  *** Add File: harness.md\n+y\n *** Delete File: b \n\t*** Update File: c\n-x\n  *** End Patch  ";
    assert_eq!(paths(new), ["a", "harness.md", "b", "c"]);
    let twin = "*** Begin Patch\n*** Add File: a\n+*** Add File: harness.md\n*** End Patch";
    assert_eq!(paths(twin), ["a"]);
}

#[test]
fn a_patch_may_be_wrapped_in_spaces_or_a_here_document() {
    let patch = "*** Begin Patch\n*** Add File: x\n+1\n*** End Patch";
    for wrapped in [
        format!("\n  {patch}  \n\n"),
        format!("<<'EOF'\n{patch}\nEOF\n"),
        format!("<<EOF\n{patch}\nEOF"),
        format!("<<\"EOF\"\n {patch}\nxEOF"),
    ] {
        assert_eq!(paths(&wrapped), ["x"], "{wrapped}");
    }
    assert_eq!(
        paths("*** Begin Patch\n*** Add File:  x \n+1\n*** End Patch"),
        [" x"],
        "a space before a name belongs to it"
    );
}

#[test]
fn what_codex_would_not_apply_is_refused() {
    for patch in [
        "",
        "diff --git a/x b/x",
        "*** Begin Patch",
        "*** Begin Patch\n*** End Patch",
        "*** Begin Patch\n*** Rename File: x\n*** End Patch",
        "*** Begin Patch\n*** Add File: \n*** End Patch",
        "*** Begin Patch\n*** Add File: x\n+1",
        "*** Begin Patch\n*** Add File: x\n+1\n*** End Patch\nmore",
        "*** Begin Patch\n*** Add File: x\n+1\n*** End Patch\n*** Begin Patch\n*** Add File: y\n+1\n*** End Patch",
        "*** Begin Patch\n*** Add File: x\n1\n*** End Patch",
        "*** Begin Patch\n*** Update File: x\n@@\n-1\n*** Move to: y\n*** End Patch",
        "*** Begin Patch\n*** Update File: x\n@@\n-1\n *** End Patch\n*** End of Patch\n*** End Patch",
        "<<'X'\n*** Begin Patch\n*** Add File: x\n+1\n*** End Patch\nX",
    ] {
        assert!(touched(patch).is_err(), "{patch}");
    }
}

#[test]
fn codex_drops_tabs_and_takes_names_back() {
    for (path, expected) in [
        ("har\tness.md", "/p/harness.md"),
        (".\t./x", "/x"),
        ("link/../x", "/p/x"),
        ("/a/../b\r", "/b"),
        ("\t/x", "/p/x"),
        ("~/x", "/p/~/x"),
        ("%2e%2e/x", "/p/%2e%2e/x"),
    ] {
        assert_eq!(
            by_name(Path::new("/p"), path),
            Path::new(expected),
            "{path}"
        );
    }
}

#[test]
fn every_patch_is_found_in_a_command() {
    let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch";
    for (command, folder) in [
        (format!("apply_patch <<'EOF'\n{patch}\nEOF"), None),
        (
            format!("cd sub && apply_patch <<'EOF'\n{patch}\nEOF\n"),
            Some("sub"),
        ),
        (
            format!("cd sub && cd deep && apply_patch '{patch}'"),
            Some("sub/deep"),
        ),
        (
            format!("bash -lc \"apply_patch <<'EOF'\n{patch}\nEOF\""),
            None,
        ),
        (format!("apply_patch '{patch}'"), None),
        (format!("printf '{patch}' | apply_patch"), None),
        (format!("cat <<'EOF' | apply_patch\n{patch}\nEOF"), None),
    ] {
        let found = inline(&command);
        assert_eq!(found.len(), 1, "{command}");
        let found = &found[0];
        assert_eq!(
            (
                found.patch.as_deref().map(str::trim_end),
                found.folder.as_deref()
            ),
            (Some(patch), folder),
            "{command}"
        );
    }
    let second = patch.replace("File: a", "File: b");
    let texts = |command: &str| {
        let all = inline(command).into_iter();
        all.map(|found| found.patch).collect::<Vec<_>>()
    };
    assert_eq!(
        texts(&format!("apply_patch '{patch}'; apply_patch '{second}'")),
        [Some(patch.to_owned()), Some(second)]
    );
    let named = patch.replace("File: a", "File: $x.md");
    let read = texts(&format!("x=y\napply_patch <<EOF\n{named}\nEOF"));
    assert_eq!(read.len(), 2, "as written and as a shell passes it on");
    for unknown in [
        "apply_patch < p.txt".to_owned(),
        "curl x | apply_patch".to_owned(),
        format!("eval eval eval eval apply_patch '{patch}'"),
    ] {
        assert!(texts(&unknown).contains(&None), "{unknown}");
    }
    assert_eq!(texts("grep -r apply_patch ."), []);
    let words = |words: &[&str]| {
        inline_words(words)
            .into_iter()
            .map(|found| found.patch)
            .collect::<Vec<_>>()
    };
    let expected = [Some(patch.to_owned())];
    assert_eq!(words(&["apply_patch", patch]), expected);
    assert_eq!(
        words(&["bash", "-lc", &format!("apply_patch '{patch}'")]),
        expected
    );
    assert_eq!(words(&["cat", "apply_patch"]), []);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_of_patches_panic(lines in proptest::collection::vec("(\\*\\*\\* (Begin Patch|End Patch|Add File: |Move to: |Update File: )?|[+@ -])?.{0,10}", 0..12)) {
        let patch = format!("*** Begin Patch\n{}\n*** End Patch", lines.join("\n"));
        if let Ok(files) = touched(&patch) {
            proptest::prop_assert!(!files.is_empty() && files.iter().all(|file| !file.path.is_empty()));
        }
        let _ = inline(&format!("apply_patch <<EOF\n{patch}\nEOF"));
    }
}
