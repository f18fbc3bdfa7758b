//! Copying bytes both ways until the connection is idle.

use crate::lock::lock;
use std::io;
use std::sync::Mutex;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};

use super::request::{self, BodyLength, chunk_size};

const PIECE: usize = 16 * 1024;
const LONGEST_LINE: usize = 4096;
const LINGER: Duration = Duration::from_secs(1);

/// When bytes last moved.
pub(super) struct Clock {
    last: Mutex<Instant>,
    idle: Duration,
}

impl Clock {
    pub(super) fn new(idle: Duration) -> Clock {
        Clock {
            last: Mutex::new(Instant::now()),
            idle,
        }
    }

    fn tick(&self) {
        *lock(&self.last) = Instant::now();
    }

    /// Returns when nothing has moved for the whole idle time.
    async fn silence(&self) {
        loop {
            let until = *lock(&self.last) + self.idle;
            if until <= Instant::now() {
                return;
            }
            sleep_until(until).await;
        }
    }
}

/// Copies both ways until both sides have ended or nothing moves any more.
pub(super) async fn splice(
    client: &mut TcpStream,
    server: &mut TcpStream,
    clock: &Clock,
) -> io::Result<()> {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let both = async {
        tokio::try_join!(
            copy(&mut from_client, &mut to_server, clock),
            copy(&mut from_server, &mut to_client, clock)
        )
        .map(|_| ())
    };
    until_silent(both, clock).await
}

/// Forwards one body, and the answer back until the server ends it. Drops what the client sends
/// after the body.
pub(super) async fn one_request(
    client: &mut TcpStream,
    server: &mut TcpStream,
    early: &[u8],
    body: BodyLength,
    clock: &Clock,
) -> io::Result<()> {
    let (from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let mut input = Input {
        early,
        from: from_client,
        clock,
    };
    let request = async {
        pass_body(&mut input, &mut to_server, body).await?;
        // Some servers take a half-closed connection for a lost client, so it stays open; a client
        // that is gone is noticed when its answer cannot be written.
        let mut rest = [0; 1024];
        while input.from.read(&mut rest).await? != 0 {}
        std::future::pending::<io::Result<()>>().await
    };
    let exchange = async {
        tokio::select! {
            failed = request => failed,
            answered = answer(&mut from_server, &mut to_client, clock) => answered,
        }
    };
    until_silent(exchange, clock).await
}

/// Forwards an answer. Its head says that the connection ends with it: otherwise a client would
/// send its next request here.
async fn answer(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    clock: &Clock,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = request::end(&bytes) {
            let rest = bytes.split_off(end);
            if !bytes.starts_with(b"HTTP/1.1 1") {
                to.write_all(&request::closing(&bytes)).await?;
                to.write_all(&rest).await?;
                break;
            }
            // An interim response has a head of its own.
            to.write_all(&bytes).await?;
            bytes = rest;
        } else if bytes.len() > request::LONGEST_HEAD || from.read_buf(&mut bytes).await? == 0 {
            to.write_all(&bytes).await?;
            break;
        }
        clock.tick();
    }
    copy(from, to, clock).await
}

/// Reads what a client still sends for a moment: closing earlier would reset the connection, and
/// cut off the answer.
pub(super) async fn drain(client: &mut TcpStream) {
    let mut rest = [0; 1024];
    let reading = async { while matches!(client.read(&mut rest).await, Ok(count) if count > 0) {} };
    let _ = timeout(LINGER, reading).await;
}

async fn until_silent(work: impl Future<Output = io::Result<()>>, clock: &Clock) -> io::Result<()> {
    tokio::select! {
        done = work => done,
        () = clock.silence() => Err(io::ErrorKind::TimedOut.into()),
    }
}

async fn copy(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    clock: &Clock,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let count = from.read(&mut piece).await?;
        clock.tick();
        if count == 0 {
            // The other side may be gone already.
            let _ = to.shutdown().await;
            return Ok(());
        }
        to.write_all(piece.get(..count).unwrap_or_default()).await?;
        clock.tick();
    }
}

/// What a client sends, starting with the bytes that were read ahead.
struct Input<'a, R> {
    early: &'a [u8],
    from: R,
    clock: &'a Clock,
}

impl<R: AsyncRead + Unpin> Input<'_, R> {
    /// Up to `most` bytes; none only at the end.
    async fn some(&mut self, piece: &mut [u8], most: u64) -> io::Result<usize> {
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(piece.len());
        let piece = piece.get_mut(..most).unwrap_or_default();
        let count = if self.early.is_empty() {
            self.from.read(piece).await?
        } else {
            self.early.read(piece).await?
        };
        self.clock.tick();
        Ok(count)
    }

    /// A line without its CR LF.
    async fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        let mut byte = [0];
        while !line.ends_with(b"\r\n") {
            if line.len() == LONGEST_LINE || self.some(&mut byte, 1).await? == 0 {
                return Err(io::ErrorKind::InvalidData.into());
            }
            line.extend(byte);
        }
        line.truncate(line.len() - 2);
        Ok(line)
    }
}

async fn pass_body<R: AsyncRead + Unpin>(
    input: &mut Input<'_, R>,
    to: &mut (impl AsyncWrite + Unpin),
    body: BodyLength,
) -> io::Result<()> {
    match body {
        BodyLength::Bytes(count) => pass(input, to, count).await,
        BodyLength::Chunked => loop {
            let size = chunk_size(&input.line().await?).ok_or(io::ErrorKind::InvalidData)?;
            to.write_all(format!("{size:x}\r\n").as_bytes()).await?;
            if size == 0 {
                // Nothing has judged trailers: they are read and dropped.
                while !input.line().await?.is_empty() {}
                return to.write_all(b"\r\n").await;
            }
            pass(input, to, size).await?;
            if !input.line().await?.is_empty() {
                return Err(io::ErrorKind::InvalidData.into());
            }
            to.write_all(b"\r\n").await?;
        },
    }
}

async fn pass<R: AsyncRead + Unpin>(
    input: &mut Input<'_, R>,
    to: &mut (impl AsyncWrite + Unpin),
    mut count: u64,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    while count > 0 {
        let got = input.some(&mut piece, count).await?;
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        to.write_all(piece.get(..got).unwrap_or_default()).await?;
        input.clock.tick();
        count = count.saturating_sub(u64::try_from(got).unwrap_or(u64::MAX));
    }
    Ok(())
}
