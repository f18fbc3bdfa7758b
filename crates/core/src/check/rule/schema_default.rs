//! `SCHEMA_DEFAULT_UNFIT`.

use super::Check;
use crate::artifact::locate::{EntryPart, SchemaField, locate};
use crate::check::schema::parts;
use crate::check::subject::{Findings, ToolSubject};
use crate::diagnostic::{Rule, Severity};
use crate::schema::unfit_default;

pub(super) const RULE: Rule<Check> = Rule {
    code: "SCHEMA_DEFAULT_UNFIT",
    severity: Severity::Error,
    why: "A default is filled in before the arguments are checked. If it does not fit its own \
          schema, every call that leaves the argument out fails.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nparameters:\n  name: { type: string, required: true }\n  lines: { type: integer, default: all }\nscript: |\n  def run(args):\n      return fs.read(args[\"name\"])\n---\nReads one note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\nparameters:\n  name: { type: string, required: true }\n  lines: { type: integer, default: 10 }\nscript: |\n  def run(args):\n      return fs.read(args[\"name\"])\n---\nReads one note.\n",
    )],
    check: Check::Tool(check),
};

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    let tool = subject.tool;
    let (Some(source), Some(unfit)) = (&tool.schema_source, unfit_default(&tool.input_schema))
    else {
        return;
    };
    let path = parts(&unfit.path);
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let written = SchemaField {
        field: source.value,
        span: source.span,
    };
    findings.add(
        RULE.finding(format!(
            "the default at {} does not fit its own schema: {}",
            unfit.path, unfit.message
        ))
        .at(locate(tool, written, &path, EntryPart::Value))
        .field(source.value)
        .help("change the default, or the schema around it"),
    );
}
