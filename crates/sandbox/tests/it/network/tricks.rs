//! Attempts to make the client reach, or send, something that is not allowed.

use tool_harness_sandbox::network::Request;

use crate::network::server::{Names, Server, client, get};

#[tokio::test]
async fn no_spelling_of_a_loopback_address_is_reached() {
    let server = Server::saying("127.0.0.1", "secret");
    let names = Names::of(&[("localhost", &["127.0.0.1"]), ("127.0.0.1", &["127.0.0.1"])]);
    let port = server.port();
    let any = client(&["*", &format!("*:{port}")], &names);
    for host in [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "2130706433",
        "0177.0.0.1",
        "0",
        "0.0.0.0",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[::1]",
        "127.0.0.1.",
        "localhost",
        "LOCALHOST.",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "127。0。0。1",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "0x7f000001",
        "017700000001",
    ] {
        let error = get(&any, &format!("http://{host}:{port}/"))
            .await
            .expect_err(host);
        assert!(
            error.contains("address") || error.contains("is not in network.allowed_domains"),
            "{host}: {error}"
        );
    }
    server.was_not_reached();
    // The same server, once it is listed, in any spelling.
    let listed = client(&[&format!("localhost:{port}")], &names);
    for host in ["127.0.0.1", "127.1", "localhost"] {
        assert_eq!(
            get(&listed, &format!("http://{host}:{port}/"))
                .await
                .as_deref(),
            Ok("secret"),
            "{host}"
        );
    }
}

#[tokio::test]
async fn names_that_look_like_an_allowed_one_are_others() {
    let server = Server::saying("127.0.0.1", "hello");
    let port = server.port();
    let all = [
        "example.test",
        "okexample.test",
        "example.test.evil.test",
        "xn--xample-9uf.test",
        "sub.example.test",
    ];
    let names = Names::of(&all.map(|name| (name, ["127.0.0.1"].as_slice())));
    let client = client(&[&format!("example.test:{port}"), &server.entry()], &names);
    for name in [
        "okexample.test",
        "example.test.evil.test",
        "\u{435}xample.test",
        "example.test%2eevil.test",
        "example.test%00.evil.test",
        "example.test\u{0}.evil.test",
    ] {
        assert!(
            get(&client, &format!("http://{name}:{port}/"))
                .await
                .is_err(),
            "{name}"
        );
    }
    server.was_not_reached();
    for name in ["example.test", "EXAMPLE.test.", "sub.example.test"] {
        assert_eq!(
            get(&client, &format!("http://{name}:{port}/"))
                .await
                .as_deref(),
            Ok("hello"),
            "{name}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_changes_between_questions_changes_nothing() {
    let (good, inner) = (
        Server::saying("127.0.0.2", "good"),
        Server::saying("127.0.0.1", "inner"),
    );
    let names = Names::default();
    let list = [
        format!("a.test:{}", good.port()),
        good.entry(),
        format!("a.test:{}", inner.port()),
    ];
    let client = client(&list.each_ref().map(String::as_str), &names);
    // First the allowed address, then the other: the client dials the one it judged.
    names.and("a.test", &[&["127.0.0.2"], &["127.0.0.1"]]);
    assert_eq!(
        get(&client, &format!("http://a.test:{}/", good.port()))
            .await
            .as_deref(),
        Ok("good")
    );
    // The second request resolves and judges again.
    let error = get(&client, &format!("http://a.test:{}/", inner.port()))
        .await
        .expect_err("refused");
    assert!(
        error.contains("host \"a.test\" is a loopback address (127.0.0.1)"),
        "{error}"
    );
    // One bad address among good ones refuses the name.
    names.and("a.test", &[&["127.0.0.2", "127.0.0.1"]]);
    assert!(
        get(&client, &format!("http://a.test:{}/", good.port()))
            .await
            .is_err()
    );
    inner.was_not_reached();
    assert_eq!(good.seen().len(), 1);
}

#[tokio::test]
async fn an_unlisted_name_is_not_resolved() {
    struct NeverAsked;
    impl tool_harness_sandbox::network::Resolve for NeverAsked {
        fn resolve<'a>(&'a self, name: &'a str) -> tool_harness_sandbox::network::Resolving<'a> {
            panic!("asked for {name}")
        }
    }
    let client =
        client(&["a.test"], &Names::default()).with_resolver(std::sync::Arc::new(NeverAsked));
    let error = get(&client, "http://secret.evil.test/")
        .await
        .expect_err("refused");
    assert_eq!(
        error,
        "host \"secret.evil.test\" is not in network.allowed_domains"
    );
    assert!(
        get(&client, "http://a.test:22/")
            .await
            .expect_err("refused")
            .contains("port 22")
    );
}

#[tokio::test]
async fn urls_of_other_schemes_and_with_users_are_not_requested() {
    let client = client(&["*"], &Names::default());
    for (url, says) in [
        ("ftp://a.test/", "only http and https are supported"),
        ("file:///etc/passwd", "only http and https are supported"),
        ("data:text/plain,hello", "only http and https are supported"),
        (
            "http://user:s3cret@a.test/",
            "it contains a user name or a password",
        ),
        ("http://", "not requested"),
        ("a.test", "not requested"),
        ("http://a b/", "not requested"),
    ] {
        let error = get(&client, url).await.expect_err(url);
        assert!(
            error.contains(says) && !error.contains("s3cret"),
            "{url}: {error}"
        );
    }
}

#[tokio::test]
async fn a_request_cannot_smuggle_another() {
    let server = Server::saying("127.0.0.1", "hello");
    let client = client(&[&server.entry()], &Names::default());
    let url = format!("http://{}/", server.address);
    for (name, value) in [
        ("X", "1\r\nHost: evil.test"),
        ("X", "1\n\nGET / HTTP/1.1"),
        ("X\r\nY", "1"),
        ("X", "a\0b"),
        ("Host", "evil.test"),
        ("Content-Length", "0"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "keep-alive"),
        ("Upgrade", "h2c"),
        ("Proxy-Authorization", "x"),
        ("", "x"),
    ] {
        let request = Request {
            headers: vec![(name.to_owned(), value.to_owned())],
            ..Request::get(&url)
        };
        let error = client.request(request).await.expect_err(name).to_string();
        assert!(error.contains("cannot be sent"), "{name}: {error}");
    }
    for method in ["CONNECT", "TRACE", "GET / HTTP/1.1\r\nX:", "", "G ET"] {
        assert!(
            client
                .request(Request {
                    method: method.to_owned(),
                    ..Request::get(&url)
                })
                .await
                .is_err(),
            "{method}"
        );
    }
    server.was_not_reached();
    // In a path, such bytes are percent-encoded and stay in the path.
    assert_eq!(
        get(&client, &format!("{url}a\r\nHost: evil"))
            .await
            .as_deref(),
        Ok("hello")
    );
    assert_eq!(
        get(&client, &format!("{url}a%0d%0aHost:%20evil"))
            .await
            .as_deref(),
        Ok("hello")
    );
    assert!(server.seen().iter().all(
        |request| request.to_ascii_lowercase().matches("host:").count() <= 2
            && !request.contains("\r\nHost: evil")
    ));
}
