//! Real programs in a namespace: they reach allowed names, and nothing else.

use std::fs;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::network::namespace::Namespace;
use crate::network::secure::Authority;
use crate::network::server::{Names, Server, domains};

/// A server that is allowed as `a.test`, one that is not, and a namespace.
fn world(ip: &str) -> Option<(Server, Server, Namespace)> {
    let (good, evil) = (
        Server::saying(ip, "hello"),
        Server::saying("127.0.0.3", "secret"),
    );
    let names = Names::of(&[
        ("a.test", &[ip]),
        ("sub.a.test", &[ip]),
        ("evil.test", &["127.0.0.3"]),
    ]);
    let list = domains(&[
        &format!("a.test:{}", good.port()),
        &good.entry(),
        &format!("b.test:{}", evil.port()),
    ]);
    Some((good, evil, Namespace::new(&list, names)?))
}

#[tokio::test(flavor = "multi_thread")]
async fn curl_and_python_reach_the_allowed_name_and_nothing_else() {
    for ip in ["127.0.0.1", "::1"] {
        let Some((good, evil, mut inside)) = world(ip) else {
            return;
        };
        let (port, other) = (good.port(), evil.port());
        for family in ["-4", "-6"] {
            let got = inside
                .run(&[
                    "curl",
                    "-sS",
                    "-m10",
                    family,
                    &format!("http://a.test:{port}/x"),
                ])
                .await;
            assert_eq!(got, (0, "hello".to_owned()), "{family}");
        }
        let got = inside
            .run(&[
                "curl",
                "-sS",
                "-m10",
                &format!("http://sub.A.test:{port}/"),
                &format!("http://a.test:{port}/"),
            ])
            .await;
        assert_eq!(got, (0, "hellohello".to_owned()));
        let script = format!(
            "import urllib.request; print(urllib.request.urlopen('http://a.test:{port}/', b'data', 10).read().decode(), end='')"
        );
        assert_eq!(inside.python(&script).await, (0, "hello".to_owned()));
        assert_eq!(good.seen().len(), 5);
        assert!(
            good.seen()
                .iter()
                .all(|request| request.to_ascii_lowercase().contains("connection: close"))
        );
        assert_eq!(inside.refused(), []);

        for url in [
            format!("http://evil.test:{other}/"),
            format!("http://127.0.0.3:{other}/"),
            format!("http://127.0.0.3:{port}/"),
            format!("http://2130706435:{other}/"),
            format!("http://[::ffff:127.0.0.3]:{other}/"),
            format!("http://[::1]:{other}/"),
            format!("http://b.test:{other}/"),
            "http://169.254.169.254/latest/meta-data/".to_owned(),
            "http://8.8.8.8/".to_owned(),
            format!("http://a.test:{other}/"),
        ] {
            let (code, output) = inside.run(&["curl", "-sS", "-g", "-m10", &url]).await;
            assert!(code != 0 && !output.contains("secret"), "{url}: {output}");
        }
        evil.was_not_reached();
        assert_eq!(good.seen().len(), 5);
        let refused = inside.refused();
        let said = |what: &str, why: &str| {
            refused
                .iter()
                .any(|denied| denied.what == what && denied.why.contains(why))
        };
        assert!(
            said(
                "evil.test",
                "host \"evil.test\" is not in network.allowed_domains"
            ),
            "{refused:?}"
        );
        assert!(
            said(&format!("127.0.0.3:{other}"), "is a loopback address"),
            "{refused:?}"
        );
        assert!(said(&format!("a.test:{other}"), "port"), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_in_the_hosts_file_is_reachable_and_its_bare_address_is_not() {
    let (good, other) = (Server::saying("127.0.0.1", "hello"), "93.184.216.34");
    let port = good.port();
    let names = Names::of(&[
        ("a.written.test", &["127.0.0.1", other]),
        ("b.written.test", &["127.0.0.1", "93.184.216.35"]),
    ]);
    let list = domains(&[&format!("a.written.test:{port}"), &good.entry()]);
    let Some(mut inside) = Namespace::new(&list, names) else {
        return;
    };
    // As a program that reads `/etc/hosts` would.
    let mut get = async |name: &str, address: &str| {
        let (told, url) = (
            format!("{name}:{port}:{address}"),
            format!("http://{name}:{port}/"),
        );
        inside
            .run(&["curl", "-sS", "-m10", "--resolve", &told, &url])
            .await
    };
    assert_eq!(get("a.written.test", other).await, (0, "hello".to_owned()));
    for (name, address) in [
        (other, other),
        ("b.written.test", other),
        ("b.written.test", "93.184.216.35"),
        ("a.written.test", "93.184.216.36"),
    ] {
        let (code, output) = get(name, address).await;
        assert!(
            code != 0 && !output.contains("hello"),
            "{name} {address}: {output}"
        );
    }
    assert_eq!(good.seen().len(), 1);
    let refused = inside.refused();
    assert!(
        refused
            .iter()
            .any(|denied| denied.what == format!("{other}:{port}")),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_keeps_its_connections_is_told_that_this_one_ends() {
    // A server that does not announce it.
    let good = Server::start("127.0.0.1", |_| {
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nKeep-Alive: timeout=5\r\n\r\nhello"
            .to_owned()
            .into_bytes()
    });
    let port = good.port();
    let list = domains(&[&format!("a.test:{port}"), &good.entry()]);
    let Some(mut inside) = Namespace::new(&list, Names::of(&[("a.test", &["127.0.0.1"])])) else {
        return;
    };
    let script = format!(
        "import http.client\nc = http.client.HTTPConnection('a.test', {port}, timeout=10)\nfor _ in range(3):\n  c.request('GET', '/')\n  print(c.getresponse().read().decode(), end='')"
    );
    assert_eq!(
        inside.python(&script).await,
        (0, "hellohellohello".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_asks_for_its_own_machine_reaches_itself_without_an_event() {
    let Some((_good, evil, mut inside)) = world("127.0.0.1") else {
        return;
    };
    let ask = |name: &str| {
        format!(
            "import socket; print(sorted({{a[4][0] for a in socket.getaddrinfo('{name}', 1)}}), end='')"
        )
    };
    for name in ["sandbox", "Sandbox."] {
        assert_eq!(
            inside.python(&ask(name)).await,
            (0, "['127.0.0.1', '::1']".to_owned()),
            "{name}"
        );
    }
    assert_eq!(inside.refused(), []);
    // Neither similar names, nor the machine outside.
    assert_ne!(inside.python(&ask("sandbox.evil.test")).await.0, 0);
    let (_, output) = inside
        .run(&[
            "curl",
            "-sS",
            "-m10",
            &format!("http://sandbox:{}/", evil.port()),
        ])
        .await;
    assert!(!output.contains("secret"), "{output}");
    evil.was_not_reached();
    assert!(
        inside
            .refused()
            .iter()
            .any(|denied| denied.what == "sandbox.evil.test")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_static_program_that_knows_no_proxy_is_captured_too() {
    let Some((good, evil, mut inside)) = world("127.0.0.1") else {
        return;
    };
    let (source, program) = (
        inside.place.path().join("client.c"),
        inside.place.path().join("client"),
    );
    fs::write(&source, CLIENT).expect("written");
    let built = Command::new("gcc")
        .args(["-static", "-O1", "-w", "-o"])
        .arg(&program)
        .arg(&source)
        .output();
    if !built.is_ok_and(|built| built.status.success()) {
        println!("skipped: no gcc that links statically");
        return;
    }
    let program = program.to_str().expect("text").to_owned();
    let (port, other) = (good.port().to_string(), evil.port().to_string());
    // It asks a name server of its own choice, and sets variables for a proxy that does not exist.
    for server in ["8.8.8.8", "127.0.0.53", "2606:4700::1111"] {
        let got = inside
            .run(&[
                "env",
                "http_proxy=http://127.0.0.3:1",
                &program,
                server,
                "a.test",
                &port,
            ])
            .await;
        assert!(got.0 == 0 && got.1.ends_with("hello"), "{server}: {got:?}");
    }
    let (code, output) = inside
        .run(&[&program, "8.8.8.8", "evil.test", &other])
        .await;
    assert_eq!((code, output.trim()), (3, "no such name"));
    let (code, _) = inside.run(&[&program, "-", "127.0.0.3", &other]).await;
    assert_ne!(code, 0);
    let (code, output) = inside.run(&[&program, "-", "127.0.0.1", &port]).await;
    assert!(code == 0 && output.ends_with("hello"), "{output}");
    evil.was_not_reached();
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_flows_end_to_end_for_the_name_that_was_asked_for() {
    let authority = Authority::new();
    let (good, evil) = (
        authority.server("127.0.0.1", &["a.test", "evil.test"], "hello"),
        Server::saying("127.0.0.3", "secret"),
    );
    let list = domains(&[&format!("a.test:{}", good.port()), &good.entry()]);
    let Some(mut inside) = Namespace::new(&list, Names::of(&[("a.test", &["127.0.0.1"])])) else {
        return;
    };
    let bundle = inside.place.path().join("ca.pem");
    let lines = STANDARD
        .encode(authority.certificate())
        .as_bytes()
        .chunks(64)
        .map(String::from_utf8_lossy)
        .collect::<Vec<_>>()
        .join("\n");
    fs::write(
        &bundle,
        format!("-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n"),
    )
    .expect("written");
    let bundle = bundle.to_str().expect("text").to_owned();
    let port = good.port();
    let got = inside
        .run(&[
            "curl",
            "-sS",
            "-m10",
            "--cacert",
            &bundle,
            &format!("https://a.test:{port}/"),
        ])
        .await;
    assert_eq!(got, (0, "hello".to_owned()));
    // The name of the connection is allowed, the one in its first message is not.
    let (code, _) = inside
        .run(&[
            "curl",
            "-sS",
            "-k",
            "-m10",
            "--connect-to",
            "evil.test::a.test:",
            &format!("https://evil.test:{port}/"),
        ])
        .await;
    assert_ne!(code, 0);
    // A connection to an address has no server name; listed addresses are fine.
    assert_eq!(
        inside
            .run(&[
                "curl",
                "-sS",
                "-k",
                "-m10",
                &format!("https://127.0.0.1:{port}/")
            ])
            .await,
        (0, "hello".to_owned())
    );
    let no_name = format!(
        "import socket, ssl; c = ssl._create_unverified_context(); c.check_hostname = False\n\
         s = socket.create_connection(('a.test', {port}), 10); s = c.wrap_socket(s); print('connected')"
    );
    let (code, output) = inside.python(&no_name).await;
    assert!(code != 0 && !output.contains("connected"), "{output}");
    let refused = inside.refused();
    assert!(
        refused
            .iter()
            .any(|denied| denied.why.contains("it says it is for host \"evil.test\"")),
        "{refused:?}"
    );
    assert!(
        refused
            .iter()
            .any(|denied| denied.why.contains("names no server")),
        "{refused:?}"
    );
    assert_eq!(
        good.seen()
            .iter()
            .filter(|request| request.contains("HTTP"))
            .count(),
        2
    );
    evil.was_not_reached();
}

#[tokio::test(flavor = "multi_thread")]
async fn large_bodies_flow_both_ways() {
    let server = Server::start("127.0.0.1", |request| {
        let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        crate::network::server::ok(&format!(
            "{} {}",
            body.matches('z').count(),
            "y".repeat(3_000_000)
        ))
    });
    let list = domains(&[&format!("a.test:{}", server.port()), &server.entry()]);
    let Some(mut inside) = Namespace::new(&list, Names::of(&[("a.test", &["127.0.0.1"])])) else {
        return;
    };
    let file = inside.place.path().join("body");
    fs::write(&file, "z".repeat(3_000_000)).expect("written");
    let data = format!("@{}", file.to_str().expect("text"));
    for header in ["X: 1", "Transfer-Encoding: chunked"] {
        let (code, output) = inside
            .run(&[
                "curl",
                "-sS",
                "-m20",
                "-H",
                header,
                "--data-binary",
                &data,
                &format!("http://a.test:{}/", server.port()),
            ])
            .await;
        assert!(
            code == 0 && output.starts_with("3000000 ") && output.len() == 3_000_008,
            "{header}: {code} {}",
            output.len()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_without_ipv6_reaches_the_same_hosts() {
    let (good, evil) = (
        Server::saying("127.0.0.1", "hello"),
        Server::saying("127.0.0.3", "secret"),
    );
    let list = domains(&[&format!("a.test:{}", good.port()), &good.entry()]);
    let Some(mut inside) = Namespace::with("four", &list, Names::of(&[("a.test", &["127.0.0.1"])]))
    else {
        return;
    };
    assert_eq!(
        inside
            .run(&[
                "curl",
                "-sS",
                "-m10",
                &format!("http://a.test:{}/", good.port())
            ])
            .await,
        (0, "hello".to_owned())
    );
    assert_ne!(
        inside
            .run(&[
                "curl",
                "-sS",
                "-m10",
                &format!("http://127.0.0.3:{}/", evil.port())
            ])
            .await
            .0,
        0
    );
    evil.was_not_reached();
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_that_ask_for_configured_families_only_find_both() {
    let Some((_, _, mut inside)) = world("127.0.0.1") else {
        return;
    };
    let script = "import socket\nfor f in (socket.AF_INET, socket.AF_INET6): print(socket.getaddrinfo('a.test', 80, f, flags=socket.AI_ADDRCONFIG)[0][4][0])";
    assert_eq!(
        inside.python(script).await,
        (0, "198.18.0.1\nfd68:6172:6e65:7373::1\n".to_owned())
    );
}

/// Asks a name server over UDP, connects, and makes one request.
const CLIENT: &str = r#"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
int main(int argc, char **argv) {
    struct sockaddr_in to = {AF_INET, htons(atoi(argv[3]))};
    unsigned char q[600] = {1, 2, 1, 0, 0, 1};
    if (*argv[1] != '-') {
        int n = 12, six = !!strchr(argv[1], ':');
        char name[200], *part;
        strcpy(name, argv[2]);
        for (part = strtok(name, "."); part; part = strtok(0, ".")) { q[n] = strlen(part); strcpy(q + n + 1, part); n += q[n] + 1; }
        q[n++] = 0; q[n++] = 0; q[n++] = 1; q[n++] = 0; q[n++] = 1;
        struct sockaddr_in v4 = {AF_INET, htons(53)};
        struct sockaddr_in6 v6 = {AF_INET6, htons(53)};
        inet_pton(AF_INET, argv[1], &v4.sin_addr); inet_pton(AF_INET6, argv[1], &v6.sin6_addr);
        int s = socket(six ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
        struct timeval wait = {5};
        setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
        /* Connected: an answer from any other address would not be seen. */
        if (six ? connect(s, (void *)&v6, sizeof v6) : connect(s, (void *)&v4, sizeof v4)) return 1;
        send(s, q, n, 0);
        int got = recv(s, q, sizeof q, 0);
        if (got < 0) { puts("no answer"); return 2; }
        if (q[3] & 15) { puts("no such name"); return 3; }
        memcpy(&to.sin_addr, q + got - 4, 4);
    } else inet_pton(AF_INET, argv[2], &to.sin_addr);
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(s, (void *)&to, sizeof to)) { perror("connect"); return 4; }
    char text[4096]; int n, all = 0;
    sprintf(text, "GET / HTTP/1.1\r\nHost: %s:%s\r\n\r\n", argv[2], argv[3]);
    write(s, text, strlen(text));
    while ((n = read(s, text, sizeof text)) > 0) { write(1, text, n); all += n; }
    return all ? 0 : 5;
}
"#;
