//! Why a request failed.

use thiserror::Error;

use crate::network::HostRefusal;
use crate::network::connect::ConnectError;

/// Why a request failed.
#[derive(Debug, Error)]
pub enum HttpError {
    /// The list does not admit the host.
    #[error(transparent)]
    Refused(#[from] HostRefusal),
    /// The URL of the request, or of a redirect, is not one we follow.
    #[error("{url} is not requested: {why}")]
    Url {
        /// The URL, quoted.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The request cannot be sent.
    #[error("{what} cannot be sent: {why}")]
    Request {
        /// The method or header, quoted.
        what: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The connection failed.
    #[error("{0}")]
    Connect(String),
    /// The server is not who it claims to be, or speaks no TLS.
    #[error("no secure connection to host \"{host}\": {why}")]
    Insecure {
        /// The host.
        host: String,
        /// What failed.
        why: String,
    },
    /// The answer breaks off, is not HTTP, or its headers exceed the limits.
    #[error("host \"{host}\" gave no readable answer: {why}")]
    Answer {
        /// The host.
        host: String,
        /// What failed.
        why: String,
    },
    /// There were too many redirects.
    #[error("more than {most} redirects")]
    Redirects {
        /// The limit.
        most: u8,
    },
    /// The request took too long, with all its redirects.
    #[error("no complete answer within {seconds} seconds")]
    Time {
        /// The limit.
        seconds: f64,
    },
}

impl From<ConnectError> for HttpError {
    fn from(unreached: ConnectError) -> HttpError {
        match unreached {
            ConnectError::Refused(refused) => HttpError::Refused(refused),
            other => HttpError::Connect(other.to_string()),
        }
    }
}
