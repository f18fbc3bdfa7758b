//! Names as written in a text: words joined by `.`, `-` and `::`.

/// The end of the name that begins at `start`, when one does. Never past `end`.
pub(super) fn name_end(text: &str, start: usize, end: usize) -> Option<usize> {
    let mut at = word_end(text, start, end)?;
    loop {
        let joiner = match text.get(at..end) {
            Some(rest) if rest.starts_with("::") => 2,
            Some(rest) if rest.starts_with(['.', '-']) => 1,
            _ => return Some(at),
        };
        match word_end(text, at + joiner, end) {
            Some(next) => at = next,
            None => return Some(at),
        }
    }
}

/// The end of a word of letters, digits and underscores.
fn word_end(text: &str, start: usize, end: usize) -> Option<usize> {
    let rest = text.get(start..end)?;
    let length = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
    (length > 0).then_some(start + length)
}

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The part of a name after a prefix that only says "a tool": models are shown
/// `functions.read_file` by some providers.
pub(super) fn without_namespace(name: &str) -> Option<&str> {
    ["functions.", "tools.", "default_api."]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
}

/// Placeholder names in prompts, and functions of languages that prompts often show. Only consulted
/// for names that no tool has.
const NO_TOOLS: &str = "\
    console dict each float function_name int len list main map name open print printf \
    println range set str sum super tool_name tuple type your_tool zip";

/// Whether an undeclared name may be a tool's. A single letter never is: `f(x)` and `O(n)` are
/// mathematics.
pub(super) fn may_be_a_tool(name: &str) -> bool {
    name.chars().nth(1).is_some()
        && !name.contains(['.', ':'])
        && !name.starts_with('_')
        && !NO_TOOLS.split(' ').any(|word| word == name)
        && name.chars().any(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_where_their_words_do() {
        for (text, expected) in [
            ("read_file(x)", "read_file"),
            ("strings::count_char(x)", "strings::count_char"),
            ("list-files, then", "list-files"),
            ("a.b.c. Then", "a.b.c"),
            ("größe(", "größe"),
            ("a--b", "a"),
            ("a:b", "a"),
        ] {
            let end = name_end(text, 0, text.len()).expect("a name");
            assert_eq!(&text[..end], expected);
        }
        assert_eq!(name_end("(", 0, 1), None);
    }
}
