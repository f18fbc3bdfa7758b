//! Outgoing network: which hosts may be reached, and connecting to them.
//!
//! Scripts use `Client`, processes use `Relay`; both ask `Domains`, and both connect through
//! `connect`.

#![expect(
    clippy::disallowed_types,
    reason = "the one place with sockets to the outside"
)]

mod address;
mod connect;
mod domain;
mod host;
mod http;
mod listeners;
mod pattern;
mod relay;

pub use connect::{Resolve, Resolving, SystemResolver};
pub use domain::{DomainError, Domains, HostRefusal};
pub use host::{Host, HostError};
pub use http::{Client, HttpError, HttpLimits, Request, Response};
pub(crate) use listeners::REFUSAL_BYTES;
pub use listeners::{DNS_PORT, Listeners, SANDBOX_HOSTNAME, SANDBOX_IPV4, SANDBOX_IPV6};
pub use relay::{Relay, RelayDenial};
