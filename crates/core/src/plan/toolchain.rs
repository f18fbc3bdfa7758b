//! Toolchains in the user's home. Processes may read those whose programs are on `PATH`, except what
//! the sandbox knows to be private in a home.

use super::Surroundings;
use std::path::{Path, PathBuf};
use tool_harness_sandbox::home::is_private;

/// A known toolchain in a home.
struct Toolchain {
    /// The folder of its programs, relative to the home.
    programs: &'static str,
    /// The folders of the home that its programs need.
    needs: &'static [&'static str],
    /// Variables that tell the toolchain where its folders are once the home is another one.
    variables: &'static [(&'static str, &'static str)],
}

const TOOLCHAINS: &[Toolchain] = &[
    Toolchain {
        programs: ".cargo",
        needs: &[".cargo", ".rustup"],
        variables: &[("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")],
    },
    Toolchain {
        programs: ".pyenv",
        needs: &[".pyenv"],
        variables: &[("PYENV_ROOT", ".pyenv")],
    },
    Toolchain {
        programs: ".rbenv",
        needs: &[".rbenv"],
        variables: &[("RBENV_ROOT", ".rbenv")],
    },
    Toolchain {
        programs: ".nvm",
        needs: &[".nvm"],
        variables: &[("NVM_DIR", ".nvm")],
    },
    Toolchain {
        programs: ".volta",
        needs: &[".volta"],
        variables: &[("VOLTA_HOME", ".volta")],
    },
    Toolchain {
        programs: ".bun",
        needs: &[".bun"],
        variables: &[],
    },
    Toolchain {
        programs: ".deno",
        needs: &[".deno"],
        variables: &[],
    },
    Toolchain {
        programs: ".sdkman",
        needs: &[".sdkman"],
        variables: &[],
    },
    Toolchain {
        programs: ".local/share/mise",
        needs: &[".local/share/mise"],
        variables: &[],
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
    },
];

/// The folder of a home that holds the settings of many programs, often with credentials: no entry
/// of `PATH` makes it readable.
const SETTINGS: &str = ".config";

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
                || inside.starts_with(SETTINGS)
                || is_private(inside) => {}
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
        let surroundings = Surroundings::new(Some(home.clone()), |_| None);
        let path =
            [".cargo/bin", "bin", ".aws/bin", ".pyenv/shims", ""].map(|folder| home.join(folder));
        let found = of(&surroundings, &path);
        assert_eq!(
            found.readable,
            [".cargo", ".rustup", "bin"].map(|folder| home.join(folder))
        );
        assert!(is_private(Path::new(".cargo/credentials.toml")));
        let names: Vec<&str> = found
            .variables
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["CARGO_HOME", "RUSTUP_HOME"]);
        assert_eq!(of(&Surroundings::default(), &path), Found::default());
    }
}
