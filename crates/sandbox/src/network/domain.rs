//! The list of hosts that may be reached.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use super::DNS_PORT;
use super::address::{self, AddressBlock};
use super::host::{Host, quoted};
use super::pattern::{HostPattern, Pattern, Ports};

/// Hosts that may be reached, as `network.allowed_domains` names them.
///
/// | entry | admits |
/// | --- | --- |
/// | `example.com` | that name and those below it |
/// | `*.example.com` | only the names below it |
/// | `*` | every public name and address |
/// | `192.0.2.7`, `2001:db8::7` | that address |
/// | `10.0.0.0/8` | the addresses of that range, of one kind throughout: all public or all special |
/// | `localhost` | that name, and the addresses 127.0.0.1 and ::1 |
///
/// Each on the ports 80 and 443, or with `:PORT` on that port alone (`example.com:8080`,
/// `[::1]:8080`, `*:8443`). A name is reached only at addresses that are public or that an entry of
/// their own admits on the same port: for a name of a private network both the name and its address
/// or range are listed. A cloud's metadata address is admitted by no range, only by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domains {
    patterns: BTreeSet<Pattern>,
}

/// An entry of the list that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{} is not a valid entry of network.allowed_domains: {why}; use a name (`example.com`), the names below one (`*.example.com`), any public host (`*`), an address or a range (`10.0.0.0/8`), each with or without `:PORT`",
    quoted(entry)
)]
pub struct DomainError {
    entry: String,
    why: String,
}

/// A host and a port, as the list would write them.
pub(super) fn entry(host: &Host, port: u16) -> String {
    match host.address() {
        Some(IpAddr::V6(address)) => format!("[{address}]:{port}"),
        _ => format!("{host}:{port}"),
    }
}

/// Why a host may not be reached.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HostRefusal {
    /// It is not in the list.
    #[error("host \"{host}\" is not in network.allowed_domains")]
    Host {
        /// The host.
        host: Host,
    },
    /// It is in the list, but not on this port.
    #[error("port {port} of host \"{host}\" is not in network.allowed_domains, where `{}` would admit it", entry(host, *port))]
    Port {
        /// The host.
        host: Host,
        /// The port that was asked for.
        port: u16,
    },
    /// It is, or its name resolves to, an address that is not public.
    #[error(
        "host \"{host}\" is {kind} address ({address}), and network.allowed_domains does not have that address on port {port}"
    )]
    Address {
        /// The host.
        host: Host,
        /// Its address.
        address: IpAddr,
        /// What kind of address it is.
        kind: &'static str,
        /// The port that was asked for.
        port: u16,
    },
}

impl Domains {
    /// Parses the entries of a list.
    ///
    /// # Errors
    ///
    /// For the first entry that cannot be parsed; the error says what is accepted.
    pub fn parse<S: AsRef<str>>(entries: &[S]) -> Result<Domains, DomainError> {
        let mut patterns = BTreeSet::new();
        for entry in entries {
            let entry = entry.as_ref();
            let bad = |why| DomainError {
                entry: entry.to_owned(),
                why,
            };
            let pattern = Pattern::parse(entry).map_err(bad)?;
            if pattern.ports == Ports::Only(DNS_PORT) {
                let why = format!("port {DNS_PORT} is DNS, which the harness answers itself");
                return Err(bad(why));
            }
            if pattern.who == HostPattern::Tree("localhost".to_owned()) {
                for address in [
                    IpAddr::V4(Ipv4Addr::LOCALHOST),
                    IpAddr::V6(Ipv6Addr::LOCALHOST),
                ] {
                    patterns.insert(Pattern {
                        who: HostPattern::Block(AddressBlock::one(address)),
                        ports: pattern.ports,
                    });
                }
            }
            patterns.insert(pattern);
        }
        Ok(Domains { patterns })
    }

    /// Whether no host may be reached.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether a host may be reached on a port, as far as its name tells. Its addresses are judged
    /// when it is reached.
    #[must_use]
    pub fn allows(&self, host: &Host, port: u16) -> bool {
        self.check(host, port).is_ok()
    }

    /// The hosts that both lists admit: a tool can narrow its project's list, never widen it.
    #[must_use]
    pub fn intersect(&self, other: &Domains) -> Domains {
        let pairs = self
            .patterns
            .iter()
            .flat_map(|a| other.patterns.iter().filter_map(|b| a.both(b)));
        let patterns: BTreeSet<Pattern> = pairs.collect();
        let within_another = |one: &Pattern| {
            patterns
                .iter()
                .any(|other| other != one && one.both(other).as_ref() == Some(one))
        };
        Domains {
            patterns: patterns
                .iter()
                .filter(|one| !within_another(one))
                .cloned()
                .collect(),
        }
    }

    /// The ports on which some host may be reached, sorted.
    #[must_use]
    pub fn ports(&self) -> Vec<u16> {
        self.patterns
            .iter()
            .flat_map(|pattern| pattern.ports.list())
            .copied()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    /// Whether a host may be reached on some port.
    pub(super) fn knows(&self, host: &Host) -> bool {
        self.patterns.iter().any(|pattern| pattern.who.admits(host))
    }

    /// Like `allows`, with the reason.
    ///
    /// # Errors
    ///
    /// When the list does not admit the host on this port.
    pub fn check(&self, host: &Host, port: u16) -> Result<(), HostRefusal> {
        if self
            .patterns
            .iter()
            .any(|pattern| pattern.ports.has(port) && pattern.who.admits(host))
        {
            return Ok(());
        }
        let host = host.clone();
        if self.knows(&host) {
            return Err(HostRefusal::Port { host, port });
        }
        match host
            .address()
            .and_then(|address| Some((address, address::special(address)?)))
        {
            Some((address, kind)) => Err(HostRefusal::Address {
                host,
                address,
                kind,
                port,
            }),
            None => Err(HostRefusal::Host { host }),
        }
    }

    /// Whether an admitted host may be reached at this address, which its name resolved to.
    ///
    /// # Errors
    ///
    /// When the address is not public, and no entry admits it on this port.
    pub fn check_address(
        &self,
        host: &Host,
        port: u16,
        address: IpAddr,
    ) -> Result<(), HostRefusal> {
        let Some(kind) = address::special(address) else {
            return Ok(());
        };
        self.check(&Host::from(address), port)
            .map_err(|_| HostRefusal::Address {
                host: host.clone(),
                address,
                kind,
                port,
            })
    }
}

impl fmt::Display for Domains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, pattern) in self.patterns.iter().enumerate() {
            write!(f, "{}{pattern}", if place == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
