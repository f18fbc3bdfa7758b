//! `inject` of a tool.

use crate::artifact::node::Node;
use crate::artifact::problem::{Problems, quoted};
use crate::artifact::rule::field_wrong_type;
use crate::artifact::value::pairs;
use crate::span::Spanned;

/// Where an injected argument comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inject {
    /// The run's id.
    RunId,
    /// The call's id.
    CallId,
    /// The session's id.
    SessionId,
    /// The mode's name.
    Mode,
    /// Identifies repeated calls: the value of `idempotency.key`, or else the call's id.
    IdempotencyKey,
    /// A key of session state.
    State(String),
    /// A secret, by its name.
    Secret(String),
    /// What the host of a Rust tool gives under this name.
    Host(String),
}

pub(super) fn inject(
    problems: &mut Problems<'_>,
    node: Option<&Node>,
) -> Vec<(String, Spanned<Inject>)> {
    let mut injected = Vec::new();
    for (name, from) in pairs(node) {
        let value = match from.value.as_str() {
            "run_id" => Inject::RunId,
            "call_id" => Inject::CallId,
            "session_id" => Inject::SessionId,
            "mode" => Inject::Mode,
            "idempotency_key" => Inject::IdempotencyKey,
            other => match other.split_once(':') {
                Some(("state", key)) if !key.is_empty() => Inject::State(key.to_owned()),
                Some(("secret", name)) if !name.is_empty() => Inject::Secret(name.to_owned()),
                _ => {
                    let field = format!("inject.{name}");
                    let message = format!("{} cannot be injected", quoted(other));
                    let accepted = "write `run_id`, `call_id`, `session_id`, `mode`, `idempotency_key`, `state:KEY` or `secret:NAME`";
                    problems.add(
                        field_wrong_type::RULE
                            .finding(message)
                            .field(field)
                            .help(accepted),
                        from.span,
                    );
                    continue;
                }
            },
        };
        injected.push((
            name,
            Spanned {
                value,
                span: from.span,
            },
        ));
    }
    injected
}
