//! Names as a file system that ignores case and invisible characters compares them.

/// A name in the one spelling that stands for all.
pub(crate) fn folded(name: &str) -> impl Iterator<Item = char> {
    name.chars()
        .filter(|c| !is_invisible(*c))
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
}

/// Invisible characters that some file systems ignore when they compare names.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}
