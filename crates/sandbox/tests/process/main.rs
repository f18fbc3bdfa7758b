//! Contained commands against the attacks that others have met, each beside the harmless thing it imitates.

#![expect(
    clippy::disallowed_methods,
    reason = "what is tested is judged from outside, by real processes and listeners"
)]
#![expect(
    clippy::disallowed_types,
    reason = "listeners of the tests' own are what must not be reached"
)]

mod ahead;
mod basic;
mod deep;
mod exhaust;
mod files;
mod govern;
mod helper;
mod kernel;
mod life;
mod limits;
mod moved;
mod network;
mod output;
mod places;
mod programs;
mod protect;
mod real;
mod replaced;
mod sockets;
mod traces;
#[path = "../support/user.rs"]
mod user;
mod world;
