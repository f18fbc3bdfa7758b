//! Which file of a project holds what.

use super::Layer;

/// The names the root file may have.
pub(super) const ROOTS: [&str; 3] = ["harness.md", "harness.yaml", "harness.yml"];

/// Folders of `.harness/` with artifacts, in the order they are read: by layer, then by path. The root file comes before the overrides.
pub(super) const FOLDERS: [(&str, Slot); 7] = [
    ("builtins", Slot::Bundle(Layer::Builtin)),
    ("plugins", Slot::Bundle(Layer::Plugin)),
    ("hooks", Slot::Hook),
    ("tools", Slot::Tool),
    ("clients", Slot::Client),
    ("overrides", Slot::Bundle(Layer::Override)),
    ("modes", Slot::Mode),
];

/// What a file is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// The root file.
    Root,
    /// A tool.
    Tool,
    /// A hook.
    Hook,
    /// A bundle of this layer.
    Bundle(Layer),
    /// A mode.
    Mode,
    /// A client map.
    Client,
    /// An agent, skill or context, of which only the text is read yet.
    Prose,
}

impl Slot {
    /// The layer of what the file defines.
    pub(super) fn layer(self) -> Layer {
        match self {
            Self::Bundle(layer) => layer,
            // Looked at after everything else: modes only say what may not be used.
            Self::Mode => Layer::Override,
            _ => Layer::Project,
        }
    }

    /// The slot of a path relative to the project, and the part of the path that names the file; `None` for files that are not artifacts.
    /// The rest of a longer path shows that the named file is a folder.
    pub(super) fn of(path: &str) -> Option<(Self, &str)> {
        let end = |from: usize| path[from..].find('/').map_or(path.len(), |at| from + at);
        if ROOTS.contains(&&path[..end(0)]) {
            return Some((Self::Root, &path[..end(0)]));
        }
        let inside = path.strip_prefix(".harness/")?;
        let (folder, file) = inside.split_once('/')?;
        let prose = || OTHER_FOLDERS.contains(&folder).then_some(Slot::Prose);
        let slot = FOLDERS
            .into_iter()
            .find(|&(known, _)| known == folder)
            .map(|(_, slot)| slot)
            .or_else(prose)?;
        let named = end(path.len() - file.len());
        is_artifact_name(&path[path.len() - file.len()..named]).then_some((slot, &path[..named]))
    }
}

/// Folders of `.harness/` of which other parts will read more than the text.
pub(super) const OTHER_FOLDERS: [&str; 3] = ["agents", "context", "skills"];

/// What becomes of a file below `.harness/` that is no artifact although somebody may think so.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stray {
    /// Passed over, for this reason.
    PassedOver(String),
    /// Set aside by an underscore, where it would be an artifact without.
    SetAside,
}

impl Stray {
    /// What a file is to its author if not an artifact; `None` when it is one, or nobody would take it for one.
    pub(super) fn of(path: &str) -> Option<Self> {
        let inside = path.strip_prefix(".harness/")?;
        if is_readme(inside)
            || Slot::of(path).is_some()
            || inside.split('/').any(|part| part.starts_with('.'))
        {
            return None;
        }
        let known = || FOLDERS.iter().map(|(name, _)| *name);
        let Some((folder, file)) = inside.split_once('/') else {
            return is_artifact_name(inside)
                .then(|| Self::PassedOver("a file directly in `.harness` is not read".to_owned()));
        };
        let read = known().any(|name| name == folder);
        if let Some(rest) = file.strip_prefix('_') {
            return (read && is_artifact_name(rest)).then_some(Self::SetAside);
        }
        if read && !file.contains('/') {
            return Some(Self::PassedOver(format!(
                "only names that end in `.md` are read from `.harness/{folder}`"
            )));
        }
        if !is_artifact_name(inside) || inside.split('/').any(|part| part.starts_with('_')) {
            return None;
        }
        if read {
            return Some(Self::PassedOver(format!(
                "only files directly in `.harness/{folder}` are read"
            )));
        }
        (!OTHER_FOLDERS.contains(&folder)).then(|| {
            let nearest = known().find(|name| strsim::osa_distance(name, folder) <= 2);
            let hint = nearest
                .map(|name| format!("; did you mean `.harness/{name}`?"))
                .unwrap_or_default();
            Self::PassedOver(format!("the folder `.harness/{folder}` is not read{hint}"))
        })
    }
}

/// Whether a file of a folder with artifacts is one: `.md` in any case, not hidden, not set aside by an underscore.
/// A guard saved as `guard.MD` must not be passed over.
pub(super) fn is_artifact_name(name: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("md"))
        && !name.starts_with(['.', '_'])
}

/// The name a file gives to what it defines.
pub(super) fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Whether a file explains a folder to people, which needs no frontmatter.
pub(super) fn is_readme(path: &str) -> bool {
    stem(path).eq_ignore_ascii_case("readme")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_the_slots_the_design_gives_them() {
        let check = |path: &str, expected| assert_eq!(Slot::of(path), expected, "{path}");
        check("harness.md", Some((Slot::Root, "harness.md")));
        check("harness.yml", Some((Slot::Root, "harness.yml")));
        check("harness.md/x", Some((Slot::Root, "harness.md")));
        check(
            ".harness/tools/a.md",
            Some((Slot::Tool, ".harness/tools/a.md")),
        );
        check(
            ".harness/hooks/a.md/b.txt",
            Some((Slot::Hook, ".harness/hooks/a.md")),
        );
        check(
            ".harness/overrides/a.md",
            Some((Slot::Bundle(Layer::Override), ".harness/overrides/a.md")),
        );
        for path in [
            "README.md",
            "sub/harness.md",
            ".harness/tools/a.txt",
            ".harness/tools/.a.md",
            ".harness/tools/_a.md",
            ".harness/tools/sub/a.md",
            ".harness/notes/a.md",
            "",
            "/",
        ] {
            check(path, None);
        }
    }

    #[test]
    fn loader_rule_3_the_stem_is_taken_verbatim() {
        assert_eq!(stem(".harness/tools/run_command.md"), "run_command");
        assert_eq!(stem(".harness/tools/Odd Name.v2.md"), "Odd Name.v2");
    }
}
