//! A request, from what a tool asks for to what each hop sends.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use url::Url;

use super::error::HttpError;
use crate::network::Host;
use crate::network::host::quoted;

/// What a tool asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST` or another.
    pub method: String,
    /// Of `http` or `https`.
    pub url: String,
    /// Names and values; the harness sets connection headers itself.
    pub headers: Vec<(String, String)>,
    /// The body to send.
    pub body: Vec<u8>,
}

impl Request {
    /// A request for the content of a URL.
    #[must_use]
    pub fn get(url: &str) -> Request {
        Request {
            method: "GET".to_owned(),
            url: url.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }
}

/// Headers with which a tool could lie about the connection, the length or the host.
const OURS: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
];

/// Headers that do not identify the sender. All others stay with the origin they were given for.
const HARMLESS: [HeaderName; 3] = [header::ACCEPT, header::ACCEPT_LANGUAGE, header::USER_AGENT];

const AGENT: &str = concat!("harness/", env!("CARGO_PKG_VERSION"));

/// One request of a chain of redirects.
pub(super) struct Hop {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Hop {
    /// The first request.
    pub(super) fn first(request: Request) -> Result<Hop, HttpError> {
        let bad = |what: &str, why| HttpError::Request {
            what: quoted(what),
            why,
        };
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| bad(&request.method, "it is not an HTTP method"))?;
        if method == Method::CONNECT || method == Method::TRACE {
            return Err(bad(&request.method, "it is only for proxies"));
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::USER_AGENT, HeaderValue::from_static(AGENT));
        headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
        let mut given = HeaderMap::new();
        for (name, value) in &request.headers {
            let key = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| bad(name, "it is not a header name"))?;
            if OURS.contains(&key.as_str()) || key.as_str().starts_with("proxy-") {
                return Err(bad(name, "the harness sets this header itself"));
            }
            given.append(
                key,
                HeaderValue::from_str(value).map_err(|_| {
                    bad(
                        name,
                        "its value has characters that are invalid in a header",
                    )
                })?,
            );
        }
        // Values under one name stay together in the map, and replace our own.
        headers.extend(given);
        headers
            .entry(header::ACCEPT_ENCODING)
            .or_insert(HeaderValue::from_static("gzip, deflate"));
        let url = Url::parse(&request.url).map_err(|error| HttpError::Url {
            url: quoted(&request.url),
            why: error.to_string(),
        })?;
        Hop::to(url, method, headers, request.body)
    }

    /// The request that a redirect asks for; `None` if the response is not a redirect.
    pub(super) fn next(
        self,
        status: StatusCode,
        answer: &HeaderMap,
    ) -> Option<Result<Hop, HttpError>> {
        if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let location = answer.get(header::LOCATION)?;
        Some(self.redirected(status, location))
    }

    fn redirected(mut self, status: StatusCode, location: &HeaderValue) -> Result<Hop, HttpError> {
        let text = String::from_utf8_lossy(location.as_bytes());
        let url = self.url.join(&text).map_err(|error| HttpError::Url {
            url: quoted(&text),
            why: error.to_string(),
        })?;
        let turns_into_get = match status.as_u16() {
            301 | 302 => self.method == Method::POST,
            303 => self.method != Method::GET && self.method != Method::HEAD,
            _ => false,
        };
        if turns_into_get {
            self.method = Method::GET;
            self.body.clear();
            for name in [
                header::CONTENT_TYPE,
                header::CONTENT_ENCODING,
                header::CONTENT_LANGUAGE,
                header::CONTENT_LOCATION,
            ] {
                self.headers.remove(name);
            }
        }
        if url.origin() != self.url.origin() {
            let mut kept = HeaderMap::new();
            let about_body = [
                header::ACCEPT_ENCODING,
                header::CONTENT_TYPE,
                header::CONTENT_ENCODING,
            ];
            for name in HARMLESS.iter().chain(&about_body) {
                if let Some(value) = self.headers.remove(name) {
                    kept.insert(name.clone(), value);
                }
            }
            self.headers = kept;
        }
        Hop::to(url, self.method, self.headers, self.body)
    }

    fn to(url: Url, method: Method, headers: HeaderMap, body: Vec<u8>) -> Result<Hop, HttpError> {
        let bad = |why: String| HttpError::Url {
            url: quoted(url.as_str()),
            why,
        };
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad("only http and https are supported".to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            // The text is not repeated: it is a secret.
            return Err(HttpError::Url {
                url: quoted(url.host_str().unwrap_or_default()),
                why: "it contains a user name or a password".to_owned(),
            });
        }
        let host = Host::parse(url.host_str().unwrap_or_default())
            .map_err(|error| bad(error.to_string()))?;
        let port = url.port_or_known_default().unwrap_or(0);
        Ok(Hop {
            method,
            host,
            port,
            headers,
            body,
            url,
        })
    }

    /// The host as the request names it, with its port unless it is the scheme's default.
    pub(super) fn authority(&self) -> String {
        let host = self
            .url
            .host_str()
            .unwrap_or_default()
            .trim_end_matches('.');
        self.url
            .port()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }
}
