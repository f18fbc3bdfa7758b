//! Reads files in memory into [`Artifacts`]. Every file is read on its own, so none can break
//! another.

use super::client::{CLIENTS, ClientMap};
use super::file_kind::{FileKind, StrayFile, is_readme, stem};
use super::frontmatter::{SplitError, body_text, split};
use super::hook::Hook;
use super::kind::Naming;
use super::kind::bundle::read_bundle;
use super::kind::client::read_client;
use super::kind::hook::read_hook;
use super::kind::root::read_root;
use super::kind::tool::read_tool;
use super::node::Node;
use super::problem::{Problems, Subject};
use super::tool::Tool;
use super::{ArtifactKind, Artifacts, BrokenHook, BrokenTool, Form, Layer, Origin, Root, yaml};
use crate::artifact::rule::{
    file_not_text, file_too_large, file_unreadable, frontmatter_missing, frontmatter_unclosed,
    inline_name_empty,
};
use crate::artifact::rule::{
    file_passed_over, file_set_aside, key_duplicate, mode_unread, root_twice,
};
use crate::diagnostic::{Diagnostic, Severity};
use crate::span::{Place, Source, Span};
use std::sync::Arc;

/// The most bytes of one artifact file.
pub(crate) const MAX_FILE_BYTES: u64 = 2 << 20;

/// Reads a project given as paths and contents; paths are relative to the project, with forward
/// slashes. Files that are not artifacts are skipped. A path below `x.md/` shows that `x.md` is a
/// folder.
pub fn read(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Artifacts {
    let mut strays = Vec::new();
    let mut found: Vec<_> = files
        .into_iter()
        .inspect(|(path, _)| strays.push(path.clone()))
        .filter_map(|(path, bytes)| {
            let (kind, named) = FileKind::of(&path)?;
            let content = if named.len() == path.len() {
                Ok(bytes)
            } else {
                Err(folder_finding().into())
            };
            Some((kind, named.to_owned(), content))
        })
        .collect();
    found.sort_by(|a, b| (a.0.layer(), &a.1).cmp(&(b.0.layer(), &b.1)));
    found.dedup_by(|a, b| a.1 == b.1);
    let mut reader = Reader::new(
        found
            .iter()
            .filter(|(kind, ..)| *kind == FileKind::Root)
            .map(|(_, path, _)| path.as_str()),
    );
    for (kind, path, content) in found {
        reader.add(kind, &path, content);
    }
    for path in strays {
        reader.add_stray(&path);
    }
    reader.finish()
}

/// The finding for a folder where a file should be.
pub(super) fn folder_finding() -> Diagnostic {
    file_unreadable::RULE
        .finding("this is a folder, not a file")
        .help("rename it, or set it aside with an underscore before its name")
}

/// The finding for a file over the limit.
pub(super) fn size_finding(bytes: u64) -> Diagnostic {
    let message = format!("the file is {bytes} bytes long; the limit is {MAX_FILE_BYTES}");
    file_too_large::RULE
        .finding(message)
        .help("keep data in other files; people review artifacts")
}

/// Reads one file after the other.
pub(super) struct Reader {
    pub(super) artifacts: Artifacts,
    roots_clash: bool,
    /// Agents, skills and contexts, which have no effect yet.
    pub(super) idle: Vec<(FileKind, Place)>,
}

impl Reader {
    /// A reader for a project with these root files. More than one is an error, and none of them
    /// counts.
    pub(super) fn new<'a>(roots: impl IntoIterator<Item = &'a str>) -> Self {
        let mut reader = Self {
            artifacts: Artifacts::default(),
            roots_clash: false,
            idle: Vec::new(),
        };
        let mut roots = roots.into_iter();
        if let (Some(first), Some(second)) = (roots.next(), roots.next()) {
            reader.roots_clash = true;
            reader.artifacts.root_broken = true;
            let place = Place::new(&Source::new(second, ""), Span::default());
            let finding = root_twice::RULE.finding(format!(
                "`{first}` and `{second}` both exist; a project has one root file"
            ));
            reader
                .artifacts
                .problems
                .push(finding.at(place).help("remove one of them"));
        }
        reader
    }

    /// Reads one file, or records why it could not be.
    pub(super) fn add(
        &mut self,
        kind: FileKind,
        path: &str,
        content: Result<Vec<u8>, Box<Diagnostic>>,
    ) {
        if kind == FileKind::Root && self.roots_clash {
            return;
        }
        if kind == FileKind::Mode {
            self.add_mode(path);
            if let Ok(text) = content.and_then(text_of) {
                self.add_prose(&Source::new(path, text));
            }
            return;
        }
        match content.and_then(text_of) {
            Ok(text) => self.add_text(kind, &Source::new(path, text)),
            Err(finding) => {
                let source = Source::new(path, "");
                let finding = finding.at(Place::new(&source, Span::default()));
                self.give_up(kind, &source, vec![finding]);
            }
        }
    }

    /// Reports a file that looks like an artifact and is not one.
    pub(super) fn add_stray(&mut self, path: &str) {
        let Some(stray) = StrayFile::of(path) else {
            return;
        };
        let finding = match stray {
            StrayFile::PassedOver(why) => file_passed_over::RULE
                .finding(format!("this file is skipped: {why}"))
                .help("move or rename it, or set it aside with an underscore before its name"),
            StrayFile::SetAside => file_set_aside::RULE
                .finding("the underscore before its name sets this file aside: it is not in force")
                .help("remove the underscore to use it"),
        };
        let place = Place::new(&Source::new(path, ""), Span::default());
        self.artifacts.problems.push(finding.at(place));
    }

    fn add_mode(&mut self, path: &str) {
        let place = Place::new(&Source::new(path, ""), Span::default());
        let finding = mode_unread::RULE
            .finding("modes are not read yet, so no tool can be called")
            .help("move the file out of `.harness/modes`, or wait for a version that reads modes");
        self.artifacts.problems.push(finding.at(place.clone()));
        self.artifacts.root.modes.push(place);
    }

    /// Records a folder of artifacts that could not be listed. It may hold hooks, so it counts as a
    /// broken one.
    pub(super) fn add_unlisted(&mut self, kind: FileKind, path: &str, finding: Diagnostic) {
        let source = Source::new(path, "");
        let finding = finding.at(Place::new(&source, Span::default()));
        self.give_up(kind, &source, vec![finding]);
    }

    fn add_text(&mut self, kind: FileKind, source: &Arc<Source>) {
        if matches!(kind, FileKind::Agent | FileKind::Skill | FileKind::Context) {
            return self.add_words(kind, source);
        }
        let text = &source.text;
        let whole_file_is_yaml = kind == FileKind::Root && !source.path.ends_with(".md");
        let (yaml, body) = if whole_file_is_yaml {
            let mark = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
            (Span::new(mark, text.len()), String::new())
        } else {
            match split(text) {
                Ok(halves) => (
                    halves.yaml,
                    body_text(&text[halves.body.start..halves.body.end]),
                ),
                Err(SplitError::Missing) if is_readme(&source.path) => return,
                Err(unsplit) => {
                    return self.give_up(kind, source, vec![unsplit_finding(source, unsplit)]);
                }
            }
        };
        let (node, problems) = yaml::parse(source, yaml);
        let Some(node) = node else {
            return self.give_up(kind, source, problems);
        };
        match kind {
            FileKind::Tool | FileKind::Hook => self.add_single(kind, source, &node, body, problems),
            FileKind::Root => self.add_root(source, &node, body, problems),
            FileKind::Bundle(layer) => {
                self.add_prose(source);
                self.add_bundle(source, layer, &node, problems);
            }
            FileKind::Client => self.add_client(source, &node, problems),
            FileKind::Mode | FileKind::Agent | FileKind::Skill | FileKind::Context => {}
        }
    }

    fn add_single(
        &mut self,
        kind: FileKind,
        source: &Arc<Source>,
        node: &Node,
        body: String,
        found: Vec<Diagnostic>,
    ) {
        let origin = Origin {
            source: Arc::clone(source),
            layer: Layer::Project,
            form: Form::File,
        };
        let naming = Naming {
            name: stem(&source.path).to_owned(),
            span: first_line(source),
            prose: body,
            prose_span: None,
        };
        if kind == FileKind::Tool {
            self.add_tool(origin, naming, node, found);
        } else {
            self.add_hook(origin, naming, node, found);
        }
    }

    fn add_root(
        &mut self,
        source: &Arc<Source>,
        node: &Node,
        body: String,
        mut found: Vec<Diagnostic>,
    ) {
        self.add_entries(source, Layer::Project, node, &mut found);
        let mut problems = Problems::new(source, Subject::Root, found);
        let prose = std::mem::take(&mut self.artifacts.root.prose);
        self.artifacts.root = Root {
            prose,
            ..read_root(&mut problems, ArtifactKind::Root, node, body)
        };
        self.artifacts.root_broken |= problems.first_error().is_some();
        self.keep(problems.found);
    }

    fn add_bundle(
        &mut self,
        source: &Arc<Source>,
        layer: Layer,
        node: &Node,
        mut found: Vec<Diagnostic>,
    ) {
        self.add_entries(source, layer, node, &mut found);
        let mut problems = Problems::new(source, Subject::Bundle, found);
        let bundle = read_bundle(&mut problems, stem(&source.path), layer, node);
        self.artifacts.bundles.push(bundle);
        // A mistake in the bundle itself, such as a misspelled `hooks`, may hide a hook.
        if let Some(problem) = problems.first_error() {
            let name = stem(&source.path).to_owned();
            let hook = BrokenHook {
                name,
                source: Arc::clone(source),
                form: Form::File,
                event: None,
                problem: problem.clone(),
            };
            self.artifacts.broken_hooks.push(hook);
        }
        self.keep(problems.found);
    }

    fn add_client(&mut self, source: &Arc<Source>, node: &Node, found: Vec<Diagnostic>) {
        let name = stem(&source.path);
        let mut problems = Problems::new(source, Subject::Client, found);
        let mut map = read_client(&mut problems, name, node);
        map.broken = problems.first_error().cloned();
        if !CLIENTS.contains(&name) {
            let finding = file_passed_over::RULE
                .finding(format!("this file is skipped: there is no client `{name}`"));
            problems.add(
                finding.help(format!("accepted: {}", CLIENTS.join(", "))),
                first_line(source),
            );
        }
        self.artifacts.clients.push(map);
        self.keep(problems.found);
    }

    /// Reads `tools:` and `hooks:` of a root file or bundle. Moves duplicate keys inside an entry
    /// from `found` to that entry.
    fn add_entries(
        &mut self,
        source: &Arc<Source>,
        layer: Layer,
        node: &Node,
        found: &mut Vec<Diagnostic>,
    ) {
        for (list, kind) in [("tools", FileKind::Tool), ("hooks", FileKind::Hook)] {
            for (index, entry) in node.items_of(list).iter().enumerate() {
                if !entry.is_map() {
                    continue;
                }
                let inside = |problem: &mut Diagnostic| {
                    problem
                        .place
                        .as_ref()
                        .is_some_and(|place| within(place.span, entry.span))
                };
                let own = found.extract_if(.., inside).collect();
                let origin = Origin {
                    source: Arc::clone(source),
                    layer,
                    form: Form::Inline(index),
                };
                let spelled = ["name", "handler"]
                    .into_iter()
                    .take(if kind == FileKind::Hook { 2 } else { 1 });
                let named = spelled
                    .filter_map(|key| entry.get(key))
                    .find(|name| name.text().is_some_and(|text| !text.trim().is_empty()));
                let (name, span) = match named.and_then(|node| Some((node.text()?, node.span))) {
                    Some((name, span)) => (name.to_owned(), span),
                    None => (String::new(), entry.span),
                };
                let described = entry.get("description");
                let prose = described
                    .and_then(Node::text)
                    .unwrap_or_default()
                    .trim()
                    .to_owned();
                let naming = Naming {
                    name,
                    span,
                    prose,
                    prose_span: described.map(|node| node.span),
                };
                match kind {
                    FileKind::Tool => self.add_tool(origin, naming, entry, own),
                    _ => self.add_hook(origin, naming, entry, own),
                }
            }
        }
    }

    fn add_tool(&mut self, origin: Origin, naming: Naming, node: &Node, found: Vec<Diagnostic>) {
        let (source, form) = (Arc::clone(&origin.source), origin.form);
        let nameless = naming.name.is_empty();
        let name = if nameless {
            entry_name("tools", form)
        } else {
            naming.name.clone()
        };
        let found = found.into_iter().map(|problem| problem.tool(&name));
        let mut problems = Problems::new(&source, Subject::Tool(&name), found.collect());
        if nameless {
            no_name(&mut problems, &name, naming.span);
        }
        let tool: Tool = read_tool(&mut problems, origin, naming, node);
        if let Some(problem) = problems.first_error() {
            let broken = BrokenTool {
                name: name.clone(),
                source: Arc::clone(&source),
                form,
                problem: problem.clone(),
            };
            self.artifacts.broken_tools.push(broken);
        }
        self.keep(problems.found);
        if !nameless {
            self.artifacts.tools.push(tool);
        }
    }

    fn add_hook(&mut self, origin: Origin, naming: Naming, node: &Node, found: Vec<Diagnostic>) {
        let (source, form) = (Arc::clone(&origin.source), origin.form);
        let nameless = naming.name.is_empty();
        let name = if nameless {
            entry_name("hooks", form)
        } else {
            naming.name.clone()
        };
        let event_is_doubtful = found.iter().any(|problem| {
            problem.code == key_duplicate::RULE.code && problem.field.as_deref() == Some("event")
        });
        let mut problems = Problems::new(&source, Subject::Hook(&name), found);
        if nameless {
            no_name(&mut problems, &name, naming.span);
        }
        let mut hook: Hook = read_hook(&mut problems, origin, naming, node);
        if event_is_doubtful {
            hook.event = None;
        }
        if let Some(problem) = problems.first_error() {
            let event = hook.event.as_ref().map(|event| event.value.clone());
            let broken = BrokenHook {
                name: name.clone(),
                source: Arc::clone(&source),
                form,
                event,
                problem: problem.clone(),
            };
            self.artifacts.broken_hooks.push(broken);
        }
        self.keep(problems.found);
        if !nameless {
            self.artifacts.hooks.push(hook);
        }
    }

    /// Records a file that could not be read at all.
    fn give_up(&mut self, kind: FileKind, source: &Arc<Source>, problems: Vec<Diagnostic>) {
        let name = stem(&source.path).to_owned();
        let first = problems
            .iter()
            .find(|problem| problem.severity == Severity::Error)
            .cloned();
        match (kind, first) {
            (_, None) | (FileKind::Agent | FileKind::Skill | FileKind::Context, _) => {}
            (FileKind::Root, _) => self.artifacts.root_broken = true,
            (FileKind::Tool, Some(problem)) => {
                self.artifacts.broken_tools.push(BrokenTool {
                    name,
                    source: Arc::clone(source),
                    form: Form::File,
                    problem,
                });
            }
            (FileKind::Client, Some(problem)) => self
                .artifacts
                .clients
                .extend(ClientMap::broken(&name, source, &problem)),
            (FileKind::Hook | FileKind::Bundle(_) | FileKind::Mode, Some(problem)) => {
                self.artifacts.broken_hooks.push(BrokenHook {
                    name,
                    source: Arc::clone(source),
                    form: Form::File,
                    event: None,
                    problem,
                });
            }
        }
        let tool = (kind == FileKind::Tool).then(|| stem(&source.path));
        self.keep(
            problems
                .into_iter()
                .map(|problem| {
                    if let Some(tool) = tool {
                        problem.tool(tool)
                    } else {
                        problem
                    }
                })
                .collect(),
        );
    }

    /// Adds the problems of one file or entry in the order of their places.
    pub(super) fn keep(&mut self, mut problems: Vec<Diagnostic>) {
        problems.sort_by_key(|problem| problem.place.as_ref().map(|place| place.span.start));
        self.artifacts.problems.append(&mut problems);
    }
}

pub(super) fn text_of(bytes: Vec<u8>) -> Result<String, Box<Diagnostic>> {
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(size_finding(bytes.len() as u64).into());
    }
    let help = "an artifact is a Markdown file in UTF-8";
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return Err(file_not_text::RULE
            .finding(format!("the file is not text: byte {at} is zero"))
            .help(help)
            .into());
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        file_not_text::RULE
            .finding(format!("the file is not text: byte {at} is not utf-8"))
            .help(help)
            .into()
    })
}

pub(super) fn unsplit_finding(source: &Arc<Source>, unsplit: SplitError) -> Diagnostic {
    let place = Place::new(source, first_line(source));
    match unsplit {
        SplitError::Missing => {
            let finding =
                frontmatter_missing::RULE.finding("the file does not start with a `---` line");
            finding
                .at(place)
                .help("write `---`, the fields, `---`, then the text")
        }
        SplitError::Unclosed => {
            let finding = frontmatter_unclosed::RULE
                .finding("the frontmatter is not closed by a line that is exactly `---`");
            finding
                .at(place)
                .help("write `---` alone on the line after the last field")
        }
    }
}

pub(super) fn first_line(source: &Source) -> Span {
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(&source.text);
    let start = source.text.len() - text.len();
    let line = text.lines().next().unwrap_or_default();
    Span::new(start, start + line.len())
}

fn entry_name(list: &str, form: Form) -> String {
    if let Form::Inline(index) = form {
        format!("{list}[{index}]")
    } else {
        list.to_owned()
    }
}

fn no_name(problems: &mut Problems<'_>, entry: &str, span: Span) {
    let finding = inline_name_empty::RULE.finding(format!("{entry}.name cannot be empty"));
    problems.add(
        finding
            .field(format!("{entry}.name"))
            .help("write a `name` for it"),
        span,
    );
}

fn within(inner: Span, outer: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
