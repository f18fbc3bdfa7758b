//! Outgoing network: which hosts may be reached, and reaching them.

mod address;
mod domain;
mod host;
mod listeners;
mod pattern;

pub use domain::{BadPattern, Domains, Refused};
pub use host::{BadHost, Host};
pub use listeners::{DNS_PORT, Listeners};
