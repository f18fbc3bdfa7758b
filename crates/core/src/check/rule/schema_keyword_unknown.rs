//! `SCHEMA_KEYWORD_UNKNOWN`.

use super::Check;
use crate::artifact::locate::{EntryPart, locate, schemas};
use crate::check::schema::{each_unknown_keyword, keywords, pointer};
use crate::check::subject::{Findings, ToolSubject};
use crate::diagnostic::{Rule, Severity};
use crate::nearest::{did_you_mean, nearest};

pub(super) const RULE: Rule<Check> = Rule {
    code: "SCHEMA_KEYWORD_UNKNOWN",
    severity: Severity::Warning,
    why: "JSON Schema ignores keywords it does not know, so a misspelled restriction restricts \
          nothing. Keys of your own start with `x-`.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nparameters:\n  name: {type: string, required: true, minlength: 1}\nscript: |\n  def run(args):\n      return fs.read(args[\"name\"])\n---\nReads one note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\nparameters:\n  name: {type: string, required: true, minLength: 1}\nscript: |\n  def run(args):\n      return fs.read(args[\"name\"])\n---\nReads one note.\n",
    )],
    check: Check::Tool(check),
};

/// Keywords of other dialects, and their equivalents in JSON Schema.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "nullable",
        "write `type: [string, \"null\"]`, with the type it has otherwise",
    ),
    ("example", "write `examples: [...]`"),
    (
        "dependencies",
        "write `dependentRequired` or `dependentSchemas`",
    ),
    (
        "additionalItems",
        "write `prefixItems` for the first items and `items` for the others",
    ),
    ("id", "write `$id`"),
    ("optional", "list the others in `required`"),
];

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    for (written, schema) in schemas(subject.tool) {
        each_unknown_keyword(schema, &mut |path, key| {
            let place = locate(
                subject.tool,
                written,
                &path.iter().map(String::as_str).collect::<Vec<_>>(),
                EntryPart::Key,
            );
            let finding = RULE.finding(format!(
                "`{key}` is not a JSON Schema keyword, at `{}` of `{}`",
                pointer(path),
                written.field
            ));
            findings.add(finding.at(place).field(written.field).help(help_for(key)));
        });
    }
}

fn help_for(key: &str) -> String {
    if let Some((_, help)) = ELSEWHERE.iter().find(|(word, _)| *word == key) {
        return (*help).to_owned();
    }
    let otherwise = format!("remove it, or call it `x-{key}` if it is meant for others");
    did_you_mean(nearest(key, keywords()), &otherwise)
}
