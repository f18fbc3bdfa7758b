//! Finds the place of a part of a schema in a tool's file.

use crate::artifact::Tool;
use crate::artifact::node::{Kind, Node};
use crate::artifact::yaml;
use crate::span::{Place, Span};
use serde_json::Value;

/// The key or the value of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryPart {
    /// The key.
    Key,
    /// The value.
    Value,
}

/// A field that holds a schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemaField {
    /// `parameters`, `input_schema` or `output_schema`.
    pub(crate) field: &'static str,
    /// Its value in the file.
    pub(crate) span: Span,
}

/// The schemas a tool's author wrote, with their places.
pub(crate) fn schemas(tool: &Tool) -> impl Iterator<Item = (SchemaField, &Value)> {
    let input = tool.schema_source.as_ref().map(|source| {
        (
            SchemaField {
                field: source.value,
                span: source.span,
            },
            &tool.input_schema,
        )
    });
    let output = tool.output_schema.as_ref().map(|schema| {
        (
            SchemaField {
                field: "output_schema",
                span: schema.span,
            },
            &schema.value,
        )
    });
    input.into_iter().chain(output)
}

/// The place of a path into a schema; the whole value if the part was not written there, for
/// example because another field added it. Parses the file again, but only for files with a
/// finding.
pub(crate) fn locate(tool: &Tool, written: SchemaField, path: &[&str], half: EntryPart) -> Place {
    let path = match (written.field, path) {
        // Parameters are written directly under the field; in the schema they are properties.
        ("parameters", ["properties", rest @ ..]) => rest,
        (_, path) => path,
    };
    tool.place(find(tool, written.span, path, half).unwrap_or(written.span))
}

fn find(tool: &Tool, span: Span, path: &[&str], half: EntryPart) -> Option<Span> {
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
        (EntryPart::Key, Kind::Map(entries)) => entries
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
