//! Reads a hook's return value. A hook that returns anything but a clear decision has failed.

use crate::decision::HookAction;
use serde_json::Value;

/// A hook's decision.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decision {
    Allow,
    Block(String),
    Modify(Value),
    Ask(String),
    Delegate(Value),
}

impl Decision {
    /// Its name in events and reports.
    pub(crate) fn action(&self) -> HookAction {
        match self {
            Self::Allow => HookAction::Allow,
            Self::Block(_) => HookAction::Block,
            Self::Modify(_) => HookAction::Modify,
            Self::Ask(_) => HookAction::Ask,
            Self::Delegate(_) => HookAction::Delegate,
        }
    }

    /// Reads `{"action": ...}`; the error says what was returned instead.
    pub(crate) fn read(returned: &Value) -> Result<Self, String> {
        let accepted = "accepted: allow(), block(reason), modify(payload), ask(reason)";
        let Some(map) = returned.as_object() else {
            return Err(format!(
                "returned {}, which is not a decision; {accepted}",
                describe(returned)
            ));
        };
        let Some(action) = map.get("action") else {
            return Err(format!(
                "returned a dict without `action`, which is not a decision; {accepted}"
            ));
        };
        let reason = || match map.get("reason") {
            Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
            None | Some(Value::Null | Value::String(_)) => Ok("no reason given".to_owned()),
            Some(other) => Err(format!(
                "gave {} as the reason; accepted: text",
                describe(other)
            )),
        };
        let part = |key: &str| match map.get(key) {
            Some(value @ Value::Object(_)) => Ok(value.clone()),
            Some(other) => Err(format!(
                "gave {} as `{key}`; accepted: a dict",
                describe(other)
            )),
            None => Err(format!("gave no `{key}`")),
        };
        match action.as_str() {
            Some("allow" | "continue") => Ok(Self::Allow),
            Some("block") => reason().map(Self::Block),
            Some("ask") => reason().map(Self::Ask),
            Some("modify") => part("payload").map(Self::Modify),
            Some("delegate") => part("request").map(Self::Delegate),
            _ => Err(format!(
                "returned the action {action}, which means nothing here; {accepted}"
            )),
        }
    }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(_) => "text".into(),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a dict".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_plain_decisions_count() {
        for (returned, expected) in [
            (json!({"action": "allow"}), Some(Decision::Allow)),
            (json!({"action": "continue"}), Some(Decision::Allow)),
            (
                json!({"action": "block", "reason": "no"}),
                Some(Decision::Block("no".into())),
            ),
            (
                json!({"action": "block"}),
                Some(Decision::Block("no reason given".into())),
            ),
            (
                json!({"action": "ask", "reason": "sure?"}),
                Some(Decision::Ask("sure?".into())),
            ),
            (
                json!({"action": "modify", "payload": {"args": {}}}),
                Some(Decision::Modify(json!({"args": {}}))),
            ),
            (json!({"action": "modify"}), None),
            (json!({"action": "modify", "payload": 1}), None),
            (json!({"action": "block", "reason": 1}), None),
            (json!({"action": "deny"}), None),
            (json!({"decision": "block"}), None),
            (json!({"block": true}), None),
            (json!(42), None),
            (json!(null), None),
            (json!(true), None),
            (json!("allow"), None),
            (json!([]), None),
        ] {
            assert_eq!(Decision::read(&returned).ok(), expected, "{returned}");
        }
    }
}
