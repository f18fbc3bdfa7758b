//! `TOOL_SURFACE_TOO_LARGE`.

use super::Check;
use crate::diagnostic::{Diagnostic, Rule, Severity};
use crate::result::encoded_len;
use crate::surface::budget::{Tokens, beyond};
use crate::surface::{Entry, Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_TOO_LARGE",
    severity: Severity::Warning,
    why: "A model reads every description and every schema before each answer. One that takes \
          more than a fiftieth of the context costs that much every time and leaves less for the \
          work. The context is 200,000 tokens unless `checks.context_tokens` of `harness.md`, or \
          `options.context_tokens` of a surface, says otherwise; tokens are counted with the \
          vocabulary `cl100k_base`.",
    bad: &[(
        "surface.json",
        r#"{
  "tools": {
    "name": "read_note",
    "description": "Reads one note. A note is a text. A text is made of lines. A line is made of words. A word is made of letters.",
    "parameters": {"type": "object"},
    "executor": "harn",
    "annotations": {"kind": "read", "side_effect_level": "read_only"}
  },
  "options": {"context_tokens": 1000}
}
"#,
    )],
    good: &[(
        "surface.json",
        r#"{
  "tools": {
    "name": "read_note",
    "description": "Reads one note.",
    "parameters": {"type": "object"},
    "executor": "harn",
    "annotations": {"kind": "read", "side_effect_level": "read_only"}
  },
  "options": {"context_tokens": 1000}
}
"#,
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let most = subject.surface.budget.of_one_text();
    for entry in subject.active_tools() {
        if let Some(tokens) = entry
            .description
            .as_deref()
            .and_then(|words| beyond(words, most))
        {
            let help = "say what the tool does and when to use it, and move the rest to where it can be read when needed";
            findings.add(finding(entry, "description", tokens, most).help(help));
        }
        let schema = entry
            .schema
            .as_deref()
            .filter(|schema| encoded_len(schema) > most)
            .map(ToString::to_string);
        if let Some(tokens) = schema.and_then(|schema| beyond(&schema, most)) {
            findings.add(
                finding(entry, "schema", tokens, most)
                    .help("take fewer arguments, say less about each, or make two tools of it"),
            );
        }
    }
}

fn finding(entry: &Entry<'_>, what: &str, tokens: Tokens, most: usize) -> Diagnostic {
    let count = match tokens {
        Tokens::Exactly(count) => format!("{count} tokens"),
        Tokens::AtLeast(count) => format!("more than {count} tokens"),
    };
    let field = if what == "schema" { "parameters" } else { what };
    let message = format!(
        "the {what} of tool \"{}\" is {count} long; {most} would be a fiftieth of the context",
        entry.name
    );
    entry.finding_at(field, &RULE, message).field(field)
}
