//! What a rule over surfaces is given, and where it puts what it finds.

use super::mention::{AliasUse, Names, Scanned, Use, scan};
use super::{Constraint, Entry, From, Pattern, Role, Surface, Text, ToolSearch};
use crate::artifact::problem::quoted;
use crate::diagnostic::{Diagnostic, one_line};
use crate::nearest::nearest;
use crate::span::{Place, Span};
use std::borrow::Cow;
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
    /// What no call of comes through.
    denied: Denied<'a>,
    /// How many suggestions were asked for.
    suggestions: Cell<u32>,
}

/// The approval patterns that deny, so that names are looked up and only globs are gone through.
#[derive(Default)]
struct Denied<'a> {
    names: HashSet<&'a str>,
    globs: Vec<&'a Pattern>,
}

impl<'a> Denied<'a> {
    fn of(surface: &'a Surface<'a>) -> Self {
        let mut denied = Self::default();
        for approval in surface
            .approval
            .iter()
            .filter(|approval| approval.decision == Some("deny"))
        {
            if approval.pattern.is_exact() {
                denied.names.insert(approval.pattern.text());
            } else {
                denied.globs.push(&approval.pattern);
            }
        }
        denied
    }

    fn has(&self, name: &str) -> bool {
        self.names.contains(name) || self.globs.iter().any(|glob| glob.is_match(name))
    }
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
    /// Other names of arguments, with the tool, and whether those calls give the argument under a second name as well.
    pub aliases: Vec<(&'a Entry<'a>, Said<'a>, bool)>,
    /// Fences that are never closed.
    pub fences: Vec<Option<Place>>,
    /// Markers that cannot mean anything, and why.
    pub odd_markers: Vec<(Option<Place>, String)>,
    /// Markers that silence nothing.
    pub unused_markers: Vec<Option<Place>>,
}

/// Something that texts say, once or more.
pub struct Said<'a> {
    /// The name.
    pub name: Cow<'a, str>,
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
        Self {
            surface,
            active,
            mentions: Mentions::of(surface),
            denied: Denied::of(surface),
            suggestions: Cell::new(0),
        }
    }

    /// "Did you mean": the active tool whose name is closest.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Option<&'a str> {
        self.closest(
            name,
            self.active.keys().copied().filter(|known| *known != name),
        )
    }

    /// "Did you mean": the closest of these. Comparing is slow, so only the first findings get it; whoever has more made another mistake.
    #[must_use]
    pub fn closest<'k>(
        &self,
        name: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Option<&'k str> {
        const MOST: u32 = 20;
        let asked = self.suggestions.get();
        self.suggestions.set(asked.saturating_add(1));
        if asked < MOST {
            nearest(name, known)
        } else {
            None
        }
    }

    /// Whether a model can ever get an answer of this tool: what is deferred while nothing searches is never seen, and what is denied
    /// never runs.
    #[must_use]
    pub fn is_usable(&self, entry: &Entry<'_>) -> bool {
        let hidden = entry.deferred && self.surface.tool_search == ToolSearch::Off;
        entry.is_active() && !hidden && !self.denied.has(&entry.name)
    }

    /// The active tools, in order.
    pub fn active_tools(&self) -> impl Iterator<Item = &'a Entry<'a>> {
        self.surface.tools.iter().filter(|entry| entry.is_active())
    }

    /// The constraints on arguments that were written for these tools.
    pub fn constraints(&self) -> impl Iterator<Item = &'a Constraint> {
        self.surface
            .policies
            .iter()
            .filter(|policy| policy.from == From::Here)
            .flat_map(|policy| &policy.constraints)
    }

    /// The active tools that a pattern matches.
    pub fn matching(&self, pattern: &Pattern) -> Vec<&'a Entry<'a>> {
        if pattern.is_exact() {
            return self
                .active
                .get(pattern.text())
                .copied()
                .into_iter()
                .collect();
        }
        self.active_tools()
            .filter(|entry| pattern.is_match(&entry.name))
            .collect()
    }

    /// Whether a pattern matches any active tool.
    pub fn matches_any(&self, pattern: &Pattern) -> bool {
        if pattern.is_exact() {
            return self.active.contains_key(pattern.text());
        }
        self.active_tools()
            .any(|entry| pattern.is_match(&entry.name))
    }
}

/// Gathers what is said under one key, in the order it is first said.
struct Gathered<'a, K> {
    by_key: HashMap<K, usize>,
    said: Vec<(K, Said<'a>)>,
}

impl<'a, K: Clone + Eq + std::hash::Hash> Gathered<'a, K> {
    fn new() -> Self {
        Self {
            by_key: HashMap::new(),
            said: Vec::new(),
        }
    }

    fn add(
        &mut self,
        key: K,
        name: Cow<'a, str>,
        tool: Option<&'a Entry<'a>>,
        place: Option<Place>,
    ) {
        let index = *self.by_key.entry(key.clone()).or_insert_with(|| {
            self.said.push((
                key,
                Said {
                    name,
                    tool,
                    places: Vec::new(),
                },
            ));
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
            entry
                .other_names
                .iter()
                .for_each(|name| names.add(name, index));
            entry
                .annotations
                .arg_aliases
                .iter()
                .for_each(|(alias, canonical)| names.add_alias(index, alias, canonical));
        }
        let mut mentions = Self::default();
        let [mut unknown, mut inactive, mut deferred] = [(); 3].map(|()| Gathered::new());
        let mut aliases = Gathered::new();
        for text in surface.texts.iter().filter(|text| text.role != Role::Value) {
            let scanned = scan(&text.words, &names, surface.fences);
            let mut used = HashSet::new();
            for found in &scanned.references {
                let name = named(text, found);
                let tool = names.find(&name).and_then(|index| surface.tools.get(index));
                let gathered = match tool {
                    // Whoever searches for tools has this one.
                    None if surface.tool_search == ToolSearch::On && name == "tool_search" => {
                        continue;
                    }
                    None => &mut unknown,
                    Some(entry) if !entry.is_active() => &mut inactive,
                    Some(entry) if entry.deferred && surface.tool_search == ToolSearch::Off => {
                        &mut deferred
                    }
                    Some(_) => continue,
                };
                match found.marker {
                    Some(marker) => drop(used.insert(marker)),
                    None => gathered.add(name.clone(), name, tool, text.place(found.span)),
                }
            }
            for AliasUse {
                tool,
                used: found,
                twice,
            } in &scanned.aliases
            {
                let name = named(text, found);
                match found.marker {
                    Some(marker) => drop(used.insert(marker)),
                    None => aliases.add(
                        (*tool, name.clone(), *twice),
                        name,
                        surface.tools.get(*tool),
                        text.place(found.span),
                    ),
                }
            }
            mentions.add_odd(text, &scanned, &used);
        }
        mentions.unknown = unknown.into_said();
        mentions.inactive = inactive.into_said();
        mentions.deferred = deferred.into_said();
        mentions.aliases = aliases
            .said
            .into_iter()
            .filter_map(|((.., twice), said)| Some((said.tool?, said, twice)))
            .collect();
        mentions
    }

    fn add_odd(&mut self, text: &Text<'_>, scanned: &Scanned, used: &HashSet<usize>) {
        self.fences
            .extend(scanned.unclosed_fence.map(|span| text.place(span)));
        self.odd_markers.extend(
            scanned
                .odd_markers
                .iter()
                .map(|(span, why)| (text.place(*span), why.clone())),
        );
        let odd: HashSet<Span> = scanned.odd_markers.iter().map(|(span, _)| *span).collect();
        for (index, marker) in scanned.markers.iter().enumerate() {
            if !used.contains(&index) && !odd.contains(&marker.span) {
                self.unused_markers.push(text.place(marker.span));
            }
        }
    }
}

/// The name that is used, for as long as the surface is there.
fn named<'t>(text: &'t Text<'_>, found: &Use) -> Cow<'t, str> {
    match &found.decoded {
        Some(decoded) => Cow::Owned(decoded.to_string()),
        None => Cow::Borrowed(
            text.words
                .get(found.span.start..found.span.end)
                .unwrap_or_default(),
        ),
    }
}

/// Names for a message; of many the first.
pub(super) fn listed(names: &[&str]) -> String {
    const MOST: usize = 8;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| quoted(name)).collect();
    let more = names.len().saturating_sub(MOST);
    if more > 0 {
        format!("{} and {more} more", shown.join(", "))
    } else {
        shown.join(", ")
    }
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
