//! Stage 5: stores for data that outlives a call.

pub mod blob;
mod memory;
mod record;
mod session;

pub use memory::{MemoryStore, Metrics};
pub(crate) use memory::{number, weight};
pub use record::{Head, MemoryRecord, Record, StoreError};
pub(crate) use session::{Admission, Session, Sessions, Stores};

use serde_json::{Map, Value};

/// Computes a new value from the old one; `None` removes the key.
pub type Change<'a> = dyn FnMut(Option<&Value>) -> Result<Option<Value>, String> + 'a;

/// One scope of `cache`, `ctx` or `state`. Every method is atomic.
pub trait KeyValue: Send + Sync {
    /// The value, if the key is set.
    fn get(&self, key: &str) -> Option<Value>;
    /// Sets a key; the error names the bound that was reached.
    fn set(&self, key: &str, value: Value) -> Result<(), String>;
    /// Removes a key; returns whether it was set.
    fn delete(&self, key: &str) -> bool;
    /// Removes every key.
    fn clear(&self);
    /// Every key and value, in insertion order.
    fn snapshot(&self) -> Map<String, Value>;
    /// Replaces a value by the result of `change`, atomically; `None` removes the key. Returns the
    /// new value.
    fn update(&self, key: &str, change: &mut Change<'_>) -> Result<Option<Value>, String>;
}

/// How long a value of a key-value store lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreScope {
    /// `cache`: one run.
    Run,
    /// `ctx`: one turn.
    Turn,
    /// `state`: one session.
    Session,
}
