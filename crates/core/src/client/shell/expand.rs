//! Expands a word as a shell does before a program sees it: variables and braces, as far as the
//! command itself defines them.

use super::super::fits;
use std::collections::HashMap;

/// How many words one word may expand to; the rest of a longer list is dropped.
const MAX_WORDS: usize = 64;

/// The known variables, with every value that the command assigns: which one counts may depend on
/// what happens.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Variables(HashMap<String, Vec<String>>);

impl Variables {
    pub(in super::super) fn new(known: &[(&str, String)]) -> Self {
        Self(
            known
                .iter()
                .map(|(name, value)| ((*name).to_owned(), vec![value.clone()]))
                .collect(),
        )
    }

    /// Records an assignment, `name=value` or `name+=value`; returns false if the word is not one.
    pub(in super::super) fn assign(&mut self, word: &str) -> bool {
        let Some((name, value)) = word.split_once('=') else {
            return false;
        };
        let (name, appends) = name
            .strip_suffix('+')
            .map_or((name, false), |name| (name, true));
        if !is_name(name) {
            return false;
        }
        let given = self.expand(value);
        let known = self.0.entry(name.to_owned()).or_default();
        let values: Vec<String> = match appends {
            true if !known.is_empty() => known
                .iter()
                .flat_map(|old| given.iter().map(move |new| format!("{old}{new}")))
                .collect(),
            _ => given,
        };
        for value in values {
            if known.len() < MAX_WORDS && !known.contains(&value) {
                known.push(value);
            }
        }
        true
    }

    /// Everything that a word could expand to. Unknown variables stay as written.
    pub(in super::super) fn expand(&self, word: &str) -> Vec<String> {
        let mut made = vec![String::new()];
        let mut rest = word;
        while let Some(at) = rest.find('$') {
            let (before, after) = (&rest[..at], &rest[at + 1..]);
            let (values, used) = self.parameter(after);
            let values = if values.is_empty() {
                vec![rest[at..=at + used].to_owned()]
            } else {
                values
            };
            made = made
                .iter()
                .flat_map(|start| {
                    values
                        .iter()
                        .map(move |value| format!("{start}{before}{value}"))
                })
                .take(MAX_WORDS)
                .collect();
            rest = &after[used..];
        }
        made.iter_mut().for_each(|word| word.push_str(rest));
        made
    }

    /// The values of the parameter after a `$`, empty if unknown, and its length in the text.
    fn parameter(&self, text: &str) -> (Vec<String>, usize) {
        let known = |name: &str| self.0.get(name).cloned().unwrap_or_default();
        if let Some(inner) = text.strip_prefix('{') {
            let Some(end) = closing(inner) else {
                return (Vec::new(), 0);
            };
            return (self.with_operator(&inner[..end]), end + 2);
        }
        let length = text
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(text.len());
        (known(&text[..length]), length)
    }

    /// `name`, `name:-word`, `name%pattern` and similar forms.
    fn with_operator(&self, inner: &str) -> Vec<String> {
        let length = inner
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(inner.len());
        let (name, operator) = inner.split_at(length);
        let mut values = self.0.get(name).cloned().unwrap_or_default();
        let word = |marks: &[&str]| marks.iter().find_map(|mark| operator.strip_prefix(mark));
        if let Some(other) = word(&[":-", ":=", "-", "="]) {
            values.extend(self.expand(other));
        } else if let Some(other) = word(&[":+", "+"]) {
            values = self.expand(other);
            values.push(String::new());
        } else if let Some(pattern) = word(&["%%", "%"]) {
            values = values
                .iter()
                .flat_map(|value| {
                    splits(value)
                        .filter(|(_, end)| fits(pattern, end))
                        .map(|(start, _)| start.to_owned())
                })
                .collect();
        } else if let Some(pattern) = word(&["##", "#"]) {
            values = values
                .iter()
                .flat_map(|value| {
                    splits(value)
                        .filter(|(start, _)| fits(pattern, start))
                        .map(|(_, end)| end.to_owned())
                })
                .collect();
        } else if let Some(change) = word(&["//", "/"]) {
            let (from, to) = change.split_once('/').unwrap_or((change, ""));
            values = values.iter().map(|value| value.replace(from, to)).collect();
        } else if let Some(range) = word(&[":"]) {
            let mut numbers = range
                .split(':')
                .map(|number| number.trim().parse::<usize>().ok());
            if let Some(Some(from)) = numbers.next() {
                let most = numbers.next().flatten().unwrap_or(usize::MAX);
                values = values
                    .iter()
                    .map(|value| value.chars().skip(from).take(most).collect())
                    .collect();
            }
        }
        values
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn splits(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.char_indices()
        .map(|(at, _)| at)
        .chain(std::iter::once(text.len()))
        .map(|at| text.split_at(at))
}

/// The end of the open brace.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The words that `a{b,c}d` expands to; a word without such braces expands to itself.
pub(in super::super) fn braces(word: &str) -> Vec<String> {
    let mut made = Vec::new();
    spread(word, &mut made, 0);
    made
}

fn spread(word: &str, made: &mut Vec<String>, depth: usize) {
    let list = |at: usize| {
        let inner = &word[at + 1..];
        let end = closing(inner)?;
        let items = split_list(&inner[..end]);
        (items.len() > 1 && !word[..at].ends_with('$')).then_some((at, at + end + 2, items))
    };
    let found = if depth < 16 {
        word.match_indices('{').find_map(|(at, _)| list(at))
    } else {
        None
    };
    let Some((start, end, items)) = found else {
        if made.len() < MAX_WORDS {
            made.push(word.to_owned());
        }
        return;
    };
    for item in items.iter().take(MAX_WORDS) {
        if made.len() < MAX_WORDS {
            spread(
                &format!("{}{item}{}", &word[..start], &word[end..]),
                made,
                depth + 1,
            );
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_become_every_value_they_are_given() {
        let mut variables = Variables::new(&[("PWD", "/p".to_owned())]);
        for word in [
            "a=harn",
            "b=ess.md",
            "x=.har",
            "x+=ness",
            "c=harness.mdx",
            "d=yharness.md",
            "no word",
            "1=x",
        ] {
            assert_eq!(
                variables.assign(word),
                word.split('=').count() == 2 && !word.starts_with('1'),
                "{word}"
            );
        }
        for (word, expected) in [
            ("$a$b", "harness.md"),
            ("$x", ".harness"),
            ("${c%x}", "harness.md"),
            ("${d#y}", "harness.md"),
            ("${c%x*}", "harness.md"),
            ("${none:-.harness}", ".harness"),
            ("${a/n/m}ess", "harmess"),
            ("${c:0:7}", "harness"),
            ("$PWD/x", "/p/x"),
            ("$TMPDIR/x", "$TMPDIR/x"),
            ("${TMPDIR}x", "${TMPDIR}x"),
            ("a$", "a$"),
            ("${a", "${a"),
        ] {
            assert!(
                variables.expand(word).iter().any(|made| made == expected),
                "{word}: {:?}",
                variables.expand(word)
            );
        }
    }

    #[test]
    fn braces_become_their_words() {
        for (word, expected) in [
            ("{harness,x}.md", &["harness.md", "x.md"][..]),
            ("{.h,x}arness", &[".harness", "xarness"]),
            ("{,.}harness", &["harness", ".harness"]),
            ("a{b,{c,d}}", &["ab", "ac", "ad"]),
            ("{a}", &["{a}"]),
            ("${a,b}", &["${a,b}"]),
            ("a{b", &["a{b"]),
            ("", &[""]),
        ] {
            assert_eq!(braces(word), expected, "{word}");
        }
        assert!(braces(&"{a,b}".repeat(30)).len() <= MAX_WORDS);
    }
}
