//! Each attack has a harmless twin.

use super::*;

fn read(text: &str) -> Command {
    Command::read(text, &Variables::new(&[], &Work::on(text)))
}

fn decides(text: &str) -> Option<String> {
    read(text).decides(&Work::on(text))
}

#[test]
fn what_decides_in_a_persons_place_is_found_through_wrappers() {
    for (attack, twin) in [
        ("harness trust", "harness validate"),
        (
            "/usr/local/bin/harness approvals approve 7",
            "/usr/local/bin/harness call read_file path=x",
        ),
        ("env A=1 harness grants list", "env A=1 harness list tools"),
        ("timeout 5 harness token new", "timeout 5 harness test"),
        (
            "sh -c 'harness lock'",
            "sh -c 'harness explain run_command'",
        ),
        (
            "bash -lc \"cd /tmp && harness trust --yes\"",
            "bash -lc \"cd /tmp && harness validate\"",
        ),
        ("echo trust | xargs harness", "echo trust | xargs echo"),
        (
            "echo 7 | xargs -n1 harness approvals approve",
            "echo 7 | xargs -n1 harness explain",
        ),
        (
            "nice harness --project /p trust",
            "nice harness --project /p tools",
        ),
        ("har\\ness tru''st", "har\\ness vali''date"),
        ("\"harness\" \"trust\"", "\"harness\" \"version\""),
        ("true;harness trust", "true;harness demo"),
        ("$(harness trust)", "$(harness version)"),
        ("`harness trust`", "`harness version`"),
        ("harness $(echo trust)", "harness version $(echo x)"),
        ("x=trust; harness $x", "x=trust; echo $x"),
        ("h=harness; $h trust", "h=harness; echo $h"),
        ("harness install claude-code --uninstall", "npm install"),
        ("harness\ttrust", "harness\tversion"),
        ("harness ins\\\ntall claude-code", "harness ver\\\nsion"),
        ("a=tr; harness ${a}ust", "a=ver; harness ${a}sion"),
        ("harness \"$(echo trust)\"", "harness version \"$(echo x)\""),
        (
            "printf '\\x68arness trust' | sh",
            "printf '\\x68arness version' | sh",
        ),
    ] {
        assert!(decides(attack).is_some(), "{attack}");
        assert_eq!(decides(twin), None, "{twin}");
    }
}

#[test]
fn only_what_plainly_reads_counts_as_reading() {
    for (attack, twin) in [
        ("cat x > y", "cat x"),
        ("cat x >> y", "cat x 2>/dev/null"),
        ("cat $(echo x)", "cat x | grep 'a$'"),
        ("cat `x`", "cat 'a`b'"),
        ("cat \"$x\"", "cat \"a b\""),
        ("cat x & rm x", "cat x && ls x"),
        ("cat x; rm x", "cat x; wc -l x"),
        ("cat x | tee y", "cat x | head -5"),
        ("cat x\nrm x", "cat x\nls"),
        ("find . -delete", "find . -name x"),
        ("find . -exec rm {} +", "find . -type f"),
        ("sort -o x x", "sort x"),
        ("git -c core.pager=rm log", "git log -3"),
        ("git diff --output=x", "git diff x"),
        ("git grep -Orm x", "git grep -n x"),
        ("git checkout x", "git add x"),
        ("X=1 cat x", "echo X=1"),
        ("sed -i s/a/b/ x", "grep -n a x"),
        ("rg --pre sh x", "rg -n x"),
        ("harness init", "harness validate"),
        ("cat x <(rm x)", "cat x y"),
        ("echo \"unclosed", "echo closed"),
        ("cat x \\\n> y", "cat x\\ y"),
    ] {
        assert!(!is_plain_read(attack), "{attack}");
        assert!(is_plain_read(twin), "{twin}");
    }
}

#[test]
fn words_come_out_of_quotes_and_options() {
    let far = "./".repeat(2 * LONG_WORD) + "harness.md";
    for text in [
        format!("sort -o{far} a"),
        format!("dd if=a of={far}"),
        format!("scp a {far}"),
        format!("x a,b,{far}"),
    ] {
        assert!(read(&text).words().any(|word| word == far), "{text:.20}");
    }
    let command = read("cp --target=.har\"\"ness/x 'a b' host:/p/.mcp.json <in.txt;ls {a,b}");
    let words: Vec<&str> = command.words().collect();
    for word in [".harness/x", "/p/.mcp.json", "in.txt", "ls", "a", "b"] {
        assert!(words.contains(&word), "{word} in {words:?}");
    }
    for (text, word) in [
        ("cp -t.harness/hooks x", ".harness/hooks"),
        ("sort -oharness.md a", "harness.md"),
        ("rm ${x:-.harness}", ".harness"),
        ("cp /e/{harness.md,x} .", "/e/harness.md"),
        ("rm -rf {,.}harness", ".harness"),
        ("rm har\\\nness.md", "harness.md"),
        ("a=harn; b=ess.md; echo x > $a$b", "harness.md"),
        ("x=.har; x+=ness; rm $x", ".harness"),
        ("rm \"$(echo harness).md\"", "harness.md"),
        ("rm `printf %s harness`.md", "harness.md"),
    ] {
        assert!(read(text).words().any(|found| found == word), "{text}");
    }
}

#[test]
fn wildcards_and_variables_are_held_against_names() {
    for (word, name, expected) in [
        (".h*", ".harness", true),
        (".har?ess", ".harness", true),
        (".[h]arness", ".harness", true),
        (".{harness,x}", ".harness", true),
        ("${d}ess", ".harness", true),
        ("$d/x", ".harness", false),
        ("*", "harness.md", false),
        ("*.md", "harness.md", true),
        ("*.rs", "harness.md", false),
        ("src*", ".harness", false),
        ("harness.m$x", "harness.md", true),
    ] {
        let found = wild_part(word).is_some_and(|(_, part)| could_be(part, name));
        assert_eq!(found, expected, "{word} {name}");
    }
    assert_eq!(wild_part("a/b/.h*/c"), Some(("a/b/", ".h*")));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_of_commands_panic(text in "[ a-z.*?$`'\"\\\\{}\\[\\]|;&<>()/=:,@x0-9é\n-]{0,60}", name in ".{0,12}") {
        let command = read(&text);
        let words = command.words().count();
        proptest::prop_assert!(decides(&text).is_none() || words > 0);
        let _ = is_plain_read(&text);
        for word in command.words() {
            if let Some((folder, part)) = wild_part(word) {
                proptest::prop_assert!(word.starts_with(folder) && !part.is_empty());
                let _ = could_be(part, &name);
            }
        }
    }
}
