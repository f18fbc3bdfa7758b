//! The tests of scripts, as one program.

mod facts_sound;
mod rules;
mod rules_behaviour;
mod surface;
mod worker;
