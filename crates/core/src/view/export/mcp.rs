//! MCP: the result of `tools/list`, with complete schemas.

use super::{Dialect, Writer};
use crate::check::rule::export_output_schema;
use serde_json::{Value, json};

pub(super) const LISTING: Dialect = Dialect {
    provider: "mcp",
    title: "MCP",
    most_tools: usize::MAX,
    is_name: |name| {
        (1..=128).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
    },
    names: "at most 128 of `A-Z a-z 0-9 _ - .`",
    write,
    document: |tools| json!({"tools": tools}),
};

fn write(writer: &mut Writer<'_>, name: &str) -> Option<Value> {
    let tool = writer.tool;
    let mut made =
        json!({"name": name, "description": tool.description, "inputSchema": tool.input_schema});
    match &tool.output_schema {
        Some(schema) if schema.get("type").is_some_and(|kind| kind == "object") => {
            made["outputSchema"] = schema.clone()
        }
        Some(_) => {
            let message = "MCP clients of older revisions take the schema of an object only, so the result's is left out".to_owned();
            writer.add(
                &export_output_schema::RULE,
                message,
                "output_schema",
                "return a mapping and give the schema `type: object`",
            );
        }
        None => {}
    }
    made["annotations"] = tool.hints.to_json();
    Some(made)
}
