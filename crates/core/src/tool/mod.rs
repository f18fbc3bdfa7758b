//! Tools written in Rust: what a host implements, and what a call gives it.

mod bound;
mod error;
mod function;
mod output;
mod read;
mod register;
mod runtime;
mod spec;
mod walk;
mod write;

pub(crate) use bound::{Answered, AnyTool};
pub use error::ToolError;
pub use function::{BlockingFunction, Function, blocking, function};

pub use output::ToolOutput;
pub use register::RegisterError;
pub(crate) use register::{HostTool, ask_host, unbound};
pub use runtime::ToolRuntime;
pub(crate) use runtime::{Access, CallAccess};
pub use spec::{Idempotency, Runs, Safety, ToolSpec};

pub use crate::artifact::tool::{Inject, Limits, RetryPolicy};

use crate::schema;
use read::read;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use write::write;

/// A tool that takes JSON and declares its schema. All calls of an engine share the host's `State`;
/// each run has its own `Ctx`.
///
/// A [`TypedTool`], whose types are the schema, or a closure ([`function`]) suits most tools
/// better.
pub trait Tool<State = (), Ctx = ()>: Send + Sync + 'static {
    /// The tool's specification. Read once, when it is registered.
    fn spec(&self) -> ToolSpec;

    /// Does the work. The arguments fit the schema, rules and hooks have accepted them, and they
    /// include the injected ones.
    fn call(
        &self,
        state: &State,
        runtime: ToolRuntime<'_, Ctx>,
        arguments: Map<String, Value>,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// A tool whose types are its schema.
pub trait TypedTool<State = (), Ctx = ()>: Send + Sync + 'static {
    /// The arguments. Hide an injected field from the model with `#[schemars(skip)]`.
    type Input: DeserializeOwned + JsonSchema + Send;
    /// The result. It is written as JSON, so it may contain no infinity or NaN and may nest 64
    /// levels. A deeper result fails the call. Beyond a few hundred levels its memory leaks,
    /// because dropping such a type recurses and would overflow the stack.
    type Output: Serialize + JsonSchema;

    /// The tool's specification. The types provide both schemas; a schema beside them is refused
    /// ([`RegisterError::SchemaBesideTypes`]).
    fn spec(&self) -> ToolSpec;

    /// Does the work.
    fn call(
        &self,
        state: &State,
        runtime: ToolRuntime<'_, Ctx>,
        input: Self::Input,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

impl<State: Sync, Ctx: Sync, T: TypedTool<State, Ctx>> Tool<State, Ctx> for T {
    fn spec(&self) -> ToolSpec {
        typed::<T::Input, T::Output>(TypedTool::spec(self))
    }

    async fn call(
        &self,
        state: &State,
        runtime: ToolRuntime<'_, Ctx>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        let input = read(arguments, &runtime.named())?;
        write(TypedTool::call(self, state, runtime, input).await?)
    }
}

/// A specification with the schemas of two types.
fn typed<Input: JsonSchema, Output: JsonSchema>(mut spec: ToolSpec) -> ToolSpec {
    let input = Some(schema::of_type::<Input>());
    // A tool that returns nothing has no output schema.
    let output = Some(schema::of_type::<Output>())
        .filter(|schema| schema.get("type") != Some(&"null".into()));
    let is_other = |said: &Option<Value>, types: &Option<Value>| said.is_some() && said != types;
    // Registration refuses a schema that would be ignored.
    spec.beside_types = match (
        is_other(&spec.input_schema, &input),
        is_other(&spec.output_schema, &output),
    ) {
        (true, _) => Some("input"),
        (_, true) => Some("output"),
        _ => None,
    };
    (spec.input_schema, spec.output_schema) = (input, output);
    spec
}

/// The name of the harness's own tool, which reads what was cut from long results.
pub const READER: &str = "read_artifact";
