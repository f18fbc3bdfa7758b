//! The file jail.

mod attack;
mod bound;
mod fault;
mod protect;
mod race;
mod work;
mod world;

#[test]
fn the_same_holds_for_an_ordinary_user() {
    // The kernel resolves paths in the same way for all users.
    crate::user::run_as_ordinary_users("files", &["race"], 1);
}
