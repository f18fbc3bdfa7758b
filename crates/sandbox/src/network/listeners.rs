//! What the relay listens on.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;

/// The port of name service, which the relay answers over UDP and TCP for every list.
pub const DNS_PORT: u16 = 53;

/// What a contained process's machine is called: it stands for itself, in every list.
pub const SANDBOX_HOSTNAME: &str = "sandbox";

/// The first address of the range from which names get theirs; no name gets it. To be given to `lo` with a prefix of 32 bits: a machine
/// without any address but loopback ones is one without IPv4 to programs that ask the C library for it (`AI_ADDRCONFIG`).
pub const SANDBOX_IPV4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);

/// As above, with a prefix of 128 bits. The range is a private one of our own.
pub const SANDBOX_IPV6: Ipv6Addr = Ipv6Addr::new(0xfd68, 0x6172, 0x6e65, 0x7373, 0, 0, 0, 0);

/// Bytes of a refusal that are needed: two heads of IPv6 and what is between and after them.
pub(crate) const REFUSAL_BYTES: usize = 128;

/// Listening sockets of a network namespace in which every destination ends at them (`local` routes for all of IPv4 and IPv6 on `lo`).
///
/// Made inside the namespace by whoever makes it. The relay asks each socket for its own name, sets it not to block and asks for packet
/// information itself, so nothing but `socket`, `bind`, `listen` is needed:
///
/// * `tcp`: for each port of `Domains::ports`, and for `DNS_PORT`, a listening stream socket on the wildcard address. Best is one `[::]`
///   socket per port with `IPV6_V6ONLY` off, which takes both families; where IPv6 is switched off, `0.0.0.0`; both may be given.
/// * `udp`: a datagram socket on the wildcard address and `DNS_PORT`, as above.
/// * `refusals`: a packet socket (`AF_PACKET`, `SOCK_DGRAM`) of `lo` that hears resets of connections that never were and unreachable ports, and
///   nothing else. Without one such attempts are refused without a report.
#[derive(Debug, Default)]
pub struct Listeners {
    /// Listening TCP sockets.
    pub tcp: Vec<OwnedFd>,
    /// Bound UDP sockets.
    pub udp: Vec<OwnedFd>,
    /// What hears the kernel's own refusals.
    pub refusals: Option<OwnedFd>,
}
