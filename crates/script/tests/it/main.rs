//! Tests of scripts, in one binary.

mod facts_sound;
mod rules;
mod rules_behaviour;
mod surface;
mod worker;
