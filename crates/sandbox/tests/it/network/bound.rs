//! Answers that never end, or grow when they are decompressed.

use std::io::Write as _;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use tool_harness_sandbox::network::{Client, HttpError, HttpLimits, Request, Response};

use crate::network::server::{Names, Server, client, domains, read_request, small};

fn wrapped(coding: &str, body: &[u8]) -> Vec<u8> {
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    answer.extend_from_slice(body);
    answer
}

async fn answered(coding: &'static str, body: Vec<u8>) -> Result<Response, HttpError> {
    let server = Server::start("127.0.0.1", move |_| wrapped(coding, &body));
    client(&[&server.entry()], &Names::default())
        .request(Request::get(&format!("http://{}/", server.address)))
        .await
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("written");
    encoder.finish().expect("finished")
}

#[tokio::test]
async fn compressed_bodies_are_decoded() {
    let words = "häuser ".repeat(500);
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::best());
    zlib.write_all(words.as_bytes()).expect("written");
    let mut raw = DeflateEncoder::new(Vec::new(), Compression::best());
    raw.write_all(words.as_bytes()).expect("written");
    let twice = [
        gzip(&words.as_bytes()[..1000]),
        gzip(&words.as_bytes()[1000..]),
    ]
    .concat();
    let all = [
        ("gzip", gzip(words.as_bytes())),
        ("X-GZIP", gzip(words.as_bytes())),
        ("gzip", twice),
        ("deflate", zlib.finish().expect("finished")),
        ("deflate", raw.finish().expect("finished")),
        ("identity", words.clone().into_bytes()),
    ];
    for (coding, body) in all {
        let response = answered(coding, body).await.expect(coding);
        assert_eq!(
            (&*response.text(), response.truncated),
            (&*words, false),
            "{coding}"
        );
        assert_eq!(response.headers, []);
    }
    assert_eq!(
        answered("gzip", Vec::new())
            .await
            .expect("an empty body")
            .text(),
        ""
    );
}

#[tokio::test]
async fn a_bomb_is_cut_at_the_bound() {
    let bomb = gzip(&vec![0; 50_000_000]);
    assert!(bomb.len() < 100_000);
    let began = Instant::now();
    let response = answered("gzip", bomb.clone()).await.expect("an answer");
    assert_eq!((response.body.len(), response.truncated), (100_000, true));
    // Only empty members, without an end.
    let response = answered("gzip", gzip(b"").repeat(20_000))
        .await
        .expect("an answer");
    assert_eq!((response.body.len(), response.truncated), (0, true));
    assert!(began.elapsed() < Duration::from_secs(3));
    for (coding, body) in [
        ("gzip", b"no gzip at all".to_vec()),
        ("gzip", bomb[..5000].to_vec()),
        ("br", b"x".to_vec()),
        ("gzip, gzip", gzip(b"x")),
    ] {
        let result = answered(coding, body).await;
        assert!(
            result.as_ref().is_err() || result.as_ref().is_ok_and(|response| response.truncated),
            "{coding}: {result:?}"
        );
    }
}

fn endless(first: &'static str, again: &'static str, pause: Duration) -> Server {
    Server::with("127.0.0.1", move |stream, _| {
        read_request(stream)?;
        stream.write_all(first.as_bytes())?;
        stream.set_nodelay(true)?;
        loop {
            stream.write_all(again.as_bytes())?;
            if !pause.is_zero() {
                std::thread::sleep(pause);
            }
        }
    })
}

async fn short(server: &Server, time: Duration) -> Result<Response, HttpError> {
    let client = Client::new(domains(&[&server.entry()]), HttpLimits { time, ..small() });
    client
        .request(Request::get(&format!("http://{}/", server.address)))
        .await
}

#[tokio::test]
async fn an_endless_body_is_cut_at_the_bound() {
    let line = "words without an end, ";
    for (head, piece) in [
        ("HTTP/1.1 200 OK\r\n\r\n", line),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "5\r\nwords\r\n",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n",
            line,
        ),
    ] {
        let server = endless(head, piece, Duration::ZERO);
        let response = short(&server, Duration::from_secs(5))
            .await
            .expect("an answer");
        assert_eq!((response.body.len(), response.truncated), (100_000, true));
        assert!(response.text().starts_with("words"));
    }
}

#[tokio::test]
async fn endless_headers_and_slow_answers_are_errors() {
    for (head, piece, says) in [
        (
            "HTTP/1.1 200 OK\r\n",
            "X-Header: and on and on\r\n",
            "readable answer",
        ),
        (
            "HTTP/1.1 200 OK\r\nX: ",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "readable answer",
        ),
        ("", "HTTP/1.1 100 Continue\r\n\r\n", "within 1 seconds"),
        ("\x16\x03\x01", "\0", "readable answer"),
        ("HTTP/0.9", " hello\r\n\r\n", "readable answer"),
    ] {
        let server = endless(head, piece, Duration::ZERO);
        let error = short(&server, Duration::from_secs(1))
            .await
            .expect_err(head)
            .to_string();
        assert!(
            error.contains(says) || error.contains("readable answer"),
            "{head:?}: {error}"
        );
    }
    let began = Instant::now();
    for head in ["HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 200 OK\r\n\r\n"] {
        let server = endless(head, "a", Duration::from_millis(20));
        let error = short(&server, Duration::from_millis(400))
            .await
            .expect_err("too slow");
        assert!(matches!(error, HttpError::Time { .. }), "{error}");
    }
    assert!(began.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn a_body_that_breaks_off_is_an_error_and_a_cut_letter_is_left_out() {
    let broken = Server::start("127.0.0.1", |_| {
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_vec()
    });
    assert!(
        short(&broken, Duration::from_secs(2))
            .await
            .expect_err("broken")
            .to_string()
            .contains("gave no readable answer")
    );
    let umlauts = Server::start("127.0.0.1", |_| {
        crate::network::server::ok(&format!("a{}", "ä".repeat(100_000)))
    });
    let response = short(&umlauts, Duration::from_secs(2))
        .await
        .expect("an answer");
    assert!(response.truncated && response.text().ends_with('ä'));
}
