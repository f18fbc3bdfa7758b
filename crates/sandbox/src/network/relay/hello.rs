//! The TLS client hello, as far as its server name.

const RECORD_HEADER: usize = 5;
const LONGEST_RECORD: usize = 16_384 + 256;
/// Of the whole message; with post-quantum keys they have two kilobytes.
pub(super) const LONGEST: usize = 32_768;
const MOST_EXTENSIONS: usize = 128;

pub(super) const CHANGE_CIPHER: u8 = 20;
pub(super) const ALERT: u8 = 21;
pub(super) const HANDSHAKE: u8 = 22;
pub(super) const APPLICATION: u8 = 23;

const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const SERVER_NAME: u16 = 0;
const ENCRYPTED_HELLO: u16 = 0xfe0d;

/// The random bytes with which a server asks for another client hello (a HelloRetryRequest).
const AGAIN: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// How a connection starts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hello {
    /// The message is incomplete.
    More,
    /// A complete message.
    Whole {
        /// The server name, if it has one.
        name: Option<Vec<u8>>,
        /// The length of the records that hold it.
        length: usize,
    },
    /// A message that may not pass, and why.
    Bad(&'static str),
}

/// Reads a client hello from the bytes so far.
pub(super) fn read(bytes: &[u8]) -> Hello {
    let (mut message, mut at) = (Vec::new(), 0);
    loop {
        let Some(header) = bytes.get(at..at + RECORD_HEADER) else {
            return Hello::More;
        };
        let &[kind, major, _, high, low] = header else {
            return Hello::More;
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        if kind != HANDSHAKE || major != 3 || length == 0 || length > LONGEST_RECORD {
            return Hello::Bad("it does not start like a TLS connection");
        }
        let Some(part) = bytes.get(at + RECORD_HEADER..at + RECORD_HEADER + length) else {
            return Hello::More;
        };
        message.extend_from_slice(part);
        at += RECORD_HEADER + length;
        if message.first() != Some(&CLIENT_HELLO) {
            return Hello::Bad("it does not start like a TLS connection");
        }
        let &[_, a, b, c, ..] = message.as_slice() else {
            continue;
        };
        let wanted = 4 + usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap_or(usize::MAX);
        if wanted > LONGEST {
            return Hello::Bad("its first TLS message is too long");
        }
        // More in the same record would reach the server unread.
        if message.len() > wanted {
            return Hello::Bad(
                "its first TLS message is followed by another one in the same record",
            );
        }
        if message.len() == wanted {
            return match server_name(message.get(4..).unwrap_or_default()) {
                Some(Ok(name)) => Hello::Whole { name, length: at },
                Some(Err(why)) => Hello::Bad(why),
                None => Hello::Bad("its first TLS message cannot be read"),
            };
        }
    }
}

/// Whether a server's first bytes ask for another client hello; `None` while there are too few to
/// tell.
pub(super) fn asks_again(bytes: &[u8]) -> Option<bool> {
    const RANDOM: usize = RECORD_HEADER + 4 + 2;
    match bytes.first() {
        None => None,
        Some(&HANDSHAKE) => match bytes.get(RECORD_HEADER) {
            Some(&SERVER_HELLO) => bytes
                .get(RANDOM..RANDOM + AGAIN.len())
                .map(|random| random == AGAIN),
            Some(_) => Some(false),
            None => None,
        },
        Some(_) => Some(false),
    }
}

/// The server name of a client hello; `None` if it is cut short or has too much.
fn server_name(body: &[u8]) -> Option<Result<Option<Vec<u8>>, &'static str>> {
    let mut body = ByteReader(body);
    body.take(2 + 32)?;
    body.sized_by_one()?;
    body.sized_by_two()?;
    body.sized_by_one()?;
    if body.0.is_empty() {
        return Some(Ok(None));
    }
    let mut extensions = ByteReader(body.sized_by_two()?);
    if !body.0.is_empty() {
        return None;
    }
    let (mut found, mut seen) = (None, Vec::new());
    while !extensions.0.is_empty() {
        let (kind, content) = (extensions.number()?, extensions.sized_by_two()?);
        if seen.contains(&kind) || seen.len() == MOST_EXTENSIONS {
            return None;
        }
        seen.push(kind);
        match kind {
            ENCRYPTED_HELLO => {
                return Some(Err("it hides its server name (encrypted client hello)"));
            }
            SERVER_NAME => found = Some(one_name(content)?),
            _ => {}
        }
    }
    Some(Ok(found))
}

fn one_name(content: &[u8]) -> Option<Vec<u8>> {
    let mut content = ByteReader(content);
    let mut list = ByteReader(content.sized_by_two()?);
    let kind = list.take(1)?;
    let name = list.sized_by_two()?;
    (kind == [0] && list.0.is_empty() && content.0.is_empty() && !name.is_empty())
        .then(|| name.to_vec())
}

/// Reads bytes from the front of a slice.
struct ByteReader<'a>(&'a [u8]);

impl<'a> ByteReader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front)
    }

    fn number(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    fn sized_by_one(&mut self) -> Option<&'a [u8]> {
        let count = *self.take(1)?.first()?;
        self.take(usize::from(count))
    }

    fn sized_by_two(&mut self) -> Option<&'a [u8]> {
        let count = self.number()?;
        self.take(usize::from(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A message for `a.test`, with a session and a second extension.
    fn message() -> Vec<u8> {
        let mut bytes = vec![HANDSHAKE, 3, 1, 0, 72, CLIENT_HELLO, 0, 0, 68, 3, 3];
        bytes.extend([7; 32]);
        bytes.extend([2, 5, 5, 0, 2, 0x13, 1, 1, 0, 0, 23]);
        bytes.extend([0, 0, 0, 11, 0, 9, 0, 0, 6]);
        bytes.extend(b"a.test");
        bytes.extend([0, 10, 0, 4, 0, 2, 0, 29]);
        bytes
    }

    #[test]
    fn the_name_is_found_when_the_message_is_whole_and_not_before() {
        let bytes = message();
        assert_eq!(
            read(&bytes),
            Hello::Whole {
                name: Some(b"a.test".to_vec()),
                length: bytes.len()
            }
        );
        for end in 0..bytes.len() {
            assert_eq!(read(&bytes[..end]), Hello::More, "{end}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0..77usize, with in any::<u8>()) {
            let _ = (read(&bytes), asks_again(&bytes));
            let mut changed = message();
            changed[at] = with;
            if let Hello::Whole { length, .. } = read(&changed) {
                prop_assert!(length <= changed.len());
            }
        }
    }
}
