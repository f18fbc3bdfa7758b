//! Agents, skills and contexts: texts for a model, with a few fields. Nothing uses them yet.

use super::file_kind::{FileKind, is_readme, stem};
use super::frontmatter::{SplitError, split};
use super::kind::agent::read_agent;
use super::kind::context::read_context;
use super::kind::skill::check_skill;
use super::problem::{Problems, Subject};
use super::read::{Reader, first_line, unsplit_finding};
use super::rule::not_in_effect;
use super::{Artifacts, yaml};
use crate::diagnostic::Severity;
use crate::span::{Place, Source, Span};
use std::sync::Arc;

impl Reader {
    /// Reads an agent, a skill or a context: a text for a model, with a few fields.
    pub(super) fn add_words(&mut self, kind: FileKind, source: &Arc<Source>) {
        self.add_prose(source);
        let halves = match split(&source.text) {
            Ok(halves) => halves,
            Err(SplitError::Missing) if kind == FileKind::Context || is_readme(&source.path) => {
                return self.note_idle(kind, source);
            }
            Err(unsplit) => {
                let mut finding = unsplit_finding(source, unsplit);
                if kind != FileKind::Agent {
                    finding.severity = Severity::Warning;
                }
                self.note_idle(kind, source);
                return self.keep(vec![finding]);
            }
        };
        self.note_idle(kind, source);
        let (node, found) = yaml::parse(source, halves.yaml);
        let Some(node) = node else {
            return self.keep(found);
        };
        let name = stem(&source.path);
        match kind {
            FileKind::Agent => {
                let (agent, found) = read_agent(source, name, &node, found);
                self.artifacts.agents.push(agent);
                self.keep(found);
            }
            FileKind::Skill => {
                let mut problems = Problems::new(source, Subject::Skill, found);
                check_skill(&mut problems, name, &node, first_line(source));
                self.keep(problems.found);
            }
            _ => {
                let mut problems = Problems::new(source, Subject::Context, found);
                let when = read_context(&mut problems, &node);
                self.artifacts.conditions.extend(when);
                self.keep(problems.found);
            }
        }
    }

    fn note_idle(&mut self, kind: FileKind, source: &Arc<Source>) {
        if !is_readme(&source.path) {
            self.idle
                .push((kind, Place::new(source, first_line(source))));
        }
    }

    /// What was read. Says once for each kind that nothing uses it yet.
    pub(super) fn finish(mut self) -> Artifacts {
        for (kind, what) in [
            (
                FileKind::Agent,
                "agents are read and checked, but nothing runs them in this version",
            ),
            (
                FileKind::Skill,
                "skills are read and checked, but no model is told of them in this version",
            ),
            (
                FileKind::Context,
                "contexts are read and checked, but no prompt contains them in this version",
            ),
        ] {
            let mut places = self
                .idle
                .iter()
                .filter(|(other, _)| *other == kind)
                .map(|(_, place)| place.clone());
            if let Some(first) = places.next() {
                let mut finding = not_in_effect::RULE
                    .finding(what)
                    .at(first)
                    .help("this note needs no change: they will count in a later version");
                finding.also = places.collect();
                self.artifacts.problems.push(finding);
            }
        }
        self.artifacts
    }

    /// Keeps a text that may reach a model: the part after the frontmatter, or all of a file
    /// without any.
    pub(super) fn add_prose(&mut self, source: &Arc<Source>) {
        let body = split(&source.text)
            .map_or_else(|_| Span::new(0, source.text.len()), |halves| halves.body);
        if !source.text[body.start..body.end].trim().is_empty() {
            self.artifacts.root.prose.push(Place::new(source, body));
        }
    }
}
