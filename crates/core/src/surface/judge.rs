//! What a rule over surfaces is given, and where it puts what it finds.

use super::mention::{Names, Scanned, scan};
use super::{Constraint, Entry, From, Surface, Text, ToolSearch};
use crate::check::nearest::nearest;
use crate::check::subject::one_line;
use crate::diagnostic::Diagnostic;
use crate::span::{Place, Span};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};

/// A surface with what every rule would otherwise work out again.
pub struct Subject<'a> {
    /// The surface.
    pub surface: &'a Surface<'a>,
    /// Active tools by name; of several with one name the first.
    pub active: HashMap<&'a str, &'a Entry<'a>>,
    /// What the texts say.
    pub mentions: Mentions<'a>,
    /// How many suggestions were asked for.
    suggestions: Cell<u32>,
}

/// What the texts of a surface say about its tools.
#[derive(Default)]
pub struct Mentions<'a> {
    /// Names that no tool has.
    pub unknown: Vec<Said<'a>>,
    /// Tools that are declared and not active.
    pub inactive: Vec<Said<'a>>,
    /// Deferred tools, while nothing finds them.
    pub deferred: Vec<Said<'a>>,
    /// Other names of arguments, with the tool.
    pub aliases: Vec<(&'a Entry<'a>, Said<'a>)>,
    /// Fences that are never closed.
    pub fences: Vec<Option<Place>>,
    /// Markers that cannot mean anything, and why.
    pub odd_markers: Vec<(Option<Place>, String)>,
    /// Markers that silence nothing.
    pub unused_markers: Vec<Option<Place>>,
}

/// Something that texts say, once or more.
pub struct Said<'a> {
    /// The name as it stands there.
    pub name: &'a str,
    /// The tool it is of.
    pub tool: Option<&'a Entry<'a>>,
    /// Every place.
    pub places: Vec<Place>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(surface: &'a Surface<'a>) -> Self {
        let mut active = HashMap::new();
        for entry in surface.tools.iter().filter(|entry| entry.is_active()) {
            active.entry(&*entry.name).or_insert(entry);
        }
        Self { surface, active, mentions: Mentions::of(surface), suggestions: Cell::new(0) }
    }

    /// "Did you mean": the active tool whose name is closest. Comparing is slow, so only the first findings get it; whoever has more made
    /// another mistake.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Option<&'a str> {
        const MOST: u32 = 20;
        let asked = self.suggestions.get();
        self.suggestions.set(asked.saturating_add(1));
        if asked < MOST { nearest(name, self.active.keys().copied().filter(|known| *known != name)) } else { None }
    }

    /// The active tools, in order.
    pub fn active_tools(&self) -> impl Iterator<Item = &'a Entry<'a>> {
        self.surface.tools.iter().filter(|entry| entry.is_active())
    }

    /// The constraints on arguments that were written for these tools.
    pub fn constraints(&self) -> impl Iterator<Item = &'a Constraint> {
        self.surface.policies.iter().filter(|policy| policy.from == From::Here).flat_map(|policy| &policy.constraints)
    }

    /// The active tools that a pattern matches.
    pub fn matching(&self, pattern: &super::Pattern) -> Vec<&'a Entry<'a>> {
        if pattern.is_exact() {
            return self.active.get(pattern.text()).copied().into_iter().collect();
        }
        self.active_tools().filter(|entry| pattern.is_match(&entry.name)).collect()
    }
}

/// Gathers what is said under one key, in the order it is first said.
struct Gathered<'a, K> {
    by_key: HashMap<K, usize>,
    said: Vec<(K, Said<'a>)>,
}

impl<'a, K: Copy + Eq + std::hash::Hash> Gathered<'a, K> {
    fn new() -> Self {
        Self { by_key: HashMap::new(), said: Vec::new() }
    }

    fn add(&mut self, key: K, name: &'a str, tool: Option<&'a Entry<'a>>, place: Option<Place>) {
        let index = *self.by_key.entry(key).or_insert_with(|| {
            self.said.push((key, Said { name, tool, places: Vec::new() }));
            self.said.len() - 1
        });
        self.said[index].1.places.extend(place);
    }

    fn into_said(self) -> Vec<Said<'a>> {
        self.said.into_iter().map(|(_, said)| said).collect()
    }
}

impl<'a> Mentions<'a> {
    fn of(surface: &'a Surface<'a>) -> Self {
        let mut names = Names::default();
        for (index, entry) in surface.tools.iter().enumerate() {
            names.add(&entry.name, index);
        }
        for (index, entry) in surface.tools.iter().enumerate() {
            entry.other_names.iter().for_each(|name| names.add(name, index));
            entry.annotations.arg_aliases.iter().for_each(|(alias, _)| names.add_alias(index, alias));
        }
        let mut mentions = Self::default();
        let [mut unknown, mut inactive, mut deferred] = [(); 3].map(|()| Gathered::new());
        let mut aliases = Gathered::new();
        for text in &surface.texts {
            let scanned = scan(&text.words, &names, surface.fences);
            let mut used = HashSet::new();
            for found in &scanned.references {
                let name = part(text, found.span);
                let tool = names.find(name).and_then(|index| surface.tools.get(index));
                let gathered = match tool {
                    None => &mut unknown,
                    Some(entry) if !entry.is_active() => &mut inactive,
                    Some(entry) if entry.deferred && surface.tool_search == ToolSearch::Off => &mut deferred,
                    Some(_) => continue,
                };
                match found.marker {
                    Some(marker) => drop(used.insert(marker)),
                    None => gathered.add(name, name, tool, text.place(found.span)),
                }
            }
            for (tool, found) in &scanned.aliases {
                let name = part(text, found.span);
                match found.marker {
                    Some(marker) => drop(used.insert(marker)),
                    None => aliases.add((*tool, name), name, surface.tools.get(*tool), text.place(found.span)),
                }
            }
            mentions.add_odd(text, &scanned, &used);
        }
        mentions.unknown = unknown.into_said();
        mentions.inactive = inactive.into_said();
        mentions.deferred = deferred.into_said();
        mentions.aliases = aliases.into_said().into_iter().filter_map(|said| Some((said.tool?, said))).collect();
        mentions
    }

    fn add_odd(&mut self, text: &Text<'_>, scanned: &Scanned, used: &HashSet<usize>) {
        self.fences.extend(scanned.unclosed_fence.map(|span| text.place(span)));
        self.odd_markers.extend(scanned.odd_markers.iter().map(|(span, why)| (text.place(*span), why.clone())));
        let odd: HashSet<Span> = scanned.odd_markers.iter().map(|(span, _)| *span).collect();
        for (index, marker) in scanned.markers.iter().enumerate() {
            if !used.contains(&index) && !odd.contains(&marker.span) {
                self.unused_markers.push(text.place(marker.span));
            }
        }
    }
}

fn part<'t>(text: &'t Text<'_>, span: Span) -> &'t str {
    text.words.get(span.start..span.end).unwrap_or_default()
}

/// Collects what rules find.
#[derive(Debug, Default)]
pub struct Findings {
    found: Vec<Diagnostic>,
}

impl Findings {
    /// Records a finding.
    pub fn add(&mut self, mut diagnostic: Diagnostic) {
        diagnostic.message = one_line(&diagnostic.message);
        diagnostic.help = diagnostic.help.as_deref().map(one_line);
        self.found.push(diagnostic);
    }

    pub(super) fn into_found(self) -> Vec<Diagnostic> {
        self.found
    }
}
