//! The sandbox against the attacks that others have met, each beside the harmless thing it
//! imitates. Everything is judged from outside, by real processes, files and listeners.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "real processes and listeners judge from outside what the sandbox does"
)]

mod files;
mod network;
mod process;
mod user;
