//! A network namespace in which every destination ends at the test's listeners, and programs that
//! run in it.
//!
//! Made with `unshare`, `ip` and Python, by none of the code under test.

use std::io::{BufRead as _, BufReader, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tempfile::TempDir;
use tokio::sync::mpsc::{Receiver, channel};
use tool_harness_sandbox::network::{DNS_PORT, Domains, Listeners, Relay, RelayDenial, Resolve};

const AGENT: &str = r#"
import os, socket, subprocess, sys
family = sys.argv[2]
for line in ["ip link set lo up", "ip addr add 198.18.0.0/32 dev lo", "ip addr add fd68:6172:6e65:7373::/128 dev lo", "ip route add local 0.0.0.0/0 dev lo", "ip -6 route add local ::/0 dev lo"]:
    subprocess.run(line.split(), check=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
door = socket.socket(socket.AF_UNIX)
door.connect(sys.argv[1])
def bound(kind, port):
    s = socket.socket(socket.AF_INET6 if family == "both" else socket.AF_INET, kind)
    if family == "both": s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.bind(("::" if family == "both" else "0.0.0.0", port))
    if kind == socket.SOCK_STREAM: s.listen(64)
    return s
made = [bound(socket.SOCK_DGRAM, 53)] + [bound(socket.SOCK_STREAM, int(p)) for p in sys.argv[3:]]
socket.send_fds(door, [b"x"], [s.fileno() for s in made])
for s in made: s.close()
while True:
    size = sys.stdin.buffer.readline()
    if not size: break
    words = sys.stdin.buffer.read(int(size)).decode().split("\0")
    ran = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    sys.stdout.buffer.write(b"%d %d\n" % (ran.returncode, len(ran.stdout)) + ran.stdout)
    sys.stdout.buffer.flush()
"#;

pub(crate) struct Namespace {
    agent: Child,
    words: ChildStdin,
    answers: BufReader<ChildStdout>,
    pub(crate) denied: Receiver<RelayDenial>,
    pub(crate) place: TempDir,
    relay: Option<Relay>,
}

impl Namespace {
    /// A namespace whose listeners a relay serves; `None` if it cannot be made here.
    pub(crate) fn new(domains: &Domains, resolver: impl Resolve + 'static) -> Option<Namespace> {
        Namespace::with("both", domains, resolver)
    }

    /// The same with listeners of one family, or of both.
    pub(crate) fn with(
        family: &str,
        domains: &Domains,
        resolver: impl Resolve + 'static,
    ) -> Option<Namespace> {
        for program in ["/usr/bin/unshare", "/usr/bin/python3"] {
            if !Path::new(program).exists() {
                println!("skipped: no {program}");
                return None;
            }
        }
        let place = TempDir::new().expect("a directory");
        let door = UnixListener::bind(place.path().join("door")).expect("a socket");
        let mut ports = domains.ports();
        ports.push(DNS_PORT);
        let mut agent = Command::new("/usr/bin/unshare")
            .args([
                "--user",
                "--map-root-user",
                "--net",
                "/usr/bin/python3",
                "-c",
                AGENT,
            ])
            .arg(place.path().join("door"))
            .arg(family)
            .args(ports.iter().map(u16::to_string))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        door.set_nonblocking(true).expect("set");
        let stream = loop {
            if let Ok((stream, _)) = door.accept() {
                break stream;
            }
            if agent.try_wait().expect("asked").is_some() {
                println!("skipped: no network namespace can be made here");
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        stream.set_nonblocking(false).expect("set");
        let mut sockets = descriptors(&stream).into_iter();
        let udp = sockets.by_ref().take(1).collect();
        let (sender, denied) = channel(100);
        let relay = Relay::start(
            Listeners {
                tcp: sockets.collect(),
                udp,
                refusals: None,
            },
            domains.clone(),
            Arc::new(resolver),
            sender,
        )
        .expect("a relay");
        let (words, answers) = (
            agent.stdin.take().expect("piped"),
            BufReader::new(agent.stdout.take().expect("piped")),
        );
        Some(Namespace {
            agent,
            words,
            answers,
            denied,
            place,
            relay: Some(relay),
        })
    }

    /// Runs a program in it; returns its exit code and its output.
    pub(crate) async fn run(&mut self, words: &[&str]) -> (i32, String) {
        let text = words.join("\0");
        write!(self.words, "{}\n{text}", text.len()).expect("written");
        self.words.flush().expect("written");
        // The relay lives in the same runtime, so do not block it.
        tokio::task::block_in_place(|| {
            let mut line = String::new();
            self.answers.read_line(&mut line).expect("read");
            let (code, length) = line.trim().split_once(' ').expect("two numbers");
            let mut output = vec![0; length.parse().expect("a number")];
            self.answers.read_exact(&mut output).expect("read");
            (
                code.parse().expect("a number"),
                String::from_utf8_lossy(&output).into_owned(),
            )
        })
    }

    /// Runs Python in it.
    pub(crate) async fn python(&mut self, script: &str) -> (i32, String) {
        self.run(&["/usr/bin/python3", "-c", script]).await
    }

    /// What was refused so far.
    pub(crate) fn refused(&mut self) -> Vec<RelayDenial> {
        std::iter::from_fn(|| self.denied.try_recv().ok()).collect()
    }

    pub(crate) fn stop_relay(&mut self) {
        self.relay = None;
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.agent.kill();
        let _ = self.agent.wait();
    }
}

fn descriptors(stream: &UnixStream) -> Vec<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(
        stream,
        &mut [IoSliceMut::new(&mut byte)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )
    .expect("received");
    let rights = |message| {
        if let RecvAncillaryMessage::ScmRights(sockets) = message {
            sockets.collect()
        } else {
            Vec::new()
        }
    };
    ancillary.drain().flat_map(rights).collect()
}
