//! Scripts as workers know them: a number, the source, and the linked built-ins.

use crate::facts::ScriptKind;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A script that can be sent to workers. Equal scripts share a number, so that a worker compiles
/// each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The number on the wire.
    pub number: u32,
    /// What it is.
    pub kind: ScriptKind,
    /// The source.
    pub source: Arc<str>,
    /// Built-ins it is linked with, by index.
    pub linked: Arc<[u32]>,
}

/// What makes two scripts equal to a worker.
type Identity = (ScriptKind, Arc<str>, Arc<[u32]>);

/// Assigns numbers to scripts.
#[derive(Debug, Default)]
pub struct Scripts {
    known: Mutex<HashMap<Identity, u32>>,
}

impl Scripts {
    /// The script with its number.
    pub fn number(&self, kind: ScriptKind, source: &Arc<str>, linked: Vec<u32>) -> Script {
        let linked: Arc<[u32]> = linked.into();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
        let number = *known
            .entry((kind, Arc::clone(source), Arc::clone(&linked)))
            .or_insert(next);
        Script {
            number,
            kind,
            source: Arc::clone(source),
            linked,
        }
    }
}
