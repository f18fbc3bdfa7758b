//! Why a request has no answer.

use thiserror::Error;

use crate::network::HostRefusal;
use crate::network::reach::ReachError;

/// Why a request has no answer.
#[derive(Debug, Error)]
pub enum HttpError {
    /// The list does not admit the host.
    #[error(transparent)]
    Refused(#[from] HostRefusal),
    /// The URL of the request, or of a redirect, is none that is followed.
    #[error("{url} is not requested: {why}")]
    Url {
        /// The URL, quoted.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The request cannot be written.
    #[error("{what} cannot be sent: {why}")]
    Request {
        /// The method or header, quoted.
        what: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// There is no connection.
    #[error("{0}")]
    ReachError(String),
    /// The server is not who it says, or speaks no TLS.
    #[error("no secure connection to host \"{host}\": {why}")]
    Insecure {
        /// The host.
        host: String,
        /// What failed.
        why: String,
    },
    /// The answer breaks off, is none of HTTP, or its headers are more than the bounds allow.
    #[error("host \"{host}\" gave no readable answer: {why}")]
    Answer {
        /// The host.
        host: String,
        /// What failed.
        why: String,
    },
    /// There were more redirects than are followed.
    #[error("more than {most} redirects")]
    Redirects {
        /// As many are followed.
        most: u8,
    },
    /// It took too long, with all its redirects.
    #[error("no whole answer within {seconds} seconds")]
    Time {
        /// As long as it may take.
        seconds: f64,
    },
}

impl From<ReachError> for HttpError {
    fn from(unreached: ReachError) -> HttpError {
        match unreached {
            ReachError::Refused(refused) => HttpError::Refused(refused),
            other => HttpError::ReachError(other.to_string()),
        }
    }
}
