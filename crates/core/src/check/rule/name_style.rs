//! `NAME_STYLE`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::artifact::tool::is_offerable;
use crate::check::subject::{Findings, ToolSubject, tool_place};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "NAME_STYLE",
    severity: Severity::Warning,
    why: "Models guess names in `snake_case`; one style for all tools means fewer calls to tools \
          that do not exist.",
    bad: &[(".harness/tools/readNote.md", READ_NOTE.1)],
    good: &[READ_NOTE],
    check: Check::Tool(check),
};

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    let tool = subject.tool;
    let snake = to_snake_case(&tool.name);
    if is_offerable(&tool.name) && snake != tool.name {
        findings.add(
            RULE.finding(format!("the name `{}` is not in snake_case", tool.name))
                .at(tool_place(tool))
                .help(format!("call it `{snake}`")),
        );
    }
}

fn to_snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut previous_lower = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && previous_lower {
            snake.push('_');
        }
        previous_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        snake.push(if c == '-' {
            '_'
        } else {
            c.to_ascii_lowercase()
        });
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::to_snake_case;

    #[test]
    fn suggested_names_are_snake_case() {
        for (name, expected) in [
            ("readNote", "read_note"),
            ("read-note", "read_note"),
            ("HTTPGet", "httpget"),
            ("_a1", "_a1"),
        ] {
            assert_eq!(to_snake_case(name), expected);
        }
    }
}
