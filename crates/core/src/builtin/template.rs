//! `template`: text with values filled in, without logic.

use super::bind::describe;
use super::bound::Bounded;
use super::{Args, Body, Builtin, Example, Module, PLAIN, Param};
use serde_json::{Value, json};

pub(super) const MODULE: Module = Module {
    name: "template",
    doc: "Text with values filled in. No logic: scripts have that.",
    constants: &[],
    calls: &[Builtin {
        name: "render",
        params: &[
            Param::text("text").also(&["tmpl"]),
            Param::any("values").also(&["vars"]),
            Param::any("default").or("null"),
        ],
        doc: "The text with each `{{ a.b.0 }}` (or `{{ .a.b.0 }}`) replaced by the value at that path of `values`: a string as it is, \
                anything else as JSON. A missing path raises, unless a `default` other than None is given. `{{{{` stands for `{{`.",
        returns: "a string",
        body: Body::Pure(render),
        examples: &[
            Example::new(
                r#"template.render("Hello {{ user.name }}, {{tags.0}}", {"user": {"name": "Ann"}, "tags": ["x"]})"#,
                r#""Hello Ann, x""#,
            ),
            Example::new(
                r#"template.render("Hello {{.name}}", {"name": "Ann"})"#,
                r#""Hello Ann""#,
            ),
            Example::new(r#"template.render("{{{{ {{ n }}", {"n": 3})"#, r#""{{ 3""#),
            Example::new(
                r#"template.render("{{ a.b }}", {"a": {}})"#,
                "error: `a.b` is not in `values`",
            ),
            Example::new(
                r#"template.render("{{ a.b }}", {"a": {}}, default="?")"#,
                r#""?""#,
            ),
        ],
        ..PLAIN
    }],
};

fn render(args: &Args) -> Result<Value, String> {
    let (text, values, default) = (args.text(0), args.get(1), args.get(2));
    let mut made = Bounded::default();
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        made.push(&rest[..at])?;
        let after = &rest[at + 2..];
        if let Some(after) = after.strip_prefix("{{") {
            made.push("{{")?;
            rest = after;
            continue;
        }
        let line = || text[..text.len() - rest.len() + at].matches('\n').count() + 1;
        let end = after.find("}}").ok_or_else(|| {
            format!(
                "`{{{{` in line {} of `text` is not closed with `}}}}`",
                line()
            )
        })?;
        let path = after[..end].trim();
        let value = match (look_up(values, path), default) {
            (Err(message), Value::Null) => {
                return Err(format!("{message} (line {} of `text`)", line()));
            }
            (Err(_), default) => default,
            (Ok(value), _) => value,
        };
        match value {
            Value::String(text) => made.push(text)?,
            other => made.push(&other.to_string())?,
        }
        rest = &after[end + 2..];
    }
    made.push(rest)?;
    Ok(json!(made.into_text()))
}

fn look_up<'a>(values: &'a Value, path: &str) -> Result<&'a Value, String> {
    let path = path.strip_prefix('.').unwrap_or(path);
    let mut value = values;
    for step in path.split('.') {
        let next = match value {
            Value::Object(map) => map.get(step),
            Value::Array(items) => step.parse().ok().and_then(|at: usize| items.get(at)),
            other => {
                return Err(format!(
                    "`{path}` is not in `values`: `{step}` of {}",
                    describe(other)
                ));
            }
        };
        value = next.ok_or_else(|| format!("`{path}` is not in `values`: no `{step}`"))?;
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{call, refused};
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn values_are_put_in_as_text_or_json() {
        let values = json!({"t": "a{{b}}", "n": 1.5, "none": null, "list": [1, {"k": "v"}]});
        for (text, expected) in [
            ("{{t}}", "a{{b}}"),
            ("{{ n }}/{{none}}", "1.5/null"),
            ("{{list}}", r#"[1,{"k":"v"}]"#),
            ("{{list.1.k}}}", "v}"),
            ("a } }} b", "a } }} b"),
            ("", ""),
        ] {
            assert_eq!(
                call("template.render", json!([text, values])),
                json!(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn mistakes_name_their_line() {
        assert_eq!(
            refused("template.render", json!(["a\n{{ x", {}])),
            "`{{` in line 2 of `text` is not closed with `}}`"
        );
        assert_eq!(
            refused("template.render", json!(["\n\n{{x}}", {}])),
            "`x` is not in `values`: no `x` (line 3 of `text`)"
        );
        assert!(
            refused("template.render", json!(["{{a.b}}", {"a": "t"}])).contains("`b` of a string")
        );
        assert!(refused("template.render", json!(["{{}}", {}])).contains("not in `values`"));
    }

    #[test]
    fn a_template_cannot_fill_the_memory() {
        let text = "{{a}}".repeat(1000);
        assert!(
            refused("template.render", json!([text, {"a": "x".repeat(100_000)}]))
                .contains("larger than 64 MiB")
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[{} a.0é\n]{0,40}") {
            let (_, _, render) = super::super::find("template.render").expect("a built-in");
            let super::Body::Pure(body) = render.body else { panic!("pure") };
            let _ = body(&super::super::Args(vec![json!(text), json!({"a": [1]}), json!(null)]));
        }
    }
}
