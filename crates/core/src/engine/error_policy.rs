//! How a loop reacts to failures, as data: by code, else by class.

use crate::refusal::{Class, Code, Refusal};
use serde_json::{Map, Value, json};

/// How a loop reacts to a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// The model reads the failure, and the run continues.
    Tell,
    /// The run ends.
    Stop,
}

impl Reaction {
    /// The reaction as a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tell => "tell",
            Self::Stop => "stop",
        }
    }

    fn named(word: &str) -> Option<Self> {
        [Self::Tell, Self::Stop]
            .into_iter()
            .find(|one| one.word() == word)
    }
}

/// How a loop reacts to each failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPolicy {
    by_code: Vec<(Code, Reaction)>,
    by_class: [(Class, Reaction); 3],
}

impl Default for ErrorPolicy {
    /// The model is told about every failure that it could fix or work around. Any other failure,
    /// and a cancellation, ends the run.
    fn default() -> Self {
        Self {
            by_code: vec![
                (Code::Cancelled, Reaction::Stop),
                // The model can use another tool.
                (Code::NoBody, Reaction::Tell),
                (Code::Unsupported, Reaction::Tell),
                (Code::SecretMissing, Reaction::Tell),
                // The tool chose the class itself, so the class does not decide.
                (Code::Failed, Reaction::Tell),
            ],
            by_class: [
                (Class::Repairable, Reaction::Tell),
                (Class::Retryable, Reaction::Tell),
                (Class::Fatal, Reaction::Stop),
            ],
        }
    }
}

impl ErrorPolicy {
    /// Sets the reaction to a code.
    #[must_use]
    pub fn code(mut self, code: Code, reaction: Reaction) -> Self {
        self.by_code.retain(|(known, _)| *known != code);
        self.by_code.push((code, reaction));
        self
    }

    /// Sets the reaction to a class, for codes without a reaction of their own. By default the
    /// model is told about `tool.failed`, a tool's own failure, whatever its class; a tool ends the
    /// run with [`ToolError::control`](crate::ToolError::control).
    #[must_use]
    pub fn class(mut self, class: Class, reaction: Reaction) -> Self {
        self.by_class
            .iter_mut()
            .filter(|(known, _)| *known == class)
            .for_each(|(_, old)| *old = reaction);
        self
    }

    /// The reaction to a failure.
    #[must_use]
    pub fn reaction(&self, refusal: &Refusal) -> Reaction {
        let of_code = self
            .by_code
            .iter()
            .find(|(code, _)| *code == refusal.code)
            .map(|(_, reaction)| *reaction);
        of_code.unwrap_or_else(|| self.of_class(refusal.class))
    }

    fn of_class(&self, class: Class) -> Reaction {
        self.by_class
            .iter()
            .find(|(known, _)| *known == class)
            .map_or(Reaction::Stop, |(_, reaction)| *reaction)
    }

    /// As JSON: `{"tool.cancelled": "stop", "fatal": "stop", ...}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let codes = self
            .by_code
            .iter()
            .map(|(code, reaction)| (code.text().to_owned(), json!(reaction.word())));
        let classes = self
            .by_class
            .iter()
            .map(|(class, reaction)| (class.to_string(), json!(reaction.word())));
        Value::Object(codes.chain(classes).collect::<Map<_, _>>())
    }

    /// Reads the differences from the default; the error names the invalid entry.
    pub fn from_json(value: &Value) -> Result<Self, String> {
        let mut policy = Self::default();
        for (key, word) in value.as_object().ok_or("an error policy is an object")? {
            let reaction = word
                .as_str()
                .and_then(Reaction::named)
                .ok_or_else(|| format!("`{key}` must be `tell` or `stop`, got {word}"))?;
            let class = [Class::Repairable, Class::Retryable, Class::Fatal]
                .into_iter()
                .find(|class| class.to_string() == *key);
            policy = match (class, Code::ALL.iter().find(|code| code.text() == key)) {
                (Some(class), _) => policy.class(class, reaction),
                (None, Some(code)) => policy.code(*code, reaction),
                (None, None) => return Err(format!("`{key}` is neither a code nor a class")),
            };
        }
        Ok(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_reaction_and_the_policy_is_data() {
        let default = ErrorPolicy::default();
        for code in Code::ALL {
            let reaction = default.reaction(&Refusal::new(*code, ""));
            let recoverable = code.class() != Class::Fatal && *code != Code::Cancelled;
            assert!(
                !recoverable || reaction == Reaction::Tell,
                "{code} ends a run"
            );
        }
        assert_eq!(
            default.reaction(&Refusal::new(Code::Internal, "")),
            Reaction::Stop
        );
        let strict = default
            .clone()
            .code(Code::Denied, Reaction::Stop)
            .class(Class::Retryable, Reaction::Stop);
        assert_eq!(
            strict.reaction(&Refusal::new(Code::Denied, "")),
            Reaction::Stop
        );
        assert_eq!(
            strict.reaction(&Refusal::new(Code::Timeout, "")),
            Reaction::Stop
        );
        assert_eq!(ErrorPolicy::from_json(&strict.to_json()), Ok(strict));
        assert_eq!(ErrorPolicy::from_json(&json!({})), Ok(default));
        for wrong in [
            json!([]),
            json!({"fatal": "ignore"}),
            json!({"tool.nothing": "stop"}),
        ] {
            assert!(ErrorPolicy::from_json(&wrong).is_err(), "{wrong}");
        }
    }
}
