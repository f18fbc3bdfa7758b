//! Protected names, wherever and however a command creates them.

use crate::process::world::{World, in_every_tier, in_tier, is_refused};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use tool_harness_sandbox::process::End;
use tool_harness_sandbox::tier::Tier;

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn protected_names_are_found_at_any_depth_and_in_new_folders() {
    in_every_tier(|world| {
        for (line, name) in [
            (
                "mkdir -p src/a/b/.claude; echo evil > src/a/b/.claude/settings.json",
                "src/a/b/.claude",
            ),
            (
                "mkdir -p src/c/d; echo evil > src/c/d/harness.md",
                "src/c/d/harness.md",
            ),
            (
                "mkdir -p src/e; sleep 0.1; mkdir src/e/f; sleep 0.1; echo evil > src/e/f/.mcp.json",
                "src/e/f/.mcp.json",
            ),
            (
                "mkdir src/x; echo evil > src/x/settings.json; mv src/x src/.vscode",
                "src/.vscode/settings.json",
            ),
            (
                "mkdir src/y; mv src/y src/z; mkdir src/z/.Harness",
                "src/z/.Harness",
            ),
            (
                "mkdir -p src/g/goose; mv src/g src/.config",
                "src/.config/goose",
            ),
            (
                "mkdir src/vs; echo evil > src/vs/settings.json; ln -s vs src/.vscode",
                "src/.vscode",
            ),
        ] {
            fs::remove_dir_all(world.ws("src")).expect("removed");
            fs::create_dir(world.ws("src")).expect("a folder");
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
                        .any(|denial| name.starts_with(&denial.what)),
                    "{:?}",
                    finished.denials
                );
            }
        }
        if world.can_write() {
            fs::remove_dir_all(world.ws("src")).expect("removed");
            fs::create_dir(world.ws("src")).expect("a folder");
            let line = "mkdir -p src/a/.vscode src/node_modules/x/.vscode src/q/.github && echo x > src/a/.vscode/launch.json \
                && mv src/a src/b && mkdir src/b/vscode && echo x > src/q/config";
            assert_eq!(world.says(line), "");
        }
    });
}

#[test]
fn a_folder_is_not_made_into_one_of_gits() {
    if !Command::new("git")
        .arg("--version")
        .output()
        .is_ok_and(|ran| ran.status.success())
    {
        println!("skipped: no git");
        return;
    }
    in_every_tier(|world| {
        let make = |folder: &str, canary: &Path| {
            format!(
                "cd {folder}; mkdir -p objects refs; echo 'ref: refs/heads/main' > HEAD; \
                 printf '[core]\nbare = false\nworktree = .\nrepositoryformatversion = 0\nfsmonitor = \"touch {} #\"\n' > config",
                canary.display()
            )
        };
        let status = |folder: &Path| {
            let mut git = Command::new("git");
            git.arg("status")
                .current_dir(folder)
                .env(
                    "GIT_CEILING_DIRECTORIES",
                    folder.parent().expect("a parent"),
                )
                .output()
                .expect("git runs")
        };
        // The attack works if nothing stops it.
        let (control, canary) = (world.beside("control"), world.beside("ran"));
        fs::create_dir(&control).expect("a folder");
        Command::new("sh")
            .arg("-c")
            .arg(make(&control.to_string_lossy(), &canary))
            .status()
            .expect("it runs");
        let said = status(&control);
        assert!(
            canary.exists(),
            "git runs what such a folder says: {said:?}"
        );
        fs::remove_file(&canary).expect("removed");
        fs::create_dir(world.ws("src/sub")).expect("a folder");
        for folder in [".", "src/sub"] {
            let finished = world.shell(&make(folder, &canary));
            status(&world.ws(folder));
            assert!(!canary.exists(), "{folder}: git ran what the command wrote");
            if world.can_write() {
                assert!(is_refused(&finished), "{folder}: {}", finished.stderr.text);
            }
            for name in ["objects", "refs", "config"] {
                let _ = fs::remove_dir_all(world.ws(folder).join(name))
                    .or_else(|_| fs::remove_file(world.ws(folder).join(name)));
            }
        }
        // The other way: through `commondir`.
        let line = "mkdir -p src/store/objects src/store/refs; cd src/sub; echo 'ref: refs/heads/main' > HEAD; echo ../store > commondir";
        if world.can_write() {
            assert!(is_refused(&world.shell(line)));
        }
        assert!(!world.ws("src/sub/commondir").exists());
        if world.can_write() {
            assert_eq!(world.says("mkdir -p src/plain/objects src/plain/refs; echo x > src/plain/config; echo x > src/HEAD"), "");
        }
    });
}

#[test]
fn files_that_a_repositorys_settings_name_are_protected_too() {
    in_tier(Tier::A, |world| {
        let git = |words: &[&str]| {
            Command::new("git")
                .args(words)
                .current_dir(world.ws("."))
                .output()
                .is_ok_and(|ran| ran.status.success())
        };
        if !git(&["init", "-q"]) {
            println!("skipped: no git");
            return;
        }
        for (folder, file) in [(".husky", "pre-commit"), ("shared", "gitconfig")] {
            fs::create_dir(world.ws(folder)).expect("a folder");
            fs::write(world.ws(folder).join(file), "\n").expect("a file");
        }
        for (key, value) in [
            ("core.hooksPath", ".husky"),
            ("include.path", "../shared/gitconfig"),
            ("include.path", "../shared/later"),
        ] {
            assert!(git(&["config", "--add", key, value]));
        }
        for (line, name) in [
            ("echo evil >> .husky/pre-commit", ".husky/pre-commit"),
            ("echo evil > .husky/post-commit", ".husky/post-commit"),
            (
                "mv .husky .other && mkdir .husky && echo evil > .husky/pre-commit",
                ".husky/pre-commit",
            ),
            ("echo evil >> shared/gitconfig", "shared/gitconfig"),
            ("echo evil > shared/later", "shared/later"),
            (
                "mkdir -p .git/foo/objects .git/foo/refs; echo evil > .git/foo/config; echo x > .git/foo/HEAD",
                ".git/foo/config",
            ),
        ] {
            world.shell(line);
            let text = fs::read_to_string(world.ws(name)).unwrap_or_default();
            assert!(!text.contains("evil"), "{line}");
        }
        fs::write(world.ws("note.txt"), "x").expect("a file");
        let commit = "git add note.txt && git -c user.name=a -c user.email=a@a.test commit -qm one && git log --oneline | wc -l && echo x > shared/other";
        assert_eq!(world.says(commit).trim(), "1");
    });
}

#[test]
fn a_bare_repository_that_is_there_is_used_and_its_settings_are_not_changed() {
    in_tier(Tier::A, |world| {
        let bare = world.ws("fixtures/repo.git");
        let made = Command::new("git")
            .args(["init", "-q", "--bare"])
            .arg(&bare)
            .status();
        if !made.is_ok_and(|made| made.success()) {
            println!("skipped: no git");
            return;
        }
        let config = text(&bare.join("config"));
        for line in [
            "echo evil >> fixtures/repo.git/config",
            "echo evil > fixtures/repo.git/hooks/pre-receive",
            "mv src/main.rs fixtures/repo.git/hooks/update",
            "ln -s ../../src fixtures/repo.git/commondir",
        ] {
            assert_ne!(world.shell(line).end, End::Exited(0), "{line}");
            assert_eq!(text(&bare.join("config")), config, "{line}");
        }
        let ran = world.shell("echo evil > fixtures/repo.git/commondir");
        assert!(is_refused(&ran) && !bare.join("commondir").exists());
        world.says(
            "git init -q /tmp/work && cd /tmp/work && git -c user.name=x -c user.email=x@x commit -q --allow-empty -m x && \
             git -c safe.directory='*' push -q \"$OLDPWD/fixtures/repo.git\" HEAD:refs/heads/main",
        );
        assert!(bare.join("refs/heads/main").exists());
    });
}

#[test]
fn a_command_cannot_keep_a_protected_file_it_made_in_place() {
    in_every_tier(|world| {
        for (line, folder) in [
            (
                "for n in $(seq 0 120); do echo > src/$n-claude; done; mkdir src/.claude",
                "src",
            ),
            ("mkdir src/.claude; chmod 555 src", "src"),
            ("mkdir src/.claude; chmod 000 src", "src"),
            (
                "mkdir -p src/d/.claude; chmod 000 src/d; chmod 000 src",
                "src/d",
            ),
            (
                "mkdir -p src/d/e; chmod 300 src/d/e; mkdir src/d/e/.claude; chmod 000 src/d/e src/d",
                "src/d/e",
            ),
        ] {
            let finished = world.shell(line);
            for closed in ["src", "src/d", "src/d/e"] {
                if let Ok(facts) = fs::metadata(world.ws(closed)) {
                    let mut open = facts.permissions();
                    open.set_mode(0o755);
                    fs::set_permissions(world.ws(closed), open).expect("opened");
                }
            }
            assert!(!world.ws(folder).join(".claude").exists(), "{line}");
            if world.can_write() {
                assert!(is_refused(&finished), "{line}: {}", finished.stderr.text);
            }
        }
        if world.can_write() {
            world.says("mkdir -p src/own; chmod 000 src/own");
            let mode = fs::metadata(world.ws("src/own"))
                .expect("facts")
                .permissions()
                .mode()
                & 0o777;
            assert_eq!(mode, 0, "a folder that its maker closed stays closed");
            fs::set_permissions(world.ws("src/own"), fs::Permissions::from_mode(0o755))
                .expect("opened");
        }
    });
}

#[test]
fn a_link_to_the_outside_changes_nothing_there() {
    in_every_tier(|world| {
        for name in ["settings.json", "mcp.json", "harness.md"] {
            fs::write(world.beside("outside").join(name), "mine").expect("a file");
        }
        let before = world.outside();
        let outside = world.beside("outside");
        for line in [
            format!(
                "ln -s {} .vscode; ln -s {} src/.vscode",
                outside.display(),
                outside.display()
            ),
            format!(
                "mkdir src/v; mv src/v src/.vscode; rmdir src/.vscode; ln -s {} src/.vscode",
                outside.display()
            ),
            format!(
                "mkdir src/w; rmdir src/w; ln -s {} src/w",
                outside.display()
            ),
        ] {
            world.shell(&line);
            assert_eq!(world.outside(), before, "{line}");
        }
    });
}

#[test]
fn every_place_that_is_written_is_looked_through() {
    in_every_tier(|world| {
        let mut plan = world.plan.clone();
        for place in ["one", "two"] {
            for folder in [".harness", "deep/.claude"] {
                fs::create_dir_all(world.ws(place).join(folder)).expect("a folder");
                fs::write(world.ws(place).join(folder).join("file"), "governs").expect("a file");
            }
        }
        fs::create_dir_all(world.beside("outside/.git/hooks")).expect("a folder");
        fs::write(world.beside("outside/.git/config"), "governs").expect("a file");
        (plan.files.workspace, plan.files.writable) = (
            world.ws("one"),
            vec![world.ws("two"), world.beside("outside")],
        );
        let (two, outside) = (world.ws("two"), world.beside("outside"));
        for (line, file) in [
            (
                format!("echo evil > {}/.harness/file", two.display()),
                two.join(".harness/file"),
            ),
            (
                format!(
                    "mv {0}/deep {0}/gone; echo evil > {0}/deep/.claude/file",
                    two.display()
                ),
                two.join("deep/.claude/file"),
            ),
            (
                "echo evil > .harness/file; echo evil > deep/.claude/file".to_owned(),
                world.ws("one/.harness/file"),
            ),
            (
                format!(
                    "echo evil > {0}/.git/config; mv {0}/.git {0}/x",
                    outside.display()
                ),
                outside.join(".git/config"),
            ),
        ] {
            world.shell_with(&plan, &line);
            assert_eq!(text(&file), "governs", "{line}");
        }
        for place in [&two, &outside] {
            let line = format!("mkdir {}/.claude.json", place.display());
            world.shell_with(&plan, &line);
            assert!(!place.join(".claude.json").exists());
            world.shell_with(
                &plan,
                &format!("echo evil > {}/.git/hooks/x", place.display()),
            );
            assert!(!place.join(".git/hooks/x").exists());
        }
        if world.tier() == Tier::A {
            let finished = world.shell_with(
                &plan,
                &format!(
                    "echo ok > {}/fine && echo ok > {}/fine",
                    two.display(),
                    outside.display()
                ),
            );
            assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr.text);
        }
    });
}

#[test]
fn names_are_found_behind_many_files() {
    in_tier(Tier::A, |world| {
        let world = &World::in_memory(world.sandbox.clone());
        fs::create_dir_all(world.ws("bulk")).expect("a folder");
        for n in 0..6000 {
            fs::write(world.ws(&format!("bulk/{n}")), "").expect("a file");
        }
        fs::create_dir_all(world.ws("zz/y/.harness")).expect("a folder");
        fs::write(world.ws("zz/y/.harness/x"), "governs").expect("a file");
        world.shell("echo evil > zz/y/.harness/x; mv zz gone; mkdir -p zz/y/.harness; echo evil > zz/y/.harness/x");
        assert_eq!(text(&world.ws("zz/y/.harness/x")), "governs");
        world.says("echo fine > zz/y/other && rm bulk/1");
    });
}

#[test]
fn the_missing_target_of_a_protected_link_cannot_be_created() {
    in_tier(Tier::A, |world| {
        symlink("conf/claude", world.ws(".claude")).expect("a link");
        symlink("conf/code", world.ws(".vscode")).expect("a link");
        for line in [
            "mkdir -p conf/claude; echo evil > conf/claude/settings.json",
            "mkdir -p conf/code; echo evil > conf/code/settings.json",
        ] {
            assert!(is_refused(&world.shell(line)), "{line}");
            assert!(
                !world.ws(".claude/settings.json").exists()
                    && !world.ws(".vscode/settings.json").exists(),
                "{line}"
            );
        }
        fs::write(world.ws("conf/code/settings.json"), "governs").expect("a file");
        world.shell("echo evil > .vscode/settings.json; rm .vscode; mkdir .vscode; echo evil > .vscode/settings.json");
        assert_eq!(text(&world.ws(".vscode/settings.json")), "governs");
        world.says("echo fine > conf/code/launch.json && echo fine > conf/other");
    });
}
