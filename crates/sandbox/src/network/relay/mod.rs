//! The way out for processes: a network namespace in which every destination ends here.
//!
//! A program asks for a name and gets an address of our own that stands for it (`names`, `dns`,
//! `service`). When it connects, the list decides about the name and the port. Its first message
//! must name the same host (`hello`, `request`). Then the relay resolves the name outside, judges
//! every address, dials one, and copies bytes (`connection`, `flow`). Programs need not know about
//! any of this.
//!
//! The relay does not see inside TLS: a client can ask a server that serves several names for
//! another one of them, and can renegotiate TLS 1.2. Client hellos that hide their server name are
//! refused.

mod connection;
mod datagram;
mod dns;
mod flow;
mod hello;
mod names;
mod refusal;
mod request;
mod service;

use crate::lock::lock;
use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;

use self::names::Names;
use self::refusal::RefusalSocket;
use super::{DNS_PORT, Domains, Host, Listeners, Resolve};

/// At the same time, per relay; more wait in the kernel's queue.
const MOST_CONNECTIONS: usize = 256;
/// Distinct ones, per relay.
const MOST_REPORTS: usize = 1024;

/// Something that a process tried to reach and could not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RelayDenial {
    /// The name that it asked for, or the host and port of a connection.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// Serves the listeners of a namespace until it is dropped, which ends every connection.
pub struct Relay {
    /// Dropping the set aborts all tasks.
    _tasks: JoinSet<()>,
    shared: Arc<RelayState>,
    refusals: RefusalSocket,
}

/// How long the relay waits.
#[derive(Clone, Copy)]
struct Timeouts {
    /// For a client's first message.
    first: Duration,
    /// For a server's answer to a client hello.
    answer: Duration,
    /// Without a byte in either direction.
    idle: Duration,
}

const TIMEOUTS: Timeouts = Timeouts {
    first: Duration::from_secs(10),
    answer: Duration::from_secs(60),
    idle: Duration::from_secs(300),
};

struct RelayState {
    times: Timeouts,
    domains: Domains,
    resolver: Arc<dyn Resolve>,
    denied: Sender<RelayDenial>,
    names: Mutex<Names>,
    reported: Mutex<HashSet<RelayDenial>>,
    places: Arc<Semaphore>,
}

impl Relay {
    /// Starts serving. Reports each refusal once; drops reports that are not received.
    ///
    /// Must be called inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// When a descriptor is not a listening socket.
    pub fn start(
        listeners: Listeners,
        domains: Domains,
        resolver: Arc<dyn Resolve>,
        denied: Sender<RelayDenial>,
    ) -> io::Result<Relay> {
        Relay::with(TIMEOUTS, listeners, domains, resolver, denied)
    }

    /// Also reports what the kernel itself has refused so far: ports without a listener.
    pub fn report_refusals(&self) {
        self.refusals.report(&self.shared);
    }

    fn with(
        times: Timeouts,
        listeners: Listeners,
        domains: Domains,
        resolver: Arc<dyn Resolve>,
        denied: Sender<RelayDenial>,
    ) -> io::Result<Relay> {
        // Each listener holds a permit while it waits for its next connection.
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS + listeners.tcp.len()));
        let shared = Arc::new(RelayState {
            times,
            domains,
            resolver,
            denied,
            names: Mutex::default(),
            reported: Mutex::default(),
            places,
        });
        let mut tasks = JoinSet::new();
        for socket in listeners.tcp {
            let (listener, shared) = (tcp(socket)?, shared.clone());
            tasks.spawn(async move { accept(listener, shared).await });
        }
        for socket in listeners.udp {
            let (socket, shared) = (udp(socket)?, shared.clone());
            tasks.spawn(async move { service::datagrams(socket, &shared).await });
        }
        Ok(Relay {
            _tasks: tasks,
            shared,
            refusals: RefusalSocket::new(listeners.refusals),
        })
    }
}

fn tcp(socket: OwnedFd) -> io::Result<TcpListener> {
    rustix::io::ioctl_fionbio(&socket, true)?;
    TcpListener::from_std(socket.into())
}

fn udp(socket: OwnedFd) -> io::Result<UdpSocket> {
    rustix::io::ioctl_fionbio(&socket, true)?;
    datagram::prepare(socket.as_fd())?;
    UdpSocket::from_std(socket.into())
}

async fn accept(listener: TcpListener, shared: Arc<RelayState>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok(place) = shared.places.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((client, _)) => {
                let shared = shared.clone();
                connections.spawn(async move {
                    serve(client, &shared).await;
                    drop(place);
                });
            }
            // Running out of descriptors passes; nothing else lasts.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(client: TcpStream, shared: &RelayState) {
    match client.local_addr() {
        Ok(address) if address.port() == DNS_PORT => service::stream(client, shared).await,
        _ => connection::serve(client, shared).await,
    }
}

impl RelayState {
    fn name(&self, address: IpAddr) -> Option<Host> {
        lock(&self.names).name(address)
    }

    /// Whether the machine's hosts file has a name for an address that the list admits.
    fn is_in_hosts_file(&self, host: &Host, port: u16) -> bool {
        let admitted = |name: String| {
            Host::from_wire(name.as_bytes())
                .is_ok_and(|name| self.domains.check(&name, port).is_ok())
        };
        host.address().is_some_and(|address| {
            self.resolver
                .hosts_file_names(address)
                .into_iter()
                .any(admitted)
        })
    }

    fn give(&self, name: &Host) -> (Ipv4Addr, Ipv6Addr) {
        lock(&self.names).give(name)
    }

    fn report(&self, denied: RelayDenial) {
        let mut reported = lock(&self.reported);
        if reported.len() < MOST_REPORTS
            && !reported.contains(&denied)
            && self.denied.try_send(denied.clone()).is_ok()
        {
            reported.insert(denied);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::SystemResolver;
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::sync::mpsc::{Receiver, channel};

    /// A silent server, and a relay that leads to it: the listener's address is the wanted one.
    async fn world() -> (TcpListener, SocketAddr, Receiver<RelayDenial>, Relay) {
        let outside = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
        let port = outside.local_addr().expect("an address").port();
        let inside = TcpListener::bind(("127.0.0.6", port))
            .await
            .expect("a listener");
        let address = inside.local_addr().expect("an address");
        let list =
            Domains::parse(&[format!("localhost:{port}"), address.to_string()]).expect("entries");
        let listeners = Listeners {
            tcp: vec![inside.into_std().expect("a socket").into()],
            ..Listeners::default()
        };
        let (sender, denied) = channel(9);
        let short = Duration::from_millis(150);
        let times = Timeouts {
            first: short,
            answer: short,
            idle: short,
        };
        (
            outside,
            address,
            denied,
            Relay::with(times, listeners, list, Arc::new(SystemResolver), sender).expect("a relay"),
        )
    }

    async fn is_cut(client: &mut TcpStream) -> bool {
        let mut byte = [0];
        matches!(
            tokio::time::timeout(Duration::from_secs(5), client.read(&mut byte)).await,
            Ok(Ok(0) | Err(_))
        )
    }

    #[tokio::test]
    async fn a_client_that_sends_nothing_or_a_byte_at_a_time_is_cut_off() {
        let (outside, address, mut denied, _relay) = world().await;
        let mut silent = TcpStream::connect(address).await.expect("connected");
        assert!(is_cut(&mut silent).await);
        assert!(
            denied
                .recv()
                .await
                .expect("a report")
                .why
                .contains("in time")
        );
        let mut slow = TcpStream::connect(address).await.expect("connected");
        let drip = async {
            while slow.write_all(b"G").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), drip)
            .await
            .expect("cut off");
        assert!(
            tokio::time::timeout(Duration::from_millis(50), outside.accept())
                .await
                .is_err()
        );
    }

    #[tokio::test]
    async fn a_connection_over_which_nothing_moves_ends() {
        let (outside, address, _denied, _relay) = world().await;
        let mut client = TcpStream::connect(address).await.expect("connected");
        client
            .write_all(
                format!(
                    "GET / HTTP/1.1\r\nHost: localhost:{}\r\n\r\n",
                    address.port()
                )
                .as_bytes(),
            )
            .await
            .expect("sent");
        let (mut server, _) = outside.accept().await.expect("reached");
        let mut request = [0; 16];
        server.read_exact(&mut request).await.expect("a request");
        assert!(is_cut(&mut client).await);
    }

    #[tokio::test]
    async fn connections_end_with_their_relay() {
        let (outside, address, _denied, relay) = world().await;
        let mut client = TcpStream::connect(address).await.expect("connected");
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .await
            .expect("sent");
        let (mut server, _) = outside.accept().await.expect("reached");
        drop(relay);
        let mut rest = Vec::new();
        let _ = server.read_to_end(&mut rest).await;
        assert!(is_cut(&mut client).await && TcpStream::connect(address).await.is_err());
    }
}
