//! What starting a command costs. Run with `--ignored --nocapture figures`.

use crate::world::{World, runtime};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::process::{Command, Sandbox};
use tool_harness_sandbox::tier::Tier;

const RUNS: usize = 200;

#[test]
#[ignore = "measures, and says nothing about right or wrong"]
fn figures_of_starting_true() {
    let worlds: Vec<World> = [Tier::A, Tier::B].into_iter().map(|tier| World::new(Sandbox::with_tier(tier))).collect();
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); 3];
    let runtime = runtime();
    for _ in 0..RUNS {
        let started = Instant::now();
        let ran = std::process::Command::new("/bin/true").output().expect("runs");
        assert!(ran.status.success());
        times[0].push(started.elapsed());
        for (index, world) in worlds.iter().enumerate() {
            let started = Instant::now();
            runtime.block_on(world.sandbox.run(&world.plan, Command::new("/bin/true", [""; 0]), CancellationToken::new())).expect("runs");
            times[index + 1].push(started.elapsed());
        }
    }
    for (name, times) in ["bare", "tier A", "tier B"].iter().zip(&mut times) {
        times.sort();
        println!("{name}: median {:?}, p90 {:?}", times[RUNS / 2], times[RUNS * 9 / 10]);
    }
}
