//! `TOOL_SURFACE_APPROVAL_CONTRADICTS`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::surface::{ApprovalPattern, Findings, Pattern, Subject};
use std::collections::HashMap;

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_APPROVAL_CONTRADICTS",
    severity: Severity::Warning,
    why: "One tool is in two lists that decide differently: the stricter list counts, and a \
          reader of the other is misled. The same holds for a name under a glob of a stricter \
          list. A wide pattern with stricter exceptions is fine.",
    bad: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    }
  ],
  "approval_policy": {"auto_approve": ["read_note"], "auto_deny": ["read_note"]}
}
"#,
    )],
    good: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    }
  ],
  "approval_policy": {"auto_approve": ["read_note"]}
}
"#,
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let decided: Vec<(u8, &ApprovalPattern)> = subject
        .surface
        .approval
        .iter()
        .filter_map(|approval| Some((strength(approval.decision?), approval)))
        .collect();
    let globs: Vec<(u8, &ApprovalPattern)> = decided
        .iter()
        .copied()
        .filter(|(_, approval)| !approval.pattern.is_exact())
        .collect();
    let mut first: HashMap<&str, &ApprovalPattern> = HashMap::new();
    for (strong, approval) in &decided {
        let text = approval.pattern.text();
        let Some(other) = first.get(text) else {
            first.insert(text, approval);
            // Exceptions are written as a wide pattern in one list and a narrow one in a stricter
            // list; the other way round the narrow one decides nothing.
            let wider = globs
                .iter()
                .find(|(other, wide)| other > strong && covers(&wide.pattern, &approval.pattern));
            if let Some((_, wide)) = wider {
                let covered = format!(
                    "`{text}` in `{}` decides nothing: `{}` in `{}` is stricter, and matches it",
                    approval.field,
                    wide.pattern.text(),
                    wide.field
                );
                report(covered, approval, wide, findings);
            }
            continue;
        };
        if other.decision != approval.decision {
            report(
                format!(
                    "`{text}` is in `{}` and in `{}`",
                    other.field, approval.field
                ),
                approval,
                other,
                findings,
            );
        }
    }
}

fn report(
    message: String,
    approval: &ApprovalPattern,
    other: &ApprovalPattern,
    findings: &mut Findings,
) {
    let places = approval
        .place
        .clone()
        .into_iter()
        .chain(other.place.clone());
    findings.add(
        RULE.finding(message)
            .at_any(places)
            .field(&approval.field)
            .help("keep it in the list you mean"),
    );
}

/// Of two matching patterns, the stricter counts.
fn strength(decision: &str) -> u8 {
    match decision {
        "deny" => 2,
        "ask" => 1,
        _ => 0,
    }
}

/// Whether the wide glob matches everything that the narrow pattern matches. For two globs this is
/// only decided if `*` is their only special character.
fn covers(wide: &Pattern, narrow: &Pattern) -> bool {
    let plain = |pattern: &Pattern| !pattern.text().contains(['?', '[', '{', '}', '\\']);
    !wide.is_exact()
        && wide.text() != narrow.text()
        && (narrow.is_exact() || (plain(wide) && plain(narrow)))
        && wide.is_match(narrow.text())
}
