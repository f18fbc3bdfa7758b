//! A network in which the harness answers every destination.

use crate::process::world::{World, eventually, in_tier, in_time};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, channel};
use tool_harness_sandbox::network::{Domains, Listeners, Relay, RelayDenial, SystemResolver};
use tool_harness_sandbox::plan::Network;
use tool_harness_sandbox::process::{Denial, DenialLayer, End, RunningRelay, StartRelay};
use tool_harness_sandbox::tier::Tier;

/// Answers every connection with its destination address.
struct Echo;

struct Answering {
    seen: Arc<Mutex<Vec<String>>>,
}

impl StartRelay for Echo {
    fn start(&self, listeners: Listeners, domains: &Domains) -> io::Result<Box<dyn RunningRelay>> {
        assert!(!domains.is_empty());
        let seen = Arc::new(Mutex::new(Vec::new()));
        for socket in listeners.tcp {
            let (listener, seen) = (TcpListener::from(socket), seen.clone());
            std::thread::spawn(move || {
                while let Ok((mut stream, _)) = listener.accept() {
                    let meant = stream.local_addr().expect("an address").to_string();
                    seen.lock().expect("held").push(meant.clone());
                    let _ = stream.write_all(format!("meant for {meant}\n").as_bytes());
                    let _ = stream.shutdown(std::net::Shutdown::Write);
                    let _ = stream.read(&mut [0; 64]);
                }
            });
        }
        for socket in listeners.udp {
            let (socket, seen) = (UdpSocket::from(socket), seen.clone());
            std::thread::spawn(move || {
                let mut space = [0; 512];
                while let Ok((count, _)) = socket.recv_from(&mut space) {
                    seen.lock()
                        .expect("held")
                        .push(format!("datagram of {count}"));
                }
            });
        }
        Ok(Box::new(Answering { seen }))
    }
}

impl RunningRelay for Answering {
    fn finish(self: Box<Self>) -> Vec<Denial> {
        let seen = self.seen.lock().expect("held");
        seen.iter()
            .map(|what| Denial {
                layer: DenialLayer::Network,
                what: what.clone(),
                why: "seen".into(),
            })
            .collect()
    }
}

fn with_network(world: &World) -> World {
    let mut inside = World::new(world.sandbox.clone().serving(Arc::new(Echo)));
    inside.plan.network =
        Network::Allowed(Domains::parse(&["example.test".to_owned()]).expect("a list"));
    inside
}

#[test]
fn the_harness_answers_every_destination_and_nothing_answers_other_ports() {
    in_tier(Tier::A, |world| {
        let world = with_network(world);
        let ask = |host: &str, port: u16| {
            format!(
                "python3 -c \"import socket; print(socket.create_connection(('{host}', {port}), 5).recv(99).decode().strip())\""
            )
        };
        for host in ["203.0.113.7", "169.254.169.254", "127.0.0.1", "8.8.8.8"] {
            let finished = world.shell(&ask(host, 80));
            assert!(
                finished.stdout.text.contains(host),
                "{host}: {}{}",
                finished.stdout.text,
                finished.stderr.text
            );
            assert_eq!(finished.enforced.network, "relay");
            assert!(
                finished.denials.iter().any(
                    |denial| denial.layer == DenialLayer::Network && denial.what.contains(host)
                ),
                "{:?}",
                finished.denials
            );
        }
        assert!(world.says(&ask("2001:db8::7", 443)).contains("2001:db8::7"));
        in_time(Duration::from_secs(4), || {
            assert_ne!(world.shell(&ask("203.0.113.7", 22)).end, End::Exited(0));
            assert_ne!(world.shell("python3 -c \"import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('203.0.113.7', 443)); s.send(b'x'); s.send(b'x'); s.recv(1)\"").end, End::Exited(0));
        });
        // The listening thread may be late.
        let is_seen = || {
            let finished = world.shell("echo hello > /dev/udp/9.9.9.9/53; sleep 0.1");
            let mut denials = finished.denials.iter();
            denials.any(|denial| denial.what == "datagram of 6")
        };
        assert!(eventually(Duration::from_secs(10), is_seen));
    });
}

/// Answers with the real relay.
struct Relayed;

struct Relaying {
    relay: Relay,
    denied: Receiver<RelayDenial>,
}

impl StartRelay for Relayed {
    fn start(&self, listeners: Listeners, domains: &Domains) -> io::Result<Box<dyn RunningRelay>> {
        let (report, denied) = channel(99);
        Ok(Box::new(Relaying {
            relay: Relay::start(listeners, domains.clone(), Arc::new(SystemResolver), report)?,
            denied,
        }))
    }
}

impl RunningRelay for Relaying {
    fn finish(mut self: Box<Self>) -> Vec<Denial> {
        self.relay.report_refusals();
        let denied = std::iter::from_fn(|| self.denied.try_recv().ok());
        denied
            .map(|denied| Denial {
                layer: DenialLayer::Network,
                what: denied.what,
                why: denied.why,
            })
            .collect()
    }
}

#[test]
fn a_port_without_a_listener_is_refused_at_once_and_reported() {
    in_tier(Tier::A, |world| {
        let mut world = World::new(world.sandbox.clone().serving(Arc::new(Relayed)));
        world.plan.network =
            Network::Allowed(Domains::parse(&["example.test".to_owned()]).expect("a list"));
        let text = "
import socket
def tried(family, kind, host, port):
    s = socket.socket(family, kind); s.settimeout(5)
    try: s.connect((host, port)); s.send(b'x'); s.recv(1)
    except OSError as e: print(e.errno)
four, six, tcp, udp = socket.AF_INET, socket.AF_INET6, socket.SOCK_STREAM, socket.SOCK_DGRAM
for a in ((four, tcp, '10.1.2.3', 22), (six, tcp, '2001:db8::1', 25), (four, udp, '8.8.8.8', 123), (six, udp, '2001:db8::2', 443),
          (four, tcp, socket.gethostbyname('example.test'), 2222), (four, tcp, '127.0.0.1', 5432)): tried(*a)
";
        let finished = world.run("/usr/bin/python3", &["-c", text]).expect("ran");
        assert_eq!(
            finished.stdout.text,
            "111\n".repeat(6),
            "{}",
            finished.stderr.text
        );
        let mut tried: Vec<&str> = finished
            .denials
            .iter()
            .map(|denial| denial.what.as_str())
            .collect();
        tried.sort_unstable();
        assert_eq!(
            tried,
            [
                "10.1.2.3:22",
                "8.8.8.8:123",
                "[2001:db8::1]:25",
                "[2001:db8::2]:443",
                "example.test:2222"
            ]
        );
        let wanted = finished
            .denials
            .iter()
            .find(|denial| denial.what == "example.test:2222")
            .expect("a report");
        assert!(
            wanted.why.contains("`example.test:2222` would admit it"),
            "{}",
            wanted.why
        );
        // Its own servers and a served port are not refused.
        let text = "
import socket
own = socket.create_server(('127.0.0.1', 0)); socket.create_connection(own.getsockname()).close()
socket.create_connection(('example.test', 80)).close()
";
        let finished = world.run("/usr/bin/python3", &["-c", text]).expect("ran");
        assert_eq!(
            (finished.end, finished.denials.len()),
            (End::Exited(0), 0),
            "{:?} {}",
            finished.denials,
            finished.stderr.text
        );
    });
}

#[test]
fn without_a_relay_a_plan_with_a_network_runs_without_one_and_says_so() {
    for tier in [Tier::A, Tier::B] {
        in_tier(tier, |world| {
            let mut plan = world.plan.clone();
            plan.network =
                Network::Allowed(Domains::parse(&["example.test".to_owned()]).expect("a list"));
            let finished = world.shell_with(&plan, "exec 3<>/dev/tcp/127.0.0.1/80");
            assert_ne!(finished.end, End::Exited(0));
            assert!(
                finished
                    .enforced
                    .weaker
                    .iter()
                    .any(|line| line.contains("none can be reached")),
                "{:?}",
                finished.enforced
            );
        });
    }
}

#[test]
fn no_command_runs_in_the_network_of_the_machine_and_each_has_one_of_its_own() {
    in_tier(Tier::A, |world| {
        let machine = std::fs::read_link("/proc/self/ns/net")
            .expect("a namespace")
            .to_string_lossy()
            .into_owned();
        // The first command still runs while the second is asked, so that no namespace number is
        // reused.
        let line = "readlink /proc/self/ns/net; [ -e src/first ] && exit; echo > src/first; while [ ! -e src/second ]; do sleep 0.01; done";
        let mut seen: Vec<String> = std::thread::scope(|scope| {
            let first = scope.spawn(|| world.says(line));
            assert!(
                eventually(Duration::from_secs(10), || world.ws("src/first").exists()),
                "it did not start"
            );
            let second = world.says(line);
            std::fs::write(world.ws("src/second"), "").expect("a file");
            vec![first.join().expect("it ran"), second]
        });
        seen.push(format!("{machine}\n"));
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 3, "{seen:?}");
        let line = "python3 -c 'import socket as s; l = s.create_server((\"127.0.0.1\", 0)); s.create_connection(l.getsockname()); print(\"itself\")'";
        assert_eq!(world.says(line), "itself\n");
    });
}
