//! How long after its deadline a script that never ends is answered.

use super::{call, on_runtime};
use crate::project::{Project, plain_tool};
use crate::{Report, Samples};
use anyhow::ensure;
use serde_json::json;
use std::time::{Duration, Instant};
use tool_harness::Code;
use tool_harness::EngineBuilder;

const DEADLINE: Duration = Duration::from_millis(200);

const LOOP: &str = "
def run(args):
    for i in range(1000000000):
        for j in range(1000000000):
            pass
";

/// A multiplication that takes far longer than the deadline and that the evaluator cannot
/// interrupt.
const PRODUCT: &str = "
def run(args):
    number = 3
    for i in range(26):
        number = number * number
    return number % 10
";

pub(super) fn measure(report: &mut Report) -> anyhow::Result<()> {
    for (case, script) in [("endless loop", LOOP), ("huge product", PRODUCT)] {
        let (late, next) = on_runtime(async move { faults(script).await })?;
        report.add_samples(&format!("{case}, answer after its deadline"), &late, "ms");
        report.add(
            format!("{case}, the next call of the session, median"),
            next.median(),
            "ms",
        );
    }
    Ok(())
}

async fn faults(script: &str) -> anyhow::Result<(Samples, Samples)> {
    let project = Project::new()?;
    let fields = format!("timeout_ms: {}\n", DEADLINE.as_millis());
    project.tool("run_forever", &plain_tool(&fields, script))?;
    project.tool(
        "run_nothing",
        &plain_tool("", "def run(args):\n    return None"),
    )?;
    let engine = EngineBuilder::new(project.path()).load().await?;
    ensure!(
        engine.is_valid(),
        "the project has errors: {:?}",
        engine.diagnostics()
    );
    let (mut late, mut next) = (Samples::default(), Samples::default());
    for _ in 0..15 {
        let started = Instant::now();
        let result = engine.call(call("run_forever", &json!({}))).await;
        late.push((started.elapsed().as_secs_f64() - DEADLINE.as_secs_f64()) * 1000.0);
        ensure!(
            result
                .error
                .as_ref()
                .is_some_and(|error| error.code == Code::Timeout),
            "not a timeout: {}",
            result.text()
        );
        let started = Instant::now();
        let result = engine.call(call("run_nothing", &json!({}))).await;
        next.push(started.elapsed().as_secs_f64() * 1000.0);
        ensure!(!result.is_error, "the next call failed: {}", result.text());
    }
    Ok((late, next))
}
