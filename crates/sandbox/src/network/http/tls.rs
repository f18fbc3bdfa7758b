//! Secure connections: which authorities to trust.

use std::sync::{Arc, OnceLock};

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::error::HttpError;
use crate::network::Host;

/// Which authorities to trust.
#[derive(Clone, Debug)]
pub(super) enum Authorities {
    /// The machine's, so that its owner decides.
    Machine,
    /// These.
    Given(Arc<ClientConfig>),
}

impl Authorities {
    /// Authority certificates in DER; unreadable ones are ignored.
    pub(super) fn given(certificates: Vec<Vec<u8>>) -> Result<Authorities, String> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.into_iter().map(CertificateDer::from));
        config(roots).map(Authorities::Given)
    }

    /// Makes a connection secure, if the server proves that it is the host.
    pub(super) async fn secure(
        &self,
        host: &Host,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, HttpError> {
        let insecure = |why: String| HttpError::Insecure {
            host: host.to_string(),
            why,
        };
        let config = match self {
            Authorities::Given(config) => config.clone(),
            // Reading them blocks the thread for some milliseconds.
            Authorities::Machine => tokio::task::spawn_blocking(machine)
                .await
                .map_err(|e| insecure(e.to_string()))?
                .map_err(insecure)?,
        };
        let name = match host.address() {
            Some(address) => ServerName::from(address),
            None => ServerName::try_from(host.to_string()).map_err(|e| insecure(e.to_string()))?,
        };
        TlsConnector::from(config)
            .connect(name, stream)
            .await
            .map_err(|e| insecure(e.to_string()))
    }
}

/// Reads the machine's certificates once per process, at the first secure connection.
fn machine() -> Result<Arc<ClientConfig>, String> {
    static CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
    let read = || {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        match roots.is_empty() {
            true => Err("this machine has no CA certificates; Debian's package `ca-certificates` installs them".to_owned()),
            false => config(roots),
        }
    };
    CONFIG.get_or_init(read).clone()
}

fn config(roots: RootCertStore) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
