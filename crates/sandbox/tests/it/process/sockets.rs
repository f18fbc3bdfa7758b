//! Sockets and network of the machine.

use crate::process::world::{in_every_tier, in_time, mark};
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixDatagram, UnixListener};
use tool_harness_sandbox::process::End;
use tool_harness_sandbox::tier::Tier;

#[test]
fn sockets_of_other_programs_are_not_reached_and_pairs_of_its_own_are() {
    in_every_tier(|world| {
        let path = world.ws("src/docker.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        listener.set_nonblocking(true).expect("set");
        let abstract_name = format!("harness-test-{}", mark());
        let address =
            <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(&abstract_name).expect("a name");
        let hidden = UnixListener::bind_addr(&address).expect("a socket");
        hidden.set_nonblocking(true).expect("set");
        for name in [
            format!("'{}'", path.display()),
            format!("'\\0{abstract_name}'"),
        ] {
            let line = format!(
                "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect({name}); s.send(b'x')\""
            );
            assert_ne!(world.shell(&line).end, End::Exited(0), "{line}");
        }
        assert!(
            listener.accept().is_err() && hidden.accept().is_err(),
            "somebody connected"
        );
        assert_eq!(world.says("python3 -c \"import socket; a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))\""), "b'x'\n");
    });
}

#[test]
fn a_command_without_a_network_reaches_its_own_servers_and_no_others() {
    in_every_tier(|world| {
        let outside = TcpListener::bind("127.0.0.1:0").expect("a listener");
        outside.set_nonblocking(true).expect("set");
        let port = outside.local_addr().expect("an address").port();
        for (address, family) in [("127.0.0.1", "AF_INET"), ("::1", "AF_INET6")] {
            // On the same port as the one outside: it is another network.
            let line = format!(
                "python3 -c \"import socket; s = socket.socket(socket.{family}); s.bind(('{address}', {port})); s.listen(); c = socket.create_connection(('{address}', {port}), 5); c.send(b'x'); print(s.accept()[0].recv(1))\""
            );
            let finished = world.shell(&line);
            assert_eq!(
                finished.stdout.text == "b'x'\n",
                world.tier() == Tier::A,
                "{address}: {}",
                finished.stderr.text
            );
        }
        assert!(outside.accept().is_err(), "somebody connected");
    });
}

#[test]
fn without_a_network_no_packet_leaves_and_refusal_is_quick() {
    in_every_tier(|world| {
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let six = TcpListener::bind("[::1]:0").ok();
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        tcp.set_nonblocking(true).expect("set");
        udp.set_nonblocking(true).expect("set");
        let (port, datagrams) = (
            tcp.local_addr().expect("an address").port(),
            udp.local_addr().expect("an address").port(),
        );
        for line in [
            format!("exec 3<>/dev/tcp/127.0.0.1/{port}"),
            format!(
                "python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 5)\""
            ),
            format!(
                "python3 -c \"import socket; socket.create_connection(('::1', {}), 5)\"",
                six.as_ref()
                    .map_or(1, |six| six.local_addr().expect("an address").port())
            ),
            "python3 -c \"import socket; socket.create_connection(('203.0.113.7', 443), 5)\""
                .into(),
            "python3 -c \"import socket; socket.create_connection(('169.254.169.254', 80), 5)\""
                .into(),
            "python3 -c \"import socket; socket.getaddrinfo('secret.evil.test', 80)\"".into(),
            "python3 -c \"import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)\""
                .into(),
            "python3 -c \"import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\"".into(),
            "python3 -c \"import socket; socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)\""
                .into(),
            "python3 -c \"import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)\""
                .into(),
        ] {
            // Sooner than the program's own timeout.
            in_time(std::time::Duration::from_secs(4), || {
                assert_ne!(world.shell(&line).end, End::Exited(0), "{line}")
            });
        }
        // A datagram to its own address vanishes silently.
        world.shell(&format!("echo x > /dev/udp/127.0.0.1/{datagrams}"));
        assert!(tcp.accept().is_err(), "somebody connected");
        assert!(udp.recv(&mut [0; 8]).is_err(), "a packet came");
        if let Some(six) = six {
            six.set_nonblocking(true).expect("set");
            assert!(six.accept().is_err(), "somebody connected");
        }
    });
}

#[test]
fn no_end_of_a_pair_can_be_connected_elsewhere() {
    in_every_tier(|world| {
        let path = world.ws("src/listener.sock");
        let listener = UnixDatagram::bind(&path).expect("a listener");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("open to all");
        listener
            .set_nonblocking(true)
            .expect("asked, not waited for");
        for kind in ["SOCK_DGRAM", "SOCK_RAW", "SOCK_DGRAM | socket.SOCK_CLOEXEC"] {
            for deed in ["a.sendto(b'x', n)", "a.connect(n); a.send(b'x')"] {
                let line = format!(
                    "python3 -c \"import socket; a, b = socket.socketpair(socket.AF_UNIX, socket.{kind}); n = '{}'; {deed}\"",
                    path.display()
                );
                world.refuses(&line);
            }
        }
        assert!(listener.recv(&mut [0; 8]).is_err(), "nothing came");
        for kind in ["SOCK_STREAM", "SOCK_SEQPACKET"] {
            let line = format!(
                "python3 -c \"import socket; a, b = socket.socketpair(socket.AF_UNIX, socket.{kind}); a.send(b'x'); print(b.recv(1))\""
            );
            assert_eq!(world.says(&line), "b'x'\n");
        }
    });
}

#[test]
fn no_end_of_a_pair_takes_a_name_of_the_machine() {
    const BINDS: &str = "
import errno, socket, sys
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    for name in sys.argv[1:]:
        a, b = socket.socketpair(socket.AF_UNIX, kind)
        for deed in (lambda: a.bind('\\0' + name), lambda: b.bind(b''), lambda: b.connect('\\0' + name)):
            try:
                deed()
                print('done')
            except OSError as error:
                print(errno.errorcode[error.errno])
";
    in_every_tier(|world| {
        let taken = format!("harness-test-taken-{}", mark());
        let address =
            <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(&taken).expect("a name");
        let _held = UnixListener::bind_addr(&address).expect("a socket");
        let free = format!("harness-test-free-{}", mark());
        let said = world.says(&format!("python3 -c \"{BINDS}\" {taken} {free}"));
        let each: &[&str] = if world.tier() == Tier::A {
            // Its own names: the one that is taken outside is free here.
            &["done", "done", "ECONNREFUSED"]
        } else {
            &["EPERM", "EPERM", "EPERM"]
        };
        let expected: Vec<&str> = each.iter().copied().cycle().take(12).collect();
        let said: Vec<&str> = said.lines().collect();
        assert_eq!(said, expected, "tier {}", world.tier());
    });
}

#[test]
fn programs_that_talk_to_their_own_children_work() {
    const PAIRS: &str = "
import asyncio, multiprocessing, os, socket, subprocess
def child(end):
    end.send(end.recv() + 1)
if __name__ == '__main__':
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context('fork').Process(target=child, args=(theirs,))
    process.start()
    ours.send(41)
    print(ours.recv())
    process.join()
    read, write = os.pipe()
    os.write(write, b'through a pipe')
    print(os.read(read, 99).decode())
    a, b = socket.socketpair()
    a.sendall(b'through a pair')
    print(b.recv(99).decode())
    async def listen():
        started = await asyncio.create_subprocess_exec('cat', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return (await started.communicate(b'through a child'))[0].decode()
    print(asyncio.run(listen()))
";
    in_every_tier(|world| {
        let said = world.says(&format!("python3 -c \"{PAIRS}\""));
        assert_eq!(
            said,
            "42\nthrough a pipe\nthrough a pair\nthrough a child\n"
        );
    });
}
