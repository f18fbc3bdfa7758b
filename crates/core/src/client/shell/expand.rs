//! Expands a word as a shell does before a program sees it: variables, as far as the command itself
//! defines them.

use super::super::fits;
use super::work::{STEP, Work};
use std::collections::{BTreeSet, HashMap};

/// The longest value of a variable. Two copies of a value in the next one double it, so a short
/// command could ask for any length.
const MAX_VALUE: usize = 64 << 10;
/// How deep variables are nested in each other.
const MAX_DEPTH: usize = 32;

/// The known variables, with every value that the command assigns: which one counts may depend on
/// what happens.
#[derive(Clone, Debug)]
pub(in super::super) struct Variables<'w> {
    values: HashMap<String, BTreeSet<String>>,
    work: &'w Work,
}

impl<'w> Variables<'w> {
    pub(in super::super) fn new(known: &[(&str, String)], work: &'w Work) -> Self {
        Self {
            values: known
                .iter()
                .map(|(name, value)| ((*name).to_owned(), [value.clone()].into()))
                .collect(),
            work,
        }
    }

    /// What is left for the reading that these variables belong to.
    pub(in super::super) fn work(&self) -> &'w Work {
        self.work
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
        let old = if appends {
            self.known(name)
        } else {
            Vec::new()
        };
        let values = if old.is_empty() {
            given
        } else {
            joined(&old, "", &given, self.work)
        };
        let known = self.values.entry(name.to_owned()).or_default();
        for value in values {
            if value.len() > MAX_VALUE {
                self.work
                    .give_up("the value of a variable is longer than 64 KiB");
            }
            if self.work.spend(value.len() + STEP) {
                known.insert(value);
            }
        }
        true
    }

    /// Everything that a word could expand to. Unknown variables stay as written.
    pub(in super::super) fn expand(&self, word: &str) -> Vec<String> {
        self.expand_in(word, 0)
    }

    fn expand_in(&self, word: &str, depth: usize) -> Vec<String> {
        let mut made = vec![String::new()];
        let mut rest = word;
        while let Some(at) = rest.find('$') {
            let (before, after) = (&rest[..at], &rest[at + 1..]);
            let (values, used) = self.parameter(after, depth);
            let values = if values.is_empty() {
                vec![rest[at..=at + used].to_owned()]
            } else {
                values
            };
            made = joined(&made, before, &values, self.work);
            rest = &after[used..];
        }
        if !self
            .work
            .spend(made.len().saturating_mul(rest.len() + STEP))
        {
            return Vec::new();
        }
        made.iter_mut().for_each(|word| word.push_str(rest));
        made
    }

    /// The values of a variable, empty if unknown.
    fn known(&self, name: &str) -> Vec<String> {
        let Some(values) = self.values.get(name) else {
            return Vec::new();
        };
        let size: usize = values.iter().map(|value| value.len() + STEP).sum();
        if self.work.spend(size) {
            values.iter().cloned().collect()
        } else {
            Vec::new()
        }
    }

    /// The values of the parameter after a `$`, empty if unknown, and its length in the text.
    fn parameter(&self, text: &str, depth: usize) -> (Vec<String>, usize) {
        if let Some(inner) = text.strip_prefix('{') {
            let end = closing(inner);
            // A search that finds no end costs the rest of the word.
            if !self.work.spend(end.unwrap_or(inner.len())) {
                return (Vec::new(), 0);
            }
            return end.map_or((Vec::new(), 0), |end| {
                (self.with_operator(&inner[..end], depth), end + 2)
            });
        }
        let length = text
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(text.len());
        (self.known(&text[..length]), length)
    }

    /// `name`, `name:-word`, `name%pattern` and similar forms.
    fn with_operator(&self, inner: &str, depth: usize) -> Vec<String> {
        if depth > MAX_DEPTH {
            self.work.give_up("its variables are nested too deeply");
            return Vec::new();
        }
        let length = inner
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(inner.len());
        let (name, operator) = inner.split_at(length);
        let mut values = self.known(name);
        let word = |marks: &[&str]| marks.iter().find_map(|mark| operator.strip_prefix(mark));
        if let Some(other) = word(&[":-", ":=", "-", "="]) {
            values.extend(self.expand_in(other, depth + 1));
        } else if let Some(other) = word(&[":+", "+"]) {
            values = self.expand_in(other, depth + 1);
            values.push(String::new());
        } else if let Some(pattern) = word(&["%%", "%"]) {
            values = self.cut(&values, |(start, end)| fits(pattern, end).then_some(start));
        } else if let Some(pattern) = word(&["##", "#"]) {
            values = self.cut(&values, |(start, end)| fits(pattern, start).then_some(end));
        } else if let Some(change) = word(&["//", "/"]) {
            let (from, to) = change.split_once('/').unwrap_or((change, ""));
            let replaced = |value: &String| {
                let size = (value.len() + 1).saturating_mul(to.len() + 1);
                self.work.spend(size).then(|| value.replace(from, to))
            };
            values = values.iter().filter_map(replaced).collect();
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

    /// What is left of each value at each place where it can be cut.
    fn cut(
        &self,
        values: &[String],
        kept: impl for<'v> Fn((&'v str, &'v str)) -> Option<&'v str>,
    ) -> Vec<String> {
        let mut all = Vec::new();
        for value in values {
            // Each place is compared with the pattern, and each may leave something.
            let size = (value.len() + 1).saturating_mul(value.len() + STEP);
            if !self.work.spend(size) {
                break;
            }
            all.extend(splits(value).filter_map(&kept).map(str::to_owned));
        }
        all
    }
}

/// Every start with the text in between and every end; nothing if that is too much.
fn joined(starts: &[String], between: &str, ends: &[String], work: &Work) -> Vec<String> {
    let sum = |texts: &[String]| texts.iter().map(String::len).sum::<usize>();
    let count = starts.len().saturating_mul(ends.len());
    let size = count
        .saturating_mul(between.len() + STEP)
        .saturating_add(sum(starts).saturating_mul(ends.len()))
        .saturating_add(sum(ends).saturating_mul(starts.len()));
    if !work.spend(size) {
        return Vec::new();
    }
    let with_ends = |start: &String| {
        let start = format!("{start}{between}");
        ends.iter().map(move |end| format!("{start}{end}"))
    };
    starts.iter().flat_map(with_ends).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_become_every_value_they_are_given() {
        let work = Work::on("");
        let mut variables = Variables::new(&[("PWD", "/p".to_owned())], &work);
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
}
