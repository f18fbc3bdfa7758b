//! Attacks on the relay through the first TLS messages. The relay listens on a loopback address, so
//! no namespace is needed.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{Receiver, channel};
use tool_harness_sandbox::network::{Listeners, Relay, RelayDenial};

use crate::network::server::{Names, Server, domains};

/// The random bytes of a HelloRetryRequest (RFC 8446, 4.1.3).
const AGAIN: &str = "cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c";
const CHANGE_CIPHER: &[u8] = &[20, 3, 3, 0, 1, 1];

fn extension(kind: u16, content: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &sized(content)].concat()
}

fn sized(content: &[u8]) -> Vec<u8> {
    [
        &u16::try_from(content.len()).expect("short").to_be_bytes()[..],
        content,
    ]
    .concat()
}

fn server_name(name: &str) -> Vec<u8> {
    extension(0, &sized(&[&[0][..], &sized(name.as_bytes())].concat()))
}

/// A handshake message with these extensions.
fn message(extensions: &[Vec<u8>]) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    body.extend(sized(&extensions.concat()));
    [&[1, 0][..], &sized(&body)].concat()
}

fn record(content: &[u8]) -> Vec<u8> {
    [&[22, 3, 1][..], &sized(content)].concat()
}

fn hello(name: &str) -> Vec<u8> {
    record(&message(&[server_name(name)]))
}

fn server_answer(random: &[u8]) -> Vec<u8> {
    record(&[&[2, 0, 0, 38, 3, 3][..], random, &[0, 0x13, 1, 0]].concat())
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2)
        .map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("hex"))
        .collect()
}

struct World {
    /// All bytes that reached the server.
    got: Arc<Mutex<Vec<u8>>>,
    port: u16,
    denied: Receiver<RelayDenial>,
    _relay: Relay,
}

/// A server that answers the first bytes with `answer`, known as `a.test` and `b.test`, and a relay
/// on 127.0.0.5 that leads to it.
fn world(answer: Vec<u8>) -> World {
    let got = Arc::new(Mutex::new(Vec::new()));
    let ours = got.clone();
    let server = Server::with("127.0.0.1", move |stream, _| {
        let (mut piece, mut first) = ([0; 4096], true);
        loop {
            let count = stream.read(&mut piece)?;
            if count == 0 {
                return Ok(());
            }
            ours.lock()
                .expect("held")
                .extend_from_slice(&piece[..count]);
            if std::mem::take(&mut first) {
                stream.write_all(&answer)?;
            }
        }
    });
    let port = server.port();
    let listener = TcpListener::bind(("127.0.0.5", port)).expect("a listener");
    let list = domains(&[
        &format!("127.0.0.5:{port}"),
        &format!("127.0.0.1:{port}"),
        &format!("a.test:{port}"),
        &format!("b.test:{port}"),
    ]);
    let names = Names::of(&[("a.test", &["127.0.0.1"]), ("b.test", &["127.0.0.1"])]);
    let (sender, denied) = channel(100);
    let relay = Relay::start(
        Listeners {
            tcp: vec![listener.into()],
            ..Listeners::default()
        },
        list,
        Arc::new(names),
        sender,
    )
    .expect("a relay");
    World {
        got,
        port,
        denied,
        _relay: relay,
    }
}

impl World {
    /// Sends the parts with pauses between them; exactly `expected` reaches the server. If that is
    /// not everything, the relay ends the connection.
    #[track_caller]
    fn passes_on(&self, parts: &[&[u8]], expected: &[u8], why: &str) {
        let got = || self.got.lock().expect("held").clone();
        tokio::task::block_in_place(|| {
            self.got.lock().expect("held").clear();
            let mut client = TcpStream::connect(("127.0.0.5", self.port)).expect("connected");
            for part in parts {
                // The relay may have refused it already.
                let _ = client.write_all(part);
                std::thread::sleep(Duration::from_millis(20));
            }
            if expected.len() < parts.concat().len() {
                let _ = client.set_read_timeout(Some(Duration::from_secs(20)));
                let _ = client.read_to_end(&mut Vec::new());
            }
            let until = Instant::now() + Duration::from_secs(20);
            while got() != expected && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        assert_eq!(got(), expected, "{why}");
    }

    /// The relay's next report, which may come a moment after the end of the connection.
    async fn told(&mut self) -> String {
        let wait = tokio::time::timeout(Duration::from_secs(20), self.denied.recv());
        wait.await.expect("in time").expect("a report").why
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_read_however_the_message_is_cut() {
    let mut world = world(server_answer(&[9; 32]));
    let whole = hello("a.test");
    world.passes_on(&[&whole, b"more"], &[&whole[..], b"more"].concat(), "whole");
    let (front, back) = whole.split_at(20);
    world.passes_on(&[&front[..3], &front[3..], back], &whole, "in parts");
    let inner = message(&[extension(10, &[0; 300]), server_name("A.TEST")]);
    let pieces: Vec<u8> = inner.chunks(50).flat_map(record).collect();
    world.passes_on(&[&pieces], &pieces, "in several records");
    assert!(world.denied.try_recv().is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_name_another_server_or_hide_it_are_refused() {
    let mut world = world(server_answer(&[9; 32]));
    let two = extension(
        0,
        &sized(&[&[0][..], &sized(b"a.test"), &[0], &sized(b"evil.test")].concat()),
    );
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (
            hello("evil.test"),
            "host \"evil.test\" is not in network.allowed_domains",
        ),
        (
            hello("a.test.evil.test"),
            "is not in network.allowed_domains",
        ),
        (hello("a.test\0.evil.test"), "not a host"),
        (hello("a\u{435}.test"), "not ASCII"),
        (hello("127.0.0.1"), "it says it is for host \"127.0.0.1\""),
        (record(&message(&[two])), "cannot be read"),
        (
            record(&message(&[server_name("a.test"), server_name("evil.test")])),
            "cannot be read",
        ),
        (
            record(&message(&[
                server_name("a.test"),
                extension(0xfe0d, &[0; 40]),
            ])),
            "hides its server name",
        ),
        (
            record(
                &[
                    message(&[server_name("a.test")]),
                    message(&[server_name("evil.test")]),
                ]
                .concat(),
            ),
            "followed by another one",
        ),
        (record(&[2, 0, 0, 1, 0]), "does not start like a TLS"),
        (record(&[1, 0xff, 0xff, 0xff]), "too long"),
        (vec![22, 3, 1, 0xff, 0xff, 1], "does not start like a TLS"),
        (vec![22, 3, 1, 0, 0], "does not start like a TLS"),
    ];
    // The same refusal is reported once.
    let mut reported = String::new();
    for (bytes, why) in cases {
        world.passes_on(&[&bytes], b"", why);
        while !reported.contains(why) {
            reported.push_str(&world.told().await);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_client_hello_must_name_the_same_server() {
    let mut world = world(server_answer(&hex(AGAIN)));
    let (a, b) = (hello("a.test"), hello("b.test"));
    let good = [CHANGE_CIPHER, &a].concat();
    let then = [&a[..], &good, b"then anything"];
    world.passes_on(&then, &then.concat(), "the same server");
    let parts = [&a[..], &[CHANGE_CIPHER, &b].concat()];
    world.passes_on(&parts, &[&a[..], CHANGE_CIPHER].concat(), "another server");
    let told = world.told().await;
    assert!(told.contains("another server than its first"), "{told}");
    // A message sent ahead of the server's answer is read, too.
    world.passes_on(&[&[&a[..], &b].concat()], &a, "another server, ahead");
    let ahead = [&a[..], CHANGE_CIPHER, &a, b"x"].concat();
    world.passes_on(&[&ahead], &ahead, "the same server, ahead");
}
