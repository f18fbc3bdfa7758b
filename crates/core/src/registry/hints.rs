//! MCP's four hints, derived from a tool's effects. Only this file decides them.

use super::RegisteredTool;
use crate::effect::Effects;
use serde_json::{Value, json};

/// What a client may assume about a tool before it asks a person. All four are always sent, because
/// some clients assume the worst of a missing hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    /// The tool changes nothing.
    pub read_only: bool,
    /// The tool may destroy or overwrite data.
    pub destructive: bool,
    /// A repeated call changes nothing more.
    pub idempotent: bool,
    /// The tool reaches beyond this machine, or may.
    pub open_world: bool,
}

impl Hints {
    /// The hints in MCP's form.
    #[must_use]
    pub fn to_json(self) -> Value {
        json!({
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": self.open_world,
        })
    }
}

pub(super) fn hints(registered: &RegisteredTool) -> Hints {
    let tool = &registered.tool;
    let written = |name: &str| tool.annotations.hints.get(name).and_then(Value::as_bool);
    from_effects(
        registered.effects,
        tool.idempotent,
        written("destructiveHint"),
        written("openWorldHint"),
    )
}

/// A tool that writes may overwrite, and a process may reach the network. Only the author can
/// declare otherwise.
fn from_effects(
    effects: Effects,
    idempotent: bool,
    destructive: Option<bool>,
    open_world: Option<bool>,
) -> Hints {
    let any = |effects_of: &[Effects]| effects_of.iter().any(|&one| effects.contains(one));
    let changes = [
        Effects::WRITE,
        Effects::EXEC,
        Effects::NET_WRITE,
        Effects::DESKTOP,
        Effects::DESTRUCTIVE,
        Effects::SPEND,
    ];
    let read_only = !any(&changes);
    Hints {
        read_only,
        destructive: !read_only && (any(&[Effects::DESTRUCTIVE]) || destructive.unwrap_or(true)),
        idempotent: read_only || idempotent,
        open_world: any(&[Effects::NET_READ, Effects::NET_WRITE, Effects::DESKTOP])
            || open_world.unwrap_or_else(|| any(&[Effects::EXEC])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_say_the_worst_that_the_effects_allow_unless_the_author_says_otherwise() {
        let files = Effects::READ | Effects::WRITE;
        for (effects, idempotent, destructive, open_world, expected) in [
            (Effects::NONE, false, None, None, [true, false, true, false]),
            (Effects::READ, false, None, None, [true, false, true, false]),
            (
                Effects::READ | Effects::NET_READ,
                false,
                None,
                None,
                [true, false, true, true],
            ),
            (
                Effects::READ | Effects::NET_READ,
                false,
                None,
                Some(false),
                [true, false, true, true],
            ),
            (files, false, None, None, [false, true, false, false]),
            (files, true, Some(false), None, [false, false, true, false]),
            (
                files | Effects::DESTRUCTIVE,
                false,
                Some(false),
                None,
                [false, true, false, false],
            ),
            (
                files | Effects::EXEC,
                false,
                None,
                None,
                [false, true, false, true],
            ),
            (
                files | Effects::EXEC,
                false,
                None,
                Some(false),
                [false, true, false, false],
            ),
            (
                Effects::SPEND,
                false,
                None,
                Some(true),
                [false, true, false, true],
            ),
        ] {
            let Hints {
                read_only,
                destructive: lost,
                idempotent: again,
                open_world: open,
            } = from_effects(effects, idempotent, destructive, open_world);
            assert_eq!([read_only, lost, again, open], expected, "{effects}");
        }
    }
}
