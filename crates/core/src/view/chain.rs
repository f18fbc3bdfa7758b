//! The order in which hooks and middleware judge a call and see its result.

use super::ActiveHook;
use crate::middleware::{Middleware, Registered};
use std::fmt;
use std::sync::Arc;

/// The hooks and middleware of one event, by priority. Consecutive hooks run together.
pub(crate) type Chain = Vec<Segment>;

/// A part of a chain.
pub(crate) enum Segment {
    /// Hooks that run in one round trip if they decide nothing.
    Hooks(Vec<Arc<ActiveHook>>),
    /// One of the host's middleware.
    Middleware(Registered<dyn Middleware>),
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hooks(hooks) => f.debug_tuple("Hooks").field(&hooks.len()).finish(),
            Self::Middleware(middleware) => {
                f.debug_tuple("Middleware").field(&middleware.name).finish()
            }
        }
    }
}

/// Merges hooks and middleware into one chain. At equal priority, the host's middleware runs first.
pub(super) fn chain(hooks: &[Arc<ActiveHook>], middleware: &[Registered<dyn Middleware>]) -> Chain {
    let mut chain = Chain::new();
    let mut middleware = middleware.iter().peekable();
    for hook in hooks {
        while let Some(first) = middleware.next_if(|one| one.priority <= hook.hook.priority) {
            chain.push(Segment::Middleware(first.clone()));
        }
        match chain.last_mut() {
            Some(Segment::Hooks(hooks)) => hooks.push(Arc::clone(hook)),
            _ => chain.push(Segment::Hooks(vec![Arc::clone(hook)])),
        }
    }
    chain.extend(middleware.cloned().map(Segment::Middleware));
    chain
}
