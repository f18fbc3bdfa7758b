//! Types between a name and its value.

use super::blanks;

/// Bytes in which a type ends.
const MAX_TYPE: usize = 256;

/// Bytes of a type, the equals sign after it and the blanks: `&'static str = `, `string = `.
pub(super) fn declared(text: &[u8]) -> Option<usize> {
    let line = &text[..text.len().min(MAX_TYPE)];
    let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
    let sign = memchr::memchr(b'=', line)?;
    let (kind, after) = (line[..sign].trim_ascii_end(), &line[sign + 1..]);
    // Without a blank before it, an equals sign is mostly part of a value.
    let is_apart = kind.len() < sign || after.first().is_some_and(|byte| b"\"'`".contains(byte));
    let is_sign = is_apart && !after.first().is_some_and(|byte| b"=>~".contains(byte));
    (is_sign && is_type(kind)).then_some(sign + 1 + blanks(after))
}

/// Whether words may name a type, or several with bars between them.
fn is_type(text: &[u8]) -> bool {
    let (mut depth, mut outer) = (0_usize, Vec::with_capacity(text.len()));
    for byte in text {
        match byte {
            b'<' | b'[' | b'(' => depth += 1,
            b'>' | b']' | b')' => depth = depth.saturating_sub(1),
            _ if depth > 0 => continue,
            _ => {}
        }
        outer.push(*byte);
    }
    let is_before = |word: &[u8]| {
        matches!(
            word,
            b"mut" | b"const" | b"dyn" | b"&mut" | b"*mut" | b"*const" | b"&dyn"
        ) || word.contains(&b'\'')
    };
    let is_name = |word: &[u8]| {
        word.iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.:?!&*<>[]()".contains(byte))
    };
    let words = || {
        outer
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
    };
    let bars = words().filter(|word| *word == b"|").count();
    let names: Vec<&[u8]> = words()
        .filter(|word| *word != b"|" && !is_before(word))
        .collect();
    depth == 0 && names.len() == bars + 1 && names.into_iter().all(is_name)
}
