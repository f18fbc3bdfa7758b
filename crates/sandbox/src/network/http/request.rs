//! A request, from what a tool asks for to what is sent at each hop.

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
    /// Names and values; those of the connection are the harness's own.
    pub headers: Vec<(String, String)>,
    /// What is sent.
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

/// Headers by which a tool could say what is not so about the connection, the length or the host.
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

/// Headers that say nothing about who asks. All others stay with the origin they were given for.
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
            .map_err(|_| bad(&request.method, "it is no method"))?;
        if method == Method::CONNECT || method == Method::TRACE {
            return Err(bad(&request.method, "it is for proxies"));
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::USER_AGENT, HeaderValue::from_static(AGENT));
        headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
        let mut given = HeaderMap::new();
        for (name, value) in &request.headers {
            let key = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| bad(name, "it is no name of a header"))?;
            if OURS.contains(&key.as_str()) || key.as_str().starts_with("proxy-") {
                return Err(bad(name, "this header is the harness's own"));
            }
            given.append(
                key,
                HeaderValue::from_str(value)
                    .map_err(|_| bad(name, "its value has characters that no header has"))?,
            );
        }
        // Values under one name stand together in the map, and replace our own.
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

    /// The request that a redirect asks for; nothing when the answer is none.
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
            return Err(bad("only http and https are".to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            // The words are not repeated: they are a secret.
            return Err(HttpError::Url {
                url: quoted(url.host_str().unwrap_or_default()),
                why: "it has a user name or a password in it".to_owned(),
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

    /// The host as the request says it, with its port when it is not the scheme's own.
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
