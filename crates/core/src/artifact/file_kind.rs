//! Which file of a project holds which kind of artifact.

use super::Layer;

/// The names the root file may have.
pub(super) const ROOTS: [&str; 3] = ["harness.md", "harness.yaml", "harness.yml"];

/// Folders of `.harness/` with artifacts, in the order they are read: by layer, then by path. The
/// root file comes before the overrides.
pub(super) const FOLDERS: [(&str, FileKind); 7] = [
    ("builtins", FileKind::Bundle(Layer::Builtin)),
    ("plugins", FileKind::Bundle(Layer::Plugin)),
    ("hooks", FileKind::Hook),
    ("tools", FileKind::Tool),
    ("clients", FileKind::Client),
    ("overrides", FileKind::Bundle(Layer::Override)),
    ("modes", FileKind::Mode),
];

/// What kind of artifact a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
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
    /// An agent.
    Agent,
    /// A skill: a file, or `SKILL.md` in a folder.
    Skill,
    /// A text for the prompt.
    Context,
}

impl FileKind {
    /// The layer of what the file defines.
    pub(super) fn layer(self) -> Layer {
        match self {
            Self::Bundle(layer) => layer,
            // Read after everything else: modes only restrict.
            Self::Mode => Layer::Override,
            _ => Layer::Project,
        }
    }

    /// The kind of the file at a path relative to the project, and the part of the path that names
    /// the file; `None` for files that are not artifacts. If the path is longer, the named file is
    /// a folder.
    pub(super) fn of(path: &str) -> Option<(Self, &str)> {
        let end = |from: usize| path[from..].find('/').map_or(path.len(), |at| from + at);
        if ROOTS.contains(&&path[..end(0)]) {
            return Some((Self::Root, &path[..end(0)]));
        }
        let inside = path.strip_prefix(".harness/")?;
        let (folder, file) = inside.split_once('/')?;
        let (_, kind) = FOLDERS
            .into_iter()
            .chain(TEXT_FOLDERS)
            .find(|&(known, _)| known == folder)?;
        if kind == Self::Skill
            && let Some((name, SKILL_FILE)) = file.split_once('/')
        {
            return (!name.starts_with(['.', '_'])).then_some((kind, path));
        }
        let named = end(path.len() - file.len());
        is_artifact_name(&path[path.len() - file.len()..named]).then_some((kind, &path[..named]))
    }
}

/// Folders of `.harness/` whose files are texts for a model. They hold other files, too.
pub(super) const TEXT_FOLDERS: [(&str, FileKind); 3] = [
    ("agents", FileKind::Agent),
    ("context", FileKind::Context),
    ("skills", FileKind::Skill),
];

/// The file that makes a folder a skill.
pub(super) const SKILL_FILE: &str = "SKILL.md";

/// A file below `.harness/` that looks like an artifact and is not one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StrayFile {
    /// Skipped, for this reason.
    PassedOver(String),
    /// An underscore sets it aside; without it, it would be an artifact.
    SetAside,
}

impl StrayFile {
    /// Classifies a path; `None` for an artifact, and for a file that does not look like one.
    pub(super) fn of(path: &str) -> Option<Self> {
        let inside = path.strip_prefix(".harness/")?;
        if is_readme(inside)
            || FileKind::of(path).is_some()
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
        let texts = || TEXT_FOLDERS.iter().map(|(name, _)| *name);
        (!texts().any(|name| name == folder)).then(|| {
            let nearest = known()
                .chain(texts())
                .find(|name| strsim::osa_distance(name, folder) <= 2);
            let hint = nearest
                .map(|name| format!("; did you mean `.harness/{name}`?"))
                .unwrap_or_default();
            Self::PassedOver(format!("the folder `.harness/{folder}` is not read{hint}"))
        })
    }
}

/// Whether a file in a folder of artifacts is one: `.md` in any case, not hidden, not set aside by
/// an underscore. A guard saved as `guard.MD` must not be skipped.
pub(super) fn is_artifact_name(name: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("md"))
        && !name.starts_with(['.', '_'])
}

/// The name of the artifact that a file defines.
pub(super) fn stem(path: &str) -> &str {
    let path = path
        .strip_suffix(SKILL_FILE)
        .and_then(|folder| folder.strip_suffix('/'))
        .filter(|folder| folder.starts_with(".harness/skills/"))
        .map_or(path, |folder| folder);
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Whether a file is a README, which needs no frontmatter.
pub(super) fn is_readme(path: &str) -> bool {
    stem(path).eq_ignore_ascii_case("readme")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_the_kinds_the_design_gives_them() {
        let check = |path: &str, expected| assert_eq!(FileKind::of(path), expected, "{path}");
        check("harness.md", Some((FileKind::Root, "harness.md")));
        check("harness.yml", Some((FileKind::Root, "harness.yml")));
        check("harness.md/x", Some((FileKind::Root, "harness.md")));
        check(
            ".harness/tools/a.md",
            Some((FileKind::Tool, ".harness/tools/a.md")),
        );
        check(
            ".harness/hooks/a.md/b.txt",
            Some((FileKind::Hook, ".harness/hooks/a.md")),
        );
        check(
            ".harness/overrides/a.md",
            Some((FileKind::Bundle(Layer::Override), ".harness/overrides/a.md")),
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
