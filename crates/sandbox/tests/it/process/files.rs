//! Files outside the workspace, by every way that leads there.

use crate::process::world::{SECRET, eventually, in_every_tier, in_tier, mark};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::time::Duration;
use tool_harness_sandbox::plan::Access;
use tool_harness_sandbox::process::End;
use tool_harness_sandbox::tier::Tier;

#[test]
fn files_in_the_workspace_are_read_and_written() {
    in_every_tier(|world| {
        assert_eq!(world.says("cat src/main.rs"), "inside");
        if world.can_write() {
            world.says(
                "echo new > src/new && mv src/new src/newer && mkdir src/dir && ln -s newer src/link && chmod 600 src/newer && rm src/link",
            );
            assert_eq!(
                fs::read_to_string(world.ws("src/newer")).expect("written"),
                "new\n"
            );
            let facts = fs::metadata(world.ws("src/newer")).expect("facts");
            assert_eq!(
                facts.uid(),
                rustix::process::geteuid().as_raw(),
                "what it makes belongs to the one it works for"
            );
        } else {
            println!(
                "skipped: without namespaces the user `nobody` does not see root's files as its own"
            );
        }
        if world.tier() == Tier::A {
            world.says("echo top > top && rm top");
        }
    });
}

#[test]
fn no_set_user_id_program_is_left_behind() {
    in_every_tier(|world| {
        if !world.can_write() {
            return;
        }
        world.says("cp /bin/true src/tool && chmod 755 src/tool");
        for mode in ["4755", "2755", "6755", "u+s", "g+s"] {
            world.refuses(&format!("chmod {mode} src/tool"));
        }
        world.refuses("install -m 4755 /bin/true src/other");
        for name in ["tool", "other"] {
            let mode = fs::metadata(world.ws("src").join(name)).map_or(0, |facts| facts.mode());
            assert_eq!(mode & 0o6000, 0, "{name}");
        }
    });
}

#[test]
fn nothing_outside_is_read_or_changed_whatever_it_is_called() {
    in_every_tier(|world| {
        let outside = world.beside("outside");
        symlink(&outside, world.ws("link")).expect("a link");
        symlink(outside.join("canary"), world.ws("src/canary")).expect("a link");
        let evil = world.beside("ws-evil").display().to_string();
        let outside = outside.display().to_string();
        for path in [
            format!("{outside}/canary"),
            format!("{evil}/canary"),
            "../outside/canary".into(),
            "../ws-evil/canary".into(),
            "link/canary".into(),
            "src/canary".into(),
            format!("/proc/self/root{outside}/canary"),
            format!("/proc/self/cwd/..{}", "/outside/canary"),
            format!("/proc/1/root{outside}/canary"),
        ] {
            world.refuses(&format!("cat '{path}'"));
            world.refuses(&format!("echo evil > '{path}'"));
            world.refuses(&format!("echo evil >> '{path}'"));
            world.refuses(&format!("truncate -s 0 '{path}'"));
            world.refuses(&format!("ln '{path}' src/hard && echo evil > src/hard"));
            if !path.starts_with("src") {
                world.refuses(&format!("mv '{path}' src/stolen"));
                world.refuses(&format!("rm '{path}'"));
            }
        }
        world.refuses(&format!("echo evil > {outside}/new"));
        world.refuses("echo evil > link/new");
        world.refuses(&format!("mkdir {outside}/dir"));
        world.refuses(&format!("mv {outside} {outside}2"));
    });
}

#[test]
fn modes_owners_and_times_outside_stay_as_they_are() {
    in_every_tier(|world| {
        if world.tier() == Tier::B && !rustix::process::geteuid().is_root() {
            // The user owns the canary, and Landlock does not restrict modes: the guide says so,
            // and so does `enforced`.
            let finished = world.shell("true");
            assert!(
                finished
                    .enforced
                    .weaker
                    .iter()
                    .any(|line| line.contains("modes and times")),
                "{:?}",
                finished.enforced
            );
            println!("skipped: tier B does not keep a user's own modes");
            return;
        }
        let canary = world.beside("outside/canary").display().to_string();
        for line in [
            format!("chmod 777 {canary}"),
            format!("chown 65534 {canary}"),
            format!("touch -d 2001-01-01 {canary}"),
            format!("python3 -c 'import os; os.setxattr(\"{canary}\", \"user.x\", b\"1\")'"),
            "chmod 777 /etc/passwd".into(),
            "chown 65534 /etc/passwd".into(),
            "touch /etc/passwd".into(),
            "chmod u+s /bin/ls".into(),
        ] {
            world.refuses(&line);
        }
        if world.can_write() {
            world.says("chmod 700 src/main.rs && touch -d 2001-01-01 src/main.rs");
            assert_eq!(
                fs::metadata(world.ws("src/main.rs")).expect("facts").mode() & 0o777,
                0o700
            );
        }
    });
}

#[test]
fn secrets_of_the_machine_are_not_read() {
    in_every_tier(|world| {
        for path in [
            "/etc/shadow",
            "/root/.bashrc",
            "/root/.ssh/id_rsa",
            "/etc/ssh/ssh_host_rsa_key",
            "/root/.cargo/env",
        ] {
            world.refuses(&format!("cat {path}"));
        }
        assert!(world.says("cat /etc/passwd").contains("root:"));
        world.refuses("ls /root/.cargo /root/.rustup");
        assert!(
            !world
                .says("ls /run 2>/dev/null | wc -l")
                .trim()
                .parse::<u32>()
                .is_ok_and(|count| count > 0)
        );
    });
}

#[test]
fn a_workspace_that_is_only_read_is_not_written_and_a_hidden_one_is_not_read() {
    in_every_tier(|world| {
        let mut plan = world.plan.clone();
        plan.files.access = Access::Read;
        assert_eq!(
            world.shell_with(&plan, "cat src/main.rs").stdout.text,
            "inside"
        );
        assert_ne!(
            world.shell_with(&plan, "echo evil > src/main.rs").end,
            End::Exited(0)
        );
        assert_ne!(
            world.shell_with(&plan, "touch src/new || touch new").end,
            End::Exited(0)
        );
        plan.files.access = Access::Hidden;
        let path = world.ws("src/main.rs").display().to_string();
        assert_ne!(
            world.shell_with(&plan, &format!("cat {path}")).end,
            End::Exited(0)
        );
        assert_eq!(
            fs::read_to_string(world.ws("src/main.rs")).expect("there"),
            "inside"
        );
    });
}

#[test]
fn only_the_named_places_are_written_and_hidden_ones_are_not_read() {
    in_every_tier(|world| {
        for folder in ["out", "secret"] {
            fs::create_dir(world.ws(folder)).expect("a folder");
        }
        fs::write(world.ws("secret/key"), SECRET).expect("a file");
        fs::write(world.ws("token"), SECRET).expect("a file");
        let mut plan = world.plan.clone();
        plan.files.only = vec![world.ws("out")];
        plan.files.hidden = vec![world.ws("secret"), world.ws("token")];
        if world.can_write() {
            assert_eq!(
                world
                    .shell_with(&plan, "echo x > out/x && cat src/main.rs")
                    .stdout
                    .text,
                "inside"
            );
            assert!(world.ws("out/x").exists());
        }
        assert_ne!(
            world.shell_with(&plan, "echo x > src/x").end,
            End::Exited(0)
        );
        for line in [
            "cat secret/key",
            "cat token",
            "cat secret/../secret/key",
            "mv secret src/s && cat src/s/key",
        ] {
            let finished = world.shell_with(&plan, line);
            assert!(
                finished.end != End::Exited(0) && !finished.stdout.text.contains(SECRET),
                "{line}"
            );
        }
    });
}

#[test]
fn a_read_only_place_is_read_and_not_changed_wherever_it_is() {
    in_every_tier(|world| {
        for folder in ["src/infra/prod", "src/infra/dev", "top"] {
            fs::create_dir_all(world.ws(folder)).expect("a folder");
            fs::write(world.ws(folder).join("file"), "kept").expect("a file");
        }
        fs::write(world.ws("src/Makefile"), "kept").expect("a file");
        std::os::unix::fs::symlink("src/infra/prod", world.ws("linked")).expect("a link");
        let out = world.beside("ws-evil");
        fs::create_dir(out.join("closed")).expect("a folder");
        let before = world.outside();
        let mut plan = world.plan.clone();
        plan.files.writable = vec![out.clone()];
        plan.files.read_only = vec![
            world.ws("src/infra/prod"),
            world.ws("src/Makefile"),
            world.ws("top"),
            world.ws("src/missing"),
            out.join("closed"),
        ];
        // Hidden stays hidden, even in a place that may be read.
        fs::write(world.ws("top/secret"), SECRET).expect("a file");
        plan.files.hidden = vec![world.ws("top/secret")];
        let closed = out.join("closed").display().to_string();
        for line in [
            "echo x > src/infra/prod/file",
            "echo x > src/infra/prod/new",
            "echo x > linked/new",
            "rm src/infra/prod/file",
            "rm -r src/infra/prod",
            "mv src/infra/prod src/infra/x",
            "mv src/infra src/x && rm -r src/x/prod",
            "ln src/infra/prod/file src/hard && echo x > src/hard",
            "echo x > src/Makefile",
            "mv src/infra/dev/file src/Makefile",
            "touch top/new",
            "chmod 777 src/infra/prod/file && echo x > src/infra/prod/file",
            &format!("touch {closed}/new"),
            &format!("mv {closed} {closed}-moved && touch {closed}-moved/new"),
        ] {
            let finished = world.shell_with(&plan, line);
            assert_ne!(finished.end, End::Exited(0), "{line}");
        }
        assert!(
            !world
                .shell_with(&plan, "cat top/secret")
                .stdout
                .text
                .contains(SECRET)
        );
        for file in ["src/infra/prod/file", "src/Makefile", "top/file"] {
            let text = fs::read_to_string(world.ws(file)).expect("there");
            assert_eq!(text, "kept", "{file}");
        }
        assert_eq!(
            fs::read_dir(world.ws("src/infra/prod"))
                .expect("a folder")
                .count(),
            1
        );
        assert_eq!(world.outside(), before);
        let read = "cat src/infra/prod/file linked/file src/Makefile top/file";
        assert_eq!(
            world.shell_with(&plan, read).stdout.text,
            "keptkeptkeptkept"
        );
        if world.can_write() {
            let line = format!(
                "echo x > src/infra/dev/file && rm src/infra/dev/file && echo x > src/main.rs && {}",
                if world.tier() == Tier::A {
                    format!(
                        "echo x > src/new && mkdir src/infra/new && touch {}/fine",
                        out.display()
                    )
                } else {
                    "true".to_owned()
                }
            );
            let finished = world.shell_with(&plan, &line);
            assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr.text);
        }
        // A workspace in a read-only place is read-only, and so is what a tool may write.
        plan.files.read_only = vec![world.beside("")];
        assert_ne!(
            world.shell_with(&plan, "echo x > src/main.rs").end,
            End::Exited(0)
        );
        plan.files.only = vec![world.ws("src")];
        assert_ne!(
            world.shell_with(&plan, "echo x > src/main.rs").end,
            End::Exited(0)
        );
    });
}

#[test]
fn a_readable_place_is_read_a_writable_one_is_written() {
    in_every_tier(|world| {
        let mut plan = world.plan.clone();
        let (readable, writable) = (world.beside("outside"), world.beside("ws-evil"));
        plan.files.readable = vec![readable.clone()];
        plan.files.writable = vec![writable.clone()];
        // Readable by others, like a toolchain; root's own closed files stay closed.
        let text = world.shell_with(&plan, &format!("cat {}/canary", readable.display()));
        assert_eq!(text.stdout.text, SECRET, "{}", text.stderr.text);
        assert_ne!(
            world
                .shell_with(&plan, &format!("echo evil > {}/canary", readable.display()))
                .end,
            End::Exited(0)
        );
        if world.can_write() {
            assert_eq!(
                world
                    .shell_with(&plan, &format!("echo x > {}/x", writable.display()))
                    .end,
                End::Exited(0)
            );
            assert_eq!(
                fs::read_to_string(writable.join("x")).expect("written"),
                "x\n"
            );
        }
        assert_eq!(
            fs::read_to_string(readable.join("canary")).expect("there"),
            SECRET
        );
    });
}

#[test]
fn the_private_tmp_is_not_shared_and_is_gone_afterwards() {
    in_every_tier(|world| {
        let mark = format!("mark-{}", mark());
        let line = format!("d=${{TMPDIR:-/tmp}}; echo x > $d/{mark} && cat $d/{mark} && echo $d");
        let text = world.says(&line);
        assert!(text.starts_with("x\n"), "{text}");
        let folder = text.lines().nth(1).expect("a folder");
        let kept = std::path::Path::new(folder).join(&mark);
        // It is removed while the result is on its way.
        assert!(
            eventually(Duration::from_secs(5), || !kept.exists()),
            "{}",
            kept.display()
        );
        assert!(!std::path::Path::new("/tmp").join(&mark).exists());
        fs::write(std::env::temp_dir().join(&mark), SECRET).expect("a file");
        let seen = world.shell(&format!("cat {}/{mark}", std::env::temp_dir().display()));
        fs::remove_file(std::env::temp_dir().join(&mark)).expect("removed");
        assert_ne!(seen.end, End::Exited(0), "{}", seen.stdout.text);
    });
}

#[test]
fn an_archive_writes_nothing_outside() {
    in_every_tier(|world| {
        if !world.can_write() {
            println!(
                "skipped: without namespaces the user `nobody` does not see root's files as its own"
            );
            return;
        }
        let make = "cd src && python3 - <<'E'\nimport tarfile, io\nt = tarfile.open('a.tar', 'w')\nl = tarfile.TarInfo('l'); l.type = tarfile.SYMTYPE; l.linkname = '../../outside'; t.addfile(l)\nf = tarfile.TarInfo('l/evil'); f.size = 4; t.addfile(f, io.BytesIO(b'evil'))\ng = tarfile.TarInfo('../../../outside/evil'); g.size = 4; t.addfile(g, io.BytesIO(b'evil'))\nh = tarfile.TarInfo('good'); h.size = 4; t.addfile(h, io.BytesIO(b'good'))\nt.close()\nE\n";
        let before = world.outside();
        world.shell(&format!(
            "{make} tar -P -xf a.tar; python3 -c \"import tarfile; tarfile.open('a.tar').extractall(filter='fully_trusted')\""
        ));
        assert_eq!(world.outside(), before);
        assert_eq!(
            world.says(&format!("{make} tar -xf a.tar good; cat good")),
            "good"
        );
    });
}

#[test]
fn a_link_swapped_in_a_loop_leads_nowhere() {
    in_tier(Tier::A, |world| {
        let before = world.outside();
        let outside = world.beside("outside").display().to_string();
        // Neither side starts programs, so there are many tries, until both outcomes occurred.
        let race = format!(
            "
import os, time
child = os.fork()
while child == 0:
    for target in ('{outside}', 'src'): os.symlink(target, 'new'); os.replace('new', 'x')
done = refused = 0
end = time.time() + 30
while done + refused < 4000 or not (done and refused) and time.time() < end:
    try:
        with open('x/canary', 'w') as file: file.write('evil')
        with open('x/canary') as file: print(file.read())
        done += 1
    except OSError: refused += 1
os.kill(child, 9)
"
        );
        fs::write(world.ws("race.py"), race).expect("a file");
        let finished = world.shell("python3 race.py | sort -u");
        assert_eq!(
            (finished.end, finished.stdout.text.as_str()),
            (End::Exited(0), "evil\n"),
            "{}",
            finished.stderr.text
        );
        assert!(
            !finished.stdout.text.contains(SECRET),
            "{}",
            finished.stdout.text
        );
        assert_eq!(world.outside(), before);
    });
}
