//! The encodings in which a known value may occur: as it is, in base64, and both of them decoded.

use super::decode::decode;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Lines of a value that are at least this long are searched for by themselves, since they may be
/// indented elsewhere.
const MIN_LINE: usize = 16;

/// Bytes that must be left of a value whose start was taken for part of an escape.
const MIN_REST: usize = 8;

/// Every encoding of a value.
pub(super) fn encodings(value: &[u8]) -> Vec<Vec<u8>> {
    parts(value).flat_map(of_one).collect()
}

/// A value in base64, wherever it starts.
pub(super) fn in_base64(value: &[u8]) -> Vec<Vec<u8>> {
    parts(value).flat_map(shifted).collect()
}

/// A value, and its long lines if it has several.
fn parts(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_long = move |line: &&[u8]| line.len() >= MIN_LINE && line.len() < value.len();
    let lines = value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    std::iter::once(value).chain(lines.filter(is_long))
}

fn shifted(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for shift in 0..3 {
        forms.push(with_shift(&STANDARD_NO_PAD, value, shift));
        forms.push(with_shift(&URL_SAFE_NO_PAD, value, shift));
    }
    forms.retain(|form| form.len() >= super::MIN_VALUE);
    forms
}

fn of_one(value: &[u8]) -> Vec<Vec<u8>> {
    let mut written = vec![value.to_vec()];
    written.extend(shifted(value));
    let mut forms: Vec<Vec<u8>> = written.iter().map(|form| decode(form)).collect();
    // HTML forms write a space as a plus.
    forms.push(
        decode(value)
            .into_iter()
            .map(|byte| if byte == b' ' { b'+' } else { byte })
            .collect(),
    );
    forms.append(&mut written);
    // The text before the value may turn its start into an escape, or its first line end into
    // that of a wrapped line.
    forms.extend(rests(value).map(decode));
    forms.push(
        decode(value)
            .into_iter()
            .filter(|byte| !b"\r\n".contains(byte))
            .collect(),
    );
    forms.retain(|form| form.len() >= super::MIN_VALUE);
    forms
}

/// The rests of a value whose start was taken for part of an escape: one letter after a backslash,
/// one or two digits after a percent sign. A letter may be both.
fn rests(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let digits = value
        .iter()
        .take(2)
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    let is_letter = value.first().is_some_and(|first| b"nrtbf".contains(first));
    let taken = [(1, is_letter || digits > 0), (2, digits > 1)];
    taken
        .into_iter()
        .filter(|(_, may_be)| *may_be)
        .filter_map(|(taken, _)| value.get(taken..))
        .filter(|rest| rest.len() >= MIN_REST)
}

/// The characters of base64 that depend on this value alone, with `shift` bytes before it.
fn with_shift(engine: &impl base64::Engine, value: &[u8], shift: usize) -> Vec<u8> {
    let mut bytes = vec![0; shift];
    bytes.extend_from_slice(value);
    let text = engine.encode(&bytes);
    let (first, end) = ((8 * shift).div_ceil(6), 8 * bytes.len() / 6);
    text.as_bytes().get(first..end).unwrap_or_default().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;

    #[test]
    fn a_value_is_known_in_base64_wherever_it_starts_and_however_it_is_escaped() {
        let value = b"p\xc3\xa4ss/w\"ord +1";
        let encodings = encodings(value);
        let known = |text: &[u8]| {
            encodings
                .iter()
                .any(|form| super::super::token::find(&decode(text), form).is_some())
        };
        for before in ["", "a", "ab", "abc", "{\"k\":\""] {
            let whole = [before.as_bytes(), value, b" and more"].concat();
            for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
                assert!(known(engine.encode(&whole).as_bytes()), "{before}");
            }
        }
        for text in [
            "p%C3%A4ss%2Fw%22ord%20%2B1",
            "p%c3%a4ss%2fw%22ord+%2b1",
            "p%C3%A4ss/w%22ord%20+1",
            "%70%C3%A4%73%73%2F%77%22%6F%72%64%20%2B%31",
            "p\u{e4}ss/w\\\"ord +1",
            "p\\u00e4ss\\/w\\\"ord +1",
        ] {
            assert!(known(text.as_bytes()), "{text}");
        }
        assert!(!known(b"password"));
    }
}
