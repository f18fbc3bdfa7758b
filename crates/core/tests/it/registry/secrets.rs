//! What is redacted from results and events.

use super::{Spec, spec};
use crate::support::{bare, call, code, load, load_asking, number_schema, numbered};
use serde_json::{Map, Value, json};
use tool_harness::Control;
use tool_harness::content::Media;
use tool_harness::{ContentBlock, Tool, ToolError, ToolOutput, ToolRuntime, ToolSpec};

#[tokio::test]
async fn fields_that_a_tool_redacts_appear_in_no_result_or_event() {
    let tool = Spec(
        ToolSpec::new("get_account", "Gets an account.")
            .pure()
            .input(json!({"type": "object"}))
            .redact(["pin", "/acct-[0-9]+/"]),
    );
    let (engine, events) = load(bare().tool(tool)).await;
    let result = engine
        .call(call(
            "get_account",
            json!({"pin": 4_711_081_547_110_815_u64, "owner": "acct-3133731337313", "open": true}),
        ))
        .await;
    assert_eq!(
        result.value,
        Some(json!({"pin": "[redacted]", "owner": "[redacted]", "open": true}))
    );
    assert_eq!(result.metadata["redacted"], 2);
    for text in [result.text(), format!("{:?}", events.all())] {
        assert!(
            !text.contains("47110815") && !text.contains("31337313"),
            "{text}"
        );
    }
    let number = Spec(
        spec("get_card")
            .input(json!({"type": "object"}))
            .redact(["/[0-9]{16}/"]),
    );
    let (engine, events) = load(bare().tool(number)).await;
    let result = engine
        .call(call("get_card", json!({"card": 4_111_111_111_111_111_u64})))
        .await;
    assert_eq!(result.value, Some(json!({"card": "[redacted]"})));
    let refused = engine
        .call(call(
            "get_card",
            json!([4_111_111_111_111_111_u64, "4111111111111111"]),
        ))
        .await;
    assert!(
        !format!("{refused:?}{:?}", events.all()).contains("41111111"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn error_texts_go_only_to_sinks_that_ask_and_quote_no_redacted_field() {
    let schema = json!({"type": "object", "properties": {"pin": {"type": "array", "items": {"type": "integer"}}, "code": {"type": "integer"}, "n": {"type": "integer"}}});
    let tool = || {
        Spec(
            spec("open_it")
                .input(schema.clone())
                .redact(["pin", "code"]),
        )
    };
    let wrong = json!({"pin": ["s3same-pin"], "code": "s3same-code", "n": "payload-text"});
    let (engine, events) = load(bare().tool(tool())).await;
    let refused = engine.call(call("open_it", wrong.clone())).await;
    let rejected = &events.named("tool.rejected")[0].fields();
    assert_eq!(
        (&rejected["code"], &rejected["class"]),
        (&json!("tool.args.invalid_schema"), &json!("repairable"))
    );
    assert!(
        !format!("{:?}", events.all()).contains("payload-text"),
        "{rejected:?}"
    );
    assert!(
        !format!("{refused:?}").contains("s3same") && refused.text().contains("payload-text"),
        "{refused:?}"
    );
    let (engine, events) = load_asking(bare().tool(tool())).await;
    engine.call(call("open_it", wrong)).await;
    let message = events.named("tool.rejected")[0].fields()["message"].to_string();
    assert!(
        message.contains("payload-text") && !message.contains("s3same"),
        "{message}"
    );

    let failing = || {
        numbered(ToolSpec::new("fail_it", "Fails.").pure(), |n| async move {
            Err(ToolError::fatal("no", format!("not with {n}")))
        })
    };
    let (engine, events) = load(bare().tool(failing())).await;
    engine
        .call(call("fail_it", json!({"n": 3_133_731_337_313_i64})))
        .await;
    assert!(
        !format!("{:?}", events.all()).contains("31337313")
            && events.named("tool.failed")[0].fields()["class"] == "fatal"
    );
    let (engine, events) = load_asking(bare().tool(failing())).await;
    engine
        .call(call("fail_it", json!({"n": 3_133_731_337_313_i64})))
        .await;
    assert!(
        events.named("tool.failed")[0].fields()["message"]
            .to_string()
            .contains("31337313")
    );

    let told = Spec(
        spec("give_it")
            .input(json!({"type": "object"}))
            .output(schema.clone())
            .redact(["pin", "code"]),
    );
    let (engine, events) = load_asking(bare().tool(told)).await;
    let result = engine
        .call(call("give_it", json!({"pin": ["s3same-pin"]})))
        .await;
    assert_eq!(code(&result), "tool.output.invalid_schema");
    assert!(
        !format!("{result:?}{:?}", events.named("tool.failed")).contains("s3same"),
        "{result:?}"
    );
}

const SECRET: &str = "tangerine-46-lamp";

/// Leaks its secret in every way it can.
struct Tells;

impl Tool for Tells {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("tell_it", "Tells.")
            .pure()
            .input(number_schema())
            .redact(["/acct-[0-9]+/"])
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        runtime.progress(0.5, &format!("acct-3133731337313 {SECRET}"));
        match arguments["n"].as_i64() {
            Some(0) => Ok(ToolOutput::text(SECRET)),
            Some(1) => Ok(ToolOutput::content(vec![ContentBlock::Image(Media {
                data: vec![1],
                media_type: format!("image/{SECRET}"),
            })])),
            Some(2) => Ok(ToolOutput {
                artifacts: vec![
                    runtime
                        .keep(b"x".to_vec(), &format!("text/{SECRET}"))
                        .await?,
                ],
                ..ToolOutput::default()
            }),
            _ => Err(ToolError::control(Control::Stop(format!(
                "because of {SECRET}"
            )))),
        }
    }
}

#[tokio::test]
async fn a_secret_is_recognised_without_its_newline_and_redactions_of_a_tool_apply_to_its_events() {
    let (engine, events) = load_asking(bare().secret("S", format!("{SECRET}\n")).tool(Tells)).await;
    for n in 0..4 {
        let result = engine.call(call("tell_it", json!({"n": n}))).await;
        assert!(
            !format!("{result:?}{:?}", events.all()).contains(SECRET),
            "{n}: {result:?}"
        );
    }
    let said = format!("{:?}", events.named("tool.progress"));
    assert!(
        !said.contains("31337313") && said.contains("[redacted]"),
        "{said}"
    );
}

#[tokio::test]
async fn no_part_of_a_secret_in_a_truncated_value_is_quoted() {
    let secret = "s3cr3tS3cr3tValue99-and-some-more-of-it";
    let (engine, events) = load(bare().secret("S", secret).tool(Spec(spec("count_it")))).await;
    for pad in [0, 160, 165, 185, 199, 400] {
        let sent = format!("{}{secret}{}", "a".repeat(pad), "b".repeat(400));
        let refused = engine.call(call("count_it", json!({"n": sent}))).await;
        assert_eq!(code(&refused), "tool.args.invalid_schema");
        assert!(
            !format!("{refused:?}{:?}", events.all()).contains("s3cr3t"),
            "{pad}: {refused:?}"
        );
    }
}
