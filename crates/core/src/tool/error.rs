//! A Rust tool's own failure: a code, a class and details.

use super::ToolOutput;
use crate::control::Control;
use crate::depth::shallow;
use crate::refusal::{Class, Code, Refusal};
use serde_json::{Map, Value};
use std::fmt;

/// Why a tool failed. `?` turns any error into one with the code `failed`; the constructors say
/// more.
///
/// It does not implement `std::error::Error`, so that every such error can convert into it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolError {
    /// The tool's own code, such as `order_not_found`; for a failure of the path itself, that code,
    /// such as `tool.timeout`.
    pub code: String,
    /// Whether a changed or repeated call may succeed.
    pub class: Class,
    /// What went wrong, in words a model can act on.
    pub message: String,
    /// Machine-readable details.
    pub details: Map<String, Value>,
    /// A failure with a code of the path itself, for example from a nested call.
    refusal: Option<Refusal>,
    /// What the body returned despite the failure.
    rest: Option<Box<ToolOutput>>,
    /// Control flow instead of a failure.
    control: Option<Control>,
    /// Whether the work was done and only the result is unusable.
    is_done: bool,
}

impl ToolError {
    /// A failure after which a changed call may succeed.
    pub fn repairable(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Class::Repairable, code, message)
    }

    /// A failure after which the same call may succeed later.
    pub fn retryable(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Class::Retryable, code, message)
    }

    /// A failure that a person must resolve first.
    pub fn fatal(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Class::Fatal, code, message)
    }

    /// Stops or pauses the run instead of answering the model. See [`Control`].
    #[must_use]
    pub fn control(control: Control) -> Self {
        let message = control.reason().to_owned();
        Self {
            control: Some(control),
            ..Self::new(Class::Fatal, "control", message)
        }
    }

    fn new(class: Class, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            class,
            message: message.into(),
            details: Map::new(),
            refusal: None,
            rest: None,
            control: None,
            is_done: false,
        }
    }

    /// Adds a machine-readable detail.
    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Marks the failure as one of a tool that has done its work.
    pub(super) fn when_done(self) -> Self {
        Self {
            is_done: true,
            ..self
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }

    pub(crate) fn take_rest(&mut self) -> ToolOutput {
        self.rest.take().map(|rest| *rest).unwrap_or_default()
    }

    pub(crate) fn with_rest(mut self, rest: ToolOutput) -> Self {
        self.rest = Some(Box::new(rest));
        self
    }

    /// The failure in the form results carry.
    pub(crate) fn into_refusal(self, tool: &str) -> Refusal {
        if let Some(control) = self.control {
            let mut refusal =
                Refusal::new(Code::Interrupted, format!("`{tool}`: {}", self.message))
                    .control(control);
            refusal.details = shallow(self.details);
            return refusal;
        }
        let mut refusal = match self.refusal {
            // A layer may have changed these fields.
            Some(mut refusal)
                if refusal.code == Code::Failed || refusal.code.text() == self.code =>
            {
                refusal.message = self.message;
                refusal
            }
            _ => Refusal::new(Code::Failed, format!("`{tool}` failed: {}", self.message)),
        }
        .class(self.class);
        if refusal.code.text() != self.code {
            refusal.details.insert("code".to_owned(), self.code.into());
        }
        refusal.details.extend(shallow(self.details));
        refusal
    }
}

impl From<Refusal> for ToolError {
    fn from(mut refusal: Refusal) -> Self {
        let mut details = std::mem::take(&mut refusal.details);
        let mut code = refusal.code.text().to_owned();
        // For a tool's own failure, the code is the tool's.
        if refusal.code == Code::Failed
            && let Some(Value::String(own)) = details.get_mut("code")
        {
            code = std::mem::take(own);
            details.remove("code");
        }
        let failed = Self::new(refusal.class, code, refusal.message.clone());
        Self {
            details,
            refusal: Some(refusal),
            ..failed
        }
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::repairable("failed", error.to_string())
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_keeps_its_code_class_and_details_and_any_error_becomes_one() {
        let refusal = ToolError::retryable("busy", "try later")
            .detail("after_ms", 50)
            .into_refusal("t");
        assert_eq!(
            (refusal.code, refusal.class, refusal.message.as_str()),
            (Code::Failed, Class::Retryable, "`t` failed: try later")
        );
        assert_eq!(
            (&refusal.details["code"], &refusal.details["after_ms"]),
            (&"busy".into(), &50.into())
        );
        fn parse(text: &str) -> Result<u8, ToolError> {
            Ok(text.parse()?)
        }
        let refusal = parse("x").expect_err("no number").into_refusal("t");
        assert_eq!(
            (refusal.class, &refusal.details["code"]),
            (Class::Repairable, &"failed".into())
        );
        let inner = Refusal::new(Code::SandboxDenied, "no host");
        assert_eq!(ToolError::from(inner.clone()).into_refusal("t"), inner);
    }
}
