//! Protected files.

use crate::process::world::{in_every_tier, in_tier, is_refused};
use std::fs;
use std::os::unix::fs::symlink;
use tool_harness_sandbox::process::{DenialLayer, End};
use tool_harness_sandbox::tier::Tier;

#[test]
fn protected_files_can_be_read_and_not_changed_and_their_neighbours_can() {
    in_every_tier(|world| {
        for folder in [".harness/tools", ".git/hooks", ".claude", "sub/.harness"] {
            fs::create_dir_all(world.ws(folder)).expect("a folder");
        }
        for file in [
            ".harness/tools/x.md",
            "harness.md",
            ".git/config",
            ".git/hooks/pre-commit",
            ".claude/settings.json",
            "sub/.harness/x",
        ] {
            fs::write(world.ws(file), "governs").expect("a file");
        }
        for file in [
            ".harness/tools/x.md",
            "harness.md",
            ".git/config",
            ".git/hooks/pre-commit",
            ".claude/settings.json",
            "sub/.harness/x",
        ] {
            assert_eq!(world.says(&format!("cat {file}")), "governs");
            for line in [
                format!("echo evil > {file}"),
                format!("rm {file}"),
                format!("mv {file} src/moved"),
                format!("echo evil > src/evil; mv src/evil {file}"),
                format!("ln -f src/main.rs {file}"),
                format!("ln {file} src/hard && echo evil > src/hard"),
                format!("chmod 777 {file} && echo evil > {file}"),
            ] {
                let finished = world.shell(&line);
                assert_ne!(finished.end, End::Exited(0), "{line}");
                assert_eq!(
                    fs::read_to_string(world.ws(file)).ok().as_deref(),
                    Some("governs"),
                    "{line}"
                );
            }
        }
        for folder in [".harness", ".git", ".git/hooks", ".claude", "sub/.harness"] {
            for line in [
                format!("mv {folder} src/gone"),
                format!("rm -r {folder}"),
                format!("rm -rf {folder} && ln -s src {folder}"),
                format!(
                    "touch {folder}/hooks/evil {folder}/tools/evil {folder}/settings.local.json && false"
                ),
            ] {
                world.shell(&line);
                assert!(
                    fs::symlink_metadata(world.ws(folder)).is_ok_and(|facts| facts.is_dir()),
                    "{line}"
                );
            }
            assert!(
                !world.ws(folder).join("hooks/evil").exists()
                    && !world.ws(folder).join("tools/evil").exists()
            );
        }
        assert_eq!(
            fs::read_to_string(world.ws(".git/hooks/pre-commit")).expect("there"),
            "governs"
        );
        if world.can_write() {
            world.says("echo ok > sub/neighbour");
            world.says("echo ok > .git/index && echo ok > harness.md.bak");
        }
    });
}

#[test]
fn protected_files_cannot_be_created() {
    in_every_tier(|world| {
        for (line, name) in [
            ("mkdir .harness", ".harness"),
            (
                "mkdir -p .harness/tools; echo evil > .harness/tools/x.md",
                ".harness",
            ),
            ("echo evil > harness.md", "harness.md"),
            ("echo evil > src/x; mv src/x harness.yaml", "harness.yaml"),
            ("ln -s src .claude", ".claude"),
            ("ln src/main.rs .mcp.json", ".mcp.json"),
            (
                "mkdir -p .vscode && echo evil > .vscode/settings.json",
                ".vscode/settings.json",
            ),
        ] {
            let finished = world.shell(line);
            assert!(
                fs::symlink_metadata(world.ws(name)).is_err(),
                "{line}: {name} was made"
            );
            if world.can_write() {
                assert!(is_refused(&finished), "{line}: {}", finished.stderr.text);
                assert!(
                    finished
                        .denials
                        .iter()
                        .any(|denial| denial.layer == DenialLayer::Files
                            && denial.what.starts_with(name)),
                    "{:?}",
                    finished.denials
                );
            }
        }
    });
}

#[test]
fn a_protected_link_protects_its_target() {
    in_tier(Tier::A, |world| {
        fs::create_dir_all(world.ws("conf/claude")).expect("a folder");
        fs::write(world.ws("conf/claude/settings.json"), "governs").expect("a file");
        symlink("conf/claude", world.ws(".claude")).expect("a link");
        assert_eq!(world.says("cat .claude/settings.json"), "governs");
        assert_ne!(
            world.shell("echo evil > .claude/settings.json").end,
            End::Exited(0)
        );
        assert_ne!(
            world.shell("echo evil > conf/claude/settings.json").end,
            End::Exited(0)
        );
        let finished = world.shell("rm .claude; mkdir .claude; echo evil > .claude/settings.json");
        assert!(is_refused(&finished));
        assert_eq!(
            fs::read_link(world.ws(".claude"))
                .expect("a link")
                .to_string_lossy(),
            "conf/claude"
        );
        assert_eq!(
            fs::read_to_string(world.ws("conf/claude/settings.json")).expect("there"),
            "governs"
        );
        world.says("echo fine > conf/other");
    });
}
