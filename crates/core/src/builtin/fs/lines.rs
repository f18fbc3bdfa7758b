//! Text by lines, counted from 1. Lines that are not edited keep every byte, line ends included.

/// A range that the text does not have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outside {
    start: usize,
    end: usize,
    lines: usize,
}

impl Outside {
    pub(super) fn words(&self, path: &str) -> String {
        let Self { start, end, lines } = self;
        let has = match lines {
            1 => format!("`{path}` has 1 line"),
            _ => format!("`{path}` has {lines} lines"),
        };
        if start == end {
            format!("{has}; there is no line {start}")
        } else {
            format!("{has}; there are no lines {start} to {end}")
        }
    }
}

/// The number of lines; a last one without an end counts.
pub(super) fn count(text: &str) -> usize {
    text.split_inclusive('\n').count()
}

/// Lines without their ends; 0 as `end` means to the last.
pub(super) fn slice(text: &str, start: usize, end: usize) -> Vec<&str> {
    let end = if end == 0 { usize::MAX } else { end };
    let skipped = start.max(1) - 1;
    text.lines()
        .skip(skipped)
        .take(end.saturating_sub(skipped))
        .collect()
}

/// Inserts before a line, or at the end if `line` is one more than the last.
pub(super) fn insert(text: &str, line: usize, inserted: &str) -> Result<String, Outside> {
    let lines = count(text);
    if line == 0 || line > lines + 1 {
        return Err(Outside {
            start: line,
            end: line,
            lines,
        });
    }
    let at = offset(text, line);
    Ok(join(&text[..at], inserted, &text[at..]))
}

/// Replaces a range of lines, or removes it if `new` is empty.
pub(super) fn replace(text: &str, start: usize, end: usize, new: &str) -> Result<String, Outside> {
    let lines = count(text);
    if start == 0 || start > end || end > lines {
        return Err(Outside { start, end, lines });
    }
    Ok(join(
        &text[..offset(text, start)],
        new,
        &text[offset(text, end + 1)..],
    ))
}

/// The byte at which a line starts.
fn offset(text: &str, line: usize) -> usize {
    text.split_inclusive('\n')
        .take(line - 1)
        .map(str::len)
        .sum()
}

/// Puts whole lines between others, ending lines as the text does.
fn join(before: &str, middle: &str, after: &str) -> String {
    let line_end = if before
        .split_inclusive('\n')
        .chain(after.split_inclusive('\n'))
        .next()
        .is_some_and(|line| line.ends_with("\r\n"))
    {
        "\r\n"
    } else {
        "\n"
    };
    let mut made = String::with_capacity(before.len() + middle.len() + after.len() + 4);
    for part in [before, middle, after]
        .into_iter()
        .filter(|part| !part.is_empty())
    {
        if !made.is_empty() && !made.ends_with('\n') {
            made.push_str(line_end);
        }
        made.push_str(part);
    }
    // A new last line gets an end like the others.
    if after.is_empty() && !middle.is_empty() && !made.ends_with('\n') {
        made.push_str(line_end);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_counted_and_taken_out() {
        for (text, expected) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            assert_eq!(count(text), expected, "{text:?}");
        }
        let text = "a\r\nb\nc";
        for (start, end, expected) in [
            (1, 0, vec!["a", "b", "c"]),
            (2, 2, vec!["b"]),
            (0, 1, vec!["a"]),
            (3, 99, vec!["c"]),
            (4, 0, vec![]),
            (3, 2, vec![]),
        ] {
            assert_eq!(slice(text, start, end), expected, "{start} {end}");
        }
    }

    #[test]
    fn lines_are_inserted_as_whole_lines() {
        for (text, line, inserted, expected) in [
            ("a\nb\n", 1, "x", "x\na\nb\n"),
            ("a\nb\n", 2, "x\ny\n", "a\nx\ny\nb\n"),
            ("a\nb\n", 3, "x", "a\nb\nx\n"),
            ("a", 2, "x", "a\nx\n"),
            ("a\r\nb\r\n", 2, "x", "a\r\nx\r\nb\r\n"),
            ("", 1, "x", "x\n"),
        ] {
            assert_eq!(
                insert(text, line, inserted).as_deref(),
                Ok(expected),
                "{text:?} {line}"
            );
        }
        assert_eq!(
            insert("a\n", 3, "x"),
            Err(Outside {
                start: 3,
                end: 3,
                lines: 1
            })
        );
        assert!(insert("a\n", 0, "x").is_err());
    }

    #[test]
    fn ranges_are_replaced_and_removed() {
        for (start, end, new, expected) in [
            (1, 1, "x", "x\nb\nc"),
            (2, 3, "x\n", "a\nx\n"),
            (3, 3, "", "a\nb\n"),
            (1, 3, "", ""),
            (2, 2, "\n", "a\n\nc"),
        ] {
            assert_eq!(
                replace("a\nb\nc", start, end, new).as_deref(),
                Ok(expected),
                "{start} {end}"
            );
        }
        for (start, end) in [(0, 1), (2, 1), (1, 4), (4, 4)] {
            assert!(replace("a\nb\nc", start, end, "").is_err());
        }
        assert_eq!(
            replace("a\n", 1, 2, "").map_err(|outside| outside.words("f")),
            Err("`f` has 1 line; there are no lines 1 to 2".into())
        );
    }

    proptest! {
        #[test]
        fn inserting_and_removing_lines_changes_nothing(text in "[ab\r\n]{0,20}", line in 1_usize..8) {
            prop_assume!(line <= count(&text) + 1);
            let with = insert(&text, line, "new").expect("in range");
            prop_assert_eq!(slice(&with, line, line), ["new"]);
            let without = replace(&with, line, line, "").expect("in range");
            prop_assert_eq!(count(&without), count(&text));
        }
    }
}
