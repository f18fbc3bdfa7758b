//! Connecting to an admitted host: resolve it, judge every address, dial one that was judged.

use std::fs::File;
use std::future::Future;
use std::io::{self, Read as _};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::time::Duration;

use thiserror::Error;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::domain::{Domains, HostRefusal};
use super::host::Host;

/// More addresses than any name needs.
const MOST_ADDRESSES: usize = 32;
/// One silent address must not use up the time of the others.
const DIAL: Duration = Duration::from_secs(5);

/// Names that the machine itself defines.
const HOSTS: &str = "/etc/hosts";
/// How many bytes of it to read.
const MOST_HOSTS: u64 = 1 << 20;

/// Looks up the addresses of a name.
pub trait Resolve: Send + Sync {
    /// Looks up a name.
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a>;

    /// The names that the machine's hosts file gives an address: programs read them there without
    /// asking a resolver.
    fn hosts_file_names(&self, _address: IpAddr) -> Vec<String> {
        Vec::new()
    }
}

/// The answer of `Resolve`.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Names as the machine resolves them.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            Ok(lookup_host((name, 0))
                .await?
                .map(|address| address.ip())
                .collect())
        })
    }

    fn hosts_file_names(&self, address: IpAddr) -> Vec<String> {
        let mut text = Vec::new();
        // Without the file there are no such names.
        let _ = File::open(HOSTS).and_then(|file| file.take(MOST_HOSTS).read_to_end(&mut text));
        names_of(&String::from_utf8_lossy(&text), address)
    }
}

/// The names of an address in the text of a hosts file.
fn names_of(text: &str, address: IpAddr) -> Vec<String> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    let names = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let is_meant =
            words.next()?.parse::<IpAddr>().ok()?.to_canonical() == address.to_canonical();
        is_meant.then(|| words.map(str::to_owned).collect::<Vec<_>>())
    };
    lines.filter_map(names).flatten().collect()
}

/// Why there is no connection.
#[derive(Debug, Error)]
pub(super) enum ConnectError {
    #[error(transparent)]
    Refused(#[from] HostRefusal),
    #[error("host \"{host}\" has no address: {why}")]
    Unknown { host: Host, why: String },
    #[error("host \"{host}\" does not answer on port {port}: {why}")]
    Silent { host: Host, port: u16, why: String },
}

/// Connects to a host, if the list admits it there.
///
/// Resolves a name once and dials only addresses that were judged, so a changed answer changes
/// nothing. One address that is not admitted refuses the whole name, because a mixture is what an
/// attack looks like.
pub(super) async fn connect(
    domains: &Domains,
    resolver: &dyn Resolve,
    host: &Host,
    port: u16,
) -> Result<TcpStream, ConnectError> {
    domains.check(host, port)?;
    let addresses = match (host.name(), host.address()) {
        (Some(name), _) => resolver
            .resolve(name)
            .await
            .map_err(|e| ConnectError::Unknown {
                host: host.clone(),
                why: e.to_string(),
            })?,
        (None, address) => address.into_iter().collect(),
    };
    for address in &addresses {
        domains.check_address(host, port, *address)?;
    }
    let mut why = None;
    for address in addresses.into_iter().take(MOST_ADDRESSES) {
        match timeout(DIAL, TcpStream::connect(SocketAddr::new(address, port))).await {
            Ok(Ok(stream)) => {
                // If this fails, only some latency is lost.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => why = Some(error.to_string()),
            Err(_) => why = Some("no answer in time".to_owned()),
        }
    }
    let host = host.clone();
    Err(match why {
        Some(why) => ConnectError::Silent { host, port, why },
        None => ConnectError::Unknown {
            host,
            why: "the answer is empty".to_owned(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_names_is_read_as_the_machine_reads_it() {
        let text = "127.0.0.1 localhost\n93.184.216.34\tweb.test www.web.test # old.test\n#93.184.216.34 gone.test\n::ffff:93.184.216.34 six.test\nx y\n";
        let address = "93.184.216.34".parse().expect("an address");
        assert_eq!(
            names_of(text, address),
            ["web.test", "www.web.test", "six.test"]
        );
        assert_eq!(
            names_of(text, "1.1.1.1".parse().expect("an address")),
            [""; 0]
        );
    }
}
