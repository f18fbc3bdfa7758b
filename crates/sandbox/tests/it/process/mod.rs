//! Contained commands.

mod basic;
mod deep;
mod exhaust;
mod files;
mod git_hooks;
mod git_large;
mod git_submodule;
mod helper;
mod kernel;
mod leftovers;
mod life;
mod limits;
mod moved;
mod network;
mod output;
mod places;
mod programs;
mod protect;
mod protected_names;
mod real;
mod replaced;
mod sockets;
mod warm;
mod world;

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::user::run_as_ordinary_users("process", &[], 4);
}
