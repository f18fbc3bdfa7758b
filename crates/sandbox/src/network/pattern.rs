//! One entry of the list.

use std::fmt;

use super::address::AddressBlock;
use super::host::Host;

/// Hosts and the ports on which they may be reached.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pattern {
    pub(super) who: HostPattern,
    pub(super) ports: Ports,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HostPattern {
    /// Every public host.
    Any,
    /// A name and those below it.
    Tree(String),
    /// The names below a name.
    Below(String),
    /// Addresses.
    Block(AddressBlock),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ports {
    /// The ports of http and https.
    Web,
    /// One port.
    Only(u16),
}

impl Pattern {
    /// Parses an entry, or says what is wrong with it.
    pub(super) fn parse(entry: &str) -> Result<Pattern, String> {
        // Checked first, because people paste URLs.
        if entry.contains("://") || entry.contains('@') {
            return Err("it is not just a host".to_owned());
        }
        let (host, ports) = split_port(entry)?;
        let who = match host {
            "" => return Err("it is empty".to_owned()),
            "*" => HostPattern::Any,
            _ => match host.strip_prefix("*.") {
                Some(name) => HostPattern::Below(read_name(name)?),
                None if host.contains('*') => {
                    return Err("use `*` alone, or as `*.` before a name".to_owned());
                }
                None => read_host(host)?,
            },
        };
        Ok(Pattern { who, ports })
    }

    /// The hosts and ports that both admit.
    pub(super) fn both(&self, other: &Pattern) -> Option<Pattern> {
        Some(Pattern {
            who: self.who.both(&other.who)?,
            ports: self.ports.both(other.ports)?,
        })
    }
}

/// Splits off the port. An IPv6 address contains colons, so it needs brackets before a port.
fn split_port(entry: &str) -> Result<(&str, Ports), String> {
    let (host, port) = match entry
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
    {
        Some((host, _)) if !host.contains(':') => {
            return Err("brackets are for IPv6 addresses".to_owned());
        }
        Some((host, "")) => (host, None),
        Some((host, rest)) => (
            host,
            Some(
                rest.strip_prefix(':')
                    .ok_or("only `:PORT` can follow `]`")?,
            ),
        ),
        None if entry.matches(':').count() == 1 => entry
            .split_once(':')
            .map_or((entry, None), |(host, port)| (host, Some(port))),
        None => (entry, None),
    };
    let Some(port) = port else {
        return Ok((host, Ports::Web));
    };
    match port.parse::<u16>() {
        Ok(number) if number != 0 && port.bytes().all(|b| b.is_ascii_digit()) => {
            Ok((host, Ports::Only(number)))
        }
        _ => Err("its port must be a number from 1 to 65535".to_owned()),
    }
}

fn read_host(text: &str) -> Result<HostPattern, String> {
    let Some((first, bits)) = text.split_once('/') else {
        let host = Host::parse(text).map_err(|bad| bad.to_string())?;
        return Ok(match host.address() {
            Some(address) => HostPattern::Block(AddressBlock::one(address)),
            None => HostPattern::Tree(host.to_string()),
        });
    };
    let (Ok(first), Ok(bits)) = (first.parse(), bits.parse()) else {
        return Err("`/` must be followed by the bits of a range".to_owned());
    };
    let block = AddressBlock::new(first, bits).ok_or("the range does not start at its address")?;
    match block.of_one_kind() {
        true => Ok(HostPattern::Block(block)),
        false => {
            Err("the range mixes public and special addresses; list them separately".to_owned())
        }
    }
}

fn read_name(text: &str) -> Result<String, String> {
    let host = Host::parse(text).map_err(|bad| bad.to_string())?;
    host.name()
        .map(str::to_owned)
        .ok_or_else(|| "no names are below an address".to_owned())
}

impl HostPattern {
    pub(super) fn admits(&self, host: &Host) -> bool {
        match (self, host.name(), host.address()) {
            (HostPattern::Any, Some(name), _) => is_public_name(name),
            (HostPattern::Any, None, Some(address)) => super::address::special(address).is_none(),
            (HostPattern::Tree(top), Some(name), _) => name == top || is_below(name, top),
            (HostPattern::Below(top), Some(name), _) => is_below(name, top),
            (HostPattern::Block(block), None, Some(address)) => block.admits(address),
            _ => false,
        }
    }

    fn both(&self, other: &HostPattern) -> Option<HostPattern> {
        match (self, other) {
            (HostPattern::Any, HostPattern::Any) => Some(HostPattern::Any),
            (HostPattern::Any, one) | (one, HostPattern::Any) => match one {
                // A name below a non-public top is not public either.
                HostPattern::Tree(top) | HostPattern::Below(top) if !may_be_public(top) => None,
                HostPattern::Tree(top) if !is_public_name(top) => {
                    Some(HostPattern::Below(top.clone()))
                }
                HostPattern::Block(block) if !block.is_public() => None,
                _ => Some(one.clone()),
            },
            (HostPattern::Block(a), HostPattern::Block(b)) => a.both(*b).map(HostPattern::Block),
            (HostPattern::Tree(a), HostPattern::Tree(b)) => {
                narrower(a, b).map(|name| HostPattern::Tree(name.to_owned()))
            }
            (HostPattern::Below(a), HostPattern::Below(b)) => {
                narrower(a, b).map(|name| HostPattern::Below(name.to_owned()))
            }
            (HostPattern::Tree(tree), HostPattern::Below(below))
            | (HostPattern::Below(below), HostPattern::Tree(tree)) => {
                if is_below(tree, below) {
                    Some(HostPattern::Tree(tree.clone()))
                } else {
                    (tree == below || is_below(below, tree))
                        .then(|| HostPattern::Below(below.clone()))
                }
            }
            (HostPattern::Block(_), _) | (_, HostPattern::Block(_)) => None,
        }
    }
}

/// Whichever of two names equals the other or is below it.
fn narrower<'a>(a: &'a str, b: &'a str) -> Option<&'a str> {
    if a == b || is_below(a, b) {
        Some(a)
    } else {
        is_below(b, a).then_some(b)
    }
}

fn is_below(name: &str, top: &str) -> bool {
    name.strip_suffix(top)
        .is_some_and(|front| front.ends_with('.'))
}

/// Whether a name can be public DNS: names of one label and names below these tops belong to a
/// machine or a local network.
fn is_public_name(name: &str) -> bool {
    name.contains('.') && !OWN.iter().any(|top| name == *top || is_below(name, top))
}

/// Whether a name in this tree can be public; the top of a tree may have one label (`com`).
fn may_be_public(top: &str) -> bool {
    !OWN.iter().any(|own| top == *own || is_below(top, own))
}

const OWN: &[&str] = &["localhost", "local", "internal"];

impl Ports {
    pub(super) fn has(self, port: u16) -> bool {
        self.list().contains(&port)
    }

    pub(super) fn list(&self) -> &[u16] {
        match self {
            Ports::Web => &[80, 443],
            Ports::Only(port) => std::slice::from_ref(port),
        }
    }

    fn both(self, other: Ports) -> Option<Ports> {
        match (self, other) {
            (Ports::Web, Ports::Web) => Some(Ports::Web),
            (Ports::Web, Ports::Only(port)) | (Ports::Only(port), Ports::Web) => {
                Ports::Web.has(port).then_some(Ports::Only(port))
            }
            (Ports::Only(a), Ports::Only(b)) => (a == b).then_some(self),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = match &self.who {
            HostPattern::Any => "*".to_owned(),
            HostPattern::Tree(name) => name.clone(),
            HostPattern::Below(name) => format!("*.{name}"),
            HostPattern::Block(block) => block.to_string(),
        };
        match self.ports {
            Ports::Web => f.write_str(&who),
            Ports::Only(port) if who.contains(':') => write!(f, "[{who}]:{port}"),
            Ports::Only(port) => write!(f, "{who}:{port}"),
        }
    }
}
