//! The result of a call.

use crate::containment::Containment;
use crate::content::ContentBlock;
use crate::content::joined;
use crate::refusal::Refusal;

use crate::id::{ToolCallId, ToolName};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tool_harness_sandbox::tier::{self, Tier};

/// The one result of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The call's id.
    pub call_id: ToolCallId,
    /// The tool's canonical name, or the requested name if no such tool exists.
    pub name: ToolName,
    /// Whether the call failed or was refused.
    pub is_error: bool,
    /// What the model reads.
    pub content: Vec<ContentBlock>,
    /// What the tool returned.
    pub value: Option<Value>,
    /// What was stored as artifacts, because it is long or because the tool chose to.
    pub artifacts: Vec<ArtifactRef>,
    /// Files and other things that the result refers to.
    pub refs: Vec<Value>,
    /// Anything else the tool added.
    pub metadata: Map<String, Value>,
    /// What a service that the tool called said about its answer: a request id, a model, its cost.
    pub provider: Map<String, Value>,
    /// Why the call failed or was refused.
    pub error: Option<Refusal>,
    /// What contained the body.
    pub enforced: Enforced,
    /// How long the call took.
    pub elapsed: Duration,
}

/// How many artifacts one call may store, and how many a tool may list itself.
pub(crate) const MOST_LISTED: usize = 1000;

/// A reference to a stored artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactRef {
    /// The handle, such as `art_…`.
    pub id: String,
    /// Its media type, such as `text/plain`.
    pub media_type: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// The digest of its content, such as `blake3:…`.
    pub digest: String,
}

impl ArtifactRef {
    /// Whether a store could have issued it. Such a reference carries nothing but where to look.
    pub(crate) fn is_well_formed(&self) -> bool {
        let digits =
            |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_artifact_id(&self.id)
            && self.digest.strip_prefix("blake3:").is_some_and(digits)
            && self.media_type.len() <= MOST_MEDIA_TYPE
    }

    /// The JSON form in results.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({"id": self.id, "media_type": self.media_type, "bytes": self.bytes, "digest": self.digest})
    }
}

/// The longest media type, in bytes.
pub(crate) const MOST_MEDIA_TYPE: usize = 255;

/// Whether a text has the form of a handle. Nothing else may become part of a path.
pub(crate) fn is_artifact_id(text: &str) -> bool {
    text.strip_prefix("art_")
        .is_some_and(|digits| is_hex(digits, 32))
}

/// Whether a text consists of this many lower-case hexadecimal digits.
pub(crate) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// What contained the body of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Enforced {
    /// No body ran.
    Nothing,
    /// A confined worker process, with file access through the jail.
    Worker,
    /// A worker and the processes it started: their tier, and what enforced each limit.
    Processes(Box<ProcessEnforcement>),
    /// Trusted code of the host.
    Host,
}

/// What contained the processes of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessEnforcement {
    /// The weakest tier of any of them.
    pub tier: Tier,
    /// What enforced each limit, and what was weaker than requested.
    pub by: Map<String, Value>,
}

impl Enforced {
    /// What the sandbox reports to have enforced for one command.
    pub(crate) fn contained(enforced: &tier::Enforcement, containment: Containment) -> Self {
        let mut by = Map::new();
        let mut set = |name: &str, value: Value| drop(by.insert(name.to_owned(), value));
        set("files", enforced.files.into());
        set("network", enforced.network.into());
        for (name, mechanism) in [
            ("memory", enforced.memory),
            ("cpu", enforced.cpu),
            ("processes", enforced.processes),
            ("tmp", enforced.tmp),
        ] {
            set(name, mechanism.to_string().into());
        }
        if !enforced.weaker.is_empty() {
            set("weaker", enforced.weaker.clone().into());
        }
        if containment == Containment::Off {
            set("sandbox", "off".into());
        }
        Self::Processes(Box::new(ProcessEnforcement {
            tier: enforced.tier,
            by,
        }))
    }

    /// The weaker containment of two commands in one call.
    pub(crate) fn weaker(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Processes(one), Self::Processes(two)) if rank(one.tier) <= rank(two.tier) => {
                self
            }
            (_, Self::Processes(_)) => other,
            _ => self,
        }
    }

    /// The JSON form in results.
    #[must_use]
    pub fn to_json(&self) -> Option<Value> {
        match self {
            Self::Nothing => None,
            Self::Worker => Some(json!({"tier": "worker"})),
            Self::Processes(held) => {
                let mut object =
                    Map::from_iter([("tier".to_owned(), json!(held.tier.to_string()))]);
                object.extend(held.by.clone());
                Some(Value::Object(object))
            }
            Self::Host => Some(json!("host")),
        }
    }
}

/// Ranks a tier; the weakest is the lowest.
fn rank(tier: Tier) -> u8 {
    match tier {
        Tier::None => 0,
        Tier::B => 1,
        Tier::A => 2,
    }
}

impl ToolResult {
    /// The result of a call that never reached its body.
    pub(crate) fn refused(
        call_id: ToolCallId,
        name: impl Into<ToolName>,
        refusal: Refusal,
    ) -> Self {
        Self {
            call_id,
            name: name.into(),
            is_error: true,
            content: vec![ContentBlock::Text(refusal.text())],
            value: None,
            artifacts: Vec::new(),
            refs: Vec::new(),
            metadata: Map::new(),
            provider: Map::new(),
            error: Some(refusal),
            enforced: Enforced::Nothing,
            elapsed: Duration::ZERO,
        }
    }

    /// The result as a JSON document; empty fields are left out.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("call_id".into(), json!(self.call_id.as_str()));
        object.insert("name".into(), json!(self.name.as_str()));
        object.insert("is_error".into(), json!(self.is_error));
        if !self.content.is_empty() {
            object.insert(
                "content".into(),
                self.content.iter().map(ContentBlock::to_json).collect(),
            );
        }
        if let Some(value) = &self.value {
            object.insert("value".into(), value.clone());
        }
        object.extend(
            self.artifacts_json()
                .map(|artifacts| ("artifacts".to_owned(), artifacts)),
        );
        if !self.refs.is_empty() {
            object.insert("refs".into(), Value::Array(self.refs.clone()));
        }
        if !self.metadata.is_empty() {
            object.insert("metadata".into(), Value::Object(self.metadata.clone()));
        }
        if !self.provider.is_empty() {
            object.insert("provider".into(), Value::Object(self.provider.clone()));
        }
        if let Some(error) = &self.error {
            object.insert("error".into(), error.to_json());
        }
        if let Some(enforced) = self.enforced.to_json() {
            object.insert("enforced".into(), enforced);
        }
        object.insert("elapsed_ms".into(), milliseconds(self.elapsed).into());
        Value::Object(object)
    }

    /// The artifacts in the JSON form of results; `None` if there are none.
    pub(crate) fn artifacts_json(&self) -> Option<Value> {
        (!self.artifacts.is_empty())
            .then(|| self.artifacts.iter().map(ArtifactRef::to_json).collect())
    }

    /// The text that a model reads: all text blocks together.
    #[must_use]
    pub fn text(&self) -> String {
        joined(&self.content)
    }
}

/// The length of a value's JSON text, without writing it.
pub(crate) fn encoded_len(value: &impl serde::Serialize) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting never fails.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// A duration in milliseconds, rounded to a thousandth.
pub(crate) fn milliseconds(duration: Duration) -> f64 {
    let micros = u32::try_from(duration.as_micros()).unwrap_or(u32::MAX);
    f64::from(micros) / 1000.0
}
