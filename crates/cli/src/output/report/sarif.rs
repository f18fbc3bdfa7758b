//! SARIF 2.1.0, for code scanning.

use super::FileLocation;
use serde_json::{Value, json};
use std::collections::HashMap;
use tool_harness::check::{page, rules};
use tool_harness::diagnostic::{Diagnostic, Severity};
use tool_harness::span::{Place, Position};

/// The log: one run with its findings and their rules.
pub(super) fn document(findings: &[Diagnostic], prefix: &str) -> Value {
    let mut used: Vec<&str> = Vec::new();
    let mut index: HashMap<&str, usize> = HashMap::new();
    for finding in findings {
        index.entry(finding.code).or_insert_with(|| {
            used.push(finding.code);
            used.len() - 1
        });
    }
    let results: Vec<Value> = findings
        .iter()
        .map(|finding| result(finding, index.get(finding.code).copied(), prefix))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "harness",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": used.into_iter().map(rule).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(code: &str) -> Value {
    let Some(rule) = rules().find(|rule| rule.code == code) else {
        return json!({ "id": code });
    };
    json!({
        "id": code,
        "shortDescription": {"text": rule.why},
        "help": {"text": rule.why, "markdown": page(&rule)},
        "defaultConfiguration": {"level": rule.severity.to_string()},
    })
}

fn result(finding: &Diagnostic, rule: Option<usize>, prefix: &str) -> Value {
    let mut text = finding.message.clone();
    if let Some(help) = &finding.help {
        text = format!("{text}; {help}");
    }
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let mut result = json!({"ruleId": finding.code, "level": level, "message": {"text": text}});
    if let Some(rule) = rule {
        result["ruleIndex"] = rule.into();
    }
    if let Some(place) = &finding.place {
        result["locations"] = json!([location(place, prefix)]);
    }
    if !finding.also.is_empty() {
        result["relatedLocations"] = finding
            .also
            .iter()
            .map(|place| location(place, prefix))
            .collect();
    }
    result
}

fn location(place: &Place, prefix: &str) -> Value {
    let file = FileLocation::of(place, prefix);
    let mut location = json!({"physicalLocation": {"artifactLocation": {"uri": uri(&file.file)}}});
    let (start, end) = (place.position(), place.source.position(place.span.end));
    match file.within {
        Some(within) => {
            location["logicalLocations"] = json!([{"fullyQualifiedName": format!("{within}:{}:{}", start.line, start.column)}]);
        }
        None => location["physicalLocation"]["region"] = region(start, end),
    }
    location
}

fn region(start: Position, end: Position) -> Value {
    json!({"startLine": start.line, "startColumn": start.column, "endLine": end.line.max(start.line), "endColumn": end.column.max(1)})
}

/// A path as a URI reference, percent-encoded.
fn uri(path: &str) -> String {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'-' | b'_' | b'~');
    path.bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_percent_encoded_references() {
        assert_eq!(uri(".harness/tools/a b.md"), ".harness/tools/a%20b.md");
        assert_eq!(uri("é#?"), "%C3%A9%23%3F");
    }
}
