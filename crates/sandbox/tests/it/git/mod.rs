//! What Git would obey, compared with Git itself.

mod config;
mod judge;
mod look;
mod world;
