//! Stores that live as long as the process.

use super::{Change, KeyValue};
use crate::depth::{is_deep, let_go, too_deep};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many keys one scope may hold.
const MAX_KEYS: usize = 10_000;
/// How many bytes one scope may hold: keys plus the JSON text of values.
const MAX_BYTES: usize = 8 << 20;

/// A bounded map in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    map: Map<String, Value>,
    bytes: usize,
}

impl MemoryStore {
    /// A separate store with the same content.
    pub(crate) fn copy(&self) -> Self {
        let inner = self.lock();
        Self {
            inner: Mutex::new(Inner {
                map: inner.map.clone(),
                bytes: inner.bytes,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn put(&mut self, key: &str, value: Value) -> Result<(), String> {
        if is_deep(&value) {
            let_go(value);
            return Err(format!("the value is {}", too_deep()));
        }
        let old = self.map.get(key).map(|value| key.len() + weight(value));
        let bytes = self.bytes - old.unwrap_or(0) + key.len() + weight(&value);
        if bytes > MAX_BYTES {
            return Err(format!("the store would hold more than {MAX_BYTES} bytes"));
        }
        if old.is_none() && self.map.len() >= MAX_KEYS {
            return Err(format!("the store would hold more than {MAX_KEYS} keys"));
        }
        self.bytes = bytes;
        self.map.insert(key.to_owned(), value);
        Ok(())
    }

    fn remove(&mut self, key: &str) -> bool {
        let Some(value) = self.map.shift_remove(key) else {
            return false;
        };
        self.bytes -= key.len() + weight(&value);
        true
    }
}

impl KeyValue for MemoryStore {
    fn get(&self, key: &str) -> Option<Value> {
        self.lock().map.get(key).cloned()
    }

    fn set(&self, key: &str, value: Value) -> Result<(), String> {
        self.lock().put(key, value)
    }

    fn delete(&self, key: &str) -> bool {
        self.lock().remove(key)
    }

    fn clear(&self) {
        *self.lock() = Inner::default();
    }

    fn snapshot(&self) -> Map<String, Value> {
        self.lock().map.clone()
    }

    fn update(&self, key: &str, change: &mut Change<'_>) -> Result<Option<Value>, String> {
        let mut inner = self.lock();
        let next = change(inner.map.get(key))?;
        if next.as_ref().is_some_and(is_deep) {
            next.into_iter().for_each(let_go);
            return Err(format!("the value is {}", too_deep()));
        }
        match &next {
            Some(value) => inner.put(key, value.clone())?,
            None => drop(inner.remove(key)),
        }
        Ok(next)
    }
}

/// The approximate size of a value in memory, without serializing it.
pub(crate) fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 8,
        Value::Number(_) => 16,
        Value::String(text) => 24 + text.len(),
        Value::Array(items) => 24 + items.iter().map(weight).sum::<usize>(),
        Value::Object(map) => {
            24 + map
                .iter()
                .map(|(key, value)| key.len() + weight(value))
                .sum::<usize>()
        }
    }
}

/// Named counters and gauges.
#[derive(Debug, Default)]
pub struct Metrics {
    values: Mutex<BTreeMap<String, f64>>,
}

/// How many names one engine may count.
const MAX_METRICS: usize = 10_000;

impl Metrics {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, f64>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to a counter and returns its new value.
    pub fn incr(&self, name: &str, by: f64) -> Result<f64, String> {
        let mut values = self.lock();
        room(&values, name)?;
        let value = values.entry(name.to_owned()).or_default();
        *value += by;
        Ok(*value)
    }

    /// Sets a gauge.
    pub fn set(&self, name: &str, value: f64) -> Result<(), String> {
        let mut values = self.lock();
        room(&values, name)?;
        values.insert(name.to_owned(), value);
        Ok(())
    }

    /// A value, if it was ever set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<f64> {
        self.lock().get(name).copied()
    }

    /// Forgets one value, or all of them.
    pub fn reset(&self, name: Option<&str>) {
        let mut values = self.lock();
        match name {
            Some(name) => drop(values.remove(name)),
            None => values.clear(),
        }
    }

    /// Every name and value, by name.
    #[must_use]
    pub fn snapshot(&self) -> Map<String, Value> {
        self.lock()
            .iter()
            .map(|(name, value)| (name.clone(), number(*value)))
            .collect()
    }
}

fn room(values: &BTreeMap<String, f64>, name: &str) -> Result<(), String> {
    if values.len() >= MAX_METRICS && !values.contains_key(name) {
        return Err(format!("more than {MAX_METRICS} metrics"));
    }
    Ok(())
}

/// A float as JSON: whole numbers without a fraction.
pub(crate) fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole and within the exact range of i64"
        )]
        return Value::from(value as i64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}
