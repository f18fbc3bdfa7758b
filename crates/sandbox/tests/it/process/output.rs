//! Capturing the output of a command.

use crate::process::world::{in_every_tier, in_every_tier_in_turn, in_own_process, in_time};
use std::io::Read as _;
use std::time::{Duration, Instant};
use tool_harness_sandbox::process::{DenialLayer, End};

#[test]
fn long_output_keeps_its_start_and_its_end_and_is_spilled_as_a_whole() {
    in_every_tier(|world| {
        let mut finished = world.shell("seq 100000");
        assert_eq!(finished.end, End::Exited(0));
        let text = &finished.stdout.text;
        assert!(
            finished.stdout.truncated
                && text.starts_with("1\n2\n")
                && text.ends_with("99999\n100000\n")
                && text.contains("bytes left out")
        );
        assert!(text.len() < 17 << 10, "{}", text.len());
        assert_eq!(finished.stdout.bytes, 588_895);
        let mut all = String::new();
        finished
            .stdout
            .spill
            .as_mut()
            .expect("a spill")
            .read_to_string(&mut all)
            .expect("read");
        assert!(all.starts_with("1\n2\n") && all.ends_with("\n100000\n") && all.len() == 588_895);
    });
}

#[test]
fn binary_output_and_escapes_are_not_shown() {
    in_every_tier(|world| {
        let finished = world.shell(
            "printf 'a\\xffb\\x1b[31mred\\x1b]0;title\\x07\\x9b1m\\n'; printf '\\x1b[2Jerr' >&2",
        );
        assert_eq!(finished.stdout.text, "a\u{fffd}bred\u{fffd}1m\n");
        assert_eq!(finished.stderr.text, "err");
    });
}

#[test]
fn a_flood_is_stopped_and_costs_little_memory() {
    in_own_process("process::output::a_flood_is_stopped_alone");
}

#[test]
#[ignore = "started by the test above"]
fn a_flood_is_stopped_alone() {
    in_every_tier_in_turn(|world| {
        let before = resident();
        let started = Instant::now();
        for line in [
            "head -c 10G /dev/zero",
            "yes",
            "tr '\\0' '\\377' < /dev/zero",
            "cat /dev/urandom >&2",
        ] {
            let finished = world.shell(line);
            assert_eq!(finished.end, End::Flooded, "{line}");
            assert!(
                finished.stdout.text.len() < 64 << 10 && finished.stderr.text.len() < 64 << 10,
                "{line}"
            );
            assert!(
                finished
                    .denials
                    .iter()
                    .any(|denial| denial.layer == DenialLayer::Limits),
                "{:?}",
                finished.denials
            );
        }
        assert!(started.elapsed() < Duration::from_secs(60));
        let grown = resident().saturating_sub(before);
        assert!(grown < 64 << 20, "grew by {grown}");
    });
}

#[test]
fn a_process_that_keeps_the_output_open_does_not_block_the_caller() {
    in_every_tier(|world| {
        let finished = in_time(Duration::from_secs(5), || {
            world.shell("(sleep 1000; echo late) & disown; setsid sleep 1000 & echo done")
        });
        assert_eq!(
            (finished.end, finished.stdout.text.as_str()),
            (End::Exited(0), "done\n")
        );
    });
}

fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("facts");
    text.split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok())
        .expect("a number")
        * 4096
}
