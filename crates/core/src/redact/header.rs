//! How far the value of a header goes that has several words.

use super::extent::{self, Extent, MOST_VALUE, enclosed, quote};

/// What `Authorization` and `Cookie` hold after their first word, with that: what is said in a scheme, and pairs with signs between them.
/// Any other value is as long as it was.
pub(super) fn of_header(text: &[u8], name: usize, mut own: Extent) -> Extent {
    let called = text[name..name + extent::name(&text[name..])].to_ascii_lowercase();
    let has_scheme = called.ends_with(b"authorization");
    if !has_scheme && !called.ends_with(b"cookie") || quote(&text[own.value.clone()]).is_some() {
        return own;
    }
    // `Bearer` and its like are no part of the value.
    let is_first = text[..own.value.start].trim_ascii_end().ends_with(b":");
    let mut is_scheme =
        has_scheme && is_first && extent::name(&text[own.value.clone()]) == own.value.len();
    while !own.is_open && own.value.len() < MOST_VALUE {
        let rest = &text[own.value.end..];
        let sign = usize::from(matches!(rest.first(), Some(b',' | b';')));
        let next = sign
            + rest[sign..]
                .iter()
                .take_while(|byte| **byte == b' ')
                .count();
        let pair = extent::name(&rest[next..]);
        let is_pair = pair > 0 && rest.get(next + pair) == Some(&b'=');
        let from = match (
            is_pair && (sign > 0 || is_scheme),
            is_scheme && sign == 0 && next > 0 && pair > 0,
        ) {
            (true, _) => next + pair + 1,
            (false, true) => next,
            (false, false) => break,
        };
        let more = enclosed(text, own.value.end + from);
        own = Extent {
            value: own.value.start..more.value.end,
            ..more
        };
        is_scheme = false;
    }
    own
}
