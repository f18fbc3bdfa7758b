//! The place in a tool's file of a part of its schema.

use crate::artifact::Tool;
use crate::artifact::node::{Kind, Node};
use crate::artifact::yaml;
use crate::span::{Place, Span};
use serde_json::Value;

/// Which half of an entry is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// The key.
    Key,
    /// The value.
    Value,
}

/// The schema a path starts in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// `parameters`, `input_schema` or `output_schema`.
    pub(crate) field: &'static str,
    /// Its value in the file.
    pub(crate) span: Span,
}

/// The schemas a tool's author wrote, with where they stand.
pub(crate) fn schemas(tool: &Tool) -> impl Iterator<Item = (Written, &Value)> {
    let input = tool.schema_source.as_ref().map(|source| {
        (
            Written {
                field: source.value,
                span: source.span,
            },
            &tool.input_schema,
        )
    });
    let output = tool.output_schema.as_ref().map(|schema| {
        (
            Written {
                field: "output_schema",
                span: schema.span,
            },
            &schema.value,
        )
    });
    input.into_iter().chain(output)
}

/// The place of a path into a schema; the whole value when the part was not written there, as when it was added by another field.
/// The file is parsed again, which only a file with a finding costs.
pub(crate) fn locate(tool: &Tool, written: Written, path: &[&str], half: Half) -> Place {
    let path = match (written.field, path) {
        // Parameters stand directly under the field; the schema made of them has them among its properties.
        ("parameters", ["properties", rest @ ..]) => rest,
        (_, path) => path,
    };
    tool.place(find(tool, written.span, path, half).unwrap_or(written.span))
}

fn find(tool: &Tool, span: Span, path: &[&str], half: Half) -> Option<Span> {
    let source = &tool.origin.source;
    let line_start = source
        .text
        .get(..span.start)?
        .rfind('\n')
        .map_or(0, |at| at + 1);
    // A block map needs the indentation of its first line to be read on its own.
    let indented = source
        .text
        .get(line_start..span.start)?
        .bytes()
        .all(|byte| byte == b' ');
    let start = if indented { line_start } else { span.start };
    let root = yaml::parse(source, Span::new(start, span.end)).0?;
    let (last, parents) = path.split_last()?;
    let parent = parents
        .iter()
        .try_fold(&root, |node, part| step(node, part))?;
    match (half, &parent.kind) {
        (Half::Key, Kind::Map(entries)) => entries
            .iter()
            .find(|(key, _)| key.name == *last)
            .map(|(key, _)| key.span),
        _ => step(parent, last).map(|node| node.span),
    }
}

fn step<'n>(node: &'n Node, part: &str) -> Option<&'n Node> {
    match &node.kind {
        Kind::List(items) => items.get(part.parse::<usize>().ok()?),
        _ => node.get(part),
    }
}
