//! A network namespace in which every destination is the machine itself, and the sockets that
//! answer there.

use super::block::{NamespaceBlock, Slot, SyscallList};
use super::layout::CONTROL;
use crate::network::{DNS_PORT, Domains, Listeners, REFUSAL_BYTES, SANDBOX_IPV4, SANDBOX_IPV6};
use crate::process::command::{Denial, SandboxError};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Starts the harness's relay, which answers the connections of contained commands.
pub trait StartRelay: Send + Sync {
    /// Starts answering, until the relay is finished or dropped.
    fn start(&self, listeners: Listeners, domains: &Domains) -> io::Result<Box<dyn RunningRelay>>;
}

/// A relay that answers until it is dropped.
pub trait RunningRelay: Send {
    /// Stops it, and returns what it refused.
    fn finish(self: Box<Self>) -> Vec<Denial>;
}

/// The TCP ports of a namespace's sockets, in the order in which they are passed; a UDP socket for
/// DNS follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RelayPorts(Vec<u16>);

impl RelayPorts {
    pub(crate) fn of(domains: &Domains) -> Self {
        let mut ports = domains.ports();
        ports.push(DNS_PORT);
        ports.sort_unstable();
        ports.dedup();
        // As many as fit into one message.
        ports.truncate(200);
        Self(ports)
    }
}

const LOOPBACK: u32 = 1;
const SOCKETS: &str = "sockets that answer in the network namespace";

/// Writes the operations that let a command without a network reach itself, as test suites that
/// start a server do.
pub(crate) fn reach_itself(block: &mut NamespaceBlock, list: &mut SyscallList) {
    list.begin(block.step("a loopback of its own"));
    let socket = block.slot();
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    let mut request = [0; 40];
    request[..2].copy_from_slice(b"lo");
    request[16..18].copy_from_slice(&u16::try_from(libc::IFF_UP).unwrap_or(0).to_ne_bytes());
    let request = block.data(&request);
    // If there is no loopback, the command will notice.
    list.call(libc::SYS_socket, &[&libc::AF_INET, &kind])
        .may_fail()
        .save_in(socket);
    list.call(libc::SYS_ioctl, &[&socket, &libc::SIOCSIFFLAGS, &request])
        .may_fail();
    list.close(socket);
}

/// Writes the operations that open the listening sockets of the namespace and pass them to the
/// harness.
pub(crate) fn listen(block: &mut NamespaceBlock, list: &mut SyscallList, ports: &RelayPorts) {
    routes(block, list);
    let tcp = ports.0.iter().map(|port| (libc::SOCK_STREAM, *port));
    let sockets: Vec<(i32, u16)> = tcp.chain([(libc::SOCK_DGRAM, DNS_PORT)]).collect();
    // One more for the kernel's own refusals.
    let count = sockets.len() + 1;
    let mut rights = Vec::from((16 + 4 * count as u64).to_ne_bytes());
    rights.extend(libc::SOL_SOCKET.to_ne_bytes());
    rights.extend(libc::SCM_RIGHTS.to_ne_bytes());
    rights.resize((16 + 4 * count).next_multiple_of(8), 0);
    let length = rights.len() as u64;
    let rights = block.data(&rights);
    let has_six = has_six();
    let (family, size) = if has_six {
        (libc::AF_INET6, 28)
    } else {
        (libc::AF_INET, 16)
    };
    let socket = block.slot();
    let [on, off] = [1_i32, 0].map(|value| block.data(&value.to_ne_bytes()));
    hear_refusals(block, list, socket);
    list.begin(block.step(SOCKETS));
    list.poke(rights + 16 + 4 * sockets.len() as u64, socket);
    for (index, (kind, port)) in sockets.into_iter().enumerate() {
        list.call(libc::SYS_socket, &[&family, &(kind | libc::SOCK_CLOEXEC)])
            .save_in(socket);
        let mut option = |level: i32, name: i32, value: u64| {
            list.call(libc::SYS_setsockopt, &[&socket, &level, &name, &value, &4]);
        };
        option(libc::SOL_SOCKET, libc::SO_REUSEADDR, on);
        if has_six {
            option(libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, off);
        }
        let mut address = family_bytes(family).to_vec();
        address.extend(port.to_be_bytes());
        address.resize(size, 0);
        let address = block.data(&address);
        list.call(libc::SYS_bind, &[&socket, &address, &(size as u64)]);
        if kind == libc::SOCK_STREAM {
            list.call(libc::SYS_listen, &[&socket, &128]);
        }
        list.poke(rights + 16 + 4 * index as u64, socket);
    }
    let byte = block.data(&[1]);
    let part = block.words(&[byte, 1]);
    let message = block.words(&[0, 0, part, 1, rights, length, 0]);
    list.call(
        libc::SYS_sendmsg,
        &[&CONTROL, &message, &libc::MSG_NOSIGNAL],
    );
}

/// Writes the operations that open a packet socket for the kernel's own refusals of ports without a
/// listener. If that fails, an ordinary socket takes its place: such attempts are still refused,
/// but not reported.
fn hear_refusals(block: &mut NamespaceBlock, list: &mut SyscallList, socket: Slot) {
    list.begin(block.step("a socket that hears refusals"));
    let hearing = block.slot();
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    list.call(libc::SYS_socket, &[&libc::AF_INET, &kind])
        .save_in(socket);
    // Without a protocol, so that it receives nothing before it has its filter.
    list.call(libc::SYS_socket, &[&libc::AF_PACKET, &kind])
        .may_fail()
        .save_in(hearing);
    let filter = refusals_only();
    let (count, filter) = (filter.len() as u64 / 8, block.data(&filter));
    let program = block.words(&[count, filter]);
    let (level, name) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
    list.call(
        libc::SYS_setsockopt,
        &[&hearing, &level, &name, &program, &16],
    )
    .may_fail();
    let mut address = family_bytes(libc::AF_PACKET).to_vec();
    address.extend(u16::try_from(libc::ETH_P_ALL).unwrap_or(0).to_be_bytes());
    address.extend(LOOPBACK.to_ne_bytes());
    address.resize(size_of::<libc::sockaddr_ll>(), 0);
    let (size, address) = (address.len() as u64, block.data(&address));
    list.call(libc::SYS_bind, &[&hearing, &address, &size])
        .may_fail();
    list.call(libc::SYS_dup3, &[&hearing, &socket, &libc::O_CLOEXEC])
        .may_fail();
    list.close(hearing);
}

/// A packet filter that accepts resets that answer the first packet of a connection, and
/// port-unreachable messages.
fn refusals_only() -> Vec<u8> {
    const KIND_OF_PACKET: u32 = 0xffff_f004;
    const FLAGS: u32 = 0x17;
    const RESET: u32 = 0x14;
    const TAKEN: usize = 28;
    const LEFT: usize = 29;
    let (load, load_half, load_byte, equals) = (0x20, 0x28, 0x30, 0x15);
    // Each instruction: code, operand, and where to jump if it holds and if not. Others continue
    // with the next.
    let steps: [(u16, u32, usize, usize); 30] = [
        (load, KIND_OF_PACKET, 0, 0),
        (equals, 0, 2, LEFT),
        (load_byte, 0, 0, 0),
        (0x74, 4, 0, 0),
        (equals, 4, 6, 5),
        (equals, 6, 18, LEFT),
        // IPv4.
        (load_byte, 9, 0, 0),
        (equals, 6, 9, 8),
        (equals, 1, 15, LEFT),
        (0xb1, 0, 0, 0),
        (0x50, 13, 0, 0),
        (0x54, FLAGS, 0, 0),
        (equals, RESET, 13, LEFT),
        (0x40, 4, 0, 0),
        (equals, 0, TAKEN, LEFT),
        (0xb1, 0, 0, 0),
        (0x48, 0, 0, 0),
        (equals, 0x0303, TAKEN, LEFT),
        // IPv6.
        (load_byte, 6, 0, 0),
        (equals, 6, 21, 20),
        (equals, 58, 26, LEFT),
        (load_byte, 53, 0, 0),
        (0x54, FLAGS, 0, 0),
        (equals, RESET, 24, LEFT),
        (load, 44, 0, 0),
        (equals, 0, TAKEN, LEFT),
        (load_half, 40, 0, 0),
        (equals, 0x0104, TAKEN, LEFT),
        (0x06, u32::try_from(REFUSAL_BYTES).unwrap_or(0), 0, 0),
        (0x06, 0, 0, 0),
    ];
    let mut bytes = Vec::new();
    for (at, (code, number, yes, no)) in steps.into_iter().enumerate() {
        let over = |target: usize| u8::try_from(target.saturating_sub(at + 1)).unwrap_or(0);
        bytes.extend(code.to_ne_bytes());
        bytes.extend(if code == equals {
            [over(yes), over(no)]
        } else {
            [0, 0]
        });
        bytes.extend(number.to_ne_bytes());
    }
    bytes
}

fn family_bytes(family: i32) -> [u8; 2] {
    u16::try_from(family).unwrap_or(0).to_ne_bytes()
}

/// Brings `lo` up, and makes every address local to it.
fn routes(block: &mut NamespaceBlock, list: &mut SyscallList) {
    list.begin(block.step("routes of the network namespace"));
    let socket = block.slot();
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    list.call(
        libc::SYS_socket,
        &[&libc::AF_NETLINK, &kind, &libc::NETLINK_ROUTE],
    )
    .save_in(socket);
    let up = libc::IFF_UP.cast_unsigned().to_ne_bytes();
    let mut link = vec![0, 0, 0, 0];
    link.extend(LOOPBACK.to_ne_bytes());
    link.extend(up);
    link.extend(up);
    let route = |family: i32| {
        const BOOT: u8 = 3;
        const HOST_SCOPE: u8 = 254;
        let mut bytes = vec![family_bytes(family)[0], 0, 0, 0];
        bytes.extend([libc::RT_TABLE_LOCAL, BOOT, HOST_SCOPE, libc::RTN_LOCAL]);
        bytes.extend([0; 4]);
        bytes.extend(8_u16.to_ne_bytes());
        bytes.extend(libc::RTA_OIF.to_ne_bytes());
        bytes.extend(LOOPBACK.to_ne_bytes());
        bytes
    };
    // Resolvers that look for usable addresses ignore loopback addresses.
    let address = |family: i32, octets: &[u8]| {
        let bits = u8::try_from(8 * octets.len()).unwrap_or(0);
        let mut bytes = vec![family_bytes(family)[0], bits, 0, 0];
        bytes.extend(LOOPBACK.to_ne_bytes());
        for kind in [libc::IFA_LOCAL, libc::IFA_ADDRESS] {
            bytes.extend(u16::try_from(4 + octets.len()).unwrap_or(0).to_ne_bytes());
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(octets);
        }
        bytes
    };
    let create = libc::NLM_F_CREATE.cast_unsigned();
    let mut requests = vec![(libc::RTM_NEWLINK, 0, link)];
    let mut add = |family: i32, octets: &[u8]| {
        requests.push((libc::RTM_NEWADDR, create, address(family, octets)));
        requests.push((libc::RTM_NEWROUTE, create, route(family)));
    };
    add(libc::AF_INET, &SANDBOX_IPV4.octets());
    if has_six() {
        add(libc::AF_INET6, &SANDBOX_IPV6.octets());
    }
    for (kind, flags, body) in requests {
        let flags = flags | (libc::NLM_F_REQUEST | libc::NLM_F_ACK).cast_unsigned();
        let length = u32::try_from(16 + body.len()).unwrap_or(0);
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(u16::try_from(flags).unwrap_or(0).to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(body);
        let (size, request) = (bytes.len() as u64, block.data(&bytes));
        let answer = block.data(&[0; 256]);
        list.call(libc::SYS_sendto, &[&socket, &request, &size]);
        list.call(libc::SYS_recvfrom, &[&socket, &answer, &256]);
        list.check(answer + 16, libc::EEXIST);
    }
    list.close(socket);
}

/// Whether this kernel supports IPv6.
fn has_six() -> bool {
    std::path::Path::new("/proc/net/if_inet6").exists()
}

/// Receives the sockets that the helper passes.
pub(crate) fn receive(
    control: BorrowedFd<'_>,
    ports: &RelayPorts,
) -> Result<Listeners, SandboxError> {
    let mut byte = [0; 1];
    let mut space = [MaybeUninit::uninit(); 2048];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(
        control,
        &mut [IoSliceMut::new(&mut byte)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT,
    )
    .map_err(SandboxError::step(SOCKETS))?;
    let mut sockets: Vec<OwnedFd> = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(passed) = message {
            sockets.extend(passed);
        }
    }
    if sockets.len() != ports.0.len() + 2 {
        let cause = io::Error::from(io::ErrorKind::InvalidData);
        return Err(SandboxError::step(SOCKETS)(cause));
    }
    let (refusals, udp) = (sockets.pop(), sockets.split_off(ports.0.len()));
    Ok(Listeners {
        tcp: sockets,
        udp,
        refusals,
    })
}
