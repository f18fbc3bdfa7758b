//! The demo, word for word.

use crate::support::program::harness;

#[test]
fn the_demo_shows_each_stage_and_succeeds() {
    let folder = tempfile::tempdir().expect("a folder");
    let ran = harness(folder.path(), &["demo"]).ends(0);
    assert_eq!(ran.err, "");
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("a folder").count(),
        0,
        "it works in a temporary folder"
    );
    let text: Vec<String> = ran
        .out
        .lines()
        .map(|line| match line.split_once("(pid ") {
            Some((before, rest)) => format!(
                "{before}(pid N{}",
                rest.trim_start_matches(|c: char| c.is_ascii_digit())
            ),
            None => line.to_owned(),
        })
        .collect();
    insta::assert_snapshot!(text.join("\n"), @r#"
    A project with 4 tools and 2 hooks, in a temporary folder.

    1. a good call
       harness call count_words text='small tools, well governed'
       admit ✓  authorize ✓  before ✓  approve ✓  execute ✓  finish ✓
       words: 4
       ✓ every call takes the same six stages

    2. wrong arguments
       harness call count_words text:=42
       admit ✗  authorize ·  before ·  approve ·  execute ·  finish ·
       tool.args.invalid_schema the arguments of `count_words` do not fit: /text: 42 is not of type "string"
       ✓ refused before any script or hook ran; a number never becomes text by accident

    3. blocked by a hook
       harness call save_note path=notes.md text='the password is swordfish'
       admit ✓  authorize ✓  before ✗  approve ·  execute ·  finish ·
       hook no_passwords decided block: notes must not hold passwords
       tool.hook.blocked hook `no_passwords` blocked the call: notes must not hold passwords
       ✓ the hook is a file in the project: policy that changes by pull request

    4. modified by a hook
       harness call save_note path='Shopping List' text='milk, bread'
       admit ✓  authorize ✓  before ✓  approve ✓  execute ✓  finish ✓
       hook tidy_names decided modify
       saved: shopping_list.md
       ✓ the changed arguments were validated and authorized again

    5. a script that tries to leave the workspace
       harness call read_note path=../secret.txt
       admit ✓  authorize ✓  before ✓  approve ✓  execute ✗  finish ✓
       fs.read refused: `../secret.txt` is outside the workspace; give a path inside it
       tool.failed `read_note` failed: `../secret.txt` is outside the workspace; give a path inside it
       ✓ the script checks nothing; the file jail does, below it

    6. a script that eats memory
       harness call fill_memory
       admit ✓  authorize ✓  before ✓  approve ✓  execute ✗  finish ✓
       script.memory_limit `fill_memory`: wanted more memory than it may have
       ✓ scripts run in worker processes with limits; this one is gone, the harness is not

    7. and the next call works
       harness call count_words text='still here'
       admit ✓  authorize ✓  before ✓  approve ✓  execute ✓  finish ✓
       words: 2
       ✓ the harness goes on as if nothing had happened

    ✓ one process (pid N) served all 7 calls, and is still here; `harness new DIR` starts a project of your own
    "#);
}

#[test]
fn the_demo_uses_colour_when_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(
        harness(folder.path(), &["demo", "--color", "always"])
            .ends(0)
            .out
            .contains("\u{1b}[1m\u{1b}[32m✓")
    );
}
