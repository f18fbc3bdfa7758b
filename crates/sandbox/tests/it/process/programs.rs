//! Which programs may be executed.

use crate::process::world::{PATH, World, with_landlock, without_landlock};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use tool_harness_sandbox::plan::{Access, Plan, Programs};
use tool_harness_sandbox::process::{Command, End, SandboxError};
use tool_harness_sandbox::tier::Tier;

fn real(path: &str) -> PathBuf {
    fs::canonicalize(path).expect("a program")
}

fn only(plan: &Plan, programs: &[&str]) -> Plan {
    let mut plan = plan.clone();
    plan.programs = Programs::Only(programs.iter().map(|path| real(path)).collect());
    plan
}

#[test]
fn a_listed_program_runs_and_another_does_not() {
    with_landlock(|world| {
        let plan = only(&world.plan, &["/bin/bash", "/bin/cat"]);
        let finished = world.shell_with(&plan, "echo hi; cat src/main.rs");
        assert_eq!(
            (finished.end, finished.stdout.text.as_str()),
            (End::Exited(0), "hi\ninside"),
            "{}",
            finished.stderr.text
        );
        for line in ["ls", "/bin/ls", "exec /usr/bin/env true", "python3 -c 1"] {
            assert_ne!(world.shell_with(&plan, line).end, End::Exited(0), "{line}");
        }
        let refused = world.run_with(&plan, Command::new("ls", [""; 0]));
        assert!(
            matches!(refused, Err(SandboxError::NotAllowed { .. })),
            "{refused:?}"
        );
    });
}

#[test]
fn without_landlock_a_list_of_programs_runs_nothing_and_a_plan_without_a_list_runs() {
    without_landlock(|world| {
        let refused = world.run_with(
            &only(&world.plan, &["/bin/bash"]),
            Command::new("/bin/bash", ["-c", "true"]),
        );
        assert!(
            matches!(refused, Err(SandboxError::NoSandbox(_))),
            "{refused:?}"
        );
        let finished = world.shell("echo hi");
        assert_eq!(
            (finished.stdout.text.as_str(), finished.enforced.files),
            ("hi\n", "namespaces")
        );
        assert!(
            finished
                .enforced
                .weaker
                .iter()
                .any(|weaker| weaker.contains("only namespaces protect files")),
            "{:?}",
            finished.enforced.weaker
        );
    });
}

#[test]
fn the_loader_copies_and_memory_files_do_not_bypass_the_list() {
    with_landlock(|world| {
        let plan = only(
            &world.plan,
            &["/bin/bash", "/bin/cat", "/bin/cp", "/bin/chmod"],
        );
        let loader = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"]
            .into_iter()
            .find(|path| crate::process::world::exists(path));
        let tmp = "${TMPDIR:-/tmp}";
        let mut lines = vec![
            format!("cp /bin/ls {tmp}/cat && {tmp}/cat /"),
            format!("cat /bin/ls > {tmp}/ls; chmod +x {tmp}/ls; {tmp}/ls /"),
            "cp /bin/ls src/ls && src/ls /".to_owned(),
        ];
        if let Some(loader) = loader {
            lines.push(format!("{loader} /bin/ls /"));
            lines.push(format!("cat /bin/ls > {tmp}/ls; {loader} {tmp}/ls /"));
        }
        fs::copy("/bin/ls", world.ws("src/tool")).expect("copied");
        if let Some(loader) = loader {
            lines.push(format!("{loader} src/tool /"));
        }
        lines.push("src/tool /".into());
        for line in lines {
            let finished = world.shell_with(&plan, &line);
            assert_ne!(
                finished.end,
                End::Exited(0),
                "{line}: {}",
                finished.stdout.text
            );
        }
        // Without a list, a program in the workspace runs.
        assert_eq!(
            world.run("src/tool", &["src"]).expect("runs").end,
            End::Exited(0)
        );
    });
}

#[test]
fn a_name_is_the_real_program_whatever_shadows_it() {
    with_landlock(|world| {
        for name in ["git", "cat"] {
            let fake = world.ws(name);
            fs::write(&fake, "#!/bin/sh\necho fake\n").expect("a file");
            fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).expect("set");
        }
        symlink("/bin/ls", world.ws("src/cat")).expect("a link");
        let with_path = |path: &str| {
            let mut plan = only(&world.plan, &["/bin/cat"]);
            plan.environment.retain(|(name, _)| name != "PATH");
            plan.environment.push(("PATH".into(), path.into()));
            plan
        };
        // Relative and empty entries are ignored.
        for path in [
            format!(".:{PATH}"),
            format!(":{PATH}"),
            format!("src:{PATH}"),
        ] {
            let finished = world
                .run_with(&with_path(&path), Command::new("cat", ["src/main.rs"]))
                .expect("runs");
            assert_eq!(finished.stdout.text, "inside", "{path}");
        }
        // A shadow in an absolute entry is another program, which is not listed.
        for path in [
            format!("{}:{PATH}", world.ws("").display()),
            format!("{}:{PATH}", world.ws("src").display()),
        ] {
            let refused = world.run_with(&with_path(&path), Command::new("cat", ["src/main.rs"]));
            assert!(
                matches!(refused, Err(SandboxError::NotAllowed { .. })),
                "{path}: {refused:?}"
            );
        }
        let mut plan = only(&world.plan, &["/bin/cat"]);
        plan.environment.push((
            "LD_PRELOAD".into(),
            world.ws("evil.so").display().to_string(),
        ));
        plan.environment
            .push(("BASH_ENV".into(), world.ws("git").display().to_string()));
        let finished = world
            .run_with(&plan, Command::new("cat", ["src/main.rs"]))
            .expect("runs");
        assert_eq!(finished.stdout.text, "inside");
        // A shell function or alias can only start what the kernel allows.
        let plan = only(&world.plan, &["/bin/bash", "/bin/cat"]);
        assert_ne!(
            world
                .shell_with(&plan, "cat() { /bin/ls \"$@\"; }; cat src")
                .end,
            End::Exited(0)
        );
    });
}

#[test]
fn a_program_that_is_not_there_is_an_error_before_anything_starts() {
    with_landlock(|world| {
        for program in [
            "no-such-program",
            "/no/such/program",
            "",
            "/root/.cargo/bin/cargo",
        ] {
            let refused = world.run(program, &[]);
            assert!(
                matches!(refused, Err(SandboxError::NotFound { .. })),
                "{program}: {refused:?}"
            );
        }
        for program in ["src/main.rs", "./src", "/etc", "/etc/passwd", "/dev/null"] {
            let refused = world.run(program, &[]);
            assert!(
                matches!(refused, Err(SandboxError::NotExecutable { .. })),
                "{program}: {refused:?}"
            );
        }
        // A hidden file looks like a missing one.
        let hidden = world.run(&world.beside("outside/canary").display().to_string(), &[]);
        assert!(
            world.tier() == Tier::B || matches!(hidden, Err(SandboxError::NotFound { .. })),
            "{hidden:?}"
        );
        assert!(matches!(
            world.run("echo", &["a\0b"]),
            Err(SandboxError::NullCharacter(_))
        ));
    });
}

fn loader() -> Option<&'static str> {
    ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"]
        .into_iter()
        .find(|path| crate::process::world::exists(path))
}

#[test]
fn the_loader_starts_nothing_that_is_not_listed_wherever_it_lies() {
    with_landlock(|world| {
        let Some(loader) = loader() else {
            return println!("skipped: no loader is known here");
        };
        let toolchain = world.beside("toolchain");
        for place in ["toolchain/bin", "toolchain/lib/rustlib/bin", "ws/src"] {
            fs::create_dir_all(world.beside(place)).expect("a folder");
            fs::copy("/bin/echo", world.beside(place).join("other")).expect("copied");
            fs::copy("/bin/cat", world.beside(place).join("listed")).expect("copied");
        }
        let mut plan = world.plan.clone();
        plan.files.readable.push(toolchain.clone());
        let listed = [
            world.ws("src/listed"),
            toolchain.join("bin/listed"),
            toolchain.join("lib/rustlib/bin/listed"),
        ];
        plan.programs = Programs::Only([&[real("/bin/bash")][..], &listed].concat());
        let mut read_only = plan.clone();
        read_only.files.access = Access::Read;
        for plan in [&plan, &read_only] {
            for place in [
                world.ws("src"),
                toolchain.join("bin"),
                toolchain.join("lib/rustlib/bin"),
            ] {
                let place = place.display();
                let finished = world.shell_with(plan, &format!("{place}/listed src/main.rs"));
                assert_eq!(
                    finished.stdout.text, "inside",
                    "{place}: {}",
                    finished.stderr.text
                );
                let finished = world.shell_with(plan, &format!("{place}/other reached"));
                assert!(!finished.stdout.text.contains("reached"), "{place}");
                // Without namespaces nothing distinguishes a library from a program.
                if world.tier() == Tier::A {
                    let finished =
                        world.shell_with(plan, &format!("{loader} {place}/other reached"));
                    assert!(!finished.stdout.text.contains("reached"), "{place}");
                    assert!(
                        finished.stderr.text.contains("failed to map"),
                        "{place}: {}",
                        finished.stderr.text
                    );
                }
            }
        }
        // Listed programs cannot be changed, even where everything else can.
        if world.tier() == Tier::A {
            world.shell_with(&plan, "echo changed > src/listed; echo more > src/new");
            assert_eq!(
                fs::read(world.ws("src/listed")).expect("it is there"),
                fs::read("/bin/cat").expect("a program")
            );
            assert_eq!(
                fs::read_to_string(world.ws("src/new")).expect("written"),
                "more\n"
            );
        }
        // Listing a hidden program does not reveal it.
        let mut plan = plan.clone();
        plan.files.readable.clear();
        plan.files.hidden.push(toolchain.clone());
        assert_ne!(
            world
                .shell_with(&plan, &format!(": < {}/bin/listed", toolchain.display()))
                .end,
            End::Exited(0)
        );
    });
}

#[test]
fn a_listed_program_finds_libraries_of_its_own() {
    with_landlock(|world| {
        let toolchain = world.beside("toolchain");
        for folder in ["bin", "lib"] {
            fs::create_dir_all(toolchain.join(folder)).expect("a folder");
        }
        fs::write(toolchain.join("x.c"), "int x(void) { return 7; }\n").expect("written");
        fs::write(
            toolchain.join("main.c"),
            "int x(void); int main(void) { return x(); }\n",
        )
        .expect("written");
        let gcc = |words: &[&str]| {
            std::process::Command::new("gcc")
                .args(words)
                .current_dir(&toolchain)
                .status()
                .is_ok_and(|end| end.success())
        };
        if !(gcc(&["-shared", "-fPIC", "-o", "lib/libx.so", "x.c"])
            && gcc(&[
                "-o",
                "bin/main",
                "main.c",
                "-Llib",
                "-lx",
                "-Wl,-rpath,$ORIGIN/../lib",
            ]))
        {
            return println!("skipped: no gcc");
        }
        let mut plan = world.plan.clone();
        plan.files.readable.push(toolchain.clone());
        plan.programs = Programs::Only(vec![toolchain.join("bin/main")]);
        let program = toolchain.join("bin/main").display().to_string();
        assert_eq!(
            world
                .run_with(&plan, Command::new(program, [""; 0]))
                .expect("it starts")
                .end,
            End::Exited(7)
        );
        let plan = only(&world.plan, &["/usr/bin/python3"]);
        let finished = world
            .run_with(
                &plan,
                Command::new("python3", ["-c", "import ssl, json, ctypes; print('fine')"]),
            )
            .expect("it starts");
        assert_eq!(finished.stdout.text, "fine\n", "{}", finished.stderr.text);
    });
}

/// A folder that only its owner may enter, with one program named like a system program and one
/// that is not.
fn closed_toolchain(world: &World) -> Plan {
    let (closed, bin) = (world.beside("closed"), world.beside("closed/.cargo/bin"));
    fs::create_dir_all(&bin).expect("folders");
    for name in ["mine", "cat"] {
        fs::write(bin.join(name), "#!/bin/sh\necho mine\n").expect("a program");
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).expect("set");
    }
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("set");
    let mut plan = world.plan.clone();
    plan.files.readable.push(closed.join(".cargo"));
    plan.environment.retain(|(name, _)| name != "PATH");
    plan.environment
        .push(("PATH".into(), format!("{}:{PATH}", bin.display())));
    plan
}

#[test]
fn a_toolchain_in_a_closed_folder_keeps_nothing_from_running() {
    with_landlock(|world| {
        let plan = closed_toolchain(world);
        let run = |words: &[&str]| {
            world.run_with(&plan, Command::new(words[0], words[1..].iter().copied()))
        };
        let finished = run(&["echo", "runs"]).expect("it starts");
        assert_eq!(
            (finished.end, finished.stdout.text.as_str()),
            (End::Exited(0), "runs\n"),
            "{}",
            finished.stderr.text
        );
        // Without namespaces root's folder is closed to the command's user: then the next program
        // of that name is used.
        if world.can_write() {
            assert_eq!(run(&["mine"]).expect("it starts").stdout.text, "mine\n");
        } else {
            assert!(matches!(run(&["mine"]), Err(SandboxError::NotFound { .. })));
            assert_eq!(
                run(&["cat", "src/main.rs"]).expect("it starts").stdout.text,
                "inside"
            );
        }
    });
}

#[test]
fn a_login_shell_uses_the_plans_path() {
    with_landlock(|world| {
        let tools = world.ws("tools'");
        fs::create_dir(&tools).expect("a folder");
        fs::write(tools.join("cargo"), "#!/bin/sh\necho cargo of the plan\n").expect("a program");
        fs::set_permissions(tools.join("cargo"), fs::Permissions::from_mode(0o755)).expect("set");
        let mut plan = world.plan.clone();
        plan.environment.retain(|(name, _)| name != "PATH");
        let path = format!("{}:{PATH}", tools.display());
        plan.environment.push(("PATH".into(), path.clone()));
        for shell in ["/bin/bash", "/bin/sh"] {
            let finished = world
                .run_with(
                    &plan,
                    Command::new(shell, ["-lc", "cargo --version; echo $PATH"]),
                )
                .expect("it starts");
            assert_eq!(
                finished.stdout.text,
                format!("cargo of the plan\n{path}\n"),
                "{shell}: {}",
                finished.stderr.text
            );
        }
        // Commands without a profile, and shells with another home, work as before.
        assert_eq!(
            world.shell_with(&plan, "cargo").stdout.text,
            "cargo of the plan\n"
        );
        let home = format!(
            "HOME={} exec bash -lc 'echo started'",
            world.ws("src").display()
        );
        assert_eq!(world.shell_with(&plan, &home).stdout.text, "started\n");
        assert_eq!(
            world
                .shell_with(&plan, "cd && pwd && echo x > note && cat note && rm note")
                .end,
            End::Exited(0)
        );
    });
}
