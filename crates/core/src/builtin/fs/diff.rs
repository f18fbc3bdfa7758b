//! A unified diff of two texts by lines: Myers' greedy search, bounded.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// Changed lines up to which the shortest diff is searched. Beyond, the differing middle is shown
/// as removed and added.
const MAX_CHANGES: usize = 1500;
/// Steps of the search, for the same reason.
const MAX_STEPS: usize = 50_000_000;

/// Lines of the first text and the lines of the second that replace them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

/// A diff that turns the text of `a` into the text of `b`; empty when they are equal. Each is a
/// name and a text.
#[must_use]
pub fn unified(a: (&str, &str), b: (&str, &str)) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (
        a.1.split_inclusive('\n').collect(),
        b.1.split_inclusive('\n').collect(),
    );
    let changes = changes(&old, &new);
    let mut made = String::new();
    if changes.is_empty() {
        return made;
    }
    let _ = write!(made, "--- {}\n+++ {}\n", a.0, b.0);
    for hunk in hunks(&changes) {
        write_hunk(&mut made, hunk, &old, &new);
    }
    made
}

/// Changes close enough to share their context.
fn hunks(changes: &[Change]) -> impl Iterator<Item = &[Change]> {
    changes.chunk_by(|one, next| next.old.start - one.old.end <= 2 * CONTEXT)
}

fn write_hunk(made: &mut String, hunk: &[Change], old: &[&str], new: &[&str]) {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
        return;
    };
    let lead = first.old.start.min(CONTEXT);
    let tail = (old.len() - last.old.end).min(CONTEXT);
    let old_range = first.old.start - lead..last.old.end + tail;
    let new_range = first.new.start - lead..last.new.end + tail;
    let _ = writeln!(
        made,
        "@@ -{} +{} @@",
        position(&old_range),
        position(&new_range)
    );
    let mut at = old_range.start;
    for change in hunk {
        write_lines(made, ' ', &old[at..change.old.start]);
        write_lines(made, '-', &old[change.old.clone()]);
        write_lines(made, '+', &new[change.new.clone()]);
        at = change.old.end;
    }
    write_lines(made, ' ', &old[at..old_range.end]);
}

/// `line,count`; an empty range names the line before it.
fn position(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        len => format!("{},{len}", range.start + 1),
    }
}

fn write_lines(made: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        made.push(sign);
        made.push_str(line);
        if !line.ends_with('\n') {
            made.push_str("\n\\ No newline at end of file\n");
        }
    }
}

fn changes(old: &[&str], new: &[&str]) -> Vec<Change> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let same_end = old[start..]
        .iter()
        .rev()
        .zip(new[start..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (old_end, new_end) = (old.len() - same_end, new.len() - same_end);
    if start == old_end && start == new_end {
        return Vec::new();
    }
    let mut numbers = HashMap::new();
    let mut number = |line: &&'_ str| {
        let next = numbers.len();
        *numbers.entry((*line).to_owned()).or_insert(next)
    };
    let a: Vec<usize> = old[start..old_end].iter().map(&mut number).collect();
    let b: Vec<usize> = new[start..new_end].iter().map(&mut number).collect();
    match search(&a, &b) {
        Some(changes) => {
            let shift = |range: Range<usize>| range.start + start..range.end + start;
            changes
                .into_iter()
                .map(|change| Change {
                    old: shift(change.old),
                    new: shift(change.new),
                })
                .collect()
        }
        None => vec![Change {
            old: start..old_end,
            new: start..new_end,
        }],
    }
}

/// The shortest way from `a` to `b`, unless it takes too many changes or steps to find.
///
/// `furthest[k]` is how far into `a` a path on diagonal `k` (place in `a` minus place in `b`) gets
/// with the changes so far; the rounds are kept to walk back along the best path.
fn search(a: &[usize], b: &[usize]) -> Option<Vec<Change>> {
    let most = (a.len() + b.len()).min(MAX_CHANGES);
    let mut furthest = vec![0_usize; 2 * most + 3];
    let middle = most + 1;
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    let mut steps = 0_usize;
    for changes in 0..=most {
        for k in (0..=2 * changes).step_by(2) {
            // The diagonal is `k - changes`, kept from going below zero by counting from the middle
            // of the array.
            let at = middle + k - changes;
            let down = k == 0 || (k != 2 * changes && furthest[at - 1] < furthest[at + 1]);
            let mut x = if down {
                furthest[at + 1]
            } else {
                furthest[at - 1] + 1
            };
            let Some(mut y) = (x + middle).checked_sub(at) else {
                continue;
            };
            while let (Some(one), Some(other)) = (a.get(x), b.get(y))
                && one == other
            {
                x += 1;
                y += 1;
                steps += 1;
            }
            furthest[at] = x;
            if x >= a.len() && y >= b.len() {
                return Some(walk_back(&rounds, a.len(), b.len(), middle));
            }
        }
        steps += changes;
        if steps > MAX_STEPS {
            return None;
        }
        rounds.push(furthest[middle - changes..=middle + changes].to_vec());
    }
    None
}

/// Follows the rounds from the end to the start and gathers neighbouring changes.
fn walk_back(rounds: &[Vec<usize>], mut x: usize, mut y: usize, middle: usize) -> Vec<Change> {
    let mut found: Vec<Change> = Vec::new();
    for (before, round) in rounds.iter().enumerate().rev() {
        // `round` holds diagonals `-before..=before`.
        let get = |diagonal: usize| {
            (diagonal + before)
                .checked_sub(middle)
                .and_then(|index| round.get(index))
                .copied()
        };
        let at = middle + x - y;
        let (left, right) = (get(at - 1), get(at + 1));
        // The same choice as on the way there: down (an added line) unless coming from the left
        // gets further.
        let changes = before + 1;
        let k = at + changes - middle;
        let down = k == 0 || (k != 2 * changes && left < right);
        let previous = if down { right } else { left }.unwrap_or_default();
        let from = if down { at + 1 } else { at - 1 };
        let (from_x, from_y) = (previous, previous + middle - from);
        let step = if down {
            Change {
                old: from_x..from_x,
                new: from_y..from_y + 1,
            }
        } else {
            Change {
                old: from_x..from_x + 1,
                new: from_y..from_y,
            }
        };
        match found.last_mut() {
            Some(last) if last.old.start == step.old.end && last.new.start == step.new.end => {
                last.old.start = step.old.start;
                last.new.start = step.new.start;
            }
            _ => found.push(step),
        }
        (x, y) = (from_x, from_y);
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Applies a diff as `patch` would, strictly.
    fn apply(old: &str, diff: &str) -> String {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut made, mut at) = (String::new(), 0);
        let mut lines = diff.split_inclusive('\n').skip(2).peekable();
        while let Some(line) = lines.next() {
            if let Some(header) = line.strip_prefix("@@ -") {
                let (from, count) = header
                    .split(' ')
                    .next()
                    .map(|range| range.split_once(',').unwrap_or((range, "1")))
                    .expect("a range");
                let from: usize = from.parse().expect("a line");
                let start = if count == "0" { from } else { from - 1 };
                made.extend(old[at..start].iter().copied());
                at = start;
                continue;
            }
            let (sign, text) = line.split_at(1);
            let bare = lines.peek().is_some_and(|next| next.starts_with('\\'));
            let text = if bare {
                lines.next().map_or(text, |_| text.trim_end_matches('\n'))
            } else {
                text
            };
            match sign {
                " " => {
                    assert_eq!(old[at], text, "context");
                    made.push_str(text);
                    at += 1;
                }
                "-" => {
                    assert_eq!(old[at], text, "removed");
                    at += 1;
                }
                "+" => made.push_str(text),
                other => panic!("unknown sign {other}"),
            }
        }
        made.extend(old[at..].iter().copied());
        made
    }

    fn check(a: &str, b: &str) -> String {
        let diff = unified(("a", a), ("b", b));
        assert_eq!(diff.is_empty(), a == b);
        assert_eq!(apply(a, &diff), b, "{diff}");
        diff
    }

    #[test]
    fn the_usual_shapes() {
        assert_eq!(check("", "x\n"), "--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n");
        assert_eq!(check("x\n", ""), "--- a\n+++ b\n@@ -1 +0,0 @@\n-x\n");
        assert_eq!(
            check("x\n", "x"),
            "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+x\n\\ No newline at end of file\n"
        );
        let numbers: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let changed = numbers.replace("5\n", "five\n").replace("20\n", "");
        check(&numbers, &changed);
        assert_eq!(
            check(&numbers, &numbers.replacen("10\n", "ten\n", 1)),
            "--- a\n+++ b\n@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"
        );
    }

    #[test]
    fn the_diff_is_the_shortest() {
        let diff = check("a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n");
        assert_eq!(
            diff.lines()
                .skip(3)
                .filter(|line| line.starts_with(['+', '-']))
                .count(),
            5
        );
    }

    #[test]
    fn texts_that_share_little_are_compared_in_bounded_time() {
        let text = |word: &str| {
            (0..100_000)
                .map(|n| format!("{word}{n}\n"))
                .collect::<String>()
        };
        check(&text("a"), &text("b"));
    }

    proptest! {
        #[test]
        fn the_diff_applied_gives_the_second_text(a in "([abc]?\n){0,30}[ab]?", b in "([abc]?\n){0,30}[ab]?") {
            check(&a, &b);
        }
    }
}
