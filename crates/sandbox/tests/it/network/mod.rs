//! The outgoing network. A listener that must not be reached shows what was refused.

mod bound;
mod client;
mod domain;
mod hello;
mod namespace;
mod process;
mod redirect;
mod relay;
mod secure;
mod server;
mod tricks;

#[test]
fn the_same_holds_for_an_ordinary_user() {
    // Only namespaces depend on the user.
    let alike = [
        "bound", "client", "domain", "hello", "redirect", "secure", "tricks",
    ];
    crate::user::run_as_ordinary_users("network", &alike, 1);
}
