//! Contained commands against the attacks that others have met, each beside the harmless thing it imitates.

#![expect(clippy::disallowed_methods, reason = "what is tested is judged from outside, by real processes and listeners")]

mod basic;
mod world;
