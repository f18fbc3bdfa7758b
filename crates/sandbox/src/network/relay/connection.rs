//! One connection of a program: find out whom it is for, check that its first message says the
//! same, and connect it to the outside.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::flow::{self, Clock};
use super::hello::{self, Hello};
use super::request;
use super::{RelayDenial, RelayState};
use crate::network::Host;
use crate::network::connect::connect;
use crate::network::domain::entry;

const NOT_THE_WEB: &str = "it is neither HTTP nor TLS, and only those are relayed";

/// Why a connection ends before its bytes flow.
enum Stop {
    /// The list does not allow it.
    Denied(RelayDenial),
    /// It broke.
    Broken,
}

impl From<io::Error> for Stop {
    fn from(_: io::Error) -> Stop {
        Stop::Broken
    }
}

/// Serves a connection to its end. A refused client sees a reset at once.
pub(super) async fn serve(mut client: TcpStream, shared: &RelayState) {
    let stopped = pass_on(&mut client, shared).await;
    if let Err(stop) = stopped {
        if let Stop::Denied(denied) = stop {
            shared.report(denied);
        }
        let _ = rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO));
    }
}

async fn pass_on(client: &mut TcpStream, shared: &RelayState) -> Result<(), Stop> {
    let _ = client.set_nodelay(true);
    // In a namespace where everything is local, the socket's own name is where the program wanted
    // to go.
    let wanted = client.local_addr()?;
    let (address, port) = (wanted.ip().to_canonical(), wanted.port());
    let target = Target {
        host: shared.name(address).unwrap_or_else(|| Host::from(address)),
        port,
    };
    // An address may belong to a name in the machine's hosts file; then the client must send that
    // name.
    if let Err(refused) = shared.domains.check(&target.host, port)
        && !shared.is_in_hosts_file(&target.host, port)
    {
        return Err(target.denied(&refused));
    }
    let first = timeout(shared.times.first, read_first(client))
        .await
        .map_err(|_| target.denied("it sent no complete HTTP request or TLS message in time"))??;
    let clock = Clock::new(shared.times.idle);
    match first {
        FirstMessage::Tls {
            name,
            bytes,
            length,
        } => {
            let host = target.settle(shared, name.as_deref().map(HostClaim::Server))?;
            let mut server = target.dial(shared, &host).await?;
            let (hello, early) = bytes.split_at_checked(length).unwrap_or((&bytes, &[]));
            server.write_all(hello).await?;
            let mut early = early.to_vec();
            if pass_answer(client, &mut server, shared.times.answer).await? {
                let second = once_more(client, &mut server, &mut early, &target, name.as_deref());
                timeout(shared.times.first, second)
                    .await
                    .map_err(|_| Stop::Broken)??;
            }
            server.write_all(&early).await?;
            flow::splice(client, &mut server, &clock).await?;
        }
        FirstMessage::Http { head, early } => {
            let mut host = None;
            for named in &head.hosts {
                let settled = target.settle(shared, Some(HostClaim::Request(named)))?;
                if host.get_or_insert_with(|| settled.clone()) != &settled {
                    return Err(target.denied("its HTTP request names two hosts"));
                }
            }
            let host = host.ok_or(Stop::Broken)?;
            let mut server = target.dial(shared, &host).await?;
            server.write_all(&head.text).await?;
            flow::one_request(client, &mut server, &early, head.body, &clock).await?;
            flow::drain(client).await;
        }
        FirstMessage::Bad(why) => return Err(target.denied(why)),
    }
    Ok(())
}

/// What a client sent first.
enum FirstMessage {
    Tls {
        name: Option<Vec<u8>>,
        bytes: Vec<u8>,
        length: usize,
    },
    Http {
        head: request::Head,
        early: Vec<u8>,
    },
    Bad(&'static str),
}

async fn read_first(client: &mut TcpStream) -> io::Result<FirstMessage> {
    let mut bytes = Vec::new();
    loop {
        if client.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if bytes.first() == Some(&hello::HANDSHAKE) {
            match hello::read(&bytes) {
                Hello::Whole { name, length } => {
                    return Ok(FirstMessage::Tls {
                        name,
                        bytes,
                        length,
                    });
                }
                Hello::Bad(why) => return Ok(FirstMessage::Bad(why)),
                Hello::More if bytes.len() > 2 * hello::LONGEST => {
                    return Ok(FirstMessage::Bad("its first TLS message is too long"));
                }
                Hello::More => {}
            }
        } else if !request::may_start(&bytes) {
            return Ok(FirstMessage::Bad(NOT_THE_WEB));
        } else if let Some(end) = request::end(&bytes) {
            let early = bytes.split_off(end);
            return Ok(match request::read(&bytes) {
                Ok(head) => FirstMessage::Http { head, early },
                Err(why) => FirstMessage::Bad(why),
            });
        } else if bytes.len() > request::LONGEST_HEAD {
            return Ok(FirstMessage::Bad(
                "its HTTP request has too many lines before the body",
            ));
        }
    }
}

/// Forwards the start of a server's answer; returns whether it asks for another client hello.
async fn pass_answer(
    client: &mut TcpStream,
    server: &mut TcpStream,
    time: Duration,
) -> Result<bool, Stop> {
    let mut bytes = Vec::new();
    let again = loop {
        match timeout(time, server.read_buf(&mut bytes)).await {
            Ok(Ok(count)) if count > 0 => {}
            _ => return Err(Stop::Broken),
        }
        if let Some(again) = hello::asks_again(&bytes) {
            break again;
        }
    };
    client.write_all(&bytes).await?;
    Ok(again)
}

/// Forwards the second client hello, which must name the server that was approved.
async fn once_more(
    client: &mut TcpStream,
    server: &mut TcpStream,
    early: &mut Vec<u8>,
    target: &Target,
    name: Option<&[u8]>,
) -> Result<(), Stop> {
    loop {
        match early.first() {
            Some(&hello::HANDSHAKE) => match hello::read(early) {
                Hello::Whole { name: second, .. } if second.as_deref() == name => return Ok(()),
                Hello::Whole { .. } => {
                    return Err(
                        target.denied("its second TLS message names another server than its first")
                    );
                }
                Hello::Bad(why) => return Err(target.denied(why)),
                Hello::More => {}
            },
            Some(&(hello::CHANGE_CIPHER | hello::APPLICATION | hello::ALERT)) => {
                if let &[_, _, _, high, low, ..] = early.as_slice() {
                    let length = 5 + usize::from(u16::from_be_bytes([high, low]));
                    if early.len() >= length {
                        server
                            .write_all(early.get(..length).unwrap_or_default())
                            .await?;
                        early.drain(..length);
                        continue;
                    }
                }
            }
            Some(_) => return Err(target.denied("its second TLS message cannot be read")),
            None => {}
        }
        if early.len() > 2 * hello::LONGEST || client.read_buf(early).await? == 0 {
            return Err(Stop::Broken);
        }
    }
}

/// Where a connection was going.
struct Target {
    host: Host,
    port: u16,
}

/// The host that a client claims to talk to.
enum HostClaim<'a> {
    Server(&'a [u8]),
    Request(&'a str),
}

impl Target {
    fn denied(&self, why: impl ToString) -> Stop {
        Stop::Denied(RelayDenial {
            what: entry(&self.host, self.port),
            why: why.to_string(),
        })
    }

    /// The host to dial, if what the client says agrees with where it connected.
    ///
    /// A client that connected to a name must send that name. One that connected to an address may
    /// also send a name that the list admits (`localhost`, a line of `/etc/hosts`): then that name
    /// is resolved outside like any other, and the address is ignored.
    fn settle(&self, shared: &RelayState, claim: Option<HostClaim<'_>>) -> Result<Host, Stop> {
        let (said, port) = match claim {
            None if self.host.address().is_some() => return Ok(self.host.clone()),
            None => return Err(self.denied("its TLS message names no server")),
            Some(HostClaim::Server(name)) => (Host::from_wire(name), None),
            Some(HostClaim::Request(text)) => {
                let (host, port) = split_port(text);
                (Host::from_wire(host.as_bytes()), port)
            }
        };
        let said = said.map_err(|bad| self.denied(bad))?;
        if port.is_some_and(|port| port.parse() != Ok(self.port)) {
            return Err(self.denied("it names another port than the one it connected to"));
        }
        if said != self.host {
            if self.host.name().is_some() || said.address().is_some() {
                return Err(self.denied(format_args!("it says it is for host \"{said}\"")));
            }
            shared
                .domains
                .check(&said, self.port)
                .map_err(|refused| self.denied(refused))?;
        }
        Ok(said)
    }

    async fn dial(&self, shared: &RelayState, host: &Host) -> Result<TcpStream, Stop> {
        connect(&shared.domains, &*shared.resolver, host, self.port)
            .await
            .map_err(|unreached| self.denied(unreached))
    }
}

/// Splits the host of a request from its port.
fn split_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    }
}
