//! The frames between the harness and a worker, after their header.

use super::wire::{Reader, WireError, Writer};
use crate::facts::ScriptKind;
use serde_json::Value;

/// The largest frame either side accepts.
pub const MAX_FRAME: usize = 64 << 20;

/// Bytes before each frame: its length, then the ticket of the request it belongs to.
pub const HEADER: usize = 12;

/// Appends a frame with its header. A worker marks its frames with the ticket of the request, which
/// it cannot know in advance, so that a late or early frame is not taken as the answer to another
/// request.
pub fn push_frame(frames: &mut Vec<u8>, ticket: u64, frame: &[u8]) -> Result<(), WireError> {
    let length = u32::try_from(frame.len())
        .ok()
        .filter(|_| frame.len() <= MAX_FRAME)
        .ok_or(WireError::TooLarge)?;
    frames.extend_from_slice(&length.to_le_bytes());
    frames.extend_from_slice(&ticket.to_le_bytes());
    frames.extend_from_slice(frame);
    Ok(())
}

/// Parses a header into length and ticket, once there are enough bytes.
#[must_use]
pub fn header(bytes: &[u8]) -> Option<(usize, u64)> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let ticket = rest.first_chunk::<8>()?;
    Some((
        usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX),
        u64::from_le_bytes(*ticket),
    ))
}

/// The first argument of a process that is a worker.
pub const WORKER_ARGUMENT: &str = "tool-harness-script-worker";

/// Harness to worker.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Find the facts of one source.
    Check {
        /// What it is.
        kind: ScriptKind,
        /// The source.
        source: String,
    },
    /// Store a script under a number. There is no answer; a failure is reported when it runs.
    Load {
        /// The number.
        script: u32,
        /// What it is.
        kind: ScriptKind,
        /// The source.
        source: String,
        /// Indices into the table of built-ins that the script is linked with.
        linked: Vec<u32>,
    },
    /// Run a tool's script.
    Run {
        /// Its number.
        script: u32,
        /// The arguments.
        args: Value,
        /// The bounds.
        budget: Budget,
    },
    /// Run hooks in order until one decides something other than allow.
    Chain {
        /// The event's name.
        event: String,
        /// The payload.
        payload: Value,
        /// The hooks.
        links: Vec<Link>,
        /// The bounds of the whole chain.
        budget: Budget,
    },
    /// The answer to a [`Response::Cross`].
    Answer(Result<Value, String>),
}

/// One hook of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The number of its `when`.
    pub when: Option<u32>,
    /// The number of its script.
    pub script: u32,
    /// Wall-clock bound of this hook.
    pub timeout_ms: u64,
}

/// What one request may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Wall-clock time; zero means no limit.
    pub wall_ms: u64,
    /// Processor time; zero means no limit.
    pub cpu_ms: u64,
    /// Bytes of heap.
    pub memory_bytes: u64,
    /// Bytes of the encoded result.
    pub result_bytes: u64,
}

/// Worker to harness.
#[derive(Clone, Debug, PartialEq)]
pub enum Response {
    /// Confined and ready for the first request.
    Ready,
    /// The facts, as JSON.
    Facts(String),
    /// A built-in is called; the worker waits for [`Request::Answer`].
    Cross {
        /// Index into the table.
        builtin: u32,
        /// Which link of the chain calls; zero for a tool.
        link: u32,
        /// Bound arguments.
        args: Vec<Value>,
    },
    /// A built-in is called; the script does not wait.
    Note {
        /// Index into the table.
        builtin: u32,
        /// Which link of the chain calls; zero for a tool.
        link: u32,
        /// Bound arguments.
        args: Vec<Value>,
    },
    /// The tool returned.
    Done(Outcome),
    /// The tool's script failed.
    Failed(Failure),
    /// The chain ended: one verdict for each hook that was considered.
    Chain(Vec<Verdict>),
}

/// What a tool's script returned.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A plain value.
    Value(Value),
    /// `result(...)`: a dict with `content`, `data`, `refs`, `metadata`, `is_error`.
    Result(Value),
    /// `error(...)`: a dict with `code`, `message`, `metadata`.
    Error(Value),
}

/// Why a script gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What happened.
    pub kind: FailureKind,
    /// The message, without a position.
    pub message: String,
    /// The line in the script, counted from 1; zero if unknown.
    pub line: u32,
    /// The column in the script, counted from 1; zero if unknown.
    pub column: u32,
}

/// The failures that a living worker reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The script or a built-in it called raised an error, or it could not be loaded.
    Raised,
    /// The script itself is wrong: a missing key, an operation on the wrong type.
    Bug,
    /// Too deep a call stack.
    Recursion,
    /// The wall-clock bound.
    Wall,
    /// The processor bound.
    Steps,
    /// The heap bound.
    Memory,
    /// A result that is too large, too deep or not JSON.
    Result,
}

/// The outcome of one hook of a chain.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Its `when` did not match.
    Skipped,
    /// It returned `allow()` and nothing more.
    Allowed(PayloadUse),
    /// What it returned, not yet judged.
    Returned(Value, PayloadUse),
    /// It failed.
    Failed(Failure),
}

/// What a hook did with its copy of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadUse {
    /// It read it, or returned what it changed.
    Read,
    /// It changed it in place and returned nothing of it.
    Changed,
}

impl PayloadUse {
    /// What it adds to the tag of a verdict.
    const fn tag(self) -> u8 {
        match self {
            Self::Read => 0,
            Self::Changed => 4,
        }
    }
}

impl Request {
    /// The frame's bytes, without the length.
    pub fn encode(&self) -> Result<Vec<u8>, WireError> {
        let mut w = Writer::default();
        match self {
            Self::Check { kind, source } => {
                w.bytes.extend([0, kind_byte(*kind)]);
                w.raw(source.as_bytes())?;
            }
            Self::Load {
                script,
                kind,
                source,
                linked,
            } => {
                w.bytes.push(1);
                w.bytes.extend(script.to_le_bytes());
                w.bytes.push(kind_byte(*kind));
                w.raw(source.as_bytes())?;
                w.len(linked.len())?;
                for index in linked {
                    w.bytes.extend(index.to_le_bytes());
                }
            }
            Self::Run {
                script,
                args,
                budget,
            } => {
                begin_run(&mut w, *script, budget);
                w.value(args)?;
            }
            Self::Chain {
                event,
                payload,
                links,
                budget,
            } => {
                begin_chain(&mut w, event, links, budget)?;
                w.value(payload)?;
            }
            Self::Answer(Ok(value)) => {
                w.bytes.push(4);
                w.value(value)?;
            }
            Self::Answer(Err(message)) => {
                w.bytes.push(5);
                w.raw(message.as_bytes())?;
            }
        }
        Ok(w.bytes)
    }

    /// Reads a frame up to its payload value, which the worker decodes into its own heap.
    pub fn decode<'a>(bytes: &'a [u8]) -> Result<(RequestHead, Reader<'a>), WireError> {
        let mut r = Reader::new(bytes);
        let head = match r.byte()? {
            0 => RequestHead::Check {
                kind: kind_of(r.byte()?)?,
                source: r.str()?.to_owned(),
            },
            1 => RequestHead::Load {
                script: r.u32()?,
                kind: kind_of(r.byte()?)?,
                source: r.str()?.to_owned(),
                linked: {
                    let len = r.count()?;
                    (0..len).map(|_| r.u32()).collect::<Result<_, _>>()?
                },
            },
            2 => RequestHead::Run {
                script: r.u32()?,
                budget: Budget::decode(&mut r)?,
            },
            3 => RequestHead::Chain {
                budget: Budget::decode(&mut r)?,
                event: r.str()?.to_owned(),
                links: {
                    let len = r.count()?;
                    (0..len)
                        .map(|_| {
                            let when = r.u32()?;
                            Ok(Link {
                                when: (when != u32::MAX).then_some(when),
                                script: r.u32()?,
                                timeout_ms: r.u64()?,
                            })
                        })
                        .collect::<Result<_, WireError>>()?
                },
            },
            4 => RequestHead::Answer,
            5 => RequestHead::Raise(r.str()?.to_owned()),
            _ => return Err(WireError::Malformed),
        };
        Ok((head, r))
    }
}

/// Begins a [`Request::Run`]; the caller writes the arguments next.
pub(crate) fn begin_run(w: &mut Writer, script: u32, budget: &Budget) {
    w.bytes.push(2);
    w.bytes.extend(script.to_le_bytes());
    budget.encode(w);
}

/// Begins a [`Request::Chain`]; the caller writes the payload next.
pub(crate) fn begin_chain(
    w: &mut Writer,
    event: &str,
    links: &[Link],
    budget: &Budget,
) -> Result<(), WireError> {
    w.bytes.push(3);
    budget.encode(w);
    w.raw(event.as_bytes())?;
    w.len(links.len())?;
    for link in links {
        w.bytes
            .extend(link.when.map_or(u32::MAX, |when| when).to_le_bytes());
        w.bytes.extend(link.script.to_le_bytes());
        w.bytes.extend(link.timeout_ms.to_le_bytes());
    }
    Ok(())
}

/// A request whose payload value has not been decoded yet.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestHead {
    /// [`Request::Check`].
    Check {
        /// What it is.
        kind: ScriptKind,
        /// The source.
        source: String,
    },
    /// [`Request::Load`].
    Load {
        /// The number.
        script: u32,
        /// What it is.
        kind: ScriptKind,
        /// The source.
        source: String,
        /// Indices into the table of built-ins.
        linked: Vec<u32>,
    },
    /// [`Request::Run`]; the arguments follow.
    Run {
        /// The script's number.
        script: u32,
        /// The bounds.
        budget: Budget,
    },
    /// [`Request::Chain`]; the payload follows.
    Chain {
        /// The bounds.
        budget: Budget,
        /// The event's name.
        event: String,
        /// The hooks.
        links: Vec<Link>,
    },
    /// [`Request::Answer`] with a value, which follows.
    Answer,
    /// [`Request::Answer`] with an error.
    Raise(String),
}

impl Budget {
    fn encode(&self, w: &mut Writer) {
        for number in [
            self.wall_ms,
            self.cpu_ms,
            self.memory_bytes,
            self.result_bytes,
        ] {
            w.bytes.extend(number.to_le_bytes());
        }
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            wall_ms: r.u64()?,
            cpu_ms: r.u64()?,
            memory_bytes: r.u64()?,
            result_bytes: r.u64()?,
        })
    }
}

impl Response {
    /// The frame's bytes, without the length.
    pub fn encode(&self) -> Result<Vec<u8>, WireError> {
        let mut w = Writer::default();
        match self {
            Self::Ready => w.bytes.push(0),
            Self::Facts(text) => {
                w.bytes.push(1);
                w.raw(text.as_bytes())?;
            }
            Self::Cross {
                builtin,
                link,
                args,
            }
            | Self::Note {
                builtin,
                link,
                args,
            } => {
                let kind = if matches!(self, Self::Cross { .. }) {
                    CallKind::Cross
                } else {
                    CallKind::Note
                };
                begin_call(&mut w, kind, *builtin, *link, args.len())?;
                for arg in args {
                    w.value(arg)?;
                }
            }
            Self::Done(outcome) => {
                let (tag, value) = match outcome {
                    Outcome::Value(value) => (4, value),
                    Outcome::Result(value) => (5, value),
                    Outcome::Error(value) => (6, value),
                };
                w.bytes.push(tag);
                w.value(value)?;
            }
            Self::Failed(failure) => {
                w.bytes.push(7);
                failure.encode(&mut w)?;
            }
            Self::Chain(verdicts) => {
                w.bytes.push(8);
                w.len(verdicts.len())?;
                for verdict in verdicts {
                    match verdict {
                        Verdict::Skipped => w.bytes.push(0),
                        Verdict::Allowed(used) => w.bytes.push(3 + used.tag()),
                        Verdict::Returned(value, used) => {
                            w.bytes.push(1 + used.tag());
                            w.value(value)?;
                        }
                        Verdict::Failed(failure) => {
                            w.bytes.push(2);
                            failure.encode(&mut w)?;
                        }
                    }
                }
            }
        }
        Ok(w.bytes)
    }

    /// Reads a whole frame; trailing bytes are an error.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        let response = match r.byte()? {
            0 => Self::Ready,
            1 => Self::Facts(r.str()?.to_owned()),
            tag @ (2 | 3) => {
                let (builtin, link, len) = (r.u32()?, r.u32()?, r.held()?);
                let args = (0..len).map(|_| r.json()).collect::<Result<_, _>>()?;
                if tag == 2 {
                    Self::Cross {
                        builtin,
                        link,
                        args,
                    }
                } else {
                    Self::Note {
                        builtin,
                        link,
                        args,
                    }
                }
            }
            4 => Self::Done(Outcome::Value(r.json()?)),
            5 => Self::Done(Outcome::Result(r.json()?)),
            6 => Self::Done(Outcome::Error(r.json()?)),
            7 => Self::Failed(Failure::decode(&mut r)?),
            8 => {
                let len = r.held()?;
                let verdicts = (0..len).map(|_| match r.byte()? {
                    0 => Ok(Verdict::Skipped),
                    1 => Ok(Verdict::Returned(r.json()?, PayloadUse::Read)),
                    2 => Ok(Verdict::Failed(Failure::decode(&mut r)?)),
                    3 => Ok(Verdict::Allowed(PayloadUse::Read)),
                    5 => Ok(Verdict::Returned(r.json()?, PayloadUse::Changed)),
                    7 => Ok(Verdict::Allowed(PayloadUse::Changed)),
                    _ => Err(WireError::Malformed),
                });
                Self::Chain(verdicts.collect::<Result<_, _>>()?)
            }
            _ => return Err(WireError::Malformed),
        };
        if r.is_empty() {
            Ok(response)
        } else {
            Err(WireError::Malformed)
        }
    }
}

/// How the call of a built-in is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// As a [`Response::Cross`].
    Cross,
    /// As a [`Response::Note`].
    Note,
}

/// Begins the frame of a call; the caller writes `args` values next.
pub fn begin_call(
    w: &mut Writer,
    kind: CallKind,
    builtin: u32,
    link: u32,
    args: usize,
) -> Result<(), WireError> {
    w.bytes.push(match kind {
        CallKind::Cross => 2,
        CallKind::Note => 3,
    });
    w.bytes.extend(builtin.to_le_bytes());
    w.bytes.extend(link.to_le_bytes());
    w.len(args)
}

/// Begins a [`Response::Done`] with a plain value, which the caller writes next.
pub fn begin_done(w: &mut Writer) {
    w.bytes.push(4);
}

impl Failure {
    fn encode(&self, w: &mut Writer) -> Result<(), WireError> {
        w.bytes.push(match self.kind {
            FailureKind::Raised => 0,
            FailureKind::Recursion => 1,
            FailureKind::Wall => 2,
            FailureKind::Steps => 3,
            FailureKind::Memory => 4,
            FailureKind::Result => 5,
            FailureKind::Bug => 6,
        });
        w.bytes.extend(self.line.to_le_bytes());
        w.bytes.extend(self.column.to_le_bytes());
        w.raw(self.message.as_bytes())
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let kind = match r.byte()? {
            0 => FailureKind::Raised,
            1 => FailureKind::Recursion,
            2 => FailureKind::Wall,
            3 => FailureKind::Steps,
            4 => FailureKind::Memory,
            5 => FailureKind::Result,
            6 => FailureKind::Bug,
            _ => return Err(WireError::Malformed),
        };
        Ok(Self {
            kind,
            line: r.u32()?,
            column: r.u32()?,
            message: r.str()?.to_owned(),
        })
    }
}

fn kind_byte(kind: ScriptKind) -> u8 {
    match kind {
        ScriptKind::Tool => 0,
        ScriptKind::Hook => 1,
        ScriptKind::When => 2,
        ScriptKind::Condition => 3,
    }
}

fn kind_of(byte: u8) -> Result<ScriptKind, WireError> {
    match byte {
        0 => Ok(ScriptKind::Tool),
        1 => Ok(ScriptKind::Hook),
        2 => Ok(ScriptKind::When),
        3 => Ok(ScriptKind::Condition),
        _ => Err(WireError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn responses_survive_the_trip() {
        let failure = Failure {
            kind: FailureKind::Steps,
            message: "m".into(),
            line: 3,
            column: 4,
        };
        for response in [
            Response::Ready,
            Response::Facts("{}".into()),
            Response::Cross {
                builtin: 7,
                link: 1,
                args: vec![json!("a"), json!({"b": [1]})],
            },
            Response::Note {
                builtin: 7,
                link: 0,
                args: vec![],
            },
            Response::Done(Outcome::Value(json!(null))),
            Response::Done(Outcome::Result(json!({"content": "x"}))),
            Response::Failed(failure.clone()),
            Response::Chain(vec![
                Verdict::Skipped,
                Verdict::Allowed(PayloadUse::Read),
                Verdict::Allowed(PayloadUse::Changed),
                Verdict::Returned(json!({"action": "ask"}), PayloadUse::Read),
                Verdict::Returned(json!(null), PayloadUse::Changed),
                Verdict::Failed(failure),
            ]),
        ] {
            let bytes = response.encode().expect("encodes");
            assert_eq!(Response::decode(&bytes), Ok(response));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_harness_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Response::decode(&bytes);
            let _ = Request::decode(&bytes).map(|(head, _)| head);
        }
    }
}
