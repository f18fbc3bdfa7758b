//! A tool bound to its state, with its types erased: what the path calls.

use super::{CallAccess, Tool, ToolError, ToolOutput, ToolRuntime};
use serde_json::{Map, Value};
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

/// What a body answered. Boxed, because it is moved often.
pub(crate) type Answered = Result<Box<ToolOutput>, Box<ToolError>>;

/// The future of a body's answer.
pub(crate) type Answer<'a> = Pin<Box<dyn Future<Output = Answered> + Send + 'a>>;

/// Boxes an answer for the path; one that nests too deep becomes a failure.
pub(super) fn boxed(answered: Result<ToolOutput, ToolError>) -> Answered {
    match answered {
        Ok(output) => match output.problem() {
            None => Ok(Box::new(output)),
            Some(problem) => Err(Box::new(output.let_go(problem).into())),
        },
        Err(error) => Err(Box::new(error)),
    }
}

/// A body written in Rust.
pub(crate) trait AnyTool: Send + Sync {
    fn call<'a>(&'a self, access: &'a dyn CallAccess, arguments: Map<String, Value>) -> Answer<'a>;
}

impl fmt::Debug for dyn AnyTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a body in Rust")
    }
}

/// A tool and its state.
pub(super) struct Bound<T, State, Ctx> {
    pub(super) tool: T,
    pub(super) state: Arc<State>,
    pub(super) context: PhantomData<fn(Ctx)>,
}

impl<T, State, Ctx> AnyTool for Bound<T, State, Ctx>
where
    T: Tool<State, Ctx>,
    State: Send + Sync + 'static,
    Ctx: Send + Sync + 'static,
{
    fn call<'a>(&'a self, access: &'a dyn CallAccess, arguments: Map<String, Value>) -> Answer<'a> {
        let given: &'a (dyn Any + Send + Sync) = access.call().context.as_any();
        let Some(context) = given.downcast_ref::<Ctx>() else {
            let message = "the call was made without the context of its run";
            return Box::pin(std::future::ready(Err(Box::new(ToolError::fatal(
                "context", message,
            )))));
        };
        Box::pin(async move {
            boxed(
                self.tool
                    .call(&self.state, ToolRuntime::new(access, context), arguments)
                    .await,
            )
        })
    }
}
