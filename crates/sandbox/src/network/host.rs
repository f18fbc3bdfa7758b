//! The name or address of a host, in one canonical spelling.

use std::fmt;
use std::net::IpAddr;

use thiserror::Error;

const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// A host: a name in lower-case ASCII without a final dot, or an address.
///
/// What the operating system would read as an address is an address here, too (`127.1`, `0x7f.1`,
/// `2130706433`), so that no spelling of an address passes as a name. Other scripts are mapped by
/// UTS 46, as in browsers: a look-alike letter gives a different name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Host(HostKind);

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum HostKind {
    Name(String),
    Address(IpAddr),
}

/// A text that is not a host.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{} is not a host: {why}", quoted(text))]
pub struct HostError {
    text: String,
    why: &'static str,
}

impl Host {
    /// Parses a host as people and URLs write it; IPv6 addresses with or without brackets.
    ///
    /// # Errors
    ///
    /// When it is neither an address nor a name that can be looked up.
    pub fn parse(text: &str) -> Result<Host, HostError> {
        let bad = |why| HostError {
            text: text.to_owned(),
            why,
        };
        if text.len() > 4 * LONGEST_NAME {
            return Err(bad("it is too long"));
        }
        // The URL standard would decode these; people write a host like this only to get past a
        // check.
        if text.contains('%') || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(bad("it has characters that are invalid in a host"));
        }
        if let Ok(address) = text.parse::<std::net::Ipv6Addr>() {
            return Ok(Host(HostKind::Address(IpAddr::V6(address))));
        }
        match url::Host::parse(text) {
            Ok(url::Host::Ipv4(address)) => Ok(Host(HostKind::Address(IpAddr::V4(address)))),
            Ok(url::Host::Ipv6(address)) => Ok(Host(HostKind::Address(IpAddr::V6(address)))),
            Ok(url::Host::Domain(name)) => Host::from_name(&name).map_err(bad),
            Err(_) => Err(bad("it is neither a name nor an address")),
        }
    }

    /// Parses a host as it stands in a protocol message: plain ASCII.
    pub(super) fn from_wire(bytes: &[u8]) -> Result<Host, HostError> {
        let text = String::from_utf8_lossy(bytes);
        match bytes.is_ascii() {
            true => Host::parse(&text),
            false => Err(HostError {
                text: text.into_owned(),
                why: "it is not ASCII",
            }),
        }
    }

    /// A name that has been mapped to lower-case ASCII.
    fn from_name(name: &str) -> Result<Host, &'static str> {
        let name = name.strip_suffix('.').unwrap_or(name);
        if name.len() > LONGEST_NAME || name.split('.').any(|label| label.len() > LONGEST_LABEL) {
            return Err("it is too long");
        }
        if name.split('.').any(str::is_empty) {
            return Err("it has an empty part");
        }
        if !name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b))
        {
            return Err("it has characters that are invalid in a host");
        }
        Ok(Host(HostKind::Name(name.to_owned())))
    }

    /// The address, if it is one.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        match self.0 {
            HostKind::Address(address) => Some(address),
            HostKind::Name(_) => None,
        }
    }

    /// The name, if it is one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            HostKind::Name(name) => Some(name),
            HostKind::Address(_) => None,
        }
    }
}

impl From<IpAddr> for Host {
    fn from(address: IpAddr) -> Host {
        Host(HostKind::Address(address))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            HostKind::Name(name) => name.fmt(f),
            HostKind::Address(address) => address.fmt(f),
        }
    }
}

/// Foreign text in quotes, without control characters and of bounded length, for messages.
pub(super) fn quoted(text: &str) -> String {
    const SHOWN: usize = 100;
    let short: String = text.chars().take(SHOWN).collect();
    format!(
        "{:?}{}",
        short,
        if short.len() < text.len() { "…" } else { "" }
    )
}
