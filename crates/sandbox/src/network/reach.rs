//! From a host that is admitted to a connection: resolve, judge every address, dial the one that was judged.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::time::Duration;

use thiserror::Error;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::domain::{Domains, Refused};
use super::host::Host;

/// More addresses than any name needs.
const MOST_ADDRESSES: usize = 32;
/// One address that does not answer must not use up the time of the others.
const DIAL: Duration = Duration::from_secs(5);

/// The addresses that a name stands for.
pub trait Resolve: Send + Sync {
    /// Looks a name up.
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a>;
}

/// What `Resolve` gives back.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Names as the machine resolves them.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        Box::pin(async move { Ok(lookup_host((name, 0)).await?.map(|address| address.ip()).collect()) })
    }
}

/// Why there is no connection.
#[derive(Debug, Error)]
pub(super) enum Unreached {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("host \"{host}\" has no address: {why}")]
    Unknown { host: Host, why: String },
    #[error("host \"{host}\" does not answer on port {port}: {why}")]
    Silent { host: Host, port: u16, why: String },
}

/// Connects to a host, if the list admits it there.
///
/// A name is resolved once, here, and what was judged is what is dialled: an answer that changes between two questions changes nothing.
/// One address that is not admitted refuses the name, since a mixture is what an attack looks like.
pub(super) async fn reach(domains: &Domains, resolver: &dyn Resolve, host: &Host, port: u16) -> Result<TcpStream, Unreached> {
    domains.check(host, port)?;
    let addresses = match (host.name(), host.address()) {
        (Some(name), _) => resolver.resolve(name).await.map_err(|e| Unreached::Unknown { host: host.clone(), why: e.to_string() })?,
        (None, address) => address.into_iter().collect(),
    };
    for address in &addresses {
        domains.check_address(host, port, *address)?;
    }
    let mut why = None;
    for address in addresses.into_iter().take(MOST_ADDRESSES) {
        match timeout(DIAL, TcpStream::connect(SocketAddr::new(address, port))).await {
            Ok(Ok(stream)) => {
                // Only a delay is lost when this fails.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => why = Some(error.to_string()),
            Err(_) => why = Some("no answer in time".to_owned()),
        }
    }
    let host = host.clone();
    Err(match why {
        Some(why) => Unreached::Silent { host, port, why },
        None => Unreached::Unknown { host, why: "the answer is empty".to_owned() },
    })
}
