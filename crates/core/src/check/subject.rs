//! What a rule checks, and where it records its findings.

use super::closed::ClosedBuiltins;
use super::resolve::Resolution;
use crate::artifact::tool::Script;
use crate::artifact::{Agent, Bundle, ClientMap, Form, Hook, LayerFile, Root, Tool};
use crate::diagnostic::{Diagnostic, one_line};
use crate::facts::FactsBySource;
use crate::facts::{Facts, ScriptKind, Unread};
use crate::rule::{self, Action, Rule};
use crate::span::{Place, Span};
use std::collections::HashSet;
use std::sync::Arc;

/// The whole project, after replaced definitions were taken out.
pub struct Project<'a> {
    /// The root file's settings.
    pub root: &'a Root,
    /// The files of the machine and of the user, highest first.
    pub layers: &'a [LayerFile],
    /// The rules of every layer, in order; none unless a report was asked for.
    pub(crate) rules: &'a [Rule],
    /// The built-ins that the rules close to the scripts of tools.
    pub(crate) closed: ClosedBuiltins<'a>,
    /// The bundles, on or off.
    pub bundles: &'a [Bundle],
    /// The tools that remain.
    pub tools: &'a [Tool],
    /// The hooks that remain.
    pub hooks: &'a [Hook],
    /// The agents.
    pub(crate) agents: &'a [Agent],
    /// How the project maps clients' own tools.
    pub clients: &'a [ClientMap],
    /// Which names clash and what was replaced.
    pub(crate) resolution: &'a Resolution,
    /// Every name and alias under which a tool can be called, broken tools included.
    pub(crate) tool_names: HashSet<&'a str>,
    /// The facts that workers found in the scripts.
    pub facts: &'a FactsBySource,
}

/// One tool.
pub(crate) struct ToolSubject<'a> {
    /// The project around it.
    pub project: &'a Project<'a>,
    /// The tool.
    pub tool: &'a Tool,
    /// The facts of its script; absent without a script that parses.
    pub facts: Option<&'a Facts>,
}

/// One hook.
pub(crate) struct HookSubject<'a> {
    /// The project around it.
    pub project: &'a Project<'a>,
    /// The hook.
    pub hook: &'a Hook,
    /// Its `when` and `script` with their facts, if they parse.
    pub scripts: Vec<(&'a Script, &'a Facts)>,
}

/// One script: of a tool, of a hook, or the `when` of a hook or a context.
pub(crate) struct ScriptSubject<'a> {
    /// Its kind.
    pub kind: ScriptKind,
    /// The field that holds it.
    pub field: &'static str,
    /// The source with the way back to its file.
    pub script: &'a Script,
    /// The facts a worker found, or why it found none.
    pub facts: &'a Result<Facts, Unread>,
}

/// The artifact a finding is about: an error takes a tool out of the surface and makes a hook
/// block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The project as a whole.
    Project,
    /// The tool at this index.
    Tool(usize),
    /// The hook at this index.
    Hook(usize),
}

/// Collects the findings of rules.
pub struct Findings<'a> {
    tools: &'a [Tool],
    rule: usize,
    owner: Owner,
    found: Vec<(usize, Owner, Diagnostic)>,
}

impl<'a> Findings<'a> {
    pub(super) fn new(tools: &'a [Tool]) -> Self {
        Self {
            tools,
            rule: 0,
            owner: Owner::Project,
            found: Vec::new(),
        }
    }

    /// Sets the rule (by its index) and the artifact of the findings that follow.
    pub(super) fn concern(&mut self, rule: usize, owner: Owner) {
        (self.rule, self.owner) = (rule, owner);
    }

    /// Records a finding about the artifact the rule was given.
    pub fn add(&mut self, diagnostic: Diagnostic) {
        self.add_for(self.owner, diagnostic);
    }

    /// Records a finding about a particular artifact.
    pub(crate) fn add_for(&mut self, owner: Owner, mut diagnostic: Diagnostic) {
        if let Owner::Tool(index) = owner
            && diagnostic.tool.is_none()
        {
            diagnostic.tool = self.tools.get(index).map(|tool| tool.name.clone());
        }
        diagnostic.message = one_line(&diagnostic.message);
        diagnostic.help = diagnostic.help.as_deref().map(one_line);
        self.found.push((self.rule, owner, diagnostic));
    }

    /// Everything found, in the order of the rules.
    pub(super) fn into_found(mut self) -> Vec<(Owner, Diagnostic)> {
        self.found.sort_by_key(|(rule, _, _)| *rule);
        self.found
            .into_iter()
            .map(|(_, owner, diagnostic)| (owner, diagnostic))
            .collect()
    }
}

impl<'a> Project<'a> {
    /// The settings of every layer, highest first.
    pub(crate) fn roots(&self) -> impl Iterator<Item = &'a Root> {
        let above = self.layers.iter().map(|layer| &layer.root);
        above.chain([self.root])
    }

    /// Whether the rules let a model see a tool of this name.
    pub(crate) fn is_shown(&self, tool: &str) -> bool {
        !rule::matches(self.rules, &rule::Subject::Name(tool))
            .iter()
            .any(|found| found.rule.action == Action::Deny)
    }

    /// The facts a worker found in a script, if it parsed it.
    #[must_use]
    pub fn facts_of(&self, kind: ScriptKind, script: &Script) -> Option<&'a Result<Facts, Unread>> {
        self.facts.get(&(kind, Arc::clone(&script.text)))
    }

    /// The facts of a script that could be parsed.
    #[must_use]
    pub(crate) fn read_facts(&self, kind: ScriptKind, script: &Script) -> Option<&'a Facts> {
        self.facts_of(kind, script).and_then(read)
    }
}

/// The facts of a script that could be parsed.
pub(super) fn read(facts: &Result<Facts, Unread>) -> Option<&Facts> {
    facts.as_ref().ok().filter(|facts| facts.syntax.is_none())
}

/// Every script of a hook with its kind, `when` first.
pub(super) fn hook_scripts(hook: &Hook) -> impl Iterator<Item = (ScriptKind, &Script)> {
    let when = hook.when.iter().map(|script| (ScriptKind::When, script));
    when.chain(hook.script.iter().map(|script| (ScriptKind::Hook, script)))
}

/// Where a reader expects a tool's name.
pub(super) fn tool_place(tool: &Tool) -> Place {
    tool.place(tool.name_span)
}

/// Where a reader expects a hook's name: the file's first line, or the nearest place in a list of
/// hooks.
pub(super) fn hook_place(hook: &Hook) -> Place {
    let text = &hook.origin.source.text;
    let first_line = Span::new(0, text.find(['\r', '\n']).unwrap_or(text.len()));
    match hook.origin.form {
        Form::File => hook.place(first_line),
        Form::Inline(_) => match (&hook.event, &hook.script) {
            (Some(event), _) => hook.place(event.span),
            (None, Some(script)) => script.place.clone(),
            (None, None) => hook.place(first_line),
        },
    }
}
