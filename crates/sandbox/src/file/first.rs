//! The first results of a search in the order of their paths, whatever the order they are found in.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Collects at most so many results: those whose paths come first. Threads share it.
#[derive(Debug)]
pub struct FirstResults<T> {
    most: usize,
    kept: Mutex<Kept<T>>,
    is_full: AtomicBool,
}

#[derive(Debug)]
struct Kept<T> {
    by_path: BTreeMap<String, Vec<T>>,
    count: usize,
}

impl<T> FirstResults<T> {
    /// None yet. Keeps one more than `most`, so that [`FirstResults::end`] knows whether there are more.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            most,
            kept: Mutex::new(Kept {
                by_path: BTreeMap::new(),
                count: 0,
            }),
            is_full: AtomicBool::new(false),
        }
    }

    /// Whether a result at this path would be kept. A directory's path ends with `/`.
    #[must_use]
    pub fn wants(&self, path: &str) -> bool {
        if !self.is_full.load(Ordering::Relaxed) {
            return true;
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.by_path
            .last_key_value()
            .is_none_or(|(last, _)| path < last.as_str())
    }

    /// The most results of one path that can be kept.
    #[must_use]
    pub fn room(&self) -> usize {
        self.most.saturating_add(1)
    }

    /// Adds the results at a path, and drops those that are too many.
    pub fn add(&self, path: &str, results: Vec<T>) {
        if results.is_empty() {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.count += results.len();
        kept.by_path.insert(path.to_owned(), results);
        while let Some(last) = kept.by_path.last_entry() {
            let spare = last.get().len();
            if kept_without(kept.count, spare) <= self.most {
                break;
            }
            kept.by_path.pop_last();
            kept.count -= spare;
        }
        self.is_full
            .store(kept.count > self.most, Ordering::Relaxed);
    }

    /// The results with their paths, sorted, and whether there are more.
    #[must_use]
    pub fn end(self) -> (Vec<(String, T)>, bool) {
        let kept = self
            .kept
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let more = kept.count > self.most;
        let each = |(path, results): (String, Vec<T>)| {
            results
                .into_iter()
                .map(move |result| (path.clone(), result))
        };
        let results = kept.by_path.into_iter().flat_map(each).take(self.most);
        (results.collect(), more)
    }
}

fn kept_without(count: usize, spare: usize) -> usize {
    count.saturating_sub(spare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_paths_stay_in_whatever_order_they_come() {
        for order in [
            ["a", "b", "c", "d"],
            ["d", "c", "b", "a"],
            ["c", "a", "d", "b"],
        ] {
            let first = FirstResults::new(3);
            for path in order {
                if first.wants(path) {
                    first.add(path, vec![1, 2]);
                }
            }
            let (results, more) = first.end();
            let paths: Vec<String> = results
                .iter()
                .map(|(path, number)| format!("{path}{number}"))
                .collect();
            assert_eq!(
                (paths, more),
                (vec!["a1".into(), "a2".into(), "b1".into()], true)
            );
        }
    }

    #[test]
    fn as_many_as_fit_are_not_too_many() {
        let first = FirstResults::new(2);
        for path in ["b", "a"] {
            first.add(path, vec![()]);
        }
        assert!(first.wants("c") && first.wants("z/"));
        assert!(!first.end().1);
        let none = FirstResults::new(0);
        none.add("a", vec![()]);
        assert!(!none.wants("b") && none.end() == (Vec::new(), true));
    }
}
