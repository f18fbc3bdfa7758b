//! Closures as tools.

use super::{ToolError, ToolRuntime, ToolSpec, TypedTool};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;

/// A tool from an async closure. Made by [`function`].
pub struct Function<F, Input, Output> {
    spec: ToolSpec,
    call: F,
    types: PhantomData<fn(Input) -> Output>,
}

/// A tool from a blocking closure. Made by [`blocking`].
pub struct BlockingFunction<F, Input, Output> {
    spec: ToolSpec,
    call: F,
    types: PhantomData<fn(Input) -> Output>,
}

/// Makes a tool from an async closure. The input type is the schema of the arguments, the output
/// type that of the result.
pub fn function<F, Input, Output, Answer>(spec: ToolSpec, call: F) -> Function<F, Input, Output>
where
    F: Fn(Input) -> Answer + Send + Sync + 'static,
    Input: DeserializeOwned + JsonSchema + Send + 'static,
    Output: Serialize + JsonSchema + 'static,
    Answer: Future<Output = Result<Output, ToolError>> + Send,
{
    Function {
        spec,
        call,
        types: PhantomData,
    }
}

/// Makes a tool from a closure that blocks or computes for long. Each call runs on its own thread.
pub fn blocking<F, Input, Output>(spec: ToolSpec, call: F) -> BlockingFunction<F, Input, Output>
where
    F: Fn(Input) -> Result<Output, ToolError> + Send + Sync + 'static,
    Input: DeserializeOwned + JsonSchema + Send + 'static,
    Output: Serialize + JsonSchema + 'static,
{
    BlockingFunction {
        spec: spec.blocking(),
        call,
        types: PhantomData,
    }
}

impl<State, Ctx, F, Input, Output, Answer> TypedTool<State, Ctx> for Function<F, Input, Output>
where
    State: Sync,
    Ctx: Sync,
    F: Fn(Input) -> Answer + Send + Sync + 'static,
    Input: DeserializeOwned + JsonSchema + Send + 'static,
    Output: Serialize + JsonSchema + 'static,
    Answer: Future<Output = Result<Output, ToolError>> + Send,
{
    type Input = Input;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn call(
        &self,
        _: &State,
        _: ToolRuntime<'_, Ctx>,
        input: Input,
    ) -> impl Future<Output = Result<Output, ToolError>> + Send {
        (self.call)(input)
    }
}

impl<State, Ctx, F, Input, Output> TypedTool<State, Ctx> for BlockingFunction<F, Input, Output>
where
    State: Sync,
    Ctx: Sync,
    F: Fn(Input) -> Result<Output, ToolError> + Send + Sync + 'static,
    Input: DeserializeOwned + JsonSchema + Send + 'static,
    Output: Serialize + JsonSchema + 'static,
{
    type Input = Input;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(
        &self,
        _: &State,
        _: ToolRuntime<'_, Ctx>,
        input: Input,
    ) -> Result<Output, ToolError> {
        (self.call)(input)
    }
}
