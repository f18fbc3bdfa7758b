//! A call that may not or could not be done: a typed answer for the model and the record.

use crate::control::Control;
use crate::span::Place;
use crate::stage::Stage;
use serde_json::{Map, Value, json};
use std::fmt;
use std::ops::{Deref, DerefMut};

/// What a loop may hope for after a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Another call, changed, may succeed.
    Repairable,
    /// The same call may succeed later.
    Retryable,
    /// A person must act first.
    Fatal,
}

impl Class {
    /// The class as text.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Repairable => "repairable",
            Self::Retryable => "retryable",
            Self::Fatal => "fatal",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal, $class:ident;)+) => {
        /// Every stable code of a refusal or failure.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[doc = $doc])+ $name,)+ }

        impl Code {
            /// All codes, in the order of the stages.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The code as text.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// The class of the code.
            #[must_use]
            pub const fn class(self) -> Class {
                match self { $(Self::$name => Class::$class,)+ }
            }

            /// What the code means, for the reference page.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+),)+ }
            }
        }
    };
}

codes! {
    /// The project's root file, or its map of the calling client's tools, is broken.
    Stopped = "project.broken", Fatal;
    /// No tool has this name.
    ToolUnknown = "tool.unknown", Repairable;
    /// The call id was used before.
    DuplicateCall = "tool.duplicate_call", Repairable;
    /// The tool exists and is not offered here.
    ToolNotAdvertised = "tool.not_advertised", Repairable;
    /// The arguments are not JSON that can be represented.
    ArgsMalformed = "tool.args.malformed_json", Repairable;
    /// The arguments do not fit the tool's schema.
    ArgsInvalid = "tool.args.invalid_schema", Repairable;
    /// A limit on calls, workers or nesting was reached.
    Limit = "tool.limit", Retryable;
    /// A rule denies the call.
    Denied = "tool.denied", Repairable;
    /// A hook blocked the call.
    HookBlocked = "tool.hook.blocked", Repairable;
    /// A hook could not be loaded or did not give a decision.
    HookFailed = "tool.hook.failed", Fatal;
    /// A person said no, or no person could be asked.
    ApprovalDenied = "tool.approval.denied", Repairable;
    /// No person answered in time.
    ApprovalTimeout = "tool.approval.timeout", Repairable;
    /// The artifact declares something that nothing enforces yet.
    Unsupported = "tool.unsupported", Fatal;
    /// The tool has neither a script nor a registered body.
    NoBody = "tool.no_body", Fatal;
    /// The tool did not finish before its deadline.
    Timeout = "tool.timeout", Retryable;
    /// The call was cancelled.
    Cancelled = "tool.cancelled", Retryable;
    /// The tool, or middleware, ended or halted the run instead of answering.
    Interrupted = "tool.interrupted", Fatal;
    /// The tool says it failed.
    Failed = "tool.failed", Repairable;
    /// The result does not fit the tool's output schema.
    OutputInvalid = "tool.output.invalid_schema", Repairable;
    /// A secret the tool needs cannot be read.
    SecretMissing = "tool.secret.missing", Fatal;
    /// This program cannot start script workers.
    ScriptNoWorker = "script.no_worker", Fatal;
    /// The worker died.
    ScriptCrashed = "script.crashed", Retryable;
    /// The script wanted more memory than it may have.
    ScriptMemory = "script.memory_limit", Repairable;
    /// The script used more processor time or steps than it may.
    ScriptSteps = "script.step_limit", Repairable;
    /// Functions called each other too deeply.
    ScriptRecursion = "script.recursion", Repairable;
    /// The result is too large, too deep or not JSON.
    ScriptResult = "script.result", Repairable;
    /// The plan of the call does not allow what was tried: a host, a program, a folder, a variable.
    SandboxDenied = "sandbox.denied", Repairable;
    /// The operating system refused something the sandbox needs, or this machine cannot contain processes.
    SandboxUnavailable = "sandbox.unavailable", Retryable;
    /// The record could not be written.
    StoreFailed = "store.failed", Fatal;
    /// The harness itself is broken.
    Internal = "internal", Fatal;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Why a call was refused or failed. A pointer to its [`Grounds`], so that whatever may end in one is no larger for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal(Box<Grounds>);

/// What a [`Refusal`] says.
#[derive(Clone, Debug, PartialEq)]
pub struct Grounds {
    /// Stable code.
    pub code: Code,
    /// What a loop may hope for: the code's class, unless the tool said otherwise.
    pub class: Class,
    /// What was wrong, and where; one or more sentences a model can act on.
    pub message: String,
    /// What would be accepted, who can change it, the next command.
    pub help: Option<String>,
    /// Machine-readable parts: `path`, `hook`, `rule`, `nearest`.
    pub details: Map<String, Value>,
    /// The line of the rule, hook or script it came from.
    pub place: Option<Place>,
    /// Where the run shall go instead of reading an answer. Only a tool or middleware of the host says so.
    pub control: Option<Control>,
    /// The stage that refused the call; absent for a failure of its body.
    pub stage: Option<Stage>,
}

impl Deref for Refusal {
    type Target = Grounds;

    fn deref(&self) -> &Grounds {
        &self.0
    }
}

impl DerefMut for Refusal {
    fn deref_mut(&mut self) -> &mut Grounds {
        &mut self.0
    }
}

impl Refusal {
    /// A refusal with a code and a message.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let class = code.class();
        Self(Box::new(Grounds {
            code,
            class,
            message: message.into(),
            help: None,
            details: Map::new(),
            place: None,
            control: None,
            stage: None,
        }))
    }

    /// Adds what would be accepted, or who can change it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says what a loop may hope for, where the code's own class is not it.
    #[must_use]
    pub fn class(mut self, class: Class) -> Self {
        self.class = class;
        self
    }

    /// Says which stage refused the call.
    pub(crate) fn in_stage(mut self, stage: Stage) -> Self {
        self.stage = Some(stage);
        self
    }

    /// Says where the run shall go.
    pub(crate) fn control(mut self, control: Control) -> Self {
        self.control = Some(control);
        self
    }

    /// Adds a machine-readable part.
    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Adds where it came from.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// All that it says, to be taken apart.
    #[must_use]
    pub fn into_grounds(self) -> Grounds {
        *self.0
    }

    /// The `error` object of a result.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut details = self.details.clone();
        if let Some(help) = &self.help {
            details.insert("help".into(), json!(help));
        }
        if let Some(place) = &self.place {
            details.insert("at".into(), json!(place.to_string()));
        }
        let mut object = Map::new();
        object.insert("code".into(), json!(self.code.text()));
        object.insert("class".into(), json!(self.class.to_string()));
        object.insert("message".into(), json!(self.message));
        if !details.is_empty() {
            object.insert("details".into(), Value::Object(details));
        }
        Value::Object(object)
    }

    /// What the model reads.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.help {
            Some(help) => format!("{}: {}\n{help}", self.code, self.message),
            None => format!("{}: {}", self.code, self.message),
        }
    }
}
