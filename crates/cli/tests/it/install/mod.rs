//! `harness install` with realistic client files, in a temporary home.

mod files;
mod program;

use crate::support::program::{Ran, prepared};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Files as people have them: comments, tabs, carriage returns, no final newline.
const JSON: &[&str] = &[
    "// mine\r\n{\r\n\t\"theme\": \"dark\", // é\r\n\t\"mcpServers\": { /* none */ },\r\n\t\"servers\": {},\r\n\t\"hooks\": {\r\n\t\t\"PreToolUse\": [\r\n\t\t\t// first\r\n\t\t\t{ \"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"true\"}] },\r\n\t\t],\r\n\t},\r\n}",
    "{\"mcpServers\":{\"other\":{\"command\":\"x\"}},\"servers\":{\"other\":{\"command\":\"x\"}}}\n\n",
    "{}",
    "",
];

struct World {
    folder: TempDir,
}

impl World {
    /// A home and a project.
    fn new() -> Self {
        let world = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        fs::create_dir_all(world.home()).expect("a home");
        fs::create_dir_all(world.project().join(".harness")).expect("a project");
        world
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn root(&self, scope: &str) -> PathBuf {
        if scope == "project" {
            self.project()
        } else {
            self.home()
        }
    }

    fn prepared(&self, words: &[&str]) -> std::process::Command {
        let mut program = prepared(&self.project(), &[&["install"], words].concat());
        for name in [
            "XDG_STATE_HOME",
            "XDG_CONFIG_HOME",
            "CODEX_HOME",
            "CLAUDE_CONFIG_DIR",
        ] {
            program.env_remove(name);
        }
        program.env("HOME", self.home());
        program
    }

    fn install(&self, words: &[&str]) -> Ran {
        ran(self.prepared(words).output().expect("it runs"))
    }

    /// Every file and folder below a root, except harness's own records.
    fn tree(&self, scope: &str) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        walk(&self.root(scope), &self.root(scope), &mut found);
        found.retain(|(path, _)| !path.starts_with(".local"));
        found.sort();
        found
    }
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = path
            .strip_prefix(root)
            .expect("below")
            .to_string_lossy()
            .into_owned();
        if path.is_symlink() {
            found.push((
                name,
                fs::read_link(&path)
                    .expect("a link")
                    .into_os_string()
                    .into_encoded_bytes(),
            ));
        } else if path.is_dir() {
            found.push((name, Vec::new()));
            walk(root, &path, found);
        } else {
            found.push((name, fs::read(&path).expect("a file")));
        }
    }
}

fn ran(output: std::process::Output) -> Ran {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Ran {
        code: output.status.code(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
    fs::write(path, text).expect("written");
}
