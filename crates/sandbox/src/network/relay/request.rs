//! An HTTP/1 request, parsed strictly and written anew.
//!
//! A server must not see another request than the one that was judged. So the relay refuses
//! whatever two parsers could read differently, writes the request from its parsed parts, and
//! carries one request per connection: it adds `Connection: close`, and forwards nothing after the
//! body.

/// Of the lines before the body.
pub(super) const LONGEST_HEAD: usize = 65_536;
const MOST_HEADERS: usize = 200;

/// Hop-by-hop headers. `Upgrade` is among them, because what follows it is not HTTP.
const DROPPED: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "upgrade",
    "http2-settings",
    "te",
    "trailer",
];

/// The lines of a request before its body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The hosts it names, with their ports: its `Host`, and that of its target if it has one.
    pub(super) hosts: Vec<String>,
    /// How long its body is.
    pub(super) body: BodyLength,
    /// The lines as they are forwarded.
    pub(super) text: Vec<u8>,
}

/// How long a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyLength {
    /// This many bytes.
    Bytes(u64),
    /// In chunks that say their length.
    Chunked,
}

/// The length of the head with its empty line; `None` if it is incomplete.
pub(super) fn end(bytes: &[u8]) -> Option<usize> {
    bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .map(|at| at + 4)
}

/// The head of an answer, with `Connection: close`.
pub(super) fn closing(head: &[u8]) -> Vec<u8> {
    let mut lines = head
        .strip_suffix(b"\r\n\r\n")
        .unwrap_or(head)
        .split(|byte| *byte == b'\n');
    let mut text = Vec::with_capacity(head.len() + 19);
    let first = lines.next().unwrap_or_default();
    let kept = lines.filter(|line| {
        let name = line
            .split(|byte| *byte == b':')
            .next()
            .unwrap_or_default()
            .trim_ascii();
        !name.eq_ignore_ascii_case(b"connection") && !name.eq_ignore_ascii_case(b"keep-alive")
    });
    for line in std::iter::once(first).chain(kept) {
        text.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"Connection: close\r\n\r\n");
    text
}

/// Whether a request can start with these bytes, so that other protocols are refused at once.
pub(super) fn may_start(bytes: &[u8]) -> bool {
    let word = bytes.iter().take(20).take_while(|b| **b != b' ');
    !bytes.starts_with(b"PRI ")
        && word.clone().count() < 20
        && word.clone().all(u8::is_ascii_uppercase)
        && bytes.first() != Some(&b' ')
}

/// Parses a head that ends with its empty line.
pub(super) fn read(bytes: &[u8]) -> Result<Head, &'static str> {
    let text = std::str::from_utf8(bytes).map_err(|_| "its HTTP request is not plain text")?;
    let lines = text
        .strip_suffix("\r\n\r\n")
        .ok_or("its HTTP request is incomplete")?;
    if lines
        .replace("\r\n", "")
        .chars()
        .any(|c| c != '\t' && c.is_control())
    {
        return Err("its HTTP request has control characters");
    }
    let mut lines = lines.split("\r\n");
    let (method, target, version) = request_line(lines.next().unwrap_or_default())?;
    let (path, mut hosts) = split_target(method, target)?;
    let mut head = format!("{method} {path} HTTP/1.{version}\r\n");
    let (mut lengths, mut codings, mut named, mut count) = (Vec::new(), Vec::new(), 0, 0);
    for line in lines {
        let (name, value) = header(line)?;
        count += 1;
        match name.to_ascii_lowercase().as_str() {
            "host" => {
                named += 1;
                hosts.push(value.to_owned());
            }
            "content-length" => lengths.push(value),
            "transfer-encoding" => codings.push(value),
            dropped if DROPPED.contains(&dropped) => continue,
            _ => {}
        }
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if count > MOST_HEADERS {
        return Err("its HTTP request has too many headers");
    }
    if named != 1 {
        return Err("its HTTP request does not have exactly one Host");
    }
    let body = match (lengths.as_slice(), codings.as_slice()) {
        ([], []) => BodyLength::Bytes(0),
        ([length], []) if length.bytes().all(|b| b.is_ascii_digit()) => BodyLength::Bytes(
            length
                .parse()
                .map_err(|_| "its HTTP request has an invalid length")?,
        ),
        ([], [coding]) if version == '1' && coding.eq_ignore_ascii_case("chunked") => {
            BodyLength::Chunked
        }
        _ => return Err("its HTTP request has several lengths, or an invalid one"),
    };
    head.push_str("Connection: close\r\n\r\n");
    Ok(Head {
        hosts,
        body,
        text: head.into_bytes(),
    })
}

fn request_line(line: &str) -> Result<(&str, &str, char), &'static str> {
    let bad = "its HTTP request line is invalid";
    let mut parts = line.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(bad);
    };
    let version = match version {
        "HTTP/1.1" => '1',
        "HTTP/1.0" => '0',
        _ => return Err(bad),
    };
    if method.is_empty()
        || !method.bytes().all(|b| b.is_ascii_uppercase())
        || !target.is_ascii()
        || target.contains('\t')
    {
        return Err(bad);
    }
    Ok((method, target, version))
}

/// The path of a target, and its host if it has one.
fn split_target<'a>(method: &str, target: &'a str) -> Result<(String, Vec<String>), &'static str> {
    if method == "CONNECT" {
        return Err("it asks a host to connect to another (CONNECT)");
    }
    if target.starts_with('/') || (target == "*" && method == "OPTIONS") {
        return Ok((target.to_owned(), Vec::new()));
    }
    let whole = |rest: &'a str| {
        let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (host, path) = rest.split_at(at);
        (
            if path.starts_with('/') {
                path.to_owned()
            } else {
                format!("/{path}")
            },
            vec![host.to_owned()],
        )
    };
    target
        .get(..7)
        .filter(|scheme| scheme.eq_ignore_ascii_case("http://"))
        .and_then(|_| target.get(7..))
        .map(whole)
        .ok_or("its HTTP target is invalid")
}

fn header(line: &str) -> Result<(&str, &str), &'static str> {
    let (name, value) = line
        .split_once(':')
        .ok_or("its HTTP request has a line that is not a header")?;
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    // Servers disagree about a space in a name and about folded lines.
    if name.is_empty() || !name.bytes().all(token) {
        return Err("its HTTP request has a header with an invalid name");
    }
    Ok((name, value.trim_matches([' ', '\t'])))
}

/// The size in the line before a chunk, without the line end.
pub(super) fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|b| *b == b';').next().unwrap_or_default();
    if digits.is_empty()
        || digits.len() > 15
        || !digits.iter().all(u8::is_ascii_hexdigit)
        || line.iter().any(|b| b.is_ascii_control())
    {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_is_written_anew_for_one_connection() {
        let head = read(b"GET /a?b HTTP/1.1\r\nHost: x.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nX-A:  1 \r\n\r\n")
            .expect("a request");
        assert_eq!(
            String::from_utf8_lossy(&head.text),
            "GET /a?b HTTP/1.1\r\nHost: x.test\r\nX-A: 1\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(
            (head.hosts, head.body),
            (vec!["x.test".to_owned()], BodyLength::Bytes(0))
        );
        let head = read(b"GET http://x.test HTTP/1.0\r\nhost: y.test\r\nContent-Length: 3\r\n\r\n")
            .expect("a request");
        assert_eq!(
            (head.hosts, head.body),
            (
                vec!["x.test".to_owned(), "y.test".to_owned()],
                BodyLength::Bytes(3)
            )
        );
        assert!(head.text.starts_with(b"GET / HTTP/1.0\r\n"));
    }

    #[test]
    fn an_ambiguous_request_is_refused() {
        for lines in [
            "GET / HTTP/1.1",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b",
            "GET / HTTP/1.1\r\nHost : a",
            "GET / HTTP/1.1\r\nHost: a\r\n folded",
            "GET / HTTP/1.1\r\nHost: a\nX: b",
            "GET / HTTP/1.1\r\nHost: a\rX: b",
            "GET / HTTP/1.1\r\nHost: a\0",
            "GET  / HTTP/1.1\r\nHost: a",
            "GET / HTTP/2.0\r\nHost: a",
            "PRI * HTTP/2.0",
            "CONNECT a:443 HTTP/1.1\r\nHost: a",
            "GET evil:80 HTTP/1.1\r\nHost: a",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity",
            "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked",
        ] {
            assert!(
                read(format!("{lines}\r\n\r\n").as_bytes()).is_err(),
                "{lines:?}"
            );
        }
    }

    #[test]
    fn chunk_sizes_are_plain_numbers() {
        assert_eq!(
            (chunk_size(b"1f"), chunk_size(b"0;x=y")),
            (Some(31), Some(0))
        );
        for bad in [
            &b""[..],
            b"-1",
            b"+1",
            b"0x1",
            b" 1",
            b"1 ",
            b"ffffffffffffffff",
            b"1\r",
            b"g",
        ] {
            assert_eq!(chunk_size(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = (end(&bytes), may_start(&bytes), chunk_size(&bytes), read(&bytes));
        }

        #[test]
        fn what_is_sent_on_is_read_the_same_again(path in "/[a-z]{0,9}", name in "[A-Za-z-]{1,9}", value in "[ -~]{0,20}", length in 0..99u64) {
            let request = format!("POST {path} HTTP/1.1\r\nHost: x.test\r\n{name}: {value}\r\nContent-Length: {length}\r\n\r\n");
            if let Ok(head) = read(request.as_bytes()) {
                let again = read(&head.text).expect("what was written can be read");
                prop_assert_eq!(&again, &head);
                prop_assert_eq!(end(&head.text), Some(head.text.len()));
            }
        }
    }
}
