//! The sandbox against known attacks, each beside the harmless thing it imitates. Real processes,
//! files and listeners judge it from outside.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "real processes and listeners judge from outside what the sandbox does"
)]

mod files;
mod git;
mod network;
mod process;
mod user;
