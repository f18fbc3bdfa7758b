//! Values that a call borrows, skips or builds lazily are available when needed: arguments, and the secret search.

use crate::support::{bare, call, load, load_asking, number_schema};
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tool_harness::Effects;
use tool_harness::middleware::{Around, Later, Next, Seen};
use tool_harness::tool::{Idempotency, Inject, RetryPolicy};
use tool_harness::{Tool, ToolError, ToolOutput, ToolRuntime, ToolSpec};

/// Notes the arguments of each attempt, and fails in some way until the last.
struct Keeps {
    spec: ToolSpec,
    got: Arc<Mutex<Vec<Map<String, Value>>>>,
    fails: usize,
    how: &'static str,
}

impl Tool for Keeps {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(
        &self,
        (): &(),
        _: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        let made = {
            let mut got = self.got.lock().expect("arguments");
            got.push(arguments.clone());
            got.len()
        };
        if made > self.fails {
            return Ok(ToolOutput::value(Value::Object(arguments)));
        }
        match self.how {
            "fails" => Err(ToolError::retryable("busy", "later")),
            "fails later" => {
                tokio::time::sleep(Duration::from_millis(1)).await;
                Err(ToolError::retryable("busy", "later"))
            }
            "never ends" => std::future::pending().await,
            _ => panic!("on purpose"),
        }
    }
}

/// Runs the inner call this often, ignoring the results, and then one last time.
struct Runs(usize);

impl Around for Runs {
    fn name(&self) -> &str {
        "runs"
    }

    fn around<'a>(
        &'a self,
        _: Seen<'a>,
        mut next: Next<'a>,
    ) -> Later<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            for _ in 0..self.0 {
                let before = next.arguments().clone();
                let _ = next.run().await;
                assert_eq!(before, *next.arguments(), "they stay with the layer");
            }
            next.finish().await
        })
    }
}

#[tokio::test]
async fn every_attempt_gets_all_arguments_however_the_previous_one_ended() {
    let retry = RetryPolicy {
        max_attempts: 3,
        initial_backoff_ms: 1,
        max_backoff_ms: 1,
        multiplier: 1.0,
    };
    let mut wrong = Vec::new();
    for (layers, with_policy, keyed, blocks) in [
        (0, true, false, false),
        (0, true, true, false),
        (0, true, false, true),
        (2, false, false, false),
        (2, false, true, false),
        (1, true, false, false),
        (1, true, true, false),
        (1, true, true, true),
    ] {
        for how in ["fails", "fails later", "never ends", "panics"] {
            // A thread that never ends is abandoned, and nothing starts while it runs.
            if blocks && how == "never ends" {
                continue;
            }
            let time = Duration::from_millis(if how == "never ends" { 40 } else { 20_000 });
            let mut spec = ToolSpec::new("t", "T.")
                .input(number_schema())
                .effects(Effects::WRITE)
                .timeout(time);
            spec = spec.idempotency(if keyed {
                Idempotency::By(vec!["n".into()])
            } else {
                Idempotency::Natural
            });
            spec = spec
                .inject("who", Inject::Host("who".into()))
                .inject("id", Inject::CallId);
            if keyed {
                spec = spec.inject("key", Inject::IdempotencyKey);
            }
            if with_policy {
                spec = spec.retry(retry);
            }
            if blocks {
                spec = spec.blocking();
            }
            let got = Arc::<Mutex<Vec<Map<String, Value>>>>::default();
            let builder = bare().inject("who", |_| Some(json!("ann"))).tool(Keeps {
                spec,
                got: Arc::clone(&got),
                fails: 2,
                how,
            });
            let (engine, events) = load(if layers > 0 {
                builder.around(Runs(layers))
            } else {
                builder
            })
            .await;
            let mut asked = call("t", json!({"n": 5}));
            asked.id = "c1".into();
            let result = engine.call(asked).await;
            let got = got.lock().expect("arguments").clone();
            let mut expected = json!({"n": 5, "who": "ann", "id": "c1"});
            if keyed {
                expected["key"] = got[0]["key"].clone();
            }
            let case = format!(
                "{layers} {with_policy} {keyed} {blocks} {how}: {} {got:?}",
                result.text()
            );
            if !got.iter().all(|arguments| json!(arguments) == expected) || events.ends().len() != 1
            {
                wrong.push(case.clone());
            }
            // The policy retries transient failures; a layer retries every failure.
            let attempts = match (layers, how) {
                (0, "panics") => 1,
                (0, _) => 3,
                (2, _) => 3,
                (_, "panics") => 2,
                (_, _) => 4,
            };
            if got.len() != attempts {
                wrong.push(format!(
                    "{} instead of {attempts} attempts: {case}",
                    got.len()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Puts a text into every part of a result.
struct Says;

impl Tool for Says {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {"how": {"type": "string"}, "text": {}}, "required": ["how"]});
        ToolSpec::new("say_it", "Says it.").pure().input(schema)
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        let value = arguments["text"].clone();
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        runtime.progress(0.5, &text);
        runtime.emit("said", &json!({&text: value}));
        let named = Map::from_iter([(text.clone(), value.clone())]);
        Ok(match arguments["how"].as_str() {
            Some("text") => ToolOutput::text(text),
            Some("value") => ToolOutput::value(value),
            Some("name") => ToolOutput::value(Value::Object(named)),
            Some("list") => ToolOutput::value(json!([value, {"a": [value]}])),
            Some("beside") => ToolOutput {
                metadata: named.clone(),
                provider: named,
                refs: vec![value],
                ..ToolOutput::text("x")
            },
            Some("kept") => ToolOutput {
                artifacts: vec![runtime.keep(text, "text/plain").await?],
                ..ToolOutput::text("x")
            },
            Some("detail") => return Err(ToolError::fatal("no", "no").detail(&text, value)),
            _ => return Err(ToolError::fatal("no", text)),
        })
    }
}

#[tokio::test]
async fn the_shortest_possible_secret_never_leaks() {
    const HOW: [&str; 8] = [
        "text", "value", "name", "list", "beside", "kept", "detail", "error",
    ];
    let forms: [(&str, Vec<Value>); 4] = [
        (
            "q7Zk",
            [
                "q7Zk",
                "cTdaaw",
                "cTdaaw==",
                "%71%37%5a%6b",
                "\\u0071\\u0037Z\\u006b",
                "q7%5Ak",
            ]
            .map(Value::from)
            .to_vec(),
        ),
        (
            "9274",
            vec![
                json!(9274),
                json!("9274"),
                json!(9274.5),
                json!("OTI3NA"),
                json!("%39274"),
            ],
        ),
        (
            "a\"b\\",
            vec![
                json!("a\"b\\"),
                json!("a\\\"b\\\\"),
                json!("a%22b%5C"),
                json!("\\u0061\\\"b\\\\"),
            ],
        ),
        (
            "  xk8!\n",
            vec![json!("xk8!"), json!("xk8%21"), json!("eGs4IQ")],
        ),
    ];
    let mut wrong = Vec::new();
    for (secret, forms) in forms {
        for form in forms {
            let shown = form
                .as_str()
                .map_or_else(|| form.to_string(), str::to_owned);
            for how in HOW {
                let (engine, events) = load_asking(bare().secret("S", secret).tool(Says)).await;
                let asked = call("say_it", json!({"how": how, "text": form})).session("one");
                let result = engine.call(asked).await;
                let kept: Vec<u8> = result
                    .artifacts
                    .iter()
                    .flat_map(|kept| {
                        engine
                            .blobs("one")
                            .read(&kept.id, 0, 1 << 10)
                            .expect("kept")
                    })
                    .collect();
                let quoted = json!(shown).to_string();
                // Ids are random, and may contain the number by chance.
                let mut said = result.to_json();
                for chance in ["call_id", "elapsed_ms", "artifacts"] {
                    said.as_object_mut().expect("an object").remove(chance);
                }
                let told: Vec<Value> = events
                    .all()
                    .iter()
                    .map(|event| {
                        let mut fields = event.fields().clone();
                        for chance in [
                            "elapsed_ms",
                            "stages_ms",
                            "artifacts",
                            "digest",
                            "args_digest",
                        ] {
                            fields.remove(chance);
                        }
                        json!([event.name(), fields])
                    })
                    .collect();
                let all = format!("{said} {} {}", json!(told), String::from_utf8_lossy(&kept));
                if all.contains(quoted.trim_matches('"')) || all.contains(&shown) {
                    wrong.push(format!("{secret:?} as {shown:?} by {how}: {all}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}
