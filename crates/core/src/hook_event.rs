//! The events hooks can listen to, and what their payloads hold.

/// One event, or a family whose name ends in `.*`.
pub struct HookEvent {
    /// `tool.pre`, or `custom.*`.
    pub name: &'static str,
    /// When it fires.
    pub doc: &'static str,
    /// Whether a hook's answer can stop the action; hooks on such events fail closed.
    pub gating: bool,
    /// What the payload holds.
    pub keys: Keys,
    /// What the payload's `name` names.
    pub(crate) name_means: NameMeans,
}

/// The keys of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// These and no others, separated by spaces. A key with a dot is a part of a nested dict, and
    /// then only the listed parts exist.
    Only(&'static str),
    /// Set by the sender.
    Any,
}

/// What a payload's `name` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameMeans {
    /// A tool.
    Tool,
    /// A built-in, as `fs.read`.
    Builtin,
    /// Something else, or there is no name.
    Other,
}

const fn watch(name: &'static str, doc: &'static str, keys: &'static str) -> HookEvent {
    HookEvent {
        name,
        doc,
        gating: false,
        keys: Keys::Only(keys),
        name_means: NameMeans::Other,
    }
}

const fn gate(name: &'static str, doc: &'static str, keys: &'static str) -> HookEvent {
    HookEvent {
        gating: true,
        ..watch(name, doc, keys)
    }
}

/// Every event, in the order of a session.
pub const HOOK_EVENTS: &[HookEvent] = &[
    gate(
        "artifact.load",
        "A tool, hook or agent is about to be registered.",
        "kind name path frontmatter script body tags effects",
    ),
    watch(
        "session.start",
        "A session begins.",
        "session_id mode door client cwd",
    ),
    watch(
        "session.end",
        "A session ends.",
        "session_id mode door client cwd reason",
    ),
    watch(
        "run.start",
        "A prompt begins to be answered.",
        "session_id run_id mode agent agent_name model prompt",
    ),
    watch(
        "run.end",
        "A prompt was answered, or given up.",
        "session_id run_id mode agent agent_name model prompt text response usage reason error",
    ),
    watch(
        "turn.start",
        "A model is about to be asked.",
        "session_id run_id mode agent agent_name model turn message prompt",
    ),
    watch(
        "turn.end",
        "A model answered and its calls ended.",
        "session_id run_id mode agent agent_name model turn text response tool_calls tool_results \
         usage error",
    ),
    gate(
        "tool.pre",
        "A call passed the rules and is about to run.",
        "name tool_name args arguments raw_arguments call_id id tool tool.name tool.args \
         tool.arguments session_id mode effects tags client native",
    )
    .naming(NameMeans::Tool),
    watch(
        "tool.post",
        "A call ended, well or not.",
        "name tool_name args arguments raw_arguments call_id id tool tool.name tool.args \
         tool.arguments session_id mode effects tags client native content result is_error error \
         error_code error_details",
    )
    .naming(NameMeans::Tool),
    gate(
        "builtin.pre",
        "A script is about to use a built-in.",
        "name args tool call_id",
    )
    .naming(NameMeans::Builtin),
    watch(
        "builtin.post",
        "A built-in answered.",
        "name args tool call_id result error",
    )
    .naming(NameMeans::Builtin),
    gate(
        "completion.pre",
        "A request is about to go to a model provider.",
        "session_id run_id turn mode agent agent_name model messages tools",
    ),
    watch(
        "completion.post",
        "A model provider answered.",
        "session_id run_id turn mode agent agent_name model text response content tool_calls usage \
         stop_reason finish_reason error",
    ),
    gate(
        "delegation.pre",
        "A task is about to go to another agent.",
        "id parent_id session_id run_id mode agent agent_name task prompt system_prompt model tools \
         hooks depth verify",
    ),
    watch(
        "delegation.post",
        "Another agent ended its task.",
        "id parent_id session_id run_id mode agent agent_name task prompt text response content \
         result tool_calls tool_results is_error error",
    ),
    watch(
        "delegation.post_verify",
        "The result of another agent was verified.",
        "id parent_id session_id run_id mode agent agent_name task text response content result \
         tool_calls tool_results verified reason error",
    ),
    gate(
        "mode.enter",
        "A session is about to change its mode.",
        "session_id mode from to reason",
    ),
    watch(
        "mode.exit",
        "A session left a mode.",
        "session_id mode from to reason",
    ),
    gate(
        "agent.stop",
        "An agent is about to stop.",
        "id session_id run_id turn iteration mode agent agent_name text response content reason \
         finish_reason usage tool_calls tool_results",
    ),
    watch(
        "approval.requested",
        "A call waits for a person.",
        "id name tool_name args arguments call_id session_id mode effects reason plan",
    )
    .naming(NameMeans::Tool),
    watch(
        "approval.resolved",
        "A person, or the lack of one, decided.",
        "id name tool_name args arguments call_id session_id mode effects reason answer approved by",
    )
    .naming(NameMeans::Tool),
    watch(
        "error",
        "Something failed.",
        "session_id call_id stage code class message name tool hook",
    ),
    HookEvent {
        name: "meta.*",
        doc: "A script is about to change the project it runs in.",
        gating: true,
        keys: Keys::Any,
        name_means: NameMeans::Other,
    },
    HookEvent {
        name: "custom.*",
        doc: "A script called `emit`.",
        gating: false,
        keys: Keys::Any,
        name_means: NameMeans::Other,
    },
];

/// The events that the harness raises in this version; the parts that raise the others do not exist
/// yet.
pub const RAISED: [&str; 6] = [
    "artifact.load",
    "builtin.post",
    "builtin.pre",
    "custom.*",
    "tool.post",
    "tool.pre",
];

/// The event of that name. `custom.*` and `meta.*` accept any suffix of lower case letters, digits,
/// `_` and `.`, or the star itself.
#[must_use]
pub fn find(name: &str) -> Option<&'static HookEvent> {
    HOOK_EVENTS
        .iter()
        .find(|event| match event.name.strip_suffix('*') {
            None => event.name == name,
            Some(family) => name
                .strip_prefix(family)
                .is_some_and(|suffix| suffix == "*" || is_suffix(suffix)),
        })
}

impl HookEvent {
    const fn naming(self, name_means: NameMeans) -> Self {
        Self { name_means, ..self }
    }

    /// Whether anything raises it yet.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        RAISED.contains(&self.name)
    }

    /// Whether a hook that fails stops what it judges, unless it says otherwise: the action of a
    /// gating event, and the result of a call, which a redactor that raises must not let out.
    #[must_use]
    pub fn fails_closed(&self) -> bool {
        self.gating || self.name == "tool.post"
    }

    /// Whether the payload can hold this key; `tool.name` is the part `name` of the key `tool`.
    #[must_use]
    pub(crate) fn has_key(&self, key: &str) -> bool {
        let Keys::Only(keys) = self.keys else {
            return true;
        };
        let mut steps = key.split('.');
        let first = steps.next().unwrap_or_default();
        if !keys.split(' ').any(|known| known == first) {
            return false;
        }
        let Some(part) = steps.next() else {
            return true;
        };
        let mut parts = keys
            .split(' ')
            .filter_map(|known| known.strip_prefix(first)?.strip_prefix('.'))
            .peekable();
        parts.peek().is_none() || parts.any(|known| known == part)
    }
}

fn is_suffix(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'.')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_by_name_and_by_family() {
        for (name, expected) in [
            ("tool.pre", Some("tool.pre")),
            ("custom.build_done", Some("custom.*")),
            ("custom.*", Some("custom.*")),
            ("meta.tool.registered", Some("meta.*")),
            ("custom.", None),
            ("custom.Loud", None),
            ("tool.*", None),
            ("PreToolUse", None),
        ] {
            assert_eq!(find(name).map(|event| event.name), expected, "{name}");
        }
    }

    #[test]
    fn what_design_calls_gating_gates() {
        for event in HOOK_EVENTS {
            let expected = event.name.ends_with(".pre")
                || ["artifact.load", "mode.enter", "agent.stop", "meta.*"].contains(&event.name);
            assert_eq!(event.gating, expected, "{}", event.name);
        }
    }

    #[test]
    fn keys_are_known_per_event_and_one_level_down() {
        for (event, key, expected) in [
            ("tool.pre", "args", true),
            ("tool.pre", "args.command", true),
            ("tool.pre", "tool.name", true),
            ("tool.pre", "tool.nmae", false),
            ("tool.pre", "result", false),
            ("tool.post", "result.stdout", true),
            ("builtin.pre", "arguments", false),
            ("custom.done", "anything.at.all", true),
        ] {
            let found = find(event).expect("a known event");
            assert_eq!(found.has_key(key), expected, "{event} {key}");
        }
    }
}
