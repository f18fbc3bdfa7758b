//! What the kernel itself refuses: ports of the namespace without a listener. A packet socket
//! receives the kernel's answers.

use std::net::IpAddr;
use std::os::fd::OwnedFd;

use rustix::net::{RecvFlags, recv};

use super::{RelayDenial, RelayState};
use crate::network::Host;
use crate::network::domain::entry;
use crate::network::listeners::{REFUSAL_BYTES, SANDBOX_IPV4, SANDBOX_IPV6};

const TCP: u8 = 6;
const UDP: u8 = 17;
const FOURTH: usize = 20;
const SIXTH: usize = 40;
/// How many refusals to read. The socket buffers a few hundred; the rest is lost.
const MOST: usize = 4096;

/// A socket that buffers the kernel's refusals until they are read.
#[derive(Debug)]
pub(super) struct RefusalSocket(Option<OwnedFd>);

impl RefusalSocket {
    pub(super) fn new(socket: Option<OwnedFd>) -> Self {
        Self(socket)
    }

    /// Reports the refusals so far.
    pub(super) fn report(&self, shared: &RelayState) {
        let Some(socket) = &self.0 else { return };
        let mut packet = [0; REFUSAL_BYTES];
        for _ in 0..MOST {
            let Ok((_, count)) = recv(socket, &mut packet[..], RecvFlags::DONTWAIT) else {
                return;
            };
            if let Some((address, port)) = packet.get(..count).and_then(refused) {
                report(address, port, shared);
            }
        }
    }
}

impl Drop for RefusalSocket {
    /// Another thread closes it: the kernel waits until no processor can be using such a socket.
    fn drop(&mut self) {
        if let Some(socket) = self.0.take() {
            // If no thread can be started, the socket is closed here.
            let _ = std::thread::Builder::new()
                .name("close".into())
                .spawn(move || drop(socket));
        }
    }
}

fn report(address: IpAddr, port: u16, shared: &RelayState) {
    let address = address.to_canonical();
    // A command may connect to itself as it likes.
    if address.is_loopback() || address == SANDBOX_IPV4 || address == SANDBOX_IPV6 {
        return;
    }
    let host = shared.name(address).unwrap_or_else(|| Host::from(address));
    // The relay answers every listed port for TCP, so a refusal on one of them was not TCP.
    let why = match shared.domains.check(&host, port) {
        Err(refused) => refused.to_string(),
        Ok(()) => "only TCP is relayed".to_owned(),
    };
    let what = entry(&host, port);
    shared.report(RelayDenial { what, why });
}

/// Where a program wanted to go, from the kernel's refusal: the reset of a connection that never
/// was, or a port-unreachable message.
fn refused(packet: &[u8]) -> Option<(IpAddr, u16)> {
    let is_sixth = packet.first()? >> 4 == 6;
    let ([source, _], header, protocol) = head(packet)?;
    let rest = packet.get(header..)?;
    if protocol == TCP {
        let is_refusal = rest.get(4..8)? == [0; 4] && rest.get(13)? & 0x17 == 0x14;
        return is_refusal.then_some((source, number(rest)?));
    }
    if rest.get(..2)? != if is_sixth { [1, 4] } else { [3, 3] } {
        return None;
    }
    // The header of the refused datagram is included.
    let ([_, target], header, protocol) = head(rest.get(8..)?)?;
    let ports = rest.get(8 + header + 2..)?;
    (protocol == UDP && is_sixth == target.is_ipv6()).then_some((target, number(ports)?))
}

/// The source and the target of a packet, the length of its header, and the protocol inside.
fn head(packet: &[u8]) -> Option<([IpAddr; 2], usize, u8)> {
    let first = *packet.first()?;
    if first >> 4 == 6 {
        let source: [u8; 16] = packet.get(8..24)?.try_into().ok()?;
        let target: [u8; 16] = packet.get(24..SIXTH)?.try_into().ok()?;
        return Some(([source.into(), target.into()], SIXTH, *packet.get(6)?));
    }
    let source: [u8; 4] = packet.get(12..16)?.try_into().ok()?;
    let target: [u8; 4] = packet.get(16..FOURTH)?.try_into().ok()?;
    let length = usize::from(first & 0xf) * 4;
    let protocol = *packet.get(9)?;
    (length >= FOURTH).then_some(([source.into(), target.into()], length, protocol))
}

fn number(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(..2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_its_destination_and_other_packets_are_ignored() {
        let mut reset = vec![
            0x45, 0, 0, 40, 0, 0, 0, 0, 64, TCP, 0, 0, 93, 184, 216, 34, 198, 18, 0, 0,
        ];
        reset.extend([
            0, 22, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x50, 0x14, 0, 0, 0, 0, 0, 0,
        ]);
        assert_eq!(
            refused(&reset),
            Some((IpAddr::from([93, 184, 216, 34]), 22))
        );
        let mut unreachable = vec![
            0x45, 0, 0, 56, 0, 0, 0, 0, 64, 1, 0, 0, 8, 8, 8, 8, 198, 18, 0, 0, 3, 3, 0, 0, 0, 0,
            0, 0,
        ];
        unreachable.extend([
            0x45, 0, 0, 30, 0, 0, 0, 0, 64, UDP, 0, 0, 198, 18, 0, 0, 8, 8, 8, 8, 0x90, 0, 0, 123,
            0, 10, 0, 0,
        ]);
        assert_eq!(
            refused(&unreachable),
            Some((IpAddr::from([8, 8, 8, 8]), 123))
        );
        for length in 0..34 {
            assert_eq!(refused(&reset[..length]), None, "{length}");
        }
        for length in 0..52 {
            assert_eq!(refused(&unreachable[..length]), None, "{length}");
        }
        assert_eq!(refused(&[0x41; 60]), None);
    }
}
