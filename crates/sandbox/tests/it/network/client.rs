//! Everyday use of the client.

use tool_harness_sandbox::network::Request;

use crate::network::server::{Names, Server, client, get, ok};

#[tokio::test]
async fn an_allowed_name_is_reached_by_every_method_with_headers_and_body() {
    let server = Server::saying("127.0.0.1", "hello");
    let names = Names::of(&[("api.test", &["127.0.0.1"])]);
    let client = client(
        &[&format!("api.test:{}", server.port()), &server.entry()],
        &names,
    );
    for method in [
        "GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND",
    ] {
        let request = Request {
            method: method.to_owned(),
            url: format!("http://api.test:{}/a/b?c=d#e", server.port()),
            headers: vec![
                ("X-Key".to_owned(), "k".to_owned()),
                ("Accept".to_owned(), "text/plain".to_owned()),
            ],
            body: if method == "GET" {
                Vec::new()
            } else {
                b"body".to_vec()
            },
        };
        let response = client.request(request).await.expect("an answer");
        assert_eq!(
            (response.status, &*response.text(), response.truncated),
            (200, "hello", false)
        );
        let seen = server.seen().pop().expect("a request");
        let head = seen.to_ascii_lowercase();
        assert!(
            seen.starts_with(&format!("{method} /a/b?c=d HTTP/1.1\r\n")),
            "{seen}"
        );
        assert!(
            head.contains(&format!("host: api.test:{}\r\n", server.port()))
                && head.contains("x-key: k\r\n"),
            "{seen}"
        );
        assert!(
            head.contains("accept: text/plain\r\n")
                && !head.contains("*/*")
                && head.contains("user-agent: harness/"),
            "{seen}"
        );
        assert_eq!(head.ends_with("body"), method != "GET");
    }
}

#[tokio::test]
async fn an_answer_has_its_status_and_headers() {
    let server = Server::start("127.0.0.1", |_| {
        b"HTTP/1.1 404 No\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 2\r\n\r\nno".to_vec()
    });
    let client = client(&[&server.entry()], &Names::default());
    let response = client
        .request(Request::get(&format!("http://{}/", server.address)))
        .await
        .expect("an answer");
    assert_eq!(response.status, 404);
    assert_eq!(
        response.headers,
        [
            ("x-a".to_owned(), "1".to_owned()),
            ("x-a".to_owned(), "2".to_owned())
        ]
    );
    assert_eq!(response.url, format!("http://{}/", server.address));
}

#[tokio::test]
async fn the_address_of_ipv6_is_reached_where_it_is_listed() {
    let server = Server::saying("::1", "six");
    let there = client(&[&server.entry()], &Names::default());
    assert_eq!(
        get(&there, &format!("http://{}/", server.address))
            .await
            .as_deref(),
        Ok("six")
    );
    let other = client(&["*"], &Names::default());
    assert!(
        get(&other, &format!("http://{}/", server.address))
            .await
            .is_err()
    );
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn the_environment_names_no_proxy() {
    // The test process has no such variables; it starts itself again with them.
    if std::env::var_os("HTTP_PROXY").is_some() {
        let server = Server::saying("127.0.0.1", "direct");
        let client = client(&[&server.entry()], &Names::default());
        assert_eq!(
            get(&client, &format!("http://{}/", server.address))
                .await
                .as_deref(),
            Ok("direct")
        );
        return;
    }
    let proxy = Server::start("127.0.0.1", |_| ok("proxied"));
    let ran = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "network::client::the_environment_names_no_proxy"])
        .envs(
            [
                "HTTP_PROXY",
                "http_proxy",
                "ALL_PROXY",
                "all_proxy",
                "HTTPS_PROXY",
            ]
            .map(|name| (name, format!("http://{}", proxy.address))),
        )
        .output()
        .expect("it runs");
    assert!(
        ran.status.success() && String::from_utf8_lossy(&ran.stdout).contains("1 passed"),
        "{}",
        String::from_utf8_lossy(&ran.stdout)
    );
    proxy.was_not_reached();
}

#[tokio::test]
async fn a_request_that_is_dropped_ends_its_connection() {
    use std::io::Read as _;
    let (sender, receiver) = std::sync::mpsc::channel();
    let server = Server::with("127.0.0.1", move |stream, _| {
        let mut bytes = Vec::new();
        sender.send("came").expect("somebody listens");
        stream.read_to_end(&mut bytes)?;
        sender.send("ended").expect("somebody listens");
        Ok(())
    });
    let client = client(&[&server.entry()], &Names::default());
    let url = format!("http://{}/", server.address);
    let mut told = Vec::new();
    let mut request = Box::pin(get(&client, &url));
    while told.is_empty() {
        let wait = tokio::time::timeout(std::time::Duration::from_millis(10), &mut request);
        assert!(wait.await.is_err(), "the server does not answer");
        told.extend(receiver.try_iter());
    }
    drop(request);
    while told.len() < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        told.extend(receiver.try_iter());
    }
    assert_eq!(told, ["came", "ended"]);
}
