//! The DNS server of a namespace: no question leaves the machine, so none can carry data out.
//!
//! Names that the list admits get addresses of our own; all others do not exist. The real addresses
//! of a name are looked up outside, when a program connects.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::network::Host;

const HEADER: usize = 12;
const A: u16 = 1;
const AAAA: u16 = 28;
const INTERNET: u16 = 1;
/// How many seconds an answer may be cached.
const KEPT: u32 = 60;

const FORMAT_ERROR: u8 = 1;
const NO_SUCH_NAME: u8 = 3;
const NOT_IMPLEMENTED: u8 = 4;
const REFUSED: u8 = 5;

/// What to answer for a name.
pub(super) enum Answer {
    /// The list admits it; these addresses stand for it.
    Known(Ipv4Addr, Ipv6Addr),
    /// It does not exist here.
    Unknown,
}

/// The name in a question: a host, or a text that cannot be one.
pub(super) type QuestionName = Result<Host, String>;

/// Answers one message; `None` if it is not a question.
pub(super) fn answer(
    message: &[u8],
    lookup: impl FnOnce(&QuestionName) -> Answer,
) -> Option<Vec<u8>> {
    let header = message.get(..HEADER)?;
    let (flags, code) = (header.get(2)?, header.get(2)? >> 3 & 0xf);
    // Never answer an answer, or two servers could keep each other busy.
    if flags & 0x80 != 0 {
        return None;
    }
    if code != 0 {
        return Some(reply(header, &[], NOT_IMPLEMENTED, None));
    }
    let Some(question) = (header.get(4..6)? == [0, 1])
        .then(|| Question::read(message.get(HEADER..)?))
        .flatten()
    else {
        return Some(reply(header, &[], FORMAT_ERROR, None));
    };
    if question.class != INTERNET {
        return Some(reply(header, question.bytes, REFUSED, None));
    }
    Some(match lookup(&question.name) {
        Answer::Unknown => reply(header, question.bytes, NO_SUCH_NAME, None),
        Answer::Known(v4, v6) => match question.kind {
            A => reply(header, question.bytes, 0, Some((A, &v4.octets()))),
            AAAA => reply(header, question.bytes, 0, Some((AAAA, &v6.octets()))),
            _ => reply(header, question.bytes, 0, None),
        },
    })
}

struct Question<'a> {
    name: QuestionName,
    kind: u16,
    class: u16,
    bytes: &'a [u8],
}

impl<'a> Question<'a> {
    fn read(from: &'a [u8]) -> Option<Question<'a>> {
        let (mut at, mut text, mut plain) = (0, Vec::new(), true);
        loop {
            let length = usize::from(*from.get(at)?);
            at += 1;
            match length {
                0 => break,
                1..=63 => {
                    let label = from.get(at..at + length)?;
                    // A dot or a NUL inside a label would make it a different name.
                    plain &= label
                        .iter()
                        .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(b));
                    if !text.is_empty() {
                        text.push(b'.');
                    }
                    text.extend_from_slice(label);
                    at += length;
                }
                // A question has nothing that a pointer could point to.
                _ => return None,
            }
            if at > 255 {
                return None;
            }
        }
        let number = |place: usize| {
            let bytes = from.get(place..place + 2)?;
            Some(u16::from_be_bytes(bytes.try_into().ok()?))
        };
        let name = match Host::from_wire(&text) {
            Ok(host) if plain && host.name().is_some() => Ok(host),
            _ => Err(String::from_utf8_lossy(&text).into_owned()),
        };
        Some(Question {
            name,
            kind: number(at)?,
            class: number(at + 2)?,
            bytes: from.get(..at + 4)?,
        })
    }
}

fn reply(header: &[u8], question: &[u8], code: u8, record: Option<(u16, &[u8])>) -> Vec<u8> {
    let wanted_recursion = header.get(2).copied().unwrap_or(0) & 0x79;
    let mut reply = header.get(..2).unwrap_or(&[0, 0]).to_vec();
    reply.extend([0x80 | wanted_recursion, 0x80 | code]);
    let (questions, answers) = (!question.is_empty(), record.is_some());
    reply.extend([0, questions.into(), 0, answers.into(), 0, 0, 0, 0]);
    reply.extend_from_slice(question);
    if let Some((kind, address)) = record {
        // A pointer to the name of the question, right after the header.
        reply.extend([0xc0, 12]);
        reply.extend(kind.to_be_bytes());
        reply.extend(INTERNET.to_be_bytes());
        reply.extend(KEPT.to_be_bytes());
        reply.extend([0, if kind == A { 4 } else { 16 }]);
        reply.extend_from_slice(address);
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn question(labels: &[&[u8]], kind: u16) -> Vec<u8> {
        let mut message = vec![7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in labels {
            message.push(u8::try_from(label.len()).expect("short"));
            message.extend_from_slice(label);
        }
        message.push(0);
        message.extend(kind.to_be_bytes());
        message.extend([0, 1]);
        message
    }

    fn known(asked: &QuestionName) -> Answer {
        match asked {
            Ok(host) if host.name() == Some("a.test") => {
                Answer::Known(Ipv4Addr::new(198, 18, 0, 1), Ipv6Addr::LOCALHOST)
            }
            _ => Answer::Unknown,
        }
    }

    #[test]
    fn a_name_that_is_known_has_addresses_and_nothing_else() {
        let a = answer(&question(&[b"A", b"test"], A), known).expect("an answer");
        assert_eq!(
            (a[3] & 0xf, a[7], a.ends_with(&[0, 4, 198, 18, 0, 1])),
            (0, 1, true)
        );
        let aaaa = answer(&question(&[b"a", b"TEST"], AAAA), known).expect("an answer");
        assert_eq!(
            (
                aaaa[3] & 0xf,
                aaaa[7],
                aaaa.ends_with(&Ipv6Addr::LOCALHOST.octets())
            ),
            (0, 1, true)
        );
        let text = answer(&question(&[b"a", b"test"], 16), known).expect("an answer");
        assert_eq!((text[3] & 0xf, text[7]), (0, 0));
    }

    #[test]
    fn other_names_do_not_exist_however_they_are_written() {
        let tricks: [&[&[u8]]; 7] = [
            &[b"b", b"test"],
            &[b"a.test"],
            &[b"a", b"test\0"],
            &[b"a\0", b"test"],
            &[b"127", b"0", b"0", b"1"],
            &[],
            &[b"\xc3\xa4", b"test"],
        ];
        for labels in tricks {
            let reply = answer(&question(labels, A), known).expect("an answer");
            assert_eq!((reply[3] & 0xf, reply[7]), (NO_SUCH_NAME, 0), "{labels:?}");
        }
    }

    #[test]
    fn answers_are_not_answered_and_other_operations_are_refused() {
        let mut message = question(&[b"a", b"test"], A);
        message[2] |= 0x80;
        assert!(answer(&message, known).is_none());
        message[2] = 0x28;
        assert_eq!(
            answer(&message, known).expect("an answer")[3] & 0xf,
            NOT_IMPLEMENTED
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_amplify(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            if let Some(reply) = answer(&bytes, known) {
                prop_assert!(reply.len() <= bytes.len() + 28);
            }
        }
    }
}
