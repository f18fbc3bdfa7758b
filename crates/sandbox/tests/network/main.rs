//! The outgoing network against the attacks that others have met, each beside the harmless thing it imitates.
//!
//! What is refused is judged from outside: by a listener that must not be reached.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what is tested is judged from outside, by real processes and listeners"
)]

mod bound;
mod client;
mod domain;
mod hello;
mod namespace;
mod process;
mod redirect;
mod relay;
mod secure;
mod server;
mod tricks;
#[path = "../support/user.rs"]
mod user;
