//! Repositories in folders that nobody looks through, and the index entries that make Git run there.

use crate::process::git_hooks::Person;
use crate::process::world::{World, in_every_tier, in_tier};
use std::fs;
use tool_harness_sandbox::process::{CommandOutcome, End};
use tool_harness_sandbox::tier::Tier;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A line that makes a repository whose settings run a program.
fn plant(person: &Person<'_>, folder: &str) -> String {
    format!(
        "mkdir -p {folder} && git init -q {folder} && git -C {folder} -c user.name=a -c user.email=a@a.test commit -q --allow-empty -m x; \
         printf '[core]\\nfsmonitor = \"touch {} #\"\\n' >> {folder}/.git/config",
        person.canary().display()
    )
}

fn link(folder: &str) -> String {
    format!("git update-index --add --cacheinfo 160000,{COMMIT},{folder}")
}

fn begin(world: &World) -> Option<Person<'_>> {
    let person = Person::new(world)?;
    person.init("ws");
    Some(person)
}

fn has_said(finished: &CommandOutcome, what: &str) -> bool {
    let mut denials = finished.denials.iter();
    finished.end == End::Protected
        && denials.any(|denial| denial.what.contains(what) && denial.why.contains("set aside"))
}

#[test]
fn the_attack_works_where_nothing_stops_it() {
    in_tier(Tier::A, |world| {
        let Some(person) = begin(world) else { return };
        let line = format!(
            "{}; {}",
            plant(&person, "node_modules/x"),
            link("node_modules/x")
        );
        let ran = std::process::Command::new("sh")
            .args(["-c", &line])
            .current_dir(world.ws("."))
            .output();
        assert!(ran.expect("it runs").status.success());
        person.try_git("ws", &["status"]);
        assert!(
            person.canary().exists(),
            "git status runs what the submodule says"
        );
    });
}

#[test]
fn a_repository_planted_in_a_skipped_folder_is_set_aside_once_an_index_refers_to_it() {
    in_every_tier(|world| {
        for folder in [
            "node_modules/x",
            "target/debug/deps/y",
            "src/node_modules/@a/b",
            "a/objects/z",
        ] {
            let world = World::new(world.sandbox.clone());
            let Some(person) = begin(&world) else { return };
            let line = format!("{}; {}", plant(&person, folder), link(folder));
            let finished = world.shell_with(&person.plan, &line);
            if world.tier() == Tier::A {
                assert!(
                    has_said(&finished, &format!("{folder}/.git")),
                    "{finished:?}"
                );
            }
            person.works("ws");
        }
    });
}

#[test]
fn it_is_set_aside_in_whatever_order_and_in_however_many_calls() {
    in_tier(Tier::A, |world| {
        let folder = "node_modules/x";
        let orders: [fn(&Person<'_>, &str) -> Vec<String>; 6] = [
            |person, folder| vec![plant(person, folder), link(folder)],
            |person, folder| vec![link(folder), plant(person, folder)],
            |person, folder| {
                vec![
                    format!("git init -q {folder}"),
                    link(folder),
                    plant(person, folder),
                ]
            },
            // By a file that leads to a repository elsewhere.
            |person, folder| {
                vec![
                    plant(person, "node_modules/other"),
                    format!(
                        "mkdir -p {folder}; echo 'gitdir: ../other/.git' > {folder}/.git; {}",
                        link(folder)
                    ),
                ]
            },
            // By a hook.
            |person, folder| {
                vec![
                    format!(
                        "git init -q {folder}; cd {folder}; mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch {}\\n' > .git/hooks/post-index-change; chmod +x .git/hooks/*; echo x > f; git add f",
                        person.canary().display()
                    ),
                    link(folder),
                ]
            },
            // The name is taken by something harmless first.
            |person, folder| {
                vec![
                    format!("mkdir -p {folder}; touch {folder}/.git; {}", link(folder)),
                    format!("rm {folder}/.git; {}", plant(person, folder)),
                ]
            },
        ];
        for (n, order) in orders.iter().enumerate() {
            let world = World::new(world.sandbox.clone());
            let Some(person) = begin(&world) else { return };
            let mut said = false;
            for line in order(&person, folder) {
                let finished = world.shell_with(&person.plan, &line);
                said |= has_said(&finished, ".git");
                person.works("ws");
            }
            assert!(said, "order {n}");
        }
    });
}

#[test]
fn an_index_that_hides_its_submodules_is_set_aside() {
    in_tier(Tier::A, |world| {
        let Some(person) = begin(world) else { return };
        person.write("ws/a/file", "x");
        person.git("ws", &["add", "."]);
        let line = format!(
            "{}; {}; python3 - <<'E'\nd = bytearray(open('.git/index', 'rb').read())\nd[7] = 9\nopen('.git/index', 'wb').write(d)\nE\n",
            plant(&person, "node_modules/x"),
            link("node_modules/x")
        );
        let finished = world.shell_with(&person.plan, &line);
        assert!(has_said(&finished, ".git/index"), "{finished:?}");
        person.git("ws", &["reset", "-q"]);
        person.works("ws");
    });
}

#[test]
fn submodules_of_a_person_keep_working() {
    in_tier(Tier::A, |world| {
        let Some(person) = begin(world) else { return };
        person.init("lib");
        let lib = world.beside("lib").to_string_lossy().into_owned();
        for folder in ["vendor/lib", "node_modules/lib"] {
            let add = [
                "-c",
                "protocol.file.allow=always",
                "submodule",
                "--quiet",
                "add",
                "-f",
            ];
            person.git("ws", &[&add[..], &[&lib, folder]].concat());
        }
        person.git("ws", &["commit", "-q", "-m", "submodules"]);
        // A repository that is no submodule, and one whose person set a program.
        person.init("ws/node_modules/own");
        person.git("ws/node_modules/lib", &["config", "core.pager", "cat"]);
        for line in [
            "echo x > new && git add new && git -c user.name=a -c user.email=a@a.test commit -qm new",
            "git status --short && git submodule status",
            "cd vendor/lib && echo x > x && git add x && git -c user.name=a -c user.email=a@a.test commit -qm y && cd ../.. && git add vendor/lib",
            "cd node_modules/lib && echo x > x && git add x && git -c user.name=a -c user.email=a@a.test commit -qm y && cd ../.. && git add node_modules/lib",
            "cd node_modules/own && echo x > x && git add x && git -c user.name=a -c user.email=a@a.test commit -qm y",
            "git stash -q && git stash pop -q; git checkout -q -b topic && git checkout -q main",
        ] {
            let finished = world.shell_with(&person.plan, line);
            assert_eq!(
                finished.end,
                End::Exited(0),
                "{line}: {} {:?}",
                finished.stderr.text,
                finished.denials
            );
        }
        for folder in [
            "ws/vendor/lib",
            "ws/node_modules/lib",
            "ws/node_modules/own",
        ] {
            assert!(
                fs::symlink_metadata(world.beside(folder).join(".git")).is_ok(),
                "{folder}"
            );
            person.git(folder, &["status"]);
        }
        // Their hooks and settings are not the command's.
        for (line, config) in [
            (
                "echo '[core] fsmonitor = x' >> .git/modules/vendor/lib/config",
                ".git/modules/vendor/lib/config",
            ),
            (
                "echo '[core] fsmonitor = x' >> .git/modules/node_modules/lib/config",
                ".git/modules/node_modules/lib/config",
            ),
        ] {
            let before = fs::read(world.ws(config)).expect("a file");
            world.shell_with(&person.plan, line);
            assert_eq!(
                fs::read(world.ws(config)).expect("a file"),
                before,
                "{line}"
            );
        }
        person.works("ws");
    });
}
