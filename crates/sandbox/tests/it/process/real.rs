//! Programs that people use, in the sandbox.

use crate::process::world::{World, exists, in_every_tier, in_tier};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use tool_harness_sandbox::process::{Command, End};
use tool_harness_sandbox::tier::Tier;

fn git(world: &World, line: &str) -> String {
    world.says(&format!("export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; {line}"))
}

#[test]
fn git_works_in_the_workspace() {
    in_tier(Tier::A, |world| {
        let made = std::process::Command::new("git")
            .args(["init", "-q", "-b", "main"])
            .arg(world.ws(""))
            .env("HOME", world.ws(""))
            .status();
        if !made.is_ok_and(|status| status.success()) {
            println!("skipped: no git");
            return;
        }
        assert!(git(world, "git status --short").contains("src/"));
        git(world, "git add -A && git commit -q -m first");
        git(
            world,
            "echo more >> src/main.rs && git diff --stat && git commit -q -a -m second",
        );
        assert_eq!(git(world, "git log --oneline | wc -l").trim(), "2");
        assert_ne!(
            world.shell("git config core.fsmonitor /tmp/evil").end,
            End::Exited(0)
        );
        assert_ne!(
            world.shell("echo evil > .git/hooks/pre-commit").end,
            End::Exited(0)
        );
    });
}

#[test]
fn shells_and_python_and_node_work() {
    in_every_tier(|world| {
        assert_eq!(
            world
                .says("seq 1000 | sort -rn | head -1 | tr -d '\\n' | wc -c")
                .trim(),
            "4"
        );
        assert_eq!(
            world.says("cat <(echo a) <(echo b); cat <<< c"),
            "a\nb\nc\n"
        );
        let python = "import threading, subprocess, multiprocessing, tempfile\nr = []\nts = [threading.Thread(target=lambda: r.append(1)) for _ in range(8)]\nfor t in ts: t.start()\nfor t in ts: t.join()\nprint(len(r), subprocess.run(['echo', 'sub'], capture_output=True, text=True).stdout.strip())\nwith tempfile.NamedTemporaryFile() as f: f.write(b'x')\n";
        fs::write(world.ws("src/t.py"), python).expect("a file");
        assert_eq!(world.says("python3 src/t.py"), "8 sub\n");
        if world.tier() == Tier::A {
            let pool = "import multiprocessing\nif __name__ == '__main__':\n  print(multiprocessing.get_context('fork').Pool(3).map(abs, [-1, -2]))\n";
            fs::write(world.ws("src/p.py"), pool).expect("a file");
            assert_eq!(world.says("python3 src/p.py"), "[1, 2]\n");
        }
        if exists("/usr/bin/node") {
            let script = "require('child_process').execFile('echo', ['sub'], (e, out) => console.log([1, 2].map(x => x * 2), out.trim()))";
            assert_eq!(
                world.says(&format!("node -e \"{script}\"")),
                "[ 2, 4 ] sub\n"
            );
        } else {
            println!("skipped: no node");
        }
    });
}

#[test]
fn cargo_builds_offline_with_a_toolchain_in_a_home() {
    let (cargo, rustup) = (
        PathBuf::from("/root/.cargo"),
        PathBuf::from("/root/.rustup"),
    );
    if !fs::metadata(rustup.join("toolchains")).is_ok_and(|facts| facts.is_dir()) {
        println!("skipped: no toolchain at /root/.rustup that this user can read");
        return;
    }
    in_tier(Tier::A, |world| {
        fs::write(
            world.ws("Cargo.toml"),
            "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        )
        .expect("a file");
        fs::write(
            world.ws("src/main.rs"),
            "fn main() { println!(\"built\"); }\n",
        )
        .expect("a file");
        let mut plan = world.plan.clone();
        plan.files.readable = vec![cargo.clone(), rustup.clone()];
        plan.limits.deadline = Duration::from_secs(240);
        plan.limits.cpu = Duration::from_secs(240);
        for (name, value) in [
            ("CARGO_HOME", "/root/.cargo"),
            ("RUSTUP_HOME", "/root/.rustup"),
            ("CARGO_TARGET_DIR", "/tmp/target"),
        ] {
            plan.environment.push((name.into(), value.into()));
        }
        plan.limits.tmp_bytes = 512 << 20;
        let command = Command::new("/root/.cargo/bin/cargo", ["run", "--offline", "--quiet"]);
        let finished = world.run_with(&plan, command).expect("runs");
        assert_eq!(
            (finished.end, finished.stdout.text.as_str()),
            (End::Exited(0), "built\n"),
            "{}",
            finished.stderr.text
        );
    });
}
