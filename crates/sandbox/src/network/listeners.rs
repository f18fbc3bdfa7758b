//! What the relay listens on.

use std::os::fd::OwnedFd;

/// The port of name service, which the relay answers over UDP and TCP for every list.
pub const DNS_PORT: u16 = 53;

/// Listening sockets of a network namespace in which every destination ends at them (`local` routes for all of IPv4 and IPv6 on `lo`).
///
/// Made inside the namespace by whoever makes it. The relay asks each socket for its own name, sets it not to block and asks for packet
/// information itself, so nothing but `socket`, `bind`, `listen` is needed:
///
/// * `tcp`: for each port of `Domains::ports`, and for `DNS_PORT`, a listening stream socket on the wildcard address. Best is one `[::]`
///   socket per port with `IPV6_V6ONLY` off, which takes both families; where IPv6 is switched off, `0.0.0.0`; both may be given.
/// * `udp`: a datagram socket on the wildcard address and `DNS_PORT`, as above.
#[derive(Debug, Default)]
pub struct Listeners {
    /// Listening TCP sockets.
    pub tcp: Vec<OwnedFd>,
    /// Bound UDP sockets.
    pub udp: Vec<OwnedFd>,
}
