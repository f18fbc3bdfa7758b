//! Outgoing network: which hosts may be reached, and reaching them.

mod domain;

pub use domain::Domains;
