//! Runs benchmarks by name; without a name, lists them.

use harness_bench::{BENCHMARKS, Report};

fn main() -> anyhow::Result<()> {
    // The engines under test start this program again as their workers.
    tool_harness_script::run_if_worker();
    let names: Vec<String> = std::env::args().skip(1).collect();
    if names.is_empty() {
        for benchmark in BENCHMARKS {
            println!("{:<12} {}", benchmark.name, benchmark.about);
        }
        return Ok(());
    }
    for name in &names {
        let Some(benchmark) = BENCHMARKS.iter().find(|benchmark| benchmark.name == name) else {
            let known: Vec<_> = BENCHMARKS.iter().map(|benchmark| benchmark.name).collect();
            anyhow::bail!(
                "there is no benchmark `{name}`; accepted: {}",
                known.join(", ")
            );
        };
        let mut report = Report::new(benchmark.name);
        report.add_load("before");
        (benchmark.run)(&mut report)?;
        report.add_load("after");
        report.print_table();
    }
    Ok(())
}
