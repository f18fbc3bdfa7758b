//! What a running script has besides its values: the channel, and what it is linked with.

use super::decode::OnHeap;
use starlark::any::ProvidesStaticType;
use starlark::eval::Evaluator;
use starlark::values::{Heap, Value};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;
use tool_harness::worker::protocol::{MAX_FRAME, Request, RequestHead};
use tool_harness_sandbox::process::enter_part;

/// The worker's end of the channel. When the other end is closed or sends nonsense, the process ends; so nothing here fails.
pub(crate) trait Channel {
    /// Sends one frame.
    fn send(&self, frame: &[u8]);
    /// Waits for one frame.
    fn receive(&self) -> Vec<u8>;
    /// Ends the worker: the harness broke the protocol.
    fn malformed(&self) -> !;
}

/// Which built-ins that leave the worker a script may call.
pub(super) type Linked = Rc<HashSet<u32>>;

/// The context of one run or chain.
#[derive(ProvidesStaticType)]
pub(super) struct Context {
    channel: Rc<dyn Channel>,
    link: Cell<u32>,
    linked: RefCell<Linked>,
    frame_bytes: Cell<u64>,
    loading: Cell<bool>,
}

/// While it lives, a script is being loaded: nothing may leave the worker.
pub(super) struct Loading<'a>(&'a Cell<bool>);

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl Context {
    pub(super) fn new(channel: Rc<dyn Channel>) -> Self {
        Self {
            channel,
            link: Cell::new(0),
            linked: RefCell::default(),
            frame_bytes: Cell::new(0),
            loading: Cell::new(false),
        }
    }

    /// The context of a script.
    pub(super) fn of<'a>(eval: &Evaluator<'_, 'a, '_>) -> Option<&'a Self> {
        eval.extra?.downcast_ref::<Self>()
    }

    /// Makes this the context of a script that is being loaded.
    pub(super) fn load<'a>(&'a self, eval: &mut Evaluator<'_, 'a, '_>) -> Loading<'a> {
        eval.extra = Some(self);
        self.loading.set(true);
        Loading(&self.loading)
    }

    pub(super) fn is_loading(&self) -> bool {
        self.loading.get()
    }

    /// From here on no call may take more than a result may: the harness reads no larger frame.
    pub(super) fn bound(&self, frame_bytes: u64) {
        self.frame_bytes.set(frame_bytes.min(MAX_FRAME as u64));
    }

    pub(super) fn frame_bytes(&self) -> u64 {
        self.frame_bytes.get()
    }

    /// From here on `linked` is what may be called, in the name of this link.
    pub(super) fn enter(&self, link: u32, linked: &Linked) {
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

    /// Sends a call that nobody answers.
    pub(super) fn note(&self, frame: &[u8]) {
        self.channel.send(frame);
    }

    /// Sends a call and waits for what the harness says.
    pub(super) fn cross<'v>(&self, frame: &[u8], heap: Heap<'v>) -> Result<Value<'v>, String> {
        self.channel.send(frame);
        let answer = self.channel.receive();
        match Request::decode(&answer) {
            Ok((RequestHead::Raise(message), _)) => Err(message),
            Ok((RequestHead::Answer, mut rest)) => match rest.value(&mut OnHeap(heap)) {
                Ok(value) if rest.is_empty() => Ok(value),
                _ => self.channel.malformed(),
            },
            _ => self.channel.malformed(),
        }
    }
}
