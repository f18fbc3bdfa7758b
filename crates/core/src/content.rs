//! Blocks of content: the parts of a result that a model reads.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// One block of content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentBlock {
    /// Plain text.
    Text(String),
    /// A picture.
    Image(Media),
    /// A sound.
    Audio(Media),
    /// A link to a resource.
    Link(Link),
    /// A resource itself.
    Resource(Resource),
}

/// Bytes with a media type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// The bytes.
    pub data: Vec<u8>,
    /// The media type, such as `image/png`.
    pub media_type: String,
}

/// A link to a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it is.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// What it is, in words.
    pub description: Option<String>,
    /// The media type, such as `text/plain`.
    pub media_type: Option<String>,
}

/// A resource with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Where it is.
    pub uri: String,
    /// The media type, such as `text/plain`.
    pub media_type: Option<String>,
    /// The content.
    pub body: ResourceBody,
}

/// The content of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl ContentBlock {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The text, if the block is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Bytes that a model reads as text.
    pub(crate) fn text_len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Resource(Resource {
                body: ResourceBody::Text(text),
                ..
            }) => self.fixed_len() + text.len(),
            _ => self.fixed_len(),
        }
    }

    /// Bytes of images, sounds and the like.
    pub(crate) fn media_len(&self) -> usize {
        match self {
            Self::Image(media) | Self::Audio(media) => media.data.len(),
            Self::Resource(Resource {
                body: ResourceBody::Bytes(bytes),
                ..
            }) => bytes.len(),
            Self::Text(_) | Self::Link(_) | Self::Resource(_) => 0,
        }
    }

    /// Bytes that cannot be cut.
    pub(crate) fn fixed_len(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        match self {
            Self::Text(_) => 0,
            Self::Image(media) | Self::Audio(media) => media.media_type.len(),
            Self::Link(link) => {
                link.uri.len()
                    + link.name.len()
                    + length(&link.description)
                    + length(&link.media_type)
            }
            Self::Resource(resource) => resource.uri.len() + length(&resource.media_type),
        }
    }

    /// The JSON of results; bytes are Base64.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => json!({"type": "text", "text": text}),
            Self::Image(media) => media.to_json("image"),
            Self::Audio(media) => media.to_json("audio"),
            Self::Link(link) => {
                let mut object = described("resource_link", &link.uri, link.media_type.as_deref());
                object.insert("name".into(), json!(link.name));
                object.extend(
                    link.description
                        .as_ref()
                        .map(|words| ("description".to_owned(), json!(words))),
                );
                Value::Object(object)
            }
            Self::Resource(resource) => {
                let mut object =
                    described("resource", &resource.uri, resource.media_type.as_deref());
                match &resource.body {
                    ResourceBody::Text(text) => object.insert("text".into(), json!(text)),
                    ResourceBody::Bytes(bytes) => {
                        object.insert("data".into(), json!(STANDARD.encode(bytes)))
                    }
                };
                Value::Object(object)
            }
        }
    }

    /// Parses that JSON; `None` if it is something else.
    #[must_use]
    pub fn from_json(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let bytes = || STANDARD.decode(value.get("data")?.as_str()?).ok();
        let media = || {
            Some(Media {
                data: bytes()?,
                media_type: text("media_type")?,
            })
        };
        Some(match value.get("type")?.as_str()? {
            "text" => Self::Text(text("text")?),
            "image" => Self::Image(media()?),
            "audio" => Self::Audio(media()?),
            "resource_link" => Self::Link(Link {
                uri: text("uri")?,
                name: text("name")?,
                description: text("description"),
                media_type: text("media_type"),
            }),
            "resource" => Self::Resource(Resource {
                uri: text("uri")?,
                media_type: text("media_type"),
                body: match text("text") {
                    Some(text) => ResourceBody::Text(text),
                    None => ResourceBody::Bytes(bytes()?),
                },
            }),
            _ => return None,
        })
    }

    /// Parses a list of blocks; `None` if any of it is something else, or if it is empty.
    #[must_use]
    pub fn list_from_json(value: &Value) -> Option<Vec<Self>> {
        value
            .as_array()
            .filter(|blocks| !blocks.is_empty())?
            .iter()
            .map(Self::from_json)
            .collect()
    }
}

impl Media {
    fn to_json(&self, kind: &str) -> Value {
        json!({"type": kind, "data": STANDARD.encode(&self.data), "media_type": self.media_type})
    }
}

fn described(kind: &str, uri: &str, media_type: Option<&str>) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("type".into(), json!(kind));
    object.insert("uri".into(), json!(uri));
    object.extend(media_type.map(|media_type| ("media_type".to_owned(), json!(media_type))));
    object
}

/// The text blocks, one below the other.
pub(crate) fn joined(content: &[ContentBlock]) -> String {
    match content {
        [ContentBlock::Text(text)] => text.clone(),
        blocks => blocks
            .iter()
            .filter_map(ContentBlock::as_text)
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_block_is_read_as_it_was_written() {
        let media = Media {
            data: vec![0, 255, 7],
            media_type: "image/png".into(),
        };
        let link = Link {
            uri: "file:///a".into(),
            name: "a".into(),
            description: Some("the a".into()),
            media_type: None,
        };
        let resource = |body| Resource {
            uri: "artifact:///b".into(),
            media_type: Some("text/plain".into()),
            body,
        };
        for block in [
            ContentBlock::text("words"),
            ContentBlock::Image(media.clone()),
            ContentBlock::Audio(media),
            ContentBlock::Link(link),
            ContentBlock::Resource(resource(ResourceBody::Text("t".into()))),
            ContentBlock::Resource(resource(ResourceBody::Bytes(vec![1, 2]))),
        ] {
            assert_eq!(ContentBlock::from_json(&block.to_json()), Some(block));
        }
        for wrong in [
            json!("text"),
            json!({"type": "text"}),
            json!({"type": "image", "data": "not base64!", "media_type": "image/png"}),
            json!({"type": "image", "data": "AA=="}),
            json!({"type": "video", "text": "x"}),
        ] {
            assert_eq!(ContentBlock::from_json(&wrong), None, "{wrong}");
        }
        assert_eq!(ContentBlock::list_from_json(&json!([])), None);
        assert_eq!(
            ContentBlock::list_from_json(&json!([{"type": "text", "text": "a"}, 1])),
            None
        );
    }
}
