//! Expands `a{b,c}d` as a shell does.

use super::work::{STEP, Work};
use tool_harness_sandbox::file::protected_everywhere;

/// How many lists one word has.
const MAX_LISTS: usize = 32;
/// How far braces in quotes are expanded: a shell leaves them alone, and JSON has many. Only another
/// shell, which is given the text, would expand them.
const MAX_QUOTED: usize = 64;
/// The longest word in quotes whose braces are expanded.
const MAX_QUOTED_BYTES: usize = 256;

/// The words that `a{b,c}d` expands to; a word without such braces expands to itself.
pub(in super::super) fn braces(word: &str, work: &Work) -> Vec<String> {
    let mut made = Vec::new();
    if work.spend(word.len() + STEP) && !spread(word, &mut made, MAX_LISTS, usize::MAX, work) {
        work.give_up("a word has too many braces");
    }
    made
}

/// The same for a word whose braces are in quotes. A word with too many stays as it is, unless its
/// parts could form a name that counts.
pub(super) fn quoted_braces(word: &str, work: &Work) -> Vec<String> {
    let mut made = Vec::new();
    if !work.spend(word.len() + STEP) {
        return made;
    }
    if word.len() <= MAX_QUOTED_BYTES && spread(word, &mut made, MAX_LISTS, MAX_QUOTED, work) {
        return made;
    }
    if list(word).is_some() && could_name(word) {
        work.give_up("a word has too many braces");
    }
    vec![word.to_owned()]
}

/// Adds the words that a word expands to. False if there are more, or more lists, than allowed.
fn spread(word: &str, made: &mut Vec<String>, lists: usize, most: usize, work: &Work) -> bool {
    let Some((start, end)) = list(word) else {
        made.push(word.to_owned());
        return made.len() <= most;
    };
    lists > 0
        && split_list(&word[start + 1..end]).into_iter().all(|item| {
            let next = format!("{}{item}{}", &word[..start], &word[end + 1..]);
            work.spend(word.len() + STEP) && spread(&next, made, lists - 1, most, work)
        })
}

/// The first list in braces: where it opens and where it closes.
fn list(word: &str) -> Option<(usize, usize)> {
    let (mut open, mut first) = (Vec::new(), None::<(usize, usize)>);
    for (at, c) in word.char_indices() {
        match c {
            '{' => open.push((at, false)),
            ',' => {
                if let Some((_, has_items)) = open.last_mut() {
                    *has_items = true;
                }
            }
            '}' => {
                if let Some((start, true)) = open.pop()
                    && !word[..start].ends_with('$')
                    && first.is_none_or(|(found, _)| start < found)
                {
                    first = Some((start, at));
                }
            }
            _ => {}
        }
    }
    first
}

/// The parts between top-level commas.
fn split_list(text: &str) -> Vec<&str> {
    let (mut items, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                items.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&text[start..]);
    items
}

/// Whether a row of the pieces between braces and commas could be a governing name, or harness
/// itself. The order of the pieces is not looked at, so the answer may be yes too often.
fn could_name(word: &str) -> bool {
    let word = word.to_lowercase();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    let pieces: Vec<&str> = word.split(['{', '}', ',']).collect();
    let ends = |text: &str| {
        pieces.iter().any(|piece| {
            let before = piece.strip_suffix(text);
            before.is_some_and(|before| !before.ends_with(is_part))
        })
    };
    let begins = |text: &str| {
        pieces.iter().any(|piece| {
            let after = piece.strip_prefix(text);
            after.is_some_and(|after| !after.starts_with(is_part))
        })
    };
    let holds = |name: &str| {
        let whole = |piece: &&str| piece.split(|c| !is_part(c)).any(|part| part == name);
        if pieces.iter().any(whole) {
            return true;
        }
        let cuts: Vec<usize> = (1..name.len())
            .filter(|at| name.is_char_boundary(*at))
            .collect();
        let mut reached: Vec<usize> = cuts
            .iter()
            .copied()
            .filter(|at| ends(&name[..*at]))
            .collect();
        let mut next = 0;
        while let Some(&at) = reached.get(next) {
            next += 1;
            let further = |to: &usize| *to > at && pieces.contains(&&name[at..*to]);
            let more: Vec<usize> = cuts.iter().copied().filter(further).collect();
            let new = more
                .into_iter()
                .filter(|to| !reached.contains(to))
                .collect::<Vec<_>>();
            reached.extend(new);
        }
        reached.into_iter().any(|at| begins(&name[at..]))
    };
    protected_everywhere().chain(["harness"]).any(holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_become_their_words() {
        for (word, expected) in [
            ("{harness,x}.md", &["harness.md", "x.md"][..]),
            ("{.h,x}arness", &[".harness", "xarness"]),
            ("{,.}harness", &["harness", ".harness"]),
            ("a{b,{c,d}}", &["ab", "ac", "ad"]),
            ("{a}", &["{a}"]),
            ("{{a,b}", &["{a", "{b"]),
            ("${a,b}", &["${a,b}"]),
            ("a{b", &["a{b"]),
            ("", &[""]),
        ] {
            let work = Work::on(word);
            assert_eq!(braces(word, &work), expected, "{word}");
            assert_eq!(quoted_braces(word, &work), expected, "{word}");
            assert_eq!(work.excess(), None, "{word}");
        }
    }

    #[test]
    fn too_many_braces_are_unknown_unless_they_are_quoted_and_name_nothing() {
        let is_unknown = |expand: fn(&str, &Work) -> Vec<String>, word: &str| {
            let work = Work::on(word);
            expand(word, &work);
            work.excess().is_some()
        };
        let many = "{a,b}".repeat(30);
        let json = |name: &str| {
            let row = format!("{{id:1,name:{name},tags:[a,b]}},");
            format!("[{}]", row.repeat(40))
        };
        assert!(is_unknown(braces, &many));
        assert!(!is_unknown(braces, "{a,b}{c,d}{e,f}"));
        for (attack, twin) in [
            (format!("{{.h,x}}arness{many}"), many.clone()),
            (
                format!("{{.h,x}}{{ar,y}}{{ness,z}}/{many}"),
                format!("{{.h,x}}{{ar,y}}{{mess,z}}/{many}"),
            ),
            (json("harness.md"), json("harness.mdx")),
            (json("src/.git/config"), json("x.github.com")),
        ] {
            assert!(is_unknown(quoted_braces, &attack), "{attack}");
            assert!(!is_unknown(quoted_braces, &twin), "{twin}");
        }
    }
}
