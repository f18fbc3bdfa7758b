//! DNS over UDP and TCP.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd as _;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use super::dns::{self, Answer, QuestionName};
use super::{RelayDenial, RelayState, datagram};
use crate::network::HostRefusal;
use crate::network::host::quoted;
use crate::network::listeners::SANDBOX_HOSTNAME;

const LONGEST: usize = 4096;
const IDLE: Duration = Duration::from_secs(10);

/// Answers datagrams until the relay is dropped.
pub(super) async fn datagrams(socket: UdpSocket, shared: &RelayState) {
    let mut buffer = vec![0; LONGEST];
    loop {
        let received = socket
            .async_io(Interest::READABLE, || {
                datagram::receive(socket.as_fd(), &mut buffer)
            })
            .await;
        match received {
            Ok((count, mut envelope)) => {
                if let Some(reply) = answer(buffer.get(..count).unwrap_or_default(), shared) {
                    // A lost answer is no harm: the client asks again.
                    let _ = datagram::send(socket.as_fd(), &reply, &mut envelope);
                }
            }
            // A socket error belongs to an earlier datagram; the next one may work.
            Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
}

/// Answers the questions of one connection.
pub(super) async fn stream(mut client: TcpStream, shared: &RelayState) {
    while let Ok(Ok(())) = timeout(IDLE, question(&mut client, shared)).await {}
}

async fn question(client: &mut TcpStream, shared: &RelayState) -> io::Result<()> {
    let mut bytes = vec![0; usize::from(client.read_u16().await?)];
    client.read_exact(&mut bytes).await?;
    let reply = answer(&bytes, shared).ok_or(io::ErrorKind::InvalidData)?;
    client
        .write_u16(u16::try_from(reply.len()).map_err(|_| io::ErrorKind::InvalidData)?)
        .await?;
    client.write_all(&reply).await
}

fn answer(message: &[u8], shared: &RelayState) -> Option<Vec<u8>> {
    dns::answer(message, |asked| lookup(asked, shared))
}

fn lookup(asked: &QuestionName, shared: &RelayState) -> Answer {
    let denied = match asked {
        Ok(host) if shared.domains.knows(host) => {
            let (v4, v6) = shared.give(host);
            return Answer::Known(v4, v6);
        }
        // A program that asks for its own machine means itself.
        Ok(host)
            if host
                .name()
                .is_some_and(|name| [SANDBOX_HOSTNAME, "localhost"].contains(&name)) =>
        {
            return Answer::Known(Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        }
        // Reverse lookups do not mean to reach anything.
        Ok(host) if host.name().is_some_and(|name| name.ends_with(".arpa")) => {
            return Answer::Unknown;
        }
        Ok(host) => RelayDenial {
            what: host.to_string(),
            why: HostRefusal::Host { host: host.clone() }.to_string(),
        },
        Err(text) => RelayDenial {
            what: quoted(text),
            why: "it is not a host name".to_owned(),
        },
    };
    shared.report(denied);
    Answer::Unknown
}
