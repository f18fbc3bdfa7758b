//! The calls that read a whole text, change some of it and write it back in one step.

use super::super::bound::Bounded;
use super::super::{Args, BuiltinHost};
use super::access::{on_files, utf8};
use super::{diff as unified_diff, lines};
use serde_json::{Value, json};

/// Bytes of a file that is edited or compared.
const MAX_BYTES: u64 = 16 << 20;

fn text(host: &dyn BuiltinHost, path: &str) -> Result<String, String> {
    utf8(path, on_files(host, |files| files.read(path, MAX_BYTES))?)
}

fn store(host: &dyn BuiltinHost, path: &str, text: &str) -> Result<(), String> {
    on_files(host, |files| files.write(path, text.as_bytes())).map(|_| ())
}

pub(super) fn diff(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let (a, b) = (args.text(0), args.text(1));
    Ok(json!(unified_diff::unified(
        (a, &text(host, a)?),
        (b, &text(host, b)?)
    )))
}

pub(super) fn replace(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let path = args.text(0);
    let text = text(host, path)?;
    let at = only(path, &text, args.text(1))?;
    let mut changed = Bounded::default();
    changed.push(&text[..at])?;
    changed.push(args.text(2))?;
    changed.push(&text[at + args.text(1).len()..])?;
    store(host, path, &changed.into_text())?;
    Ok(json!({"path": path, "line": text[..at].matches('\n').count() + 1}))
}

/// Where the only occurrence starts. Overlapping occurrences count, since replacing one of them
/// would be a guess.
fn only(path: &str, text: &str, old: &str) -> Result<usize, String> {
    let Some(width) = old.chars().next().map(char::len_utf8) else {
        return Err("`old` must not be empty".to_owned());
    };
    let first = text
        .find(old)
        .ok_or_else(|| format!("`old` does not occur in `{path}`"))?;
    if !text[first + width..].contains(old) {
        return Ok(first);
    }
    let times = text.matches(old).count().max(2);
    Err(format!(
        "`old` occurs {times} times in `{path}`; make it longer, or use `fs.replace_all`"
    ))
}

pub(super) fn replace_all(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let (path, old, new) = (args.text(0), args.text(1), args.text(2));
    if old.is_empty() {
        return Err("`old` must not be empty".to_owned());
    }
    let text = text(host, path)?;
    let mut changed = Bounded::default();
    let (mut copied, mut times) = (0, 0);
    for (at, _) in text.match_indices(old) {
        changed.push(&text[copied..at])?;
        changed.push(new)?;
        copied = at + old.len();
        times += 1;
    }
    if times > 0 {
        changed.push(&text[copied..])?;
        store(host, path, &changed.into_text())?;
    }
    Ok(json!(times))
}

pub(super) fn read_lines(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let (start, end) = range(args)?;
    Ok(json!(lines::slice(&text(host, args.text(0))?, start, end)))
}

pub(super) fn line_count(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    Ok(json!(lines::count(&text(host, args.text(0))?)))
}

fn range(args: &Args) -> Result<(usize, usize), String> {
    Ok((
        args.count(1, "start", usize::MAX)?,
        args.count_or_zero(2, "end")?,
    ))
}

fn change(
    host: &dyn BuiltinHost,
    path: &str,
    edit: impl FnOnce(&str) -> Result<String, lines::Outside>,
) -> Result<Value, String> {
    let changed = edit(&text(host, path)?).map_err(|outside| outside.words(path))?;
    store(host, path, &changed)?;
    Ok(json!({"path": path, "lines": lines::count(&changed)}))
}

pub(super) fn insert_at(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let line = args.count(1, "line", usize::MAX)?;
    change(host, args.text(0), |text| {
        lines::insert(text, line, args.text(2))
    })
}

pub(super) fn replace_lines(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let (start, end) = range(args)?;
    change(host, args.text(0), |text| {
        lines::replace(text, start, end, args.text(3))
    })
}

pub(super) fn delete_lines(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let (start, end) = range(args)?;
    change(host, args.text(0), |text| {
        lines::replace(text, start, end, "")
    })
}

#[cfg(test)]
mod tests {
    use super::only;

    #[test]
    fn the_only_occurrence_is_found_and_doubt_is_refused() {
        assert_eq!(only("f", "a é b", "é"), Ok(2));
        for (text, old, part) in [
            ("abc", "x", "does not occur in `f`"),
            ("aXbXcX", "X", "occurs 3 times"),
            ("aaa", "aa", "occurs 2 times"),
            ("abc", "", "must not be empty"),
        ] {
            assert!(
                only("f", text, old).is_err_and(|message| message.contains(part)),
                "{text} {old}"
            );
        }
    }
}
