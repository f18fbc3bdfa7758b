//! HTTP for tools: every hop is judged, every answer is limited.

mod body;
mod error;
mod request;
mod tls;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;

use self::body::{Body, Coding};
use self::request::Hop;
use self::tls::Authorities;
use super::connect::connect;
use super::{Domains, Resolve, SystemResolver};

pub use self::error::HttpError;
pub use self::request::Request;

/// Hyper's minimum.
const SMALLEST_BUFFER: usize = 8192;

/// How much one request may use, with all its redirects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// Bytes of a body to keep; the rest is not read.
    pub body_bytes: usize,
    /// Bytes of the response headers; at least 8192.
    pub header_bytes: usize,
    /// Number of response headers.
    pub headers: usize,
    /// Redirects to follow.
    pub redirects: u8,
    /// Wall-clock time.
    pub time: Duration,
}

impl Default for HttpLimits {
    fn default() -> HttpLimits {
        HttpLimits {
            body_bytes: 8 << 20,
            header_bytes: 64 << 10,
            headers: 100,
            redirects: 10,
            time: Duration::from_secs(30),
        }
    }
}

/// Makes requests to the hosts of a list.
///
/// It ignores proxy variables, and opens one connection per request. Dropping the future of a
/// request cancels it.
#[derive(Clone)]
pub struct Client {
    domains: Domains,
    bounds: HttpLimits,
    resolver: Arc<dyn Resolve>,
    authorities: Authorities,
}

/// The last response of a redirect chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// Names in lower case, and values, in the order of the response. Headers about the length and
    /// encoding of the body are left out, because the body is decoded.
    pub headers: Vec<(String, String)>,
    /// As much of it as the limits allow.
    pub body: Vec<u8>,
    /// Whether there was more.
    pub truncated: bool,
    /// Its URL, after redirects.
    pub url: String,
}

impl Response {
    /// The body as text. Invalid UTF-8 is replaced; a character that the limit cut is left out.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        let whole = match std::str::from_utf8(&self.body) {
            Err(error) if self.truncated && error.error_len().is_none() => {
                self.body.get(..error.valid_up_to()).unwrap_or_default()
            }
            _ => &self.body,
        };
        String::from_utf8_lossy(whole)
    }
}

impl Client {
    /// A client for the hosts of a list.
    #[must_use]
    pub fn new(domains: Domains, bounds: HttpLimits) -> Client {
        Client {
            domains,
            bounds,
            resolver: Arc::new(SystemResolver),
            authorities: Authorities::Machine,
        }
    }

    /// The same with another resolver.
    #[must_use]
    pub fn with_resolver(self, resolver: Arc<dyn Resolve>) -> Client {
        Client { resolver, ..self }
    }

    /// The same, trusting only these certificate authorities (DER).
    ///
    /// # Errors
    ///
    /// When no secure connection could be made with them.
    pub fn with_authorities(self, certificates: Vec<Vec<u8>>) -> Result<Client, HttpError> {
        let authorities = Authorities::given(certificates).map_err(|why| HttpError::Insecure {
            host: String::new(),
            why,
        })?;
        Ok(Client {
            authorities,
            ..self
        })
    }

    /// Makes a request and follows its redirects.
    ///
    /// # Errors
    ///
    /// When a host on the way is refused, cannot be reached, or does not answer within the limits.
    pub async fn request(&self, request: Request) -> Result<Response, HttpError> {
        let time = self.bounds.time;
        let seconds = time.as_secs_f64();
        tokio::time::timeout(time, self.follow(request))
            .await
            .unwrap_or(Err(HttpError::Time { seconds }))
    }

    async fn follow(&self, request: Request) -> Result<Response, HttpError> {
        let mut hop = Hop::first(request)?;
        for _ in 0..=self.bounds.redirects {
            let url = hop.url.to_string();
            let host = hop.host.to_string();
            let answer = self.hop(&hop).await?;
            hop = match hop.next(answer.status(), answer.headers()) {
                Some(next) => next?,
                None => return self.finish(answer, url, host).await,
            };
        }
        Err(HttpError::Redirects {
            most: self.bounds.redirects,
        })
    }

    async fn hop(&self, hop: &Hop) -> Result<hyper::Response<ConnectedBody>, HttpError> {
        let stream = connect(&self.domains, &*self.resolver, &hop.host, hop.port).await?;
        match hop.url.scheme() {
            "https" => {
                let stream = self.authorities.secure(&hop.host, stream).await?;
                self.exchange(hop, TokioIo::new(stream)).await
            }
            _ => self.exchange(hop, TokioIo::new(stream)).await,
        }
    }

    async fn exchange(
        &self,
        hop: &Hop,
        io: impl Read + Write + Unpin + Send + 'static,
    ) -> Result<hyper::Response<ConnectedBody>, HttpError> {
        let unreadable = |error: hyper::Error| HttpError::Answer {
            host: hop.host.to_string(),
            why: full_text(&error),
        };
        let mut connecting = http1::Builder::new();
        connecting
            .max_buf_size(self.bounds.header_bytes.max(SMALLEST_BUFFER))
            .max_headers(self.bounds.headers);
        let (mut sender, connection) = connecting.handshake(io).await.map_err(unreadable)?;
        // A task of its own drives the connection, and ends with the response that holds it.
        let task = tokio::spawn(async move { drop(connection.await) });
        let held = AbortOnDrop(task);
        let answer = sender
            .send_request(message(hop)?)
            .await
            .map_err(unreadable)?;
        Ok(answer.map(|body| ConnectedBody { body, _task: held }))
    }

    async fn finish(
        &self,
        answer: hyper::Response<ConnectedBody>,
        url: String,
        host: String,
    ) -> Result<Response, HttpError> {
        let (parts, mut held) = answer.into_parts();
        let broken = |why: String| HttpError::Answer {
            host: host.clone(),
            why,
        };
        let mut codings = parts.headers.get_all(header::CONTENT_ENCODING).iter();
        let coding = match (codings.next(), codings.next()) {
            (coding, None) => Coding::named(coding.map(HeaderValue::as_bytes)),
            _ => None,
        };
        let coding = coding.ok_or_else(|| broken("its body has an unknown encoding".to_owned()))?;
        let mut body = Body::new(coding, self.bounds.body_bytes);
        while let Some(frame) = held.body.frame().await {
            let frame = frame.map_err(|error| broken(full_text(&error)))?;
            if let Some(bytes) = frame.data_ref()
                && !body
                    .take(bytes)
                    .map_err(|error| broken(error.to_string()))?
            {
                break;
            }
        }
        let (body, truncated) = body.end().map_err(|error| broken(error.to_string()))?;
        Ok(Response {
            status: parts.status.as_u16(),
            headers: listed(&parts.headers),
            body,
            truncated,
            url,
        })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("domains", &self.domains)
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

/// A body, and the connection it comes from.
struct ConnectedBody {
    body: Incoming,
    _task: AbortOnDrop,
}

/// Aborts its task when dropped.
struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn message(hop: &Hop) -> Result<hyper::Request<Full<Bytes>>, HttpError> {
    let bad = |_| HttpError::Url {
        url: super::host::quoted(hop.url.as_str()),
        why: "it is not a valid request target".to_owned(),
    };
    let path = hop.url.query().map_or_else(
        || hop.url.path().to_owned(),
        |query| format!("{}?{query}", hop.url.path()),
    );
    let mut message = hyper::Request::builder()
        .method(hop.method.clone())
        .uri(path)
        .header(header::HOST, hop.authority())
        .header(header::CONNECTION, "close")
        .body(Full::from(hop.body.clone()))
        .map_err(bad)?;
    message.headers_mut().extend(hop.headers.clone());
    Ok(message)
}

fn listed(headers: &HeaderMap) -> Vec<(String, String)> {
    let about_the_wire = [
        header::CONTENT_ENCODING,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::CONNECTION,
    ];
    let kept = headers
        .iter()
        .filter(|(name, _)| !about_the_wire.contains(name));
    kept.map(|(name, value)| {
        (
            name.as_str().to_owned(),
            String::from_utf8_lossy(value.as_bytes()).into_owned(),
        )
    })
    .collect()
}

/// An error with its causes, on one line.
fn full_text(error: &dyn std::error::Error) -> String {
    std::iter::successors(error.source(), |inner| inner.source())
        .fold(error.to_string(), |text, inner| format!("{text}: {inner}"))
}
