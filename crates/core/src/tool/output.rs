//! What a tool returns.

use crate::content::ContentBlock;
use crate::depth::{is_deep, let_go, too_deep};
use crate::refusal::{Code, Refusal};
use crate::result::{ArtifactRef, MOST_LISTED};
use crate::store::weight;
use serde_json::{Map, Value};

/// What a body returned, before validation. The harness makes a [`crate::ToolResult`] of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// The tool's own text for the model; without it, the model reads the value.
    pub content: Option<Vec<ContentBlock>>,
    /// The value.
    pub value: Option<Value>,
    /// What the tool stored as artifacts.
    pub artifacts: Vec<ArtifactRef>,
    /// Files and other things that the result refers to.
    pub refs: Vec<Value>,
    /// Anything else the tool adds.
    pub metadata: Map<String, Value>,
    /// What a service that the tool called said about its answer.
    pub provider: Map<String, Value>,
}

impl ToolOutput {
    /// A value, which the model reads as JSON.
    pub fn value(value: impl Into<Value>) -> Self {
        Self {
            value: Some(value.into()),
            ..Self::default()
        }
    }

    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::content(vec![ContentBlock::text(text)])
    }

    /// The output itself; an error if it nests too deep, and then it is dropped.
    pub(crate) fn walkable(self) -> Result<Self, Refusal> {
        match self.problem() {
            None => Ok(self),
            Some(problem) => Err(self.let_go(problem)),
        }
    }

    /// Why the output cannot be walked recursively, if it nests too deep.
    pub(crate) fn problem(&self) -> Option<Refusal> {
        let maps = [&self.metadata, &self.provider]
            .into_iter()
            .flat_map(Map::values);
        let refused = |message: String| {
            Some(Refusal::new(Code::OutputInvalid, message).help("a person must fix the tool"))
        };
        if self.value.iter().chain(&self.refs).chain(maps).any(is_deep) {
            return refused(format!("the result is {}", too_deep()));
        }
        match self.artifacts.len() {
            ..=MOST_LISTED => None,
            listed => refused(format!(
                "the result lists {listed} artifacts, and may list {MOST_LISTED}"
            )),
        }
    }

    /// Drops the output level by level, and returns the problem.
    #[cold]
    pub(crate) fn let_go(self, problem: Refusal) -> Refusal {
        let maps = [self.metadata, self.provider]
            .into_iter()
            .flatten()
            .map(|(_, value)| value);
        self.value
            .into_iter()
            .chain(self.refs)
            .chain(maps)
            .for_each(let_go);
        problem
    }

    /// Roughly how much memory the output takes.
    pub(crate) fn weight(&self) -> usize {
        let content = self
            .content
            .iter()
            .flatten()
            .map(|block| 64 + block.text_len() + block.media_len());
        let maps = [&self.metadata, &self.provider].map(|map| {
            map.iter()
                .map(|(name, value)| name.len() + weight(value))
                .sum::<usize>()
        });
        let handles = self
            .artifacts
            .iter()
            .map(|artifact| artifact.id.len() + artifact.media_type.len() + artifact.digest.len());
        64 + handles.sum::<usize>()
            + content.sum::<usize>()
            + self
                .value
                .iter()
                .chain(&self.refs)
                .map(weight)
                .sum::<usize>()
            + maps.iter().sum::<usize>()
    }

    /// Content blocks.
    #[must_use]
    pub fn content(content: Vec<ContentBlock>) -> Self {
        Self {
            content: Some(content),
            ..Self::default()
        }
    }
}

impl From<Value> for ToolOutput {
    fn from(value: Value) -> Self {
        Self::value(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Media;
    use serde_json::json;

    #[test]
    fn whatever_a_result_holds_has_its_weight() {
        const LONG: usize = 100_000;
        let long = || "x".repeat(LONG);
        let map = || Map::from_iter([("k".to_owned(), Value::from(long()))]);
        let artifact = ArtifactRef {
            id: String::new(),
            media_type: long(),
            bytes: 1,
            digest: String::new(),
        };
        let image = ContentBlock::Image(Media {
            data: vec![0; LONG],
            media_type: "image/png".into(),
        });
        for output in [
            ToolOutput::text(long()),
            ToolOutput::content(vec![image]),
            ToolOutput::value(long()),
            ToolOutput::value(json!({"a": [long()]})),
            ToolOutput::value(Map::from_iter([(long(), Value::Null)])),
            ToolOutput {
                artifacts: vec![artifact],
                ..ToolOutput::default()
            },
            ToolOutput {
                refs: vec![long().into()],
                ..ToolOutput::default()
            },
            ToolOutput {
                metadata: map(),
                ..ToolOutput::default()
            },
            ToolOutput {
                provider: map(),
                ..ToolOutput::default()
            },
        ] {
            let weight = output.weight();
            assert!(
                (LONG..LONG + 1000).contains(&weight),
                "{weight}: {:.80}",
                format!("{output:?}")
            );
        }
        assert!(ToolOutput::default().weight() < 100);
        let many = ToolOutput::value(vec![0; 10_000]);
        assert!(
            many.weight() > 10_000,
            "short ones count, too: {}",
            many.weight()
        );
    }
}
