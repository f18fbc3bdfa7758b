//! What the relay listens on.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;

/// The DNS port, which the relay answers over UDP and TCP for every list.
pub const DNS_PORT: u16 = 53;

/// The host name inside the sandbox; every list admits it, and it means the sandbox itself.
pub const SANDBOX_HOSTNAME: &str = "sandbox";

/// The first address of the range from which names get theirs; no name gets it. `lo` gets it with a
/// prefix of 32 bits: with only loopback addresses, programs that ask the C library
/// (`AI_ADDRCONFIG`) would believe that the machine has no IPv4.
pub const SANDBOX_IPV4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);

/// The same with a prefix of 128 bits. The range is a private one of our own.
pub const SANDBOX_IPV6: Ipv6Addr = Ipv6Addr::new(0xfd68, 0x6172, 0x6e65, 0x7373, 0, 0, 0, 0);

/// How many bytes of a refusal the relay reads: two IPv6 headers, and the bytes between and after
/// them.
pub(crate) const REFUSAL_BYTES: usize = 128;

/// Listening sockets of a network namespace in which every destination ends at them (`local` routes
/// for all of IPv4 and IPv6 on `lo`).
///
/// The helper creates them inside the namespace. The relay asks each socket for its own name, makes
/// it non-blocking and requests packet information, so the helper needs only `socket`, `bind` and
/// `listen`:
///
/// * `tcp`: for each port of `Domains::ports`, and for `DNS_PORT`, a listening stream socket on the
///   wildcard address. Best is one `[::]` socket per port with `IPV6_V6ONLY` off, which takes both
///   families; where IPv6 is off, `0.0.0.0`; both may be given.
/// * `udp`: a datagram socket on the wildcard address and `DNS_PORT`, as above.
/// * `refusals`: a packet socket (`AF_PACKET`, `SOCK_DGRAM`) on `lo` that receives resets of
///   connections that never were and port-unreachable messages, and nothing else. Without it such
///   attempts are refused without a report.
#[derive(Debug, Default)]
pub struct Listeners {
    /// Listening TCP sockets.
    pub tcp: Vec<OwnedFd>,
    /// Bound UDP sockets.
    pub udp: Vec<OwnedFd>,
    /// Receives the kernel's own refusals.
    pub refusals: Option<OwnedFd>,
}
