//! What authors write who know Python or JavaScript, and what to write here instead.

mod names;
mod syntax;

pub(super) use names::{instead_of_member, instead_of_name};
pub(super) use syntax::instead_of_syntax;
