//! TLS: certificate authorities decide who a server is.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, Stream};

use crate::network::server::{Names, Server, client, get, ok, read_request};

/// A certificate authority for tests.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(rcgen::DnType::CommonName, "an authority of the test");
        Authority(
            CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key"))
                .expect("a certificate"),
        )
    }

    pub(crate) fn certificate(&self) -> Vec<u8> {
        self.0.der().to_vec()
    }

    /// The configuration of a server with these names.
    fn config(&self, names: &[&str]) -> Arc<ServerConfig> {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(
            names
                .iter()
                .map(|name| String::from(*name))
                .collect::<Vec<_>>(),
        )
        .expect("parameters");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        config(certificate.der().to_vec(), key)
    }

    /// A server with these names that gives one answer per connection.
    pub(crate) fn server(&self, ip: &str, names: &[&str], words: &str) -> Server {
        serve(ip, self.config(names), words)
    }
}

fn config(certificate: Vec<u8>, key: KeyPair) -> Arc<ServerConfig> {
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions");
    Arc::new(
        builder
            .with_no_client_auth()
            .with_single_cert(vec![certificate.into()], key)
            .expect("a configuration"),
    )
}

fn serve(ip: &str, config: Arc<ServerConfig>, words: &str) -> Server {
    let words = words.to_owned();
    Server::with(ip, move |stream, seen| {
        let mut connection =
            ServerConnection::new(config.clone()).map_err(std::io::Error::other)?;
        let mut secure = Stream::new(&mut connection, stream);
        let request = read_request(&mut secure)?;
        seen.lock().expect("held").push(request);
        secure.write_all(&ok(&words))?;
        connection.send_close_notify();
        connection.complete_io(stream)?;
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        Ok(())
    })
}

#[tokio::test]
async fn a_server_that_the_authority_vouches_for_is_reached_and_no_other() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let own = KeyPair::generate().expect("a key");
    let unsigned = CertificateParams::new(vec!["a.test".to_owned()])
        .expect("parameters")
        .self_signed(&own)
        .expect("a certificate");
    let servers = [
        (authority.server("127.0.0.1", &["a.test"], "hello"), true),
        (authority.server("127.0.0.1", &["b.test"], "hello"), false),
        (stranger.server("127.0.0.1", &["a.test"], "hello"), false),
        (
            serve("127.0.0.1", config(unsigned.der().to_vec(), own), "hello"),
            false,
        ),
        (
            Server::with("127.0.0.1", |stream, _| stream.write_all(&ok("hello"))),
            false,
        ),
    ];
    let names = Names::of(&[("a.test", &["127.0.0.1"])]);
    for (number, (server, reached)) in servers.iter().enumerate() {
        let client = client(
            &[&format!("a.test:{}", server.port()), &server.entry()],
            &names,
        );
        let client = client
            .with_authorities(vec![authority.certificate()])
            .expect("a client");
        let answer = get(&client, &format!("https://a.test:{}/", server.port())).await;
        assert_eq!(answer.is_ok(), *reached, "{number}: {answer:?}");
        assert!(
            answer.is_ok_and(|text| text == "hello")
                || server
                    .seen()
                    .iter()
                    .all(|request| !request.contains("HTTP"))
        );
    }
}

#[tokio::test]
async fn an_address_needs_a_certificate_for_it_too() {
    let authority = Authority::new();
    for (name, reached) in [("127.0.0.1", true), ("127.0.0.9", false)] {
        let server = authority.server("127.0.0.1", &[name], "hello");
        let client = client(&[&server.entry()], &Names::default())
            .with_authorities(vec![authority.certificate()])
            .expect("a client");
        let answer = get(&client, &format!("https://{}/", server.address)).await;
        assert_eq!(answer.is_ok(), reached, "{answer:?}");
    }
}

#[tokio::test]
async fn the_machines_authorities_do_not_vouch_for_a_test() {
    let server = Authority::new().server("127.0.0.1", &["a.test"], "hello");
    let client = client(
        &[&format!("a.test:{}", server.port()), &server.entry()],
        &Names::of(&[("a.test", &["127.0.0.1"])]),
    );
    let error = get(&client, &format!("https://a.test:{}/", server.port()))
        .await
        .expect_err("no authority vouches for it");
    assert!(
        error.contains("no secure connection to host \"a.test\""),
        "{error}"
    );
}
