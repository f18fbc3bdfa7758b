//! The file jail against the attacks on files that others have met, each beside the harmless thing it imitates.

mod attack;
mod bound;
mod fault;
mod protect;
mod race;
mod user;
mod work;
mod world;
