//! Toolchains in the user's home. Processes may read those whose programs are on `PATH`, except
//! their secrets.

use super::Surroundings;
use std::path::{Path, PathBuf};

/// A known toolchain in a home.
struct Toolchain {
    /// The folder of its programs, relative to the home.
    programs: &'static str,
    /// The folders of the home that its programs need.
    needs: &'static [&'static str],
    /// Variables that tell the toolchain where its folders are once the home is another one.
    variables: &'static [(&'static str, &'static str)],
    /// Files that processes must not read.
    secrets: &'static [&'static str],
}

const TOOLCHAINS: &[Toolchain] = &[
    Toolchain {
        programs: ".cargo",
        needs: &[".cargo", ".rustup"],
        variables: &[("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")],
        secrets: &[".cargo/credentials", ".cargo/credentials.toml"],
    },
    Toolchain {
        programs: ".pyenv",
        needs: &[".pyenv"],
        variables: &[("PYENV_ROOT", ".pyenv")],
        secrets: &[],
    },
    Toolchain {
        programs: ".rbenv",
        needs: &[".rbenv"],
        variables: &[("RBENV_ROOT", ".rbenv")],
        secrets: &[],
    },
    Toolchain {
        programs: ".nvm",
        needs: &[".nvm"],
        variables: &[("NVM_DIR", ".nvm")],
        secrets: &[],
    },
    Toolchain {
        programs: ".volta",
        needs: &[".volta"],
        variables: &[("VOLTA_HOME", ".volta")],
        secrets: &[],
    },
    Toolchain {
        programs: ".bun",
        needs: &[".bun"],
        variables: &[],
        secrets: &[],
    },
    Toolchain {
        programs: ".deno",
        needs: &[".deno"],
        variables: &[],
        secrets: &[],
    },
    Toolchain {
        programs: ".sdkman",
        needs: &[".sdkman"],
        variables: &[],
        secrets: &[],
    },
    Toolchain {
        programs: ".local/share/mise",
        needs: &[".local/share/mise"],
        variables: &[],
        secrets: &[],
    },
    Toolchain {
        programs: ".local/bin",
        needs: &[
            ".local/bin",
            ".local/lib",
            ".local/pipx",
            ".local/share/pipx",
            ".local/share/uv",
        ],
        variables: &[],
        secrets: &[".local/share/uv/credentials"],
    },
];

/// Folders of a home that hold credentials: no entry of `PATH` makes them readable.
const NEVER: [&str; 9] = [
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".docker",
    ".azure",
    ".config",
    ".netrc",
    ".password-store",
];

/// What the toolchains on `PATH` add to a plan.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) readable: Vec<PathBuf>,
    pub(super) hidden: Vec<PathBuf>,
    pub(super) variables: Vec<(String, String)>,
}

pub(super) fn of(surroundings: &Surroundings, path: &[PathBuf]) -> Found {
    let mut found = Found::default();
    let homes: Vec<PathBuf> = surroundings
        .home
        .iter()
        .flat_map(|home| [Some(home.clone()), home.canonicalize().ok()])
        .flatten()
        .collect();
    for folder in path {
        let Some((home, inside)) = homes
            .iter()
            .find_map(|home| Some((home, folder.strip_prefix(home).ok()?)))
        else {
            continue;
        };
        match TOOLCHAINS
            .iter()
            .find(|toolchain| inside.starts_with(toolchain.programs))
        {
            Some(toolchain) => found.add(home, toolchain, surroundings),
            None if inside.as_os_str().is_empty()
                || NEVER.iter().any(|never| inside.starts_with(never)) => {}
            None => add(&mut found.readable, folder),
        }
    }
    // These variables tell a toolchain outside the home where it is; they hold no secret.
    for (name, _) in TOOLCHAINS.iter().flat_map(|toolchain| toolchain.variables) {
        let told = surroundings
            .variable(name)
            .filter(|value| Path::new(value).is_dir());
        if let Some(value) = told
            && !found.variables.iter().any(|(known, _)| known == name)
        {
            found.hidden.extend(
                ["credentials", "credentials.toml"]
                    .map(|file| Path::new(&value).join(file))
                    .into_iter()
                    .filter(|file| file.exists()),
            );
            found.variables.push(((*name).to_owned(), value));
        }
    }
    found
}

impl Found {
    fn add(&mut self, home: &Path, toolchain: &Toolchain, surroundings: &Surroundings) {
        toolchain
            .needs
            .iter()
            .for_each(|needed| add(&mut self.readable, &home.join(needed)));
        toolchain
            .secrets
            .iter()
            .for_each(|secret| add(&mut self.hidden, &home.join(secret)));
        for (name, folder) in toolchain.variables {
            let value = surroundings
                .variable(name)
                .filter(|value| Path::new(value).is_dir());
            let value = value.or_else(|| {
                Some(home.join(folder))
                    .filter(|path| path.is_dir())
                    .map(|path| path.display().to_string())
            });
            if let Some(value) = value
                && !self.variables.iter().any(|(known, _)| known == name)
            {
                self.variables.push(((*name).to_owned(), value));
            }
        }
    }
}

/// Adds the real path of a place if it exists.
fn add(places: &mut Vec<PathBuf>, place: &Path) {
    if let Ok(real) = place.canonicalize()
        && !places.contains(&real)
    {
        places.push(real);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolchain_on_the_path_is_readable_without_its_credentials_and_nothing_else_of_the_home_is()
    {
        let scratch = tempfile::tempdir().expect("a folder");
        let home = scratch.path().canonicalize().expect("a path");
        for folder in [
            ".cargo/bin",
            ".rustup",
            ".ssh",
            ".aws/bin",
            "bin",
            "documents",
        ] {
            std::fs::create_dir_all(home.join(folder)).expect("a folder");
        }
        std::fs::write(home.join(".cargo/credentials.toml"), "token").expect("a file");
        let surroundings = Surroundings::new(Some(home.clone()), |_| None);
        let path =
            [".cargo/bin", "bin", ".aws/bin", ".pyenv/shims", ""].map(|folder| home.join(folder));
        let found = of(&surroundings, &path);
        assert_eq!(
            found.readable,
            [".cargo", ".rustup", "bin"].map(|folder| home.join(folder))
        );
        assert_eq!(found.hidden, [home.join(".cargo/credentials.toml")]);
        let names: Vec<&str> = found
            .variables
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["CARGO_HOME", "RUSTUP_HOME"]);
        assert_eq!(of(&Surroundings::default(), &path), Found::default());
    }
}
