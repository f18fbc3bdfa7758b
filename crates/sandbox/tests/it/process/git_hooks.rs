//! Hooks and programs that Git runs, wherever its settings say they are: no command changes them, and
//! what a person's Git runs afterwards is theirs.

use crate::process::world::{World, in_every_tier, in_tier};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tool_harness_sandbox::git::PersonalConfig;
use tool_harness_sandbox::plan::Plan;
use tool_harness_sandbox::process::End;
use tool_harness_sandbox::tier::Tier;

/// A workspace and the person who works in it with Git.
pub(super) struct Person<'a> {
    pub(super) world: &'a World,
    pub(super) plan: Plan,
}

impl<'a> Person<'a> {
    /// `None` without Git.
    pub(super) fn new(world: &'a World) -> Option<Self> {
        let has_git = Command::new("git").arg("--version").output();
        if !has_git.is_ok_and(|ran| ran.status.success()) {
            println!("skipped: no git");
            return None;
        }
        let home = world.beside("home");
        fs::create_dir_all(&home).expect("a home");
        let mut plan = world.plan.clone();
        plan.files.git = PersonalConfig {
            files: [".gitconfig", ".config/git/config", "system"]
                .map(|file| home.join(file))
                .into(),
            home: Some(home),
        };
        Some(Self { world, plan })
    }

    pub(super) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.world.beside(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(&path, text).expect("a file");
        path
    }

    pub(super) fn program(&self, path: &str, text: &str) {
        let path = self.write(path, text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("set");
    }

    /// The person's own Git.
    pub(super) fn try_git(&self, folder: &str, words: &[&str]) -> Output {
        Command::new("git")
            .args(words)
            .current_dir(self.world.beside(folder))
            .env_clear()
            .env("PATH", crate::process::world::PATH)
            .env("HOME", self.world.beside("home"))
            .env("GIT_CONFIG_SYSTEM", self.world.beside("home/system"))
            .env("GIT_CEILING_DIRECTORIES", self.world.beside(""))
            .env("GIT_AUTHOR_NAME", "a")
            .env("GIT_AUTHOR_EMAIL", "a@a.test")
            .env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a@a.test")
            .output()
            .expect("git runs")
    }

    pub(super) fn git(&self, folder: &str, words: &[&str]) -> String {
        let ran = self.try_git(folder, words);
        assert!(ran.status.success(), "{words:?}: {ran:?}");
        String::from_utf8_lossy(&ran.stdout).trim_end().to_owned()
    }

    /// A repository with a commit.
    pub(super) fn init(&self, folder: &str) {
        fs::create_dir_all(self.world.beside(folder)).expect("a folder");
        self.git(folder, &["init", "-q", "-b", "main"]);
        self.git(folder, &["commit", "-q", "--allow-empty", "-m", "x"]);
    }

    pub(super) fn canary(&self) -> PathBuf {
        self.world.beside("ran")
    }

    /// What an attacker wants to run.
    pub(super) fn evil(&self) -> String {
        format!("#!/bin/sh\ntouch {} # evil\n", self.canary().display())
    }

    /// Everything that people do with Git every day; nothing of the attacker runs.
    pub(super) fn works(&self, folder: &str) {
        self.write(&format!("{folder}/by-person"), "x");
        let commands: [&[&str]; 8] = [
            &["status"],
            &["diff"],
            &["add", "by-person"],
            &["commit", "-q", "-m", "person"],
            &["log", "-p", "-1"],
            &["checkout", "-q", "-b", "other"],
            &["checkout", "-q", "-"],
            &["branch", "-q", "-D", "other"],
        ];
        for words in commands {
            self.try_git(folder, words);
            let ran = self.canary().exists();
            assert!(!ran, "`git {}` ran what the attacker wrote", words[0]);
        }
    }
}

/// One way to make Git look for hooks elsewhere.
struct Variant {
    what: &'static str,
    /// Where the person works.
    folder: &'static str,
    /// The hook, and the folder that its commands are contained in.
    hook: &'static str,
    workspace: &'static str,
    prepare: fn(&Person<'_>),
}

const OWN: &str = "#!/bin/sh\nexit 0\n";

const VARIANTS: &[Variant] = &[
    Variant {
        what: "the repository's own setting",
        folder: "ws",
        hook: "ws/.husky/pre-commit",
        workspace: "ws",
        prepare: |person| drop(person.git("ws", &["config", "core.hooksPath", ".husky"])),
    },
    Variant {
        what: "the person's setting, relative",
        folder: "ws",
        hook: "ws/.githooks/pre-commit",
        workspace: "ws",
        prepare: |person| {
            person.write("home/.gitconfig", "[core]\nhooksPath = .githooks\n");
        },
    },
    Variant {
        what: "the person's setting in the other file, from the home",
        folder: "ws",
        hook: "ws/.githooks/pre-commit",
        workspace: "ws",
        prepare: |person| {
            let text = "[core]\nhooksPath = ~/../ws/.githooks\n";
            person.write("home/.config/git/config", text);
        },
    },
    Variant {
        what: "the machine's setting, included",
        folder: "ws",
        hook: "ws/.githooks/pre-commit",
        workspace: "ws",
        prepare: |person| {
            person.write("home/system", "[includeIf \"gitdir:/\"]\npath = more\n");
            person.write("home/more", "[core]\nhooksPath = .githooks\n");
        },
    },
    Variant {
        what: "the setting of a working tree",
        folder: "ws",
        hook: "ws/own/pre-commit",
        workspace: "ws",
        prepare: |person| {
            person.git("ws", &["config", "extensions.worktreeConfig", "true"]);
            person.git("ws", &["config", "--worktree", "core.hooksPath", "own"]);
        },
    },
    Variant {
        what: "a linked working tree in the workspace",
        folder: "ws/trees/one",
        hook: "ws/trees/one/own/pre-commit",
        workspace: "ws",
        prepare: |person| {
            person.git("ws", &["worktree", "add", "-q", "trees/one"]);
            person.git("ws", &["config", "core.hooksPath", "own"]);
        },
    },
    Variant {
        what: "a linked working tree that is the workspace",
        folder: "linked",
        hook: "linked/own/pre-commit",
        workspace: "linked",
        prepare: |person| {
            person.git("ws", &["worktree", "add", "-q", "../linked"]);
            person.git("ws", &["config", "core.hooksPath", "own"]);
        },
    },
    Variant {
        what: "a submodule",
        folder: "ws/vendor/lib",
        hook: "ws/vendor/lib/own/pre-commit",
        workspace: "ws",
        prepare: |person| {
            person.init("lib");
            let lib = person.world.beside("lib").to_string_lossy().into_owned();
            let add = [
                "-c",
                "protocol.file.allow=always",
                "submodule",
                "--quiet",
                "add",
            ];
            person.git("ws", &[&add[..], &[&lib, "vendor/lib"]].concat());
            person.git("ws/vendor/lib", &["config", "core.hooksPath", "own"]);
        },
    },
    Variant {
        what: "a project in a subfolder of the repository",
        folder: "ws",
        hook: "ws/project/hooks/pre-commit",
        workspace: "ws/project",
        prepare: |person| {
            person.git("ws", &["config", "core.hooksPath", "project/hooks"]);
        },
    },
    Variant {
        what: "a setting over two lines",
        folder: "ws",
        hook: "ws/.husky/pre-commit",
        workspace: "ws",
        prepare: |person| {
            let config = person.world.beside("ws/.git/config");
            let text = fs::read_to_string(&config).expect("a configuration");
            fs::write(
                config,
                format!("{text}[Core]HooksPath = \".hus\\\nky\" ; x\n"),
            )
            .expect("it");
        },
    },
    Variant {
        what: "a link",
        folder: "ws",
        hook: "ws/elsewhere/hooks/pre-commit",
        workspace: "ws",
        prepare: |person| {
            fs::remove_dir_all(person.world.beside("ws/.git/hooks")).expect("removed");
            let link = person.world.beside("ws/.git/hooks");
            symlink("../elsewhere/hooks", link).expect("a link");
        },
    },
    Variant {
        what: "a repository kept elsewhere in the workspace",
        folder: "ws/sub",
        hook: "ws/data/hooks/pre-commit",
        workspace: "ws",
        prepare: |person| {
            fs::create_dir(person.world.beside("ws/sub")).expect("a folder");
            let kept = person
                .world
                .beside("ws/data")
                .to_string_lossy()
                .into_owned();
            person.git("ws/sub", &["init", "-q", "--separate-git-dir", &kept]);
            let _ = fs::remove_dir_all(person.world.beside("ws/data/hooks"));
        },
    },
    Variant {
        what: "a repository deep in the workspace",
        folder: "ws/a/b",
        hook: "ws/a/b/own/pre-commit",
        workspace: "ws",
        prepare: |person| {
            person.init("ws/a/b");
            person.git("ws/a/b", &["config", "core.hooksPath", "own"]);
        },
    },
    Variant {
        what: "a folder that does not exist yet",
        folder: "ws",
        hook: "ws/src/later/pre-commit",
        workspace: "ws",
        prepare: |person| {
            fs::create_dir_all(person.world.beside("ws/src")).expect("a folder");
            person.git("ws", &["config", "core.hooksPath", "src/later"]);
        },
    },
];

/// Ways to change a hook.
const ATTACKS: &[&str] = &[
    "echo \"$EVIL\" > $HOOK; chmod +x $HOOK",
    "echo \"$EVIL\" >> $HOOK",
    "echo \"$EVIL\" > e; chmod +x e; mv -f e $HOOK",
    "rm -f $HOOK; echo \"$EVIL\" > $HOOK; chmod +x $HOOK",
    "mkdir -p d/new; echo \"$EVIL\" > d/new/pre-commit; chmod +x d/new/*; mv $(dirname $HOOK) old; mv d/new $(dirname $HOOK)",
    "echo \"$EVIL\" > $(dirname $HOOK)/post-checkout; chmod +x $(dirname $HOOK)/post-checkout",
    "cd $(dirname $HOOK)/..; mv $(dirname $HOOK) old; ln -s old2 $(dirname $HOOK); mkdir old2; echo \"$EVIL\" > old2/pre-commit; chmod +x old2/*",
    "echo \"$EVIL\" > e; chmod +x e; ln -f e $HOOK; ln -sf $PWD/e $HOOK",
    "mkdir -p $(dirname $HOOK) && echo \"$EVIL\" > $HOOK && chmod +x $HOOK && sleep 5",
];

#[test]
fn hooks_are_not_changed_wherever_git_finds_them() {
    in_every_tier(|world| {
        for variant in VARIANTS {
            check(&World::new(world.sandbox.clone()), variant);
        }
    });
}

fn check(world: &World, variant: &Variant) {
    let Some(mut person) = Person::new(world) else {
        return;
    };
    person.init("ws");
    (variant.prepare)(&person);
    let (hook, is_missing) = (
        world.beside(variant.hook),
        variant.what.contains("not exist"),
    );
    if !is_missing {
        person.program(variant.hook, OWN);
    }
    let workspace = world.beside(variant.workspace);
    fs::create_dir_all(&workspace).expect("a folder");
    person.plan.files.workspace.clone_from(&workspace);
    person.plan.files.project = workspace;
    let variables = [
        ("EVIL", person.evil()),
        ("HOOK", hook.display().to_string()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    person.plan.environment.extend(variables);
    for line in ATTACKS {
        let finished = world.shell_with(&person.plan, line);
        let text = fs::read_to_string(&hook);
        let what = variant.what;
        if is_missing {
            assert!(text.is_err(), "{what}: {line}: {finished:?}");
        } else {
            assert_eq!(text.expect("a hook"), OWN, "{what}: {line}: {finished:?}");
        }
    }
    person.works(variant.folder);
    // Everyday work.
    if world.tier() == Tier::A {
        let line = "echo x > made && mkdir -p made-folder && echo x > made-folder/y && rm made";
        let finished = world.shell_with(&person.plan, line);
        let what = variant.what;
        assert_eq!(
            finished.end,
            End::Exited(0),
            "{what}: {}",
            finished.stderr.text
        );
        if variant.workspace == "ws" && !is_missing {
            let line =
                "git add made-folder && git -c user.name=a -c user.email=a@a.test commit -qm x";
            let finished = world.shell_with(&person.plan, line);
            assert_eq!(
                finished.end,
                End::Exited(0),
                "{what}: {}",
                finished.stderr.text
            );
        }
    }
}

#[test]
fn programs_that_settings_name_are_not_changed() {
    in_tier(Tier::A, |world| {
        let settings: [(&str, &str, &[&str]); 6] = [
            ("core.fsmonitor", "./tools/x", &["status"]),
            (
                "filter.f.clean",
                "tools/x %f",
                &["add", "--renormalize", "."],
            ),
            ("diff.f.textconv", "sh tools/x", &["diff", "HEAD"]),
            (
                "diff.external",
                "\"$(git rev-parse --show-toplevel)\"/tools/x",
                &["diff", "HEAD"],
            ),
            ("alias.run", "!tools/x", &["run"]),
            ("include.path", "../tools/x", &["status"]),
        ];
        for (name, value, command) in settings {
            let world = World::new(world.sandbox.clone());
            let Some(mut person) = Person::new(&world) else {
                return;
            };
            person.init("ws");
            person.program("ws/tools/x", if name == "include.path" { "" } else { OWN });
            person.write("ws/file", "x");
            person.write("ws/.gitattributes", "file filter=f diff=f\n");
            person.git("ws", &["add", "."]);
            person.git("ws", &["commit", "-q", "-m", "y"]);
            person.git("ws", &["config", name, value]);
            person.write("ws/file", "y");
            let before = fs::read(world.ws("tools/x")).expect("a text");
            let evil = match name {
                "include.path" => format!(
                    "[alias]\nrun = !touch {}\n[core]\nfsmonitor = \"touch {} #\"\n",
                    person.canary().display(),
                    person.canary().display()
                ),
                _ => person.evil(),
            };
            person
                .plan
                .environment
                .push(("EVIL".to_owned(), evil.clone()));
            for line in [
                "echo \"$EVIL\" > tools/x",
                "echo \"$EVIL\" > e; chmod +x e; mv -f e tools/x",
                "mv tools t; cp -r t tools; echo \"$EVIL\" > tools/x",
            ] {
                world.shell_with(&person.plan, line);
                assert_eq!(
                    fs::read(world.ws("tools/x")).expect("a text"),
                    before,
                    "{name}: {line}"
                );
                person.try_git("ws", command);
                person.works("ws");
            }
            let finished = world.shell_with(&person.plan, "echo x > tools/other && echo z > file");
            assert_eq!(
                finished.end,
                End::Exited(0),
                "{name}: {}",
                finished.stderr.text
            );
            // The attack works if nothing stops it.
            fs::write(world.ws("tools/x"), evil).expect("a file");
            person.write("ws/file", "w");
            person.try_git("ws", command);
            assert!(person.canary().exists(), "{name} runs what it names");
        }
    });
}

#[test]
fn hooks_in_git_s_own_folder_do_not_end_the_harness() {
    in_every_tier(|world| {
        for hooks in [".git", ".", ".git/.."] {
            let world = World::new(world.sandbox.clone());
            let Some(mut person) = Person::new(&world) else {
                return;
            };
            person.init("ws");
            person.git("ws", &["config", "core.hooksPath", hooks]);
            let evil = person.evil();
            person.plan.environment.push(("EVIL".to_owned(), evil));
            let hook = Path::new(hooks).join("pre-commit");
            let line = format!(
                "echo \"$EVIL\" > {0}; chmod +x {0}; sleep 5",
                hook.display()
            );
            world.shell_with(&person.plan, &line);
            assert!(!world.ws(".").join(&hook).exists(), "{hooks}");
            person.works("ws");
            if world.tier() == Tier::A {
                let line = "echo x > src/x && git add src/x && git -c user.name=a -c user.email=a@a.test commit -qm x";
                let finished = world.shell_with(&person.plan, line);
                assert_eq!(
                    finished.end,
                    End::Exited(0),
                    "{hooks}: {}",
                    finished.stderr.text
                );
            }
        }
    });
}

#[test]
fn settings_that_cannot_be_read_make_the_workspace_read_only_and_say_so() {
    in_every_tier(|world| {
        let Some(person) = Person::new(world) else {
            return;
        };
        person.init("ws");
        person.write("ws/.git/config", "[core]\nhooksPath = src\n[core\n");
        let finished = world.shell_with(&person.plan, "ls src && echo evil > src/pre-commit");
        assert!(!world.ws("src/pre-commit").exists());
        assert_ne!(finished.end, End::Exited(0));
        let said = format!("{:?}", finished.denials);
        assert!(said.contains("not Git's syntax in line 3"), "{said}");
        person.write("ws/.git/config", "[core]\nbare = false\n");
        if world.can_write() {
            let finished = world.shell_with(&person.plan, "echo fine > src/note");
            assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr.text);
            assert!(finished.denials.is_empty());
        }
    });
}
