//! Answering datagrams from the address they were sent to.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::ptr;

/// Space for one packet information message, aligned as the kernel writes it.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Where a datagram came from and went to, as the kernel reported it.
pub(super) struct Envelope {
    from: libc::sockaddr_storage,
    from_length: libc::socklen_t,
    control: Control,
    control_length: usize,
}

/// Requests the address that each datagram was sent to, and the right to answer from it.
pub(super) fn prepare(socket: BorrowedFd<'_>) -> io::Result<()> {
    let options: &[(i32, i32)] = match rustix::net::sockopt::socket_domain(socket)? {
        // Both levels: an IPv6 socket also receives IPv4 datagrams.
        rustix::net::AddressFamily::INET6 => &[
            (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO),
            (libc::IPPROTO_IPV6, libc::IPV6_FREEBIND),
            (libc::IPPROTO_IP, libc::IP_FREEBIND),
        ],
        _ => &[
            (libc::IPPROTO_IP, libc::IP_PKTINFO),
            (libc::IPPROTO_IP, libc::IP_FREEBIND),
        ],
    };
    for (level, option) in options {
        let on: libc::c_int = 1;
        // SAFETY: the value is an integer of the given size, and lives during the call.
        let done = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                *level,
                *option,
                ptr::from_ref(&on).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Receives one datagram without waiting.
pub(super) fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, Envelope)> {
    // SAFETY: addresses and control bytes are plain numbers, for which zeros are valid.
    let mut envelope: Envelope = unsafe { mem::zeroed() };
    envelope.from_length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    envelope.control_length = envelope.control.0.len();
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut message = message(&mut envelope, &mut part);
    // SAFETY: every pointer of the message points to memory of the length beside it, which outlives
    // the call.
    let count = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    envelope.from_length = message.msg_namelen;
    envelope.control_length = message.msg_controllen as _;
    Ok((count, envelope))
}

/// Sends an answer back the way the question came: the packet information of the question names the
/// source of the answer.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    envelope: &mut Envelope,
) -> io::Result<()> {
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    let message = message(envelope, &mut part);
    // SAFETY: as above; the kernel only reads what the message points to.
    let sent = unsafe {
        libc::sendmsg(
            socket.as_raw_fd(),
            &raw const message,
            libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
        )
    };
    if sent < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// A message header that points to an envelope and one part.
fn message(envelope: &mut Envelope, part: &mut libc::iovec) -> libc::msghdr {
    // SAFETY: a message header of zeros and null pointers is valid and refers to nothing.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_name = ptr::from_mut(&mut envelope.from).cast();
    message.msg_namelen = envelope.from_length;
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message.msg_control = envelope.control.0.as_mut_ptr().cast();
    message.msg_controllen = envelope.control_length as _;
    message
}
