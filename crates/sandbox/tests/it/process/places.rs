//! Places that are moved, replaced by links, or whose parents are renamed.

use crate::process::world::{SECRET, World, in_every_tier, in_tier};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tool_harness_sandbox::plan::{Access, Plan};
use tool_harness_sandbox::process::{Command, End, SandboxError};
use tool_harness_sandbox::tier::Tier;

/// Plans that give a call only one place, each in another way.
fn plans(world: &World, place: &str) -> Vec<(&'static str, Plan)> {
    let mut plans = Vec::new();
    for what in ["workspace", "only", "readable", "writable"] {
        let mut plan = world.plan.clone();
        match what {
            "workspace" => plan.files.workspace = world.ws(place),
            "only" => plan.files.only = vec![world.ws(place)],
            "readable" => {
                (plan.files.access, plan.files.readable) = (Access::Hidden, vec![world.ws(place)])
            }
            _ => (plan.files.access, plan.files.writable) = (Access::Hidden, vec![world.ws(place)]),
        }
        plans.push((what, plan));
    }
    plans
}

#[test]
fn a_link_where_a_place_was_opens_nothing() {
    in_every_tier(|world| {
        fs::create_dir_all(world.ws("way/place")).expect("a folder");
        fs::write(world.ws("way/place/canary"), "inside").expect("a file");
        for (what, plan) in plans(world, "way/place") {
            let line = format!("cat {}", world.ws("way/place/canary").display());
            assert_eq!(
                world.shell_with(&plan, &line).stdout.text,
                "inside",
                "{what}"
            );
        }
        let before = world.outside();
        for link in ["way/place", "way"] {
            fs::remove_dir_all(world.ws("way")).expect("removed");
            if link == "way" {
                fs::create_dir_all(world.beside("outside/place")).expect("a folder");
                fs::write(world.beside("outside/place/canary"), SECRET).expect("a canary");
            } else {
                fs::create_dir(world.ws("way")).expect("a folder");
            }
            symlink(world.beside("outside"), world.ws(link)).expect("a link");
            for (what, plan) in plans(world, "way/place") {
                let command = Command::new(
                    "/bin/sh",
                    [
                        "-c",
                        "cat canary place/canary; echo evil > canary; echo evil > place/canary",
                    ],
                );
                let ran = world.run_with(
                    &plan,
                    Command {
                        cwd: Some(world.ws("way/place")),
                        ..command
                    },
                );
                assert!(
                    matches!(ran, Err(SandboxError::BadPlace { .. })),
                    "{what}, {link}: {ran:?}"
                );
            }
        }
        assert_eq!(
            fs::read_to_string(world.beside("outside/place/canary")).expect("there"),
            SECRET
        );
        fs::remove_dir_all(world.beside("outside/place")).expect("removed");
        assert_eq!(world.outside(), before);
        fs::remove_file(world.ws("way")).expect("removed");
    });
}

#[test]
fn a_place_that_is_exchanged_for_a_link_all_the_time_never_leads_outside() {
    in_every_tier(|world| {
        fs::create_dir(world.ws("place")).expect("a folder");
        fs::write(world.ws("place/canary"), "inside").expect("a file");
        symlink(world.beside("outside"), world.ws("link")).expect("a link");
        let before = world.outside();
        let is_over = AtomicBool::new(false);
        let (mut ran, mut refused) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0_u64.. {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    // Now and then it pauses for long enough that a command can run.
                    std::thread::sleep(Duration::from_millis(if n % 9 == 0 { 80 } else { n % 3 }));
                    let _ = renameat_with(
                        CWD,
                        world.ws("place"),
                        CWD,
                        world.ws("link"),
                        RenameFlags::EXCHANGE,
                    );
                }
            });
            for _ in 0..30 {
                for (what, plan) in plans(world, "place") {
                    let command = Command::new("/bin/sh", ["-c", "cat canary; echo evil > canary"]);
                    match world.run_with(
                        &plan,
                        Command {
                            cwd: Some(world.ws("place")),
                            ..command
                        },
                    ) {
                        Ok(finished) => {
                            ran += 1;
                            assert!(!finished.stdout.text.contains(SECRET), "{what}");
                        }
                        Err(_) => refused += 1,
                    }
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(world.outside(), before);
        println!("{ran} ran, {refused} were refused");
        assert!(
            ran > 0 && refused > 0,
            "{ran} ran, {refused} were refused: nothing was raced"
        );
        let (link, place) = (world.ws("link"), world.ws("place"));
        if fs::symlink_metadata(&place).expect("there").is_symlink() {
            renameat_with(CWD, &place, CWD, &link, RenameFlags::EXCHANGE).expect("exchanged");
        }
        let plan = &plans(world, "place")[0].1;
        assert_eq!(world.shell_with(plan, "true").end, End::Exited(0));
    });
}

#[test]
fn folders_above_a_hidden_place_cannot_move_and_its_neighbours_can() {
    in_every_tier(|world| {
        let mut plan = world.plan.clone();
        fs::create_dir_all(world.ws("a/b/secret")).expect("a folder");
        fs::create_dir_all(world.ws("free/x")).expect("a folder");
        fs::write(world.ws("a/b/secret/canary"), SECRET).expect("a canary");
        fs::write(world.ws("a/b/plain"), "plain").expect("a file");
        plan.files.hidden = vec![world.ws("a/b/secret")];
        for line in [
            "mv a z",
            "mv a/b a/z",
            "mv a/b z",
            "mv a/b/secret a/b/z",
            "rm -rf a; mkdir -p a/b/secret",
        ] {
            world.shell_with(&plan, line);
            let read = world.shell_with(&plan, "grep -r . . 2>/dev/null; true");
            assert!(
                !read.stdout.text.contains(SECRET),
                "{line}: {}",
                read.stdout.text
            );
            assert_eq!(
                fs::read_to_string(world.ws("a/b/secret/canary"))
                    .ok()
                    .as_deref(),
                Some(SECRET),
                "{line}"
            );
        }
        assert!(
            world.tier() == Tier::B || !world.ws("a/b/plain").exists(),
            "its neighbours may be removed"
        );
        if world.tier() == Tier::A {
            let line = "mkdir a/b/new && mv a/b/new a/b/newer && echo x > a/b/newer/file && mv free/x free/y && mv free/y a/b/y && mv free other";
            let finished = world.shell_with(&plan, line);
            assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr.text);
        } else if world.can_write() {
            let finished = world.shell_with(&plan, "mv free/x free/y");
            assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr.text);
        }
    });
}

#[test]
fn a_home_missing_from_passwd_is_hidden_except_for_the_workspace_in_it() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root, to make a home outside of `/tmp`");
        return;
    }
    in_every_tier(|world| {
        let base = TempDir::new_in("/srv").expect("a folder");
        let at = fs::canonicalize(base.path()).expect("a path");
        fs::set_permissions(&at, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
        for folder in ["person/project", "person/.ssh", "other"] {
            fs::create_dir_all(at.join(folder)).expect("a folder");
        }
        for file in ["person/canary", "person/.ssh/id", "other/canary"] {
            fs::write(at.join(file), SECRET).expect("a canary");
        }
        fs::write(at.join("person/project/file"), "mine").expect("a file");
        let read = |plan: &Plan| {
            world
                .shell_with(
                    plan,
                    &format!(
                        "cd {}; cat person/canary person/.ssh/id; true",
                        at.display()
                    ),
                )
                .stdout
                .text
        };
        let mut plan = world.plan.clone();
        // Unless it is known to be a home, it is a folder like any other.
        assert!(read(&plan).contains(SECRET));
        plan.files.home = Some(at.join("person"));
        assert_eq!(read(&plan), "");
        assert_eq!(
            world
                .shell_with(&plan, &format!("cat {}", at.join("other/canary").display()))
                .stdout
                .text,
            SECRET
        );
        (plan.files.project, plan.files.workspace) =
            (at.join("person/project"), at.join("person/project"));
        assert_eq!(read(&plan), "");
        assert_eq!(world.shell_with(&plan, "cat file").stdout.text, "mine");
        // A workspace that is the home, or is around it, is visible without its keys.
        (plan.files.project, plan.files.workspace) = (at.join("person"), at.join("person"));
        assert_eq!(
            world
                .shell_with(&plan, "cat canary .ssh/id; true")
                .stdout
                .text,
            SECRET
        );
        // Nor is one around it.
        (plan.files.project, plan.files.workspace) = (at.clone(), at.clone());
        assert_eq!(read(&plan), "");
        (plan.files.project, plan.files.workspace) = (at.join("person"), at.join("person"));
        // Invalid homes hide nothing.
        for home in ["/", "/usr", "/etc"] {
            plan.files.home = Some(home.into());
            assert_eq!(
                world.shell_with(&plan, "cat project/file").stdout.text,
                "mine",
                "{home}"
            );
        }
    });
}

#[test]
fn files_that_come_and_go_beside_a_hidden_place_disturb_no_command() {
    in_every_tier(|world| {
        fs::create_dir_all(world.ws("busy/secret")).expect("a folder");
        fs::write(world.ws("busy/secret/canary"), SECRET).expect("a canary");
        fs::write(world.ws("busy/plain"), "plain").expect("a file");
        let mut plan = world.plan.clone();
        plan.files.hidden = vec![world.ws("busy/secret")];
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let file = world.ws("busy/passing");
                while !is_over.load(Ordering::Relaxed) {
                    fs::write(&file, "x").expect("a file");
                    fs::remove_file(&file).expect("removed");
                }
            });
            let ends: Vec<_> = (0..25)
                .map(|_| {
                    let line = ["-c", "cat busy/plain busy/secret/canary"];
                    world.run_with(&plan, Command::new("/bin/bash", line))
                })
                .collect();
            is_over.store(true, Ordering::Relaxed);
            for end in ends {
                assert_eq!(end.expect("the command starts").stdout.text, "plain");
            }
        });
    });
}

#[test]
fn the_folders_on_the_way_of_a_protected_link_cannot_be_moved() {
    in_tier(Tier::A, |world| {
        fs::create_dir_all(world.ws("conf/deep/claude")).expect("a folder");
        fs::write(world.ws("conf/deep/claude/settings.json"), "governs").expect("a file");
        symlink("../conf/deep", world.ws("src/hop")).expect("a link");
        symlink("src/hop/claude", world.ws(".claude")).expect("a link");
        let evil = "echo evil > new/claude/settings.json";
        for line in [
            format!("mkdir -p new/claude; {evil}; mv conf gone; mkdir conf; mv new conf/deep"),
            format!("mkdir -p new/claude; {evil}; mv conf/deep conf/gone; mv new conf/deep"),
            format!("mkdir -p new/claude; {evil}; rm src/hop; ln -s ../new src/hop; sleep 1"),
            format!("mkdir -p new/claude; {evil}; ln -sfn ../new src/hop"),
        ] {
            world.shell(&line);
            assert_eq!(
                fs::read_to_string(world.ws(".claude/settings.json"))
                    .ok()
                    .as_deref(),
                Some("governs"),
                "{line}"
            );
        }
        world.says("echo fine > conf/deep/other && mkdir -p conf/a && mv conf/a conf/b");
    });
}

#[test]
fn a_workspace_in_shared_memory_is_used_as_any_other() {
    in_every_tier(|world| {
        let Ok(base) = TempDir::new_in("/dev/shm") else {
            println!("skipped: no shared memory");
            return;
        };
        let (ws, beside) = (base.path().join("ws"), base.path().join("beside"));
        for folder in [ws.join("src"), ws.join(".claude"), beside.clone()] {
            fs::create_dir_all(folder).expect("a folder");
        }
        fs::write(ws.join(".claude/settings.json"), "governs").expect("a file");
        fs::write(beside.join("canary"), SECRET).expect("a canary");
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).expect("set");
        let mut plan = world.plan.clone();
        (plan.files.project, plan.files.workspace) = (ws.clone(), ws.clone());
        // Semaphores live in shared memory, too.
        let semaphore = if world.tier() == Tier::A {
            "python3 -c 'import multiprocessing as m; m.Lock()'"
        } else {
            "true"
        };
        let finished = world.shell_with(
            &plan,
            &format!("cat .claude/settings.json && {semaphore} && echo done"),
        );
        assert_eq!(
            (finished.end, finished.stdout.text.as_str()),
            (End::Exited(0), "governsdone\n"),
            "{}",
            finished.stderr.text
        );
        if world.can_write() {
            let finished = world.shell_with(&plan, "echo inside > src/note && cat src/note");
            assert_eq!(finished.stdout.text, "inside\n", "{}", finished.stderr.text);
            assert_eq!(
                fs::read_to_string(ws.join("src/note")).expect("written"),
                "inside\n"
            );
        }
        let finished = world.shell_with(
            &plan,
            &format!(
                "echo evil > .claude/settings.json; echo evil > {}/canary",
                beside.display()
            ),
        );
        assert_ne!(finished.end, End::Exited(0));
        if world.tier() == Tier::A {
            let finished = world.shell_with(
                &plan,
                &format!("cat {}/canary; ls /dev/shm", beside.display()),
            );
            assert!(
                !finished.stdout.text.contains(SECRET) && !finished.stdout.text.contains("beside"),
                "{}",
                finished.stdout.text
            );
        }
        assert_eq!(
            fs::read_to_string(ws.join(".claude/settings.json")).expect("there"),
            "governs"
        );
        assert_eq!(
            fs::read_to_string(beside.join("canary")).expect("there"),
            SECRET
        );
    });
}

#[test]
fn a_place_elsewhere_in_dev_is_refused_with_what_would_be_accepted() {
    in_tier(Tier::A, |world| {
        let mut plan = world.plan.clone();
        plan.files.readable = vec!["/dev/pts".into()];
        let refused = world
            .run_with(&plan, Command::new("true", [""; 0]))
            .expect_err("it is refused");
        assert!(
            matches!(refused, SandboxError::BadPlace { .. })
                && refused.to_string().contains("/dev/shm"),
            "{refused}"
        );
    });
}

/// What people have in a home that no command sees, and what every command sees.
const PRIVATE: &[&str] = &[
    ".ssh/id_ed25519",
    ".claude/.credentials.json",
    ".claude/projects/other/session.jsonl",
    ".claude.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".config/gh/hosts.yml",
    ".config/gcloud/application_default_credentials.json",
    ".local/share/keyrings/login.keyring",
    ".local/state/harness/notes-0123456789abcdef/artifacts/art_1",
    ".mozilla/firefox/profile/logins.json",
    ".netrc",
    ".npmrc",
    ".bash_history",
    ".kube/config",
    ".linked/key",
];
const PLAIN: &[&str] = &[
    ".profile",
    ".claude/CLAUDE.md",
    ".config/app.toml",
    "notes.txt",
];

#[test]
fn a_workspace_that_is_a_home_is_read_without_what_is_private_in_it() {
    in_every_tier(|world| {
        // As an ordinary user's files are: closed to others, but shown as the command's own.
        let put = |folder: &str| {
            for name in PRIVATE.iter().chain(PLAIN) {
                let file = world.ws(folder).join(name);
                fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
                fs::write(&file, SECRET).expect("a file");
                let closed = PRIVATE.contains(name) && world.can_write();
                let mode = if closed { 0o600 } else { 0o644 };
                fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(mode))
                    .expect("set");
            }
        };
        put("");
        put("project");
        std::os::unix::fs::symlink(".linked", world.ws(".gnupg")).expect("a link");
        let mode = if world.can_write() { 0o700 } else { 0o755 };
        let closed = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(world.ws(".ssh"), closed).expect("set");
        let mut plan = world.plan.clone();
        let read = |plan: &Plan, name: &str| {
            let line = format!("cat '{name}' 2>/dev/null; grep -s {SECRET} '{name}'; true");
            world.shell_with(plan, &line).stdout.text.contains(SECRET)
        };
        // Elsewhere they are files like any other.
        for name in PRIVATE.iter().chain(PLAIN) {
            assert!(read(&plan, name), "{name}");
        }
        plan.files.home = Some(plan.files.workspace.clone());
        for name in PRIVATE {
            assert!(!read(&plan, name), "{name}");
            // Names in a home are not names in a project.
            let name = format!("project/{name}");
            assert!(read(&plan, &name), "{name}");
        }
        for name in PLAIN {
            assert!(read(&plan, name), "{name}");
        }
        // Nor do they appear under another name.
        if world.can_write() {
            for line in [
                "mv .claude .c && cat .c/.credentials.json",
                "mv .ssh s; cat s/id_ed25519",
                "ln .netrc n; cat n",
                "cp -r .config c; cat c/gh/hosts.yml",
                "rm -f .npmrc; mv .npmrc x; cat x",
            ] {
                let finished = world.shell_with(&plan, line);
                assert!(!finished.stdout.text.contains(SECRET), "{line}");
            }
            for name in PRIVATE {
                let text = fs::read_to_string(world.ws(name));
                assert_eq!(text.expect("still there"), SECRET, "{name}");
            }
        }
    });
}
