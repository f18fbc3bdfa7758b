//! What a running script needs besides its values: the channel, and the built-ins it is linked
//! with.

use super::decode::HeapBuilder;
use starlark::any::ProvidesStaticType;
use starlark::eval::Evaluator;
use starlark::values::{Heap, Value};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;
use tool_harness::worker::protocol::{MAX_FRAME, Request, RequestHead};
use tool_harness_sandbox::process::enter_part;

/// The worker's end of the channel. Its methods cannot fail: when the other end hangs up or breaks
/// the protocol, the process exits.
pub(crate) trait FrameChannel {
    /// Sends one frame.
    fn send(&self, frame: &[u8]);
    /// Waits for one frame.
    fn receive(&self) -> Vec<u8>;
    /// Exits the worker because the harness broke the protocol.
    fn malformed(&self) -> !;
}

/// The built-ins a script may call, by index.
pub(super) type LinkedBuiltins = Rc<HashSet<u32>>;

/// The context of one run or chain.
#[derive(ProvidesStaticType)]
pub(super) struct ScriptContext {
    channel: Rc<dyn FrameChannel>,
    link: Cell<u32>,
    linked: RefCell<LinkedBuiltins>,
    frame_bytes: Cell<u64>,
    loading: Cell<bool>,
}

/// While it exists, a script is loading and no call may leave the worker.
pub(super) struct LoadingGuard<'a>(&'a Cell<bool>);

impl Drop for LoadingGuard<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl ScriptContext {
    pub(super) fn new(channel: Rc<dyn FrameChannel>) -> Self {
        Self {
            channel,
            link: Cell::new(0),
            linked: RefCell::default(),
            frame_bytes: Cell::new(0),
            loading: Cell::new(false),
        }
    }

    pub(super) fn of<'a>(eval: &Evaluator<'_, 'a, '_>) -> Option<&'a Self> {
        eval.extra?.downcast_ref::<Self>()
    }

    /// Makes this the context of a script that is loading.
    pub(super) fn load<'a>(&'a self, eval: &mut Evaluator<'_, 'a, '_>) -> LoadingGuard<'a> {
        eval.extra = Some(self);
        self.loading.set(true);
        LoadingGuard(&self.loading)
    }

    pub(super) fn is_loading(&self) -> bool {
        self.loading.get()
    }

    /// Limits the frames of calls to the size of a result: the harness reads no larger ones.
    pub(super) fn limit_frames(&self, frame_bytes: u64) {
        self.frame_bytes.set(frame_bytes.min(MAX_FRAME as u64));
    }

    pub(super) fn frame_bytes(&self) -> u64 {
        self.frame_bytes.get()
    }

    /// Switches to another link of the chain and the built-ins it may call.
    pub(super) fn enter(&self, link: u32, linked: &LinkedBuiltins) {
        self.link.set(link);
        enter_part(usize::try_from(link).unwrap_or(usize::MAX));
        *self.linked.borrow_mut() = Rc::clone(linked);
    }

    pub(super) fn link(&self) -> u32 {
        self.link.get()
    }

    pub(super) fn is_linked(&self, builtin: u32) -> bool {
        self.linked.borrow().contains(&builtin)
    }

    /// Sends a call without an answer.
    pub(super) fn note(&self, frame: &[u8]) {
        self.channel.send(frame);
    }

    /// Sends a call and waits for the harness to answer.
    pub(super) fn cross<'v>(&self, frame: &[u8], heap: Heap<'v>) -> Result<Value<'v>, String> {
        self.channel.send(frame);
        let answer = self.channel.receive();
        match Request::decode(&answer) {
            Ok((RequestHead::Raise(message), _)) => Err(message),
            Ok((RequestHead::Answer, mut rest)) => match rest.value(&mut HeapBuilder(heap)) {
                Ok(value) if rest.is_empty() => Ok(value),
                _ => self.channel.malformed(),
            },
            _ => self.channel.malformed(),
        }
    }
}
