//! Home folders on this machine.

use std::fs;
use std::path::{Path, PathBuf};

/// System folders for programs and settings, which are never homes.
const PROGRAMS: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nonexistent",
    "/proc",
    "/sbin",
    "/sys",
    "/usr/bin",
    "/usr/games",
    "/usr/include",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/libx32",
    "/usr/local",
    "/usr/sbin",
    "/usr/share",
];
/// Folders with the data of services beside files that all users read.
const SERVICES: &[&str] = &["/opt", "/srv", "/usr", "/var"];

/// The homes in the list of users.
pub(super) fn homes() -> Vec<PathBuf> {
    let mut homes = homes_in(&fs::read_to_string("/etc/passwd").unwrap_or_default());
    homes.retain(|home| fs::symlink_metadata(home).is_ok());
    homes
}

/// A service's home among system data is hidden if users can log in there, and keep keys.
fn homes_in(users: &str) -> Vec<PathBuf> {
    let home = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        let home = PathBuf::from(*fields.get(5)?);
        let shell = fields.get(6).map(|shell| Path::new(shell.trim_end()))?;
        let logs_in = !["nologin", "false", "sync", "halt", "shutdown"]
            .iter()
            .any(|none| shell.ends_with(none));
        let is_service = SERVICES.iter().any(|folder| home.starts_with(folder));
        (is_home(&home) && (logs_in || !is_service)).then_some(home)
    };
    let mut homes: Vec<PathBuf> = users.lines().filter_map(home).collect();
    homes.sort();
    homes.dedup();
    homes
}

/// Whether a folder can be hidden as a home: not one with system programs or data.
pub(super) fn is_home(home: &Path) -> bool {
    let is_system = PROGRAMS.iter().any(|folder| home.starts_with(folder))
        || SERVICES.iter().any(|folder| home == Path::new(folder));
    let is_plain = home
        .components()
        .skip(1)
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    home.is_absolute() && is_plain && home.components().count() > 1 && !is_system
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_found_and_system_folders_are_not() {
        let users = "root:x:0:0::/root:/bin/bash\n\
            daemon:x:1:1::/usr/sbin:/usr/sbin/nologin\n\
            sync:x:4:65534::/bin:/bin/sync\n\
            www:x:33:33::/var/www:/usr/sbin/nologin\n\
            ci:x:110:110::/var/lib/ci:/bin/bash\n\
            app:x:111:111::/opt/app:/bin/sh\n\
            far:x:1000:1000::/data/people/far:/bin/zsh\n\
            near:x:1001:1001::/home/near:/usr/sbin/nologin\n\
            old:x:1002:1002::/usr/home/old:/bin/sh\n\
            wide:x:1003:1003::/:/bin/sh\n\
            all:x:1004:1004::/var:/bin/sh\n\
            odd:x:1005:1005::relative:/bin/sh\n\
            up:x:1006:1006::/data/../etc:/bin/sh\n\
            short:x\n";
        let found = [
            "/data/people/far",
            "/home/near",
            "/opt/app",
            "/root",
            "/usr/home/old",
            "/var/lib/ci",
        ];
        assert_eq!(homes_in(users), found.map(PathBuf::from));
    }
}
