//! What a loop does about failures, as data: by code, or else by class.

use crate::refusal::{Class, Code, Refusal};
use serde_json::{Map, Value, json};

/// What a loop does about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// The model reads what was wrong, and the run goes on.
    Tell,
    /// The run ends.
    Stop,
}

impl Reaction {
    /// The word for it.
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

/// What a loop does about each failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPolicy {
    by_code: Vec<(Code, Reaction)>,
    by_class: [(Class, Reaction); 3],
}

impl Default for ErrorPolicy {
    /// A model is told of everything that it could mend or go around. What it cannot, and what is not wanted any more, ends the run.
    fn default() -> Self {
        Self {
            by_code: vec![
                (Code::Cancelled, Reaction::Stop),
                // Another tool may do.
                (Code::NoBody, Reaction::Tell),
                (Code::Unsupported, Reaction::Tell),
                (Code::SecretMissing, Reaction::Tell),
                // The tool's own word for how bad it is.
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
    /// Another reaction to a code.
    #[must_use]
    pub fn code(mut self, code: Code, reaction: Reaction) -> Self {
        self.by_code.retain(|(known, _)| *known != code);
        self.by_code.push((code, reaction));
        self
    }

    /// Another reaction to a class, where no code says otherwise. Of `tool.failed`, a tool's own failures, the default says that a model is told,
    /// whatever class they have; a tool that ends the run says so by [`ToolError::control`](crate::ToolError::control).
    #[must_use]
    pub fn class(mut self, class: Class, reaction: Reaction) -> Self {
        self.by_class
            .iter_mut()
            .filter(|(known, _)| *known == class)
            .for_each(|(_, old)| *old = reaction);
        self
    }

    /// What to do about a failure.
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

    /// Reads what differs from the default; the error names what it is not.
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
