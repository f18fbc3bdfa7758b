//! Builds a [`Surface`] from a project's artifacts.

use super::View;
use crate::artifact::frontmatter::split;
use crate::artifact::{Bundle, Form, LayerFile, Root, Tool};
use crate::builtin;
use crate::check::CheckedProject;
use crate::diagnostic::Diagnostic;
use crate::effect::Effects;
use crate::registry::RegisteredTool;
use crate::rule::{self, Action, Rule};
use crate::span::Spanned;
use crate::span::{Place, Span};
use crate::surface::{
    AnnotationSource, Budget, Constraint, Entry, Executor, Fences, Located, Pattern, Policy,
    PolicyOrigin, Role, SchemaText, Separator, Surface, Text, TextOrigin, ToolStatus, stated,
    words,
};
use crate::tool::READER;
use std::borrow::Cow;
use std::sync::Arc;

/// What a project's surface consists of.
struct Parts<'a> {
    root: &'a Root,
    layers: &'a [LayerFile],
    bundles: &'a [Bundle],
    tools: Vec<Loaded<'a>>,
}

/// A tool with what loading added to it.
struct Loaded<'a> {
    tool: &'a Tool,
    effects: Effects,
    broken: Option<&'a Diagnostic>,
    /// Whether the host registered a body for it.
    body: bool,
}

impl<'a> Surface<'a> {
    /// The surface of a checked project, before the host's bodies are known.
    #[must_use]
    pub fn of_checked(checked: &'a CheckedProject) -> Self {
        let tools = checked.tools.iter().map(|one| Loaded {
            tool: &one.tool,
            effects: one.effects,
            broken: one.broken.as_ref(),
            body: false,
        });
        let parts = Parts {
            root: &checked.root,
            layers: &checked.layers,
            bundles: &checked.bundles,
            tools: tools.collect(),
        };
        parts.surface(&rule::rules(&checked.layers, &checked.root))
    }

    /// The surface of a loaded project.
    #[must_use]
    pub(crate) fn of_view(view: &'a View) -> Self {
        let catalogue = &view.catalogue;
        let own = |tool: &&Arc<RegisteredTool>| tool.name() != READER || view.is_offered(tool);
        let tools = catalogue.all_tools().filter(own).map(|one| Loaded {
            tool: &one.tool,
            effects: one.effects,
            broken: one.unusable.as_ref(),
            body: one.body.is_some(),
        });
        Parts {
            root: &catalogue.root,
            layers: &catalogue.layers,
            bundles: &catalogue.bundles,
            tools: tools.collect(),
        }
        .surface(&view.rules)
    }
}

impl<'a> Parts<'a> {
    fn surface(self, rules: &[Rule]) -> Surface<'a> {
        let context_tokens = self.root.checks.context_tokens.unwrap_or(Budget::DEFAULT);
        let fences = if self.root.checks.scan_fences {
            Fences::Scan
        } else {
            Fences::Skip
        };
        let mut surface = Surface {
            budget: Budget { context_tokens },
            fences,
            is_builtin: Some(|name| match name.strip_suffix(".*") {
                Some(module) => builtin::is_module(module),
                None => builtin::find(name).is_some(),
            }),
            ..Surface::default()
        };
        for loaded in &self.tools {
            surface.tools.push(entry(loaded, rules));
            if loaded.broken.is_none() {
                describe(loaded.tool, &mut surface.texts);
            }
        }
        surface.policies.extend(
            self.layers
                .iter()
                .map(|layer| self.policy(&layer.root, PolicyOrigin::Inherited)),
        );
        surface
            .policies
            .push(self.policy(self.root, PolicyOrigin::Local));
        if let Some(source) = &self.root.source
            && let Ok(halves) = split(&source.text)
        {
            surface
                .texts
                .push(part(&Place::new(source, halves.body), Role::Prompt));
        }
        surface.texts.extend(
            self.root
                .prose
                .iter()
                .map(|place| part(place, Role::Prompt)),
        );
        surface
    }
}

/// A part of a file as a text of the surface.
fn part<'a>(place: &Place, role: Role) -> Text<'a> {
    let words = place
        .source
        .text
        .get(place.span.start..place.span.end)
        .unwrap_or_default()
        .to_owned();
    Text {
        words: Cow::Owned(words),
        role,
        origin: TextOrigin::File(place.source.clone(), place.span.start),
    }
}

fn entry<'a>(loaded: &Loaded<'a>, rules: &[Rule]) -> Entry<'a> {
    let tool = loaded.tool;
    let says = |key: &str| {
        tool.frontmatter
            .get(key)
            .is_some_and(|value| !value.is_null())
    };
    let scripted = tool.script.is_some();
    let written = ["annotations", "risk", "safety"]
        .iter()
        .any(|key| says(key));
    Entry {
        name: Cow::Borrowed(&tool.name),
        other_names: tool
            .aliases
            .iter()
            .map(|(_, alias)| Cow::Borrowed(alias.value.as_str()))
            .collect(),
        status: status(loaded, rules),
        description: tool
            .described
            .then_some(Cow::Borrowed(tool.description.as_str())),
        // A script without parameters takes none; the parameters of a body elsewhere are unknown.
        schema: (scripted || tool.schema_source.is_some())
            .then_some(Cow::Borrowed(&tool.input_schema)),
        annotated: match (written, scripted) {
            (true, _) => AnnotationSource::Written,
            (false, true) => AnnotationSource::Inferred,
            (false, false) => AnnotationSource::Missing,
        },
        annotations: Cow::Borrowed(&tool.annotations),
        effects: if scripted {
            Some(loaded.effects)
        } else {
            stated(&tool.declared_effects)
        },
        executor: if scripted || loaded.body {
            Executor::Known
        } else {
            Executor::Missing
        },
        deferred: tool.deferred,
        timeout_ms: Some(tool.timeout_ms),
        place: Some(tool.place(tool.name_span)),
        fields: tool
            .schema_source
            .iter()
            .map(|source| ("parameters", tool.place(source.span)))
            .collect(),
    }
}

fn status(loaded: &Loaded<'_>, rules: &[Rule]) -> ToolStatus {
    if let Some(problem) = loaded.broken {
        return ToolStatus::Broken(format!("it has an error: {}", problem.message));
    }
    let denied = rule::matches(rules, &rule::Subject::Name(&loaded.tool.name))
        .into_iter()
        .find(|found| found.rule.action == Action::Deny);
    denied.map_or(ToolStatus::Active, |found| {
        ToolStatus::Denied(format!("`{}` denies it", found.rule.words))
    })
}

/// Adds the texts that a model reads about a tool: its description and those of its arguments.
fn describe<'a>(tool: &'a Tool, texts: &mut Vec<Text<'a>>) {
    let source = &tool.origin.source;
    if tool.described {
        texts.push(match split(&source.text) {
            Ok(halves) if tool.origin.form == Form::File => {
                part(&Place::new(source, halves.body), Role::Description)
            }
            _ => {
                let origin =
                    TextOrigin::Value(tool.place(tool.description_span.unwrap_or(tool.name_span)));
                Text {
                    words: Cow::Borrowed(&tool.description),
                    role: Role::Description,
                    origin,
                }
            }
        });
    }
    words(&tool.input_schema, &mut |value, what, path| {
        if let (SchemaText::Words(role), Some(words)) = (what, value.as_str()) {
            texts.push(Text {
                words: Cow::Borrowed(words),
                role,
                origin: TextOrigin::Schema(tool, path.to_vec()),
            });
        }
    });
}

impl Parts<'_> {
    fn policy(&self, root: &Root, origin: PolicyOrigin) -> Policy {
        let place = |span: Span| root.source.as_ref().map(|source| Place::new(source, span));
        let patterns = |list: &[Spanned<String>]| -> Vec<Located<Pattern>> {
            let of_tools = list.iter().filter(|at| !rule::names_builtins(&at.value));
            of_tools
                .filter_map(|at| {
                    let value = Pattern::new(&at.value, Separator::Ordinary).ok()?;
                    let place = place(at.span);
                    self.is_about_tools(&value)
                        .then_some(Located { value, place })
                })
                .collect()
        };
        let constraints = root
            .policy
            .constraints
            .iter()
            .filter_map(|Spanned { value, span }| {
                Some(Constraint {
                    tool: Pattern::new(&value.tool, Separator::Ordinary).ok()?,
                    key: value.arg_key.clone(),
                    accepted: value.arg_patterns.clone(),
                    place: place(*span),
                })
            });
        Policy {
            origin,
            tools: Some(patterns(&root.tools_policy.allow)).filter(|list| !list.is_empty()),
            deny: patterns(&root.tools_policy.deny),
            ceiling: root.policy.ceiling.as_ref().map(|at| Located {
                value: at.value,
                place: place(at.span),
            }),
            capabilities: root.policy.capabilities.as_ref().map(|at| Located {
                value: at.value.clone(),
                place: place(at.span),
            }),
            constraints: constraints.collect(),
        }
    }

    /// Whether an entry is about tools of this surface. Of those that match none, the check
    /// reports names of built-ins, and the tools of a bundle that is off are elsewhere.
    fn is_about_tools(&self, pattern: &Pattern) -> bool {
        let matches = |name: &str| pattern.is_match(name);
        if self.tools.iter().any(|loaded| matches(&loaded.tool.name)) {
            return true;
        }
        let mut of_bundles = self.bundles.iter().flat_map(|bundle| &bundle.tools);
        rule::builtin_meant(pattern.text()).is_none() && !of_bundles.any(|name| matches(name))
    }
}
