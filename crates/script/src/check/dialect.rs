//! The dialect of Starlark that both the check and the evaluator use.

use starlark::environment::LibraryExtension;
use starlark::syntax::{Dialect, DialectTypes};

/// Extensions to the standard that reach nothing outside the script.
pub(crate) const EXTENSIONS: &[LibraryExtension] = &[
    LibraryExtension::StructType,
    LibraryExtension::SetType,
    LibraryExtension::Map,
    LibraryExtension::Filter,
    LibraryExtension::Partial,
];

/// Standard Starlark with f-strings and keyword-only parameters, without `load`, types, and
/// top-level loops and branches.
///
/// `reach` is sound only without `load`: a loaded name could be anything.
pub(crate) fn dialect() -> Dialect {
    Dialect {
        enable_def: true,
        enable_lambda: true,
        enable_load: false,
        enable_keyword_only_arguments: true,
        enable_positional_only_arguments: false,
        enable_types: DialectTypes::Disable,
        enable_load_reexport: false,
        enable_top_level_stmt: false,
        enable_f_strings: true,
        ..Dialect::Standard
    }
}
