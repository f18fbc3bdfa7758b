//! What authors write who know Python, JavaScript or another harness, and what to write here
//! instead.

mod names;
mod syntax;

pub(super) use names::instead_of;
pub(super) use syntax::instead_of_syntax;
