//! Prints each figure as a line of JSON for programs, and a table at the end for people.

use crate::sample::Samples;
use crate::system::load_average;
use serde_json::{Value, json};

/// The figures of one benchmark.
pub struct Report {
    bench: &'static str,
    rows: Vec<(String, f64, &'static str)>,
}

impl Report {
    /// An empty report.
    #[must_use]
    pub fn new(bench: &'static str) -> Self {
        Self {
            bench,
            rows: Vec::new(),
        }
    }

    /// Adds the load average of the machine.
    pub fn add_load(&mut self, when: &str) {
        self.add(format!("load average {when}"), load_average(), "processes");
    }

    /// Adds one figure and prints its line.
    pub fn add(&mut self, case: impl Into<String>, value: f64, unit: &'static str) {
        let case = case.into();
        let value = (value * 1000.0).round() / 1000.0;
        println!(
            "{}",
            json!({"bench": self.bench, "case": case, "value": value, "unit": unit})
        );
        self.rows.push((case, value, unit));
    }

    /// Adds the median and the 99th percentile.
    pub fn add_samples(&mut self, case: &str, samples: &Samples, unit: &'static str) {
        self.add(format!("{case}, median"), samples.median(), unit);
        self.add(format!("{case}, p99"), samples.percentile(99), unit);
    }

    /// Adds a line that another program of this package printed.
    pub fn adopt(&mut self, line: &str) {
        println!("{line}");
        let Ok(figure) = serde_json::from_str::<Value>(line) else {
            return;
        };
        let unit = match figure["unit"].as_str() {
            Some("bytes") => "bytes",
            _ => "allocations",
        };
        self.rows.push((
            figure["case"].as_str().unwrap_or_default().to_owned(),
            figure["value"].as_f64().unwrap_or_default(),
            unit,
        ));
    }

    /// Prints the table for people.
    pub fn print_table(&self) {
        let width = self
            .rows
            .iter()
            .map(|(case, ..)| case.len())
            .max()
            .unwrap_or_default();
        eprintln!("\n{}", self.bench);
        for (case, value, unit) in &self.rows {
            eprintln!("  {case:<width$}  {value:>12.3} {unit}");
        }
    }
}
