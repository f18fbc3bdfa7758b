//! Tools written in Rust: what a host implements, and what it is given.

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

/// A tool that takes JSON and says its schema. `State` is the host's, the same for all calls of an
/// engine; `Ctx` is the run's.
///
/// Most tools are better off as a [`TypedTool`], whose types are the schema, or as a closure
/// ([`function`]).
pub trait Tool<State = (), Ctx = ()>: Send + Sync + 'static {
    /// What the tool is. Asked once, when it is registered.
    fn spec(&self) -> ToolSpec;

    /// Does the work. The arguments fit the schema, rules and hooks have agreed to them, and what
    /// is injected is in them.
    fn call(
        &self,
        state: &State,
        runtime: ToolRuntime<'_, Ctx>,
        arguments: Map<String, Value>,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// A tool whose types are its schema.
pub trait TypedTool<State = (), Ctx = ()>: Send + Sync + 'static {
    /// The arguments. A field that is injected is hidden from the model by `#[schemars(skip)]`.
    type Input: DeserializeOwned + JsonSchema + Send;
    /// The result. It is JSON once it is written, so it may hold no number that is infinite or
    /// none, and nest 64 levels. One that nests deeper fails the call, and beyond some hundred
    /// levels its memory is lost: whoever drops such a type recurses, and nobody else can.
    type Output: Serialize + JsonSchema;

    /// What the tool is; both schemas are filled in from the types, and another one beside them is
    /// refused ([`RegisterError::SchemaBesideTypes`]).
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
    // What gives nothing promises nothing.
    let output = Some(schema::of_type::<Output>())
        .filter(|schema| schema.get("type") != Some(&"null".into()));
    let is_other = |said: &Option<Value>, types: &Option<Value>| said.is_some() && said != types;
    // What is said and would not be read, registration refuses.
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

/// The name of the harness's own tool, which reads what was left out of long results.
pub const READER: &str = "read_artifact";
