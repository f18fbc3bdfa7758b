//! Listeners that record their visitors, and a resolver with names of the test's choice.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tool_harness_sandbox::network::{Client, Domains, HttpLimits, Request, Resolve, Resolving};

/// A server that gives one answer per connection.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers each request with what `answer` makes of it.
    pub(crate) fn start(
        ip: &str,
        answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    ) -> Server {
        Server::with(ip, move |stream, seen| {
            let request = read_request(stream)?;
            seen.lock().expect("held").push(request.clone());
            stream.write_all(&answer(&request))
        })
    }

    /// Answers every request with the same words.
    pub(crate) fn saying(ip: &str, words: &str) -> Server {
        let words = words.to_owned();
        Server::start(ip, move |_| ok(&words))
    }

    /// Handles each connection with `serve`.
    pub(crate) fn with(
        ip: &str,
        serve: impl Fn(&mut TcpStream, &Mutex<Vec<String>>) -> io::Result<()> + Send + Sync + 'static,
    ) -> Server {
        let listener =
            TcpListener::bind((ip.parse::<IpAddr>().expect("an address"), 0)).expect("a listener");
        let address = listener.local_addr().expect("its address");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (serve, ours) = (Arc::new(serve), seen.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(mut stream), serve, seen) = (stream, serve.clone(), ours.clone()) else {
                    continue;
                };
                thread::spawn(move || {
                    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
                    let before = seen.lock().expect("held").len();
                    let _ = serve(&mut stream, &seen);
                    // A visitor that sent nothing counts, too.
                    let mut seen = seen.lock().expect("held");
                    if seen.len() == before {
                        seen.push(String::new());
                    }
                });
            }
        });
        Server { address, seen }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// The list entry that admits its address.
    pub(crate) fn entry(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("held").clone()
    }

    #[track_caller]
    pub(crate) fn was_not_reached(&self) {
        // Whatever is on its way arrives within this time.
        thread::sleep(Duration::from_millis(50));
        assert_eq!(self.seen(), Vec::<String>::new());
    }
}

pub(crate) fn ok(words: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{words}",
        words.len()
    )
    .into_bytes()
}

pub(crate) fn redirect(status: u16, to: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").into_bytes()
}

/// The head and the body of a request.
pub(crate) fn read_request(stream: &mut impl Read) -> io::Result<String> {
    let (mut bytes, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|l| {
                l.to_ascii_lowercase()
                    .strip_prefix("content-length:")?
                    .trim()
                    .parse::<usize>()
                    .ok()
            });
            let chunked = head
                .to_ascii_lowercase()
                .contains("transfer-encoding: chunked");
            if if chunked {
                body.ends_with("0\r\n\r\n")
            } else {
                body.len() >= length.unwrap_or(0)
            } {
                return Ok(text);
            }
        }
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&piece[..count]);
    }
}

/// Names and the answers to successive lookups; the last one stays.
#[derive(Clone, Default)]
pub(crate) struct Names(Arc<Mutex<HashMap<String, Vec<Vec<IpAddr>>>>>);

impl Names {
    pub(crate) fn of(names: &[(&str, &[&str])]) -> Names {
        let all = Names::default();
        for (name, addresses) in names {
            all.and(name, &[addresses]);
        }
        all
    }

    pub(crate) fn and(&self, name: &str, answers: &[&[&str]]) {
        let answers = answers
            .iter()
            .map(|list| {
                list.iter()
                    .map(|a| a.parse().expect("an address"))
                    .collect()
            })
            .collect();
        self.0
            .lock()
            .expect("held")
            .insert(name.to_owned(), answers);
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        let mut names = self.0.lock().expect("held");
        let answer = names.get_mut(name).map(|answers| {
            if answers.len() > 1 {
                answers.remove(0)
            } else {
                answers[0].clone()
            }
        });
        Box::pin(async move { answer.ok_or_else(|| io::ErrorKind::NotFound.into()) })
    }

    fn hosts_file_names(&self, address: IpAddr) -> Vec<String> {
        let names = self.0.lock().expect("held");
        let written = |name: &&String| name.ends_with(".written.test");
        names
            .iter()
            .filter(|(_, answers)| answers[0].contains(&address))
            .map(|(name, _)| name)
            .filter(written)
            .cloned()
            .collect()
    }
}

pub(crate) fn domains(entries: &[&str]) -> Domains {
    Domains::parse(entries).expect("entries")
}

/// A client for these entries, with the test's names.
pub(crate) fn client(entries: &[&str], names: &Names) -> Client {
    Client::new(domains(entries), small()).with_resolver(Arc::new(names.clone()))
}

pub(crate) fn small() -> HttpLimits {
    HttpLimits {
        body_bytes: 100_000,
        header_bytes: 16_384,
        headers: 50,
        redirects: 10,
        time: Duration::from_secs(30),
    }
}

/// Gets a URL; returns the text or the error message.
pub(crate) async fn get(client: &Client, url: &str) -> Result<String, String> {
    client
        .request(Request::get(url))
        .await
        .map(|response| response.text().into_owned())
        .map_err(|error| error.to_string())
}
