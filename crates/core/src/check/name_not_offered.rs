//! `NAME_NOT_OFFERED`.

use super::subject::{Findings, ToolSubject, tool_place};
use super::{Check, Rule};
use crate::artifact::Form;
use crate::diagnostic::Severity;

pub(super) const RULE: Rule = Rule {
    code: "NAME_NOT_OFFERED",
    severity: Severity::Error,
    why: "Model providers refuse a whole request when one tool's name has a letter they do not know. A name starts with a letter or `_` and has \
          at most 64 letters, digits, `_` and `-`; any other needs an alias.",
    bad: &[(
        ".harness/tools/read note.md",
        "---\nparameters:\n  path: {type: string, required: true}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\nparameters:\n  path: {type: string, required: true}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
    )],
    check: Check::Tool(check),
};

/// Whether providers accept the name.
pub(crate) fn is_offerable(name: &str) -> bool {
    let first = name.bytes().next();
    first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && name.len() <= 64
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    let tool = subject.tool;
    let has_alias = tool
        .aliases
        .iter()
        .any(|(_, alias)| is_offerable(&alias.value));
    if is_offerable(&tool.name) || has_alias {
        return;
    }
    let change = match tool.origin.form {
        Form::File => "rename the file",
        Form::Inline(_) => "change `name`",
    };
    findings.add(
        RULE.finding(format!("the name `{}` cannot be offered to a model", tool.name)).at(tool_place(tool)).help(format!(
            "{change} to at most 64 of `A-Z a-z 0-9 _ -`, not starting with a digit or `-`, or give it a name under `aliases`"
        )),
    );
}

#[cfg(test)]
mod tests {
    use super::is_offerable;

    #[test]
    fn names_of_letters_digits_underscores_and_dashes_are_offered() {
        let long = "a".repeat(64);
        for name in ["read_note", "readNote", "_x", "a-b", "A1", long.as_str()] {
            assert!(is_offerable(name), "{name}");
        }
        let longer = "a".repeat(65);
        for name in ["", "1a", "-a", "a b", "a.b", "é", "a/b", longer.as_str()] {
            assert!(!is_offerable(name), "{name}");
        }
    }
}
