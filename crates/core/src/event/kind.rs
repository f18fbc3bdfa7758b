//! Every kind of event, in one table. The types, the names and the reference page come from it.

use super::field::{EventField, Quoted};
use crate::decision::{Action, HookAction};
use crate::door::Door;
use crate::refusal::{Class, Code};
use crate::result::{ArtifactRef, Enforced};
use crate::stage::StageTimes;
use serde_json::{Map, Value};
use tool_harness_sandbox::process::DenialLayer;

macro_rules! events {
    ($(
        $(#[doc = $doc:literal])+
        $kind:ident = $name:literal {
            $($(#[doc = $about:literal])+ $field:ident: $type:ty,)*
        }
    )+) => {
        /// The name of an event. All custom events share one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum EventName { $($(#[doc = $doc])+ $kind,)+ }

        impl EventName {
            /// Every name.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)+];

            /// The name as text, `custom.*` for custom events.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }

            /// When the event is written.
            #[must_use]
            pub const fn doc(self) -> &'static str {
                match self { $(Self::$kind => concat!($($doc),+).trim_ascii(),)+ }
            }

            /// The fields with their meanings.
            #[must_use]
            pub const fn fields(self) -> &'static [(&'static str, &'static str)] {
                match self {
                    $(Self::$kind => const { &[$((stringify!($field), concat!($($about),+).trim_ascii()),)*] },)+
                }
            }
        }

        /// What happened.
        #[derive(Clone, Debug)]
        pub enum EventKind {
            $($(#[doc = $doc])+ $kind { $($(#[doc = $about])+ $field: $type,)* },)+
        }

        impl EventKind {
            /// The name of the event.
            #[must_use]
            pub const fn name(&self) -> EventName {
                match self { $(Self::$kind { .. } => EventName::$kind,)+ }
            }

            /// Adds the fields to a JSON object.
            pub(super) fn write(&self, object: &mut Map<String, Value>) {
                let mut put = |name: &str, value: Option<Value>| {
                    if let Some(value) = value {
                        object.insert(name.to_owned(), value);
                    }
                };
                match self {
                    $(Self::$kind { $($field),* } => { $(put(stringify!($field), $field.to_json());)* })+
                }
            }

            /// Shows every part that may quote what somebody wrote, with the name of its field.
            pub(crate) fn visit(&mut self, visitor: &mut dyn FnMut(&'static str, Quoted<'_>)) {
                match self {
                    $(Self::$kind { $($field),* } => {
                        $($field.visit(&mut |quoted| visitor(stringify!($field), quoted));)*
                    })+
                }
            }
        }
    };
}

events! {
    /// A call passed the rules; its hooks run next. Exactly one `tool.completed` or `tool.failed` follows.
    ToolStarted = "tool.started" {
        /// The tool's canonical name.
        tool: String,
        /// The digest of the arguments.
        args_digest: String,
        /// Where the call came in.
        door: Door,
        /// The mode.
        mode: String,
        /// The arguments, for a sink that asks for payloads.
        args: Option<Value>,
    }

    /// A started call ended with a result.
    ToolCompleted = "tool.completed" {
        /// The tool's canonical name.
        tool: String,
        /// The time taken.
        elapsed_ms: f64,
        /// The time by stage, for the stages it reached; `before` begins with the writing of `tool.started`.
        stages_ms: StageTimes,
        /// What contained the body.
        enforced: Enforced,
        /// How many secrets were taken out of the result and of what the call stored, if there were any.
        redacted: Option<u64>,
        /// `id` and `digest` of each artifact of the result, if there are any.
        artifacts: Vec<ArtifactRef>,
        /// `content` and `value` of the result, for a sink that asks for payloads.
        result: Option<Value>,
    }

    /// A started call ended in an error or was stopped by a hook.
    ToolFailed = "tool.failed" {
        /// The tool's canonical name.
        tool: String,
        /// The error's code.
        code: Code,
        /// What a caller may hope for.
        class: Class,
        /// The time taken.
        elapsed_ms: f64,
        /// The time by stage, for the stages it reached; `before` begins with the writing of `tool.started`.
        stages_ms: StageTimes,
        /// How many secrets were taken out of the result and of what the call stored, if there were any.
        redacted: Option<u64>,
        /// `id` and `digest` of each artifact of the result, if there are any.
        artifacts: Vec<ArtifactRef>,
        /// `content` and `value` of the result, for a sink that asks for payloads.
        result: Option<Value>,
        /// The error's message, for a sink that asks for payloads: it may quote what was sent.
        message: Option<String>,
    }

    /// A call was refused before it started.
    ToolRejected = "tool.rejected" {
        /// The name asked for.
        tool: String,
        /// The refusal's code.
        code: Code,
        /// What a caller may hope for.
        class: Class,
        /// The time taken.
        elapsed_ms: f64,
        /// The time by stage, for the stages it reached.
        stages_ms: StageTimes,
        /// How many secrets were taken out of the refusal, if there were any.
        redacted: Option<u64>,
        /// The refusal's message, for a sink that asks for payloads: it may quote what was sent.
        message: Option<String>,
    }

    /// The body of a call runs again.
    ToolRetried = "tool.retried" {
        /// The tool's canonical name.
        tool: String,
        /// Which attempt it is, from 2.
        attempt: u32,
        /// Why the attempt before failed, when a `retry` policy repeats the call.
        code: Option<Code>,
        /// How long the call waits before the attempt.
        wait_ms: u64,
    }

    /// The harness repaired the arguments of a call before it validated them, as the host's policy allows.
    ToolRepaired = "tool.repaired" {
        /// The tool's canonical name.
        tool: String,
        /// What it undid: fence, text, wrapper, argument.
        repairs: Vec<&'static str>,
    }

    /// A turn offers fewer tools than the mode has.
    SurfaceNarrowed = "surface.narrowed" {
        /// Which turn of the run it is, from 1.
        turn: u64,
        /// The names of the tools that are left.
        offered: Vec<String>,
    }

    /// A started call passed its hooks, and the client runs it. The client's hook after the call writes the last event.
    ToolDelegated = "tool.delegated" {
        /// The name that hooks saw.
        tool: String,
        /// The client.
        client: String,
        /// The client's name for the tool.
        native: String,
        /// The time by stage, for the stages it reached.
        stages_ms: StageTimes,
    }

    /// A script or a Rust tool reported progress.
    ToolProgress = "tool.progress" {
        /// From 0 to 1.
        fraction: f64,
        /// What it is doing.
        message: String,
    }

    /// The harness stored the whole of a long result or output, or a tool stored something.
    ArtifactStored = "artifact.stored" {
        /// Its handle, which only this session can use.
        id: String,
        /// Its media type.
        media_type: String,
        /// Its length.
        bytes: u64,
        /// The digest of its content, which has no secrets in it.
        digest: String,
    }

    /// A rule denied a call or a built-in, or asked for a person.
    RuleDecided = "rule.decided" {
        /// The tool's canonical name.
        tool: String,
        /// The tool or built-in that was judged.
        subject: String,
        /// deny or ask.
        action: Action,
        /// The rule in words.
        rule: String,
        /// The file, line and column it came from, unless it is built in.
        at: Option<String>,
    }

    /// A hook or a middleware gave a decision other than allow, or failed.
    HookDecided = "hook.decided" {
        /// Its name.
        hook: String,
        /// The event it ran for.
        event_name: String,
        /// block, modify, ask, defer, delegate or failed; in a dry run also allow and skip.
        action: HookAction,
        /// Its words; empty if it gave none.
        reason: String,
    }

    /// A script called `log` or `print`. The scripts of one call may raise 1,000 events; a last `log` of `harness` says how many more there were.
    Log = "log" {
        /// debug, info, warn or error.
        level: LogLevel,
        /// The text.
        message: String,
        /// Named values.
        fields: Value,
        /// The tool or hook, or `harness`.
        source: String,
    }

    /// A script or a Rust tool called `emit`.
    Custom = "custom.*" {
        /// `custom.` and the name it emitted.
        event: String,
        /// What it emitted.
        payload: Value,
        /// The tool or hook.
        source: String,
    }

    /// The jail refused a path, or the kernel said that it refused one to a process.
    FileDenied = "file.denied" {
        /// The tool or hook.
        source: String,
        /// The built-in that was called.
        builtin: String,
        /// The program, when a process was refused.
        program: Option<String>,
        /// The path, when a process was refused.
        path: Option<String>,
        /// Why.
        message: String,
        /// What refused it, when a process was refused.
        layer: Option<DenialLayer>,
    }

    /// A request, or a process, tried to reach a host that is not allowed.
    NetworkDenied = "network.denied" {
        /// The tool or hook.
        source: String,
        /// The built-in that was called.
        builtin: String,
        /// The program, when a process tried.
        program: Option<String>,
        /// What it tried to reach.
        host: Option<String>,
        /// Why it may not.
        message: String,
        /// What refused it.
        layer: DenialLayer,
    }

    /// The harness ended a command: at its deadline, by a cancel, or because it went beyond a limit.
    ProcessKilled = "process.killed" {
        /// The tool.
        source: String,
        /// The built-in that was called.
        builtin: String,
        /// The program.
        program: Option<String>,
        /// The limit it went beyond, when that is known.
        limit: Option<String>,
        /// Why.
        message: String,
        /// What ended it.
        layer: DenialLayer,
    }
}

impl EventName {
    /// Whether the event is the last of its call.
    #[must_use]
    pub const fn is_end(self) -> bool {
        matches!(
            self,
            Self::ToolCompleted | Self::ToolFailed | Self::ToolRejected
        )
    }
}

impl EventKind {
    /// A warning of the harness itself.
    pub(crate) fn warning(message: String, fields: Value) -> Self {
        Self::Log {
            level: LogLevel::Warn,
            message,
            fields,
            source: "harness".to_owned(),
        }
    }
}

/// The level of a line that a script logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// A detail for the script's author.
    Debug,
    /// Something worth knowing.
    Info,
    /// Something that may be wrong.
    Warn,
    /// Something that is wrong.
    Error,
}

impl LogLevel {
    /// The level's word in events.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }

    /// The level of this word; `info` for any other.
    pub(crate) fn of(word: &str) -> Self {
        match word {
            "debug" => Self::Debug,
            "warn" => Self::Warn,
            "error" => Self::Error,
            _ => Self::Info,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_names_are_unique() {
        let mut names: Vec<_> = EventName::ALL.iter().map(|name| name.text()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), EventName::ALL.len());
    }
}
