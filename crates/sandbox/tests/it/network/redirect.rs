//! Redirects: every hop is judged, and credentials stay with their origin.

use tool_harness_sandbox::network::{HttpError, Request};

use crate::network::server::{Names, Server, client, get, ok, redirect};

/// Follows a redirect; returns what the second server saw, and that server.
async fn led(status: u16, method: &str, headers: &[(&str, &str)], body: &[u8]) -> (String, Server) {
    let second = Server::saying("127.0.0.2", "second");
    let to = format!("http://b.test:{}/there", second.port());
    let first = Server::start("127.0.0.1", move |_| redirect(status, &to));
    let names = Names::of(&[("a.test", &["127.0.0.1"]), ("b.test", &["127.0.0.2"])]);
    let entries = [
        format!("a.test:{}", first.port()),
        format!("b.test:{}", second.port()),
        first.entry(),
        second.entry(),
    ];
    let client = client(&entries.each_ref().map(String::as_str), &names);
    let headers = headers
        .iter()
        .map(|(name, value)| (String::from(*name), String::from(*value)))
        .collect();
    let request = Request {
        method: method.to_owned(),
        url: format!("http://a.test:{}/", first.port()),
        headers,
        body: body.to_vec(),
    };
    let response = client.request(request).await.expect("an answer");
    assert_eq!(response.text(), "second");
    assert_eq!(
        response.url,
        format!("http://b.test:{}/there", second.port())
    );
    (
        second.seen().pop().expect("a request").to_ascii_lowercase(),
        second,
    )
}

#[tokio::test]
async fn methods_change_as_the_standard_says() {
    for (status, method, then, keeps) in [
        (301, "GET", "get", false),
        (301, "POST", "get", false),
        (302, "POST", "get", false),
        (302, "PUT", "put", true),
        (303, "PUT", "get", false),
        (307, "POST", "post", true),
        (308, "POST", "post", true),
    ] {
        let body: &[u8] = if method == "GET" { b"" } else { b"payload" };
        let (seen, _) = led(status, method, &[("Content-Type", "text/x")], body).await;
        assert!(
            seen.starts_with(&format!("{then} /there ")),
            "{status} {method}: {seen}"
        );
        assert_eq!(
            (seen.contains("payload"), seen.contains("text/x")),
            (keeps, keeps || method == "GET"),
            "{status} {method}: {seen}"
        );
    }
}

#[tokio::test]
async fn credentials_and_custom_headers_do_not_cross_origins() {
    let secrets = [
        ("Authorization", "Bearer s3cret"),
        ("Cookie", "c=s3cret"),
        ("X-Api-Key", "s3cret"),
        ("Accept", "text/plain"),
    ];
    let (seen, _) = led(307, "POST", &secrets, b"x").await;
    assert!(
        !seen.contains("s3cret") && seen.contains("accept: text/plain"),
        "{seen}"
    );
}

#[tokio::test]
async fn headers_stay_on_their_own_origin_and_do_not_come_back_after_another() {
    let far = Server::start("127.0.0.2", |request| {
        redirect(302, request.split(['?', ' ']).nth(2).unwrap_or_default())
    });
    let far_at = far.address;
    let near = Server::start("127.0.0.1", move |request| {
        match request.split(' ').nth(1) {
            Some("/own") => redirect(302, "/end"),
            Some("/away") => redirect(
                302,
                &format!(
                    "http://{far_at}/?http://{}/end",
                    request
                        .split("ost: ")
                        .nth(1)
                        .unwrap_or_default()
                        .lines()
                        .next()
                        .unwrap_or_default()
                ),
            ),
            _ => ok("end"),
        }
    });
    let client = client(&[&near.entry(), &far.entry()], &Names::default());
    for (path, comes) in [("/own", true), ("/away", false)] {
        let headers = vec![("Authorization".to_owned(), "s3cret".to_owned())];
        let request = Request {
            headers,
            ..Request::get(&format!("http://{}{path}", near.address))
        };
        assert_eq!(
            client.request(request).await.expect("an answer").text(),
            "end"
        );
        let last = near.seen().pop().expect("a request");
        assert!(
            last.starts_with("GET /end ") && last.contains("s3cret") == comes,
            "{last}"
        );
    }
}

#[tokio::test]
async fn a_redirect_leads_nowhere_that_is_not_allowed() {
    let secret = Server::saying("127.0.0.3", "secret");
    let port = secret.port();
    let places = [
        (
            format!("http://127.0.0.3:{port}/"),
            "host \"127.0.0.3\" is a loopback address",
        ),
        (
            format!("http://127.3:{port}/"),
            "host \"127.0.0.3\" is a loopback address",
        ),
        (
            format!("http://2130706435:{port}/"),
            "host \"127.0.0.3\" is a loopback address",
        ),
        (
            format!("http://[::ffff:127.0.0.3]:{port}/"),
            "is an IPv4-mapped address",
        ),
        (
            format!("//evil.test:{port}/"),
            "host \"evil.test\" is not in network.allowed_domains",
        ),
        (
            "http://169.254.169.254/latest/meta-data/".to_owned(),
            "host \"169.254.169.254\" is a cloud metadata address",
        ),
        (
            "http://[fd00:ec2::254]/latest/".to_owned(),
            "is a cloud metadata address",
        ),
        (
            format!("http://a.test@127.0.0.3:{port}/"),
            "it contains a user name or a password",
        ),
        (
            "file:///etc/passwd".to_owned(),
            "only http and https are supported",
        ),
        (
            "gopher://127.0.0.3/".to_owned(),
            "only http and https are supported",
        ),
        (
            format!("http://inner.test:{port}/"),
            "host \"inner.test\" is a loopback address (127.0.0.3)",
        ),
    ];
    for (to, says) in places {
        let target = to.clone();
        let first = Server::start("127.0.0.1", move |_| redirect(302, &target));
        let names = Names::of(&[
            ("a.test", &["127.0.0.1"]),
            ("inner.test", &["127.0.0.3"]),
            ("evil.test", &["127.0.0.3"]),
        ]);
        let entries = [
            format!("a.test:{}", first.port()),
            first.entry(),
            format!("inner.test:{port}"),
        ];
        let client = client(&entries.each_ref().map(String::as_str), &names);
        let error = get(&client, &format!("http://a.test:{}/", first.port()))
            .await
            .expect_err(&to);
        assert!(error.contains(says), "{to}: {error}");
        assert_eq!(first.seen().len(), 1);
    }
    secret.was_not_reached();
}

#[tokio::test]
async fn redirects_end_after_ten() {
    let server = Server::start("127.0.0.1", |request| {
        let number: u32 = request
            .split(['/', ' '])
            .nth(2)
            .and_then(|n| n.parse().ok())
            .unwrap_or(0);
        if number == 0 {
            ok("end")
        } else {
            redirect(302, &format!("/{}", number - 1))
        }
    });
    let client = client(&[&server.entry()], &Names::default());
    assert_eq!(
        get(&client, &format!("http://{}/10", server.address))
            .await
            .as_deref(),
        Ok("end")
    );
    let error = client
        .request(Request::get(&format!("http://{}/11", server.address)))
        .await
        .expect_err("too many");
    assert!(
        matches!(error, HttpError::Redirects { most: 10 }),
        "{error}"
    );
}
