//! What exists is protected first, however many files there are.

use crate::process::git_hooks::Person;
use crate::process::world::{World, in_tier};
use std::fs;
use tool_harness_sandbox::process::{CommandOutcome, End};
use tool_harness_sandbox::tier::Tier;

const GOVERNS: &[(&str, &str)] = &[
    ("harness.md", "---\n---\n"),
    (".harness/tools/x.md", "---\n---\n"),
    (".claude/settings.json", "{}"),
    (".vscode/settings.json", "{}"),
];

fn prepare(world: &World) -> Option<Person<'_>> {
    let mut person = Person::new(world)?;
    person.init("ws");
    for (path, text) in GOVERNS {
        person.write(&format!("ws/{path}"), text);
    }
    person.program("ws/.git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
    let evil = person.evil();
    person.plan.environment.push(("EVIL".to_owned(), evil));
    Some(person)
}

/// Tries to change everything that governs; nothing changed.
fn attack(person: &Person<'_>) -> CommandOutcome {
    let world = person.world;
    let (config, hook) = (world.ws(".git/config"), world.ws(".git/hooks/pre-commit"));
    let before = [fs::read(&config), fs::read(&hook)].map(|read| read.expect("a file"));
    let finished = world.shell_with(
        &person.plan,
        "for f in harness.md .harness/tools/x.md .claude/settings.json .vscode/settings.json .git/hooks/pre-commit .git/hooks/post-checkout; \
           do echo \"$EVIL\" > $f; echo \"$EVIL\" > e; chmod +x e; mv -f e $f; done; \
         printf '[core]\\nfsmonitor = \"touch x #\"\\n' >> .git/config; mv .git/config x; mv .git/hooks y; exit 1",
    );
    for (path, text) in GOVERNS {
        let now = fs::read_to_string(world.ws(path)).expect("a file");
        assert_eq!(now, *text, "{path}");
    }
    let after = [fs::read(&config), fs::read(&hook)].map(|read| read.expect("a file"));
    assert_eq!(after, before);
    person.works("ws");
    finished
}

#[test]
fn many_files_before_git_s_folder_open_nothing() {
    for tier in [Tier::A, Tier::B] {
        in_tier(tier, |world| {
            let world = World::in_memory(world.sandbox.clone());
            let Some(person) = prepare(&world) else {
                return;
            };
            for n in 0..25_000 {
                fs::write(world.ws(&format!("src/{n}")), "").expect("a file");
            }
            attack(&person);
            if world.tier() == Tier::A {
                world.says("mkdir -p docs/a && echo x > docs/a/x && rm src/1 && git add docs && git -c user.name=a -c user.email=a@a.test commit -qm x");
            }
        });
    }
}

#[test]
fn one_call_that_makes_very_many_files_opens_nothing_for_the_next() {
    in_tier(Tier::A, |world| {
        let world = World::in_memory(world.sandbox.clone());
        let Some(person) = prepare(&world) else {
            return;
        };
        let many = "import os\nos.mkdir('many')\nfor n in range(25000): open(f'many/{n}', 'w').close()\n\
            for n in range(120000): open(f'{n}', 'w').close()\n";
        fs::write(world.ws("src/many.py"), many).expect("a file");
        let finished = world.shell_with(&person.plan, "python3 src/many.py");
        assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr.text);
        attack(&person);
        // What is in the way can be removed again.
        let finished = world.shell_with(&person.plan, "find . -maxdepth 1 -name '[0-9]*' -delete");
        assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr.text);
        let finished = world.shell_with(&person.plan, "rm -r many");
        assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr.text);
    });
}

#[test]
fn what_is_not_looked_through_is_read_only_and_the_result_says_so() {
    for tier in [Tier::A, Tier::B] {
        in_tier(tier, |world| {
            let world = World::in_memory(world.sandbox.clone());
            let Some(person) = prepare(&world) else {
                return;
            };
            for n in 0..6000 {
                let folder = format!("src/{}/{n}", n / 1000);
                fs::create_dir_all(world.ws(&folder)).expect("a folder");
            }
            // Governed files that no walk within the budget reaches.
            for deep in ["src/5/5999", "src/0/0"] {
                fs::create_dir(world.ws(deep).join(".claude")).expect("a folder");
                fs::write(world.ws(deep).join(".claude/settings.json"), "mine").expect("a file");
                person.init(&format!("ws/{deep}/inner"));
            }
            let finished = attack(&person);
            let said = format!("{:?}", finished.denials);
            assert!(said.contains("was not looked through"), "{said}");
            for deep in ["src/5/5999", "src/0/0"] {
                let config = world.ws(deep).join("inner/.git/config");
                let before = fs::read(&config).expect("a file");
                world.shell_with(
                    &person.plan,
                    &format!(
                        "cd {deep}; echo evil > .claude/settings.json; mv .claude c; echo '[core] fsmonitor = \"touch x #\"' >> inner/.git/config; mv inner i; \
                         mv ../../{0} ../../x; mkdir -p n/.git; mv n/.git n/x",
                        deep.split('/').nth(1).expect("a part")
                    ),
                );
                let text = fs::read_to_string(world.ws(deep).join(".claude/settings.json"));
                assert_eq!(text.expect("a file"), "mine", "{deep}");
                assert_eq!(fs::read(&config).expect("a file"), before, "{deep}");
            }
            if world.tier() == Tier::A {
                // The top and Git's folder are open.
                world.says("echo x > note && git add note && git -c user.name=a -c user.email=a@a.test commit -qm x");
            }
        });
    }
}
