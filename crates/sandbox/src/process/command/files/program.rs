//! Which file a program name means.

use crate::plan::{Plan, Programs};
use crate::process::command::{Command, SandboxError};
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The real path of a command's program, resolved before anything starts: no link, `PATH` or alias
/// inside can change it any more.
pub(crate) fn resolve(
    plan: &Plan,
    command: &Command,
    folder: &Path,
    is_visible: &dyn Fn(&Path) -> bool,
) -> Result<PathBuf, SandboxError> {
    let name = &command.program;
    let shown = || name.to_string_lossy().into_owned();
    let missing = |why| SandboxError::NotFound {
        program: shown(),
        why,
    };
    if name.is_empty() {
        return Err(missing("its name is empty"));
    }
    let real = if name.as_bytes().contains(&b'/') {
        let real = seen(&folder.join(name), is_visible)
            .ok_or_else(|| missing("the sandbox shows nothing at this path"))?;
        executable(real).map_err(|why| SandboxError::NotExecutable {
            program: shown(),
            why,
        })?
    } else {
        let path = plan
            .environment
            .iter()
            .rev()
            .find(|(key, _)| key == "PATH")
            .map_or("/usr/local/bin:/usr/bin:/bin", |(_, value)| value);
        // An empty or relative entry means the current folder, which is how programs get shadowed.
        let folders = path.split(':').filter(|folder| folder.starts_with('/'));
        let mut found = folders
            .filter_map(|folder| executable(seen(&Path::new(folder).join(name), is_visible)?).ok());
        found.next().ok_or_else(|| {
            missing("no folder in the plan's `PATH` that the sandbox shows has it")
        })?
    };
    match &plan.programs {
        Programs::Only(listed) if !listed.iter().any(|program| is_same(program, &real)) => {
            Err(SandboxError::NotAllowed {
                program: shown(),
                real,
            })
        }
        _ => Ok(real),
    }
}

fn is_same(listed: &Path, real: &Path) -> bool {
    listed == real || fs::canonicalize(listed).is_ok_and(|listed| listed == real)
}

/// What a path leads to, if that is visible inside.
fn seen(path: &Path, is_visible: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    fs::canonicalize(path).ok().filter(|real| is_visible(real))
}

/// The same, if it is a program; otherwise what it is instead.
fn executable(real: PathBuf) -> Result<PathBuf, &'static str> {
    match fs::metadata(&real) {
        Ok(facts) if facts.is_dir() => Err("it is a folder"),
        Ok(facts) if !facts.is_file() => Err("it is not a regular file"),
        Ok(facts) if facts.permissions().mode() & 0o111 != 0 => Ok(real),
        _ => Err("it is not executable; try `chmod +x`"),
    }
}

/// Everything the kernel opens to start `program`: the file itself, the interpreter on its first
/// line, and the one in its ELF header.
pub(crate) fn needed_to_start(program: &Path) -> Vec<PathBuf> {
    let mut needed = vec![program.to_path_buf()];
    // The kernel follows four.
    for _ in 0..4 {
        let last = needed.last().and_then(|last| interpreter(last));
        match last.and_then(|next| fs::canonicalize(next).ok()) {
            Some(next) if !needed.contains(&next) => needed.push(next),
            _ => break,
        }
    }
    needed
}

fn interpreter(program: &Path) -> Option<PathBuf> {
    let file = File::open(program).ok()?;
    let mut start = Vec::new();
    (&file).take(256).read_to_end(&mut start).ok()?;
    if let Some(line) = start.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next()?;
        let word = line
            .split(|byte| byte.is_ascii_whitespace())
            .find(|word| !word.is_empty())?;
        return Some(PathBuf::from(std::ffi::OsStr::from_bytes(word)));
    }
    elf_interpreter(&file, &start)
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// The `PT_INTERP` of a 64-bit little-endian ELF file.
fn elf_interpreter(file: &File, start: &[u8]) -> Option<PathBuf> {
    const INTERPRETER: u32 = 3;
    let long = |bytes, at| part(bytes, at).map(u64::from_le_bytes);
    let short = |at| part(start, at).map(u16::from_le_bytes);
    if !start.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, size, count) = (long(start, 32)?, short(54)?, short(56)?);
    for index in 0..u64::from(count.min(64)) {
        let mut header = [0_u8; 56];
        file.read_exact_at(&mut header, table.checked_add(index * u64::from(size))?)
            .ok()?;
        if u32::from_le_bytes(header[..4].try_into().ok()?) == INTERPRETER {
            let mut path = vec![0; usize::try_from(long(&header, 32)?).ok()?.min(4096)];
            file.read_exact_at(&mut path, long(&header, 8)?).ok()?;
            let path = path.split(|byte| *byte == 0).next()?;
            return Some(PathBuf::from(std::ffi::OsStr::from_bytes(path)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_needs_its_loader_and_a_script_its_interpreter() {
        let shell = fs::canonicalize("/bin/sh").expect("a shell");
        let needed = needed_to_start(&shell);
        assert!(
            needed.len() == 1 || needed[1].to_string_lossy().contains("ld"),
            "{needed:?}"
        );
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("script");
        fs::write(&script, "#! /bin/sh -e\necho").expect("a file");
        assert_eq!(needed_to_start(&script)[..2], [script, shell]);
    }
}
