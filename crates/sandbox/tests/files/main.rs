//! The file jail against the attacks on files that others have met, each beside the harmless thing it imitates.

#![expect(
    clippy::disallowed_methods,
    reason = "what is tested is judged from outside, by real processes and listeners"
)]

mod attack;
mod bound;
mod fault;
mod protect;
mod race;
#[path = "../support/user.rs"]
mod user;
mod work;
mod world;
