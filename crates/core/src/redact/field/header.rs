//! Values of headers that have several words.

use super::extent::{Extent, enclosed};
use super::quote::quote;
use super::{MAX_VALUE, count, name as name_length};

/// Extends the first word of `Authorization` and `Cookie` over the words of a scheme and over pairs
/// with separators. Other values stay as they are.
pub(super) fn of_header(text: &[u8], name: usize, mut own: Extent) -> Extent {
    let called = text[name..name + name_length(&text[name..])].to_ascii_lowercase();
    let has_scheme = called.ends_with(b"authorization");
    if !has_scheme && !called.ends_with(b"cookie") || quote(&text[own.value.clone()]).is_some() {
        return own;
    }
    // `Bearer` and the like are no part of the value.
    let is_first = text[..own.value.start].trim_ascii_end().ends_with(b":");
    let mut is_scheme =
        has_scheme && is_first && name_length(&text[own.value.clone()]) == own.value.len();
    while !own.is_open && own.value.len() < MAX_VALUE {
        let rest = &text[own.value.end..];
        let sign = usize::from(matches!(rest.first(), Some(b',' | b';')));
        let next = sign + count(&rest[sign..], |byte| byte == b' ');
        let pair = name_length(&rest[next..]);
        let is_pair = pair > 0 && rest.get(next + pair) == Some(&b'=');
        let from = if is_pair && (sign > 0 || is_scheme) {
            next + pair + 1
        } else if is_scheme && sign == 0 && next > 0 && pair > 0 {
            next
        } else {
            break;
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
