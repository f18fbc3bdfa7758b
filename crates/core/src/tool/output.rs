//! What a tool gives.

use crate::content::ContentBlock;
use crate::depth::{is_deep, let_go, too_deep};
use crate::result::ArtifactRef;
use crate::run::{Code, Refusal};
use crate::store::weight;
use serde_json::{Map, Value};

/// What a body gave, before anybody looked at it. The harness makes a [`crate::ToolResult`] of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// The tool's own words for the model; without any, the model reads the value.
    pub content: Option<Vec<ContentBlock>>,
    /// The value.
    pub value: Option<Value>,
    /// What the tool put into the artifact store.
    pub artifacts: Vec<ArtifactRef>,
    /// Files and other things that the result points at.
    pub refs: Vec<Value>,
    /// Whatever else there is to say.
    pub metadata: Map<String, Value>,
    /// What a service that the tool asked said about its answer.
    pub provider: Map<String, Value>,
}

impl ToolOutput {
    /// A value, which the model reads as JSON.
    pub fn value(value: impl Into<Value>) -> Self {
        Self { value: Some(value.into()), ..Self::default() }
    }

    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::content(vec![ContentBlock::text(text)])
    }

    /// Itself, if everybody can walk it; else it is let go.
    pub(crate) fn walkable(self) -> Result<Self, Refusal> {
        if self.is_walkable() { Ok(self) } else { Err(self.let_go()) }
    }

    /// Whether everybody can walk it.
    pub(crate) fn is_walkable(&self) -> bool {
        let maps = [&self.metadata, &self.provider].into_iter().flat_map(Map::values);
        !self.value.iter().chain(&self.refs).chain(maps).any(is_deep)
    }

    /// Ends one that cannot be walked, level by level, and says why.
    #[cold]
    pub(crate) fn let_go(self) -> Refusal {
        let maps = [self.metadata, self.provider].into_iter().flatten().map(|(_, value)| value);
        self.value.into_iter().chain(self.refs).chain(maps).for_each(let_go);
        Refusal::new(Code::OutputInvalid, format!("the result is {}", too_deep())).help("a person must mend the tool")
    }

    /// How much memory it takes, about.
    pub(crate) fn weight(&self) -> usize {
        let content = self.content.iter().flatten().map(|block| 64 + block.text_len() + block.media_len());
        let maps = [&self.metadata, &self.provider].map(|map| map.iter().map(|(name, value)| name.len() + weight(value)).sum::<usize>());
        let handles = self.artifacts.iter().map(|artifact| artifact.id.len() + artifact.media_type.len() + artifact.digest.len());
        64 + handles.sum::<usize>()
            + content.sum::<usize>()
            + self.value.iter().chain(&self.refs).map(weight).sum::<usize>()
            + maps.iter().sum::<usize>()
    }

    /// Blocks of content.
    #[must_use]
    pub fn content(content: Vec<ContentBlock>) -> Self {
        Self { content: Some(content), ..Self::default() }
    }
}

impl From<Value> for ToolOutput {
    fn from(value: Value) -> Self {
        Self::value(value)
    }
}
