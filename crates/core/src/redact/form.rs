//! The forms in which a known value may come out: as it is, in JSON, in base64, in an address.

use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Lines of a longer value that are looked for by themselves: one that is indented elsewhere is still a part of it.
const LEAST_LINE: usize = 16;

/// Every form of a value, without repeats.
pub(super) fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut all = of_one(value);
    let lines: Vec<&[u8]> = value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).collect();
    if lines.len() > 1 {
        lines.into_iter().filter(|line| line.len() >= LEAST_LINE).for_each(|line| all.extend(of_one(line)));
    }
    all.sort();
    all.dedup();
    all
}

fn of_one(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec()];
    if let Ok(text) = std::str::from_utf8(value) {
        let quoted = serde_json::Value::from(text).to_string();
        forms.push(quoted.as_bytes()[1..quoted.len() - 1].to_vec());
        // Other writers of JSON escape what is not ASCII, and slashes.
        forms.push(escaped(text));
    }
    for shift in 0..3 {
        forms.push(in_base64(&STANDARD_NO_PAD, value, shift));
        forms.push(in_base64(&URL_SAFE_NO_PAD, value, shift));
    }
    for keeps in [UNRESERVED, COMPONENT, QUERY, NOTHING] {
        for hex in [&b"0123456789ABCDEF"[..], b"0123456789abcdef"] {
            for space in [&b"%20"[..], b"+"] {
                forms.push(in_address(value, keeps, hex, space));
            }
        }
    }
    forms.retain(|form| form.len() >= super::LEAST_VALUE);
    forms
}

/// The characters that only this value decides, when `shift` bytes come before it.
fn in_base64(engine: &impl base64::Engine, value: &[u8], shift: usize) -> Vec<u8> {
    let mut bytes = vec![0; shift];
    bytes.extend_from_slice(value);
    let text = engine.encode(&bytes);
    let (first, end) = ((8 * shift).div_ceil(6), 8 * bytes.len() / 6);
    text.as_bytes().get(first..end).unwrap_or_default().to_vec()
}

/// What stands for itself in an address, as different writers see it.
type Keeps = fn(u8) -> bool;
const UNRESERVED: Keeps = |byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
const COMPONENT: Keeps = |byte| UNRESERVED(byte) || b"!'()*".contains(&byte);
const QUERY: Keeps = |byte| COMPONENT(byte) || b"/:@?$,;=+&[]|".contains(&byte);
const NOTHING: Keeps = |_| false;

fn in_address(value: &[u8], keeps: Keeps, hex: &[u8], space: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len() * 3);
    for byte in value {
        match byte {
            b' ' => text.extend_from_slice(space),
            byte if keeps(*byte) => text.push(*byte),
            byte => text.extend_from_slice(&[b'%', hex[usize::from(byte >> 4)], hex[usize::from(byte & 15)]]),
        }
    }
    text
}

fn escaped(text: &str) -> Vec<u8> {
    let mut escaped = String::with_capacity(text.len());
    for unit in text.encode_utf16() {
        match unit {
            0x22 => escaped.push_str("\\\""),
            0x5c => escaped.push_str("\\\\"),
            0x2f => escaped.push_str("\\/"),
            0x0a => escaped.push_str("\\n"),
            0x0d => escaped.push_str("\\r"),
            0x09 => escaped.push_str("\\t"),
            0x20..=0x7e => escaped.push(char::from(u8::try_from(unit).unwrap_or(b'?'))),
            unit => escaped.push_str(&format!("\\u{unit:04x}")),
        }
    }
    escaped.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;

    #[test]
    fn a_value_is_known_in_base64_wherever_it_starts_and_in_addresses_however_they_are_written() {
        let value = b"p\xc3\xa4ss/w\"ord +1";
        let forms = forms(value);
        let known = |text: &[u8]| forms.iter().any(|form| super::super::shape::find(text, form).is_some());
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
