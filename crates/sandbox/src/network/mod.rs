//! Outgoing network: which hosts may be reached, and reaching them.
//!
//! Scripts go through `Client`, processes through `Relay`; both ask `Domains`, and both connect in `reach`.

#![expect(
    clippy::disallowed_types,
    reason = "the one place with sockets to the outside"
)]

mod address;
mod domain;
mod host;
mod http;
mod listeners;
mod pattern;
mod reach;
mod relay;

pub use domain::{BadPattern, Domains, Refused};
pub use host::{BadHost, Host};
pub use http::{Bounds, Client, HttpError, Request, Response};
pub(crate) use listeners::HEARD;
pub use listeners::{DNS_PORT, INSIDE_NAME, INSIDE_V4, INSIDE_V6, Listeners};
pub use reach::{Resolve, Resolving, SystemResolver};
pub use relay::{Denied, Relay};
