//! What a surface rule checks, and where it records its findings.

use super::mention::{AliasUse, DeclaredNames, NameUse, ScannedText, scan};
use super::rule::Check;
use super::{Constraint, Entry, Pattern, PolicyOrigin, Role, Surface, Text, ToolSearch};
use crate::artifact::problem::quoted;
use crate::diagnostic::{Diagnostic, Rule, one_line};
use crate::nearest::nearest;
use crate::span::{Place, Span};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};

/// A surface, with what several rules need worked out once.
pub struct Subject<'a> {
    /// The surface.
    pub surface: &'a Surface<'a>,
    /// Active tools by name; of several with one name the first.
    pub active: HashMap<&'a str, &'a Entry<'a>>,
    /// What the texts say.
    pub mentions: Mentions<'a>,
    /// The tools whose every call is denied.
    denied: NamePatterns<'a>,
    /// How many suggestions were made.
    suggestions: Cell<u32>,
}

/// Patterns over names: exact ones in a set, and globs to try one by one.
pub(super) struct NamePatterns<'p> {
    names: HashSet<&'p str>,
    globs: Vec<&'p Pattern>,
}

impl<'p> NamePatterns<'p> {
    pub(super) fn new(patterns: impl Iterator<Item = &'p Pattern>) -> Self {
        let (names, globs): (Vec<_>, Vec<_>) = patterns.partition(|pattern| pattern.is_exact());
        Self {
            names: names.into_iter().map(Pattern::text).collect(),
            globs,
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(name) || self.globs.iter().any(|glob| glob.is_match(name))
    }
}

/// What the texts of a surface say about its tools.
#[derive(Default)]
pub struct Mentions<'a> {
    /// Names that no tool has.
    pub unknown: Vec<Mention<'a>>,
    /// Tools that are declared and not active.
    pub inactive: Vec<Mention<'a>>,
    /// Deferred tools, while tool search is off.
    pub deferred: Vec<Mention<'a>>,
    /// Aliases of arguments, with the tool, and whether those calls also give the argument under a
    /// second name.
    pub aliases: Vec<(&'a Entry<'a>, Mention<'a>, bool)>,
    /// Fences that are never closed.
    pub fences: Vec<Option<Place>>,
    /// Markers that do not work, and why.
    pub(crate) odd_markers: Vec<(Option<Place>, String)>,
    /// Markers that silence nothing.
    pub(crate) unused_markers: Vec<Option<Place>>,
}

/// A name that texts mention, once or more.
pub struct Mention<'a> {
    /// The name.
    pub name: Cow<'a, str>,
    /// The tool it is of.
    pub tool: Option<&'a Entry<'a>>,
    /// Every place.
    pub places: Vec<Place>,
}

impl Mention<'_> {
    /// A finding about the texts that use this tool, which `is` like this.
    pub(super) fn finding(&self, rule: &Rule<Check>, is: &str) -> Diagnostic {
        rule.finding(format!("the text uses tool \"{}\", which {is}", self.name))
            .at_any(self.places.iter().cloned())
            .tool(&*self.name)
            .field("prompt")
    }
}

/// The tools that these mentions are of, by name.
pub(super) fn tool_names<'m>(mentions: &'m [Mention<'_>]) -> HashSet<&'m str> {
    mentions
        .iter()
        .filter_map(|said| Some(&*said.tool?.name))
        .collect()
}

impl<'a> Subject<'a> {
    pub(super) fn new(surface: &'a Surface<'a>) -> Self {
        let mut active = HashMap::new();
        for entry in surface.tools.iter().filter(|entry| entry.is_active()) {
            active.entry(&*entry.name).or_insert(entry);
        }
        let denied = surface
            .approval
            .iter()
            .filter(|approval| approval.decision == Some("deny"));
        Self {
            surface,
            active,
            mentions: Mentions::of(surface),
            denied: NamePatterns::new(denied.map(|approval| &approval.pattern)),
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

    /// "Did you mean": the closest of these. Comparing is slow, so only the first findings get a
    /// suggestion; with many findings the mistake is another one.
    #[must_use]
    pub(crate) fn closest<'k>(
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

    /// Whether a model can ever get a result from this tool: not if it is deferred while tool
    /// search is off, or if its every call is denied.
    #[must_use]
    pub(crate) fn is_usable(&self, entry: &Entry<'_>) -> bool {
        let hidden = entry.deferred && self.surface.tool_search == ToolSearch::Off;
        entry.is_active() && !hidden && !self.denied.has(&entry.name)
    }

    /// The active tools, in order.
    pub(crate) fn active_tools(&self) -> impl Iterator<Item = &'a Entry<'a>> {
        self.surface.tools.iter().filter(|entry| entry.is_active())
    }

    /// The constraints on arguments that were written for these tools.
    pub(crate) fn constraints(&self) -> impl Iterator<Item = &'a Constraint> {
        self.surface
            .policies
            .iter()
            .filter(|policy| policy.origin == PolicyOrigin::Local)
            .flat_map(|policy| &policy.constraints)
    }

    /// The active tools that a pattern matches.
    pub(crate) fn matching(&self, pattern: &Pattern) -> Vec<&'a Entry<'a>> {
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
    pub(crate) fn matches_any(&self, pattern: &Pattern) -> bool {
        if pattern.is_exact() {
            return self.active.contains_key(pattern.text());
        }
        self.active_tools()
            .any(|entry| pattern.is_match(&entry.name))
    }
}

/// Groups mentions by key, in the order of their first mention.
struct MentionsByKey<'a, K> {
    by_key: HashMap<K, usize>,
    said: Vec<(K, Mention<'a>)>,
}

impl<'a, K: Clone + Eq + std::hash::Hash> MentionsByKey<'a, K> {
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
                Mention {
                    name,
                    tool,
                    places: Vec::new(),
                },
            ));
            self.said.len() - 1
        });
        self.said[index].1.places.extend(place);
    }

    fn into_said(self) -> Vec<Mention<'a>> {
        self.said.into_iter().map(|(_, said)| said).collect()
    }
}

impl<'a> Mentions<'a> {
    fn of(surface: &'a Surface<'a>) -> Self {
        let mut names = DeclaredNames::default();
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
        let [mut unknown, mut inactive, mut deferred] = [(); 3].map(|()| MentionsByKey::new());
        let mut aliases = MentionsByKey::new();
        for text in surface.texts.iter().filter(|text| text.role != Role::Value) {
            let scanned = scan(&text.words, &names, surface.fences);
            let mut used = HashSet::new();
            for found in &scanned.references {
                let name = named(text, found);
                let tool = names.find(&name).and_then(|index| surface.tools.get(index));
                let gathered = match tool {
                    // Tool search itself is a declared tool.
                    None if surface.tool_search == ToolSearch::On && name == "tool_search" => {
                        continue;
                    }
                    None if is_in_a_list_of_builtins(surface, text, found) => continue,
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

    fn add_odd(&mut self, text: &Text<'_>, scanned: &ScannedText, used: &HashSet<usize>) {
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

/// The name that is used, borrowed from the surface if possible.
fn named<'t>(text: &'t Text<'_>, found: &NameUse) -> Cow<'t, str> {
    match &found.decoded {
        Some(decoded) => Cow::Owned(decoded.to_string()),
        None => Cow::Borrowed(
            text.words
                .get(found.span.start..found.span.end)
                .unwrap_or_default(),
        ),
    }
}

/// How much of a line before and after a name says what the line is about.
const MOST_OF_A_LINE: usize = 1000;

/// Whether a name is a built-in's, on a line that lists built-ins: it tells the model what scripts
/// use, not what to call.
fn is_in_a_list_of_builtins(surface: &Surface<'_>, text: &Text<'_>, found: &NameUse) -> bool {
    let Some(is_builtin) = surface.is_builtin else {
        return false;
    };
    if !is_builtin(found.name(&text.words)) {
        return false;
    }
    // Bounded, because a text of one line may name many.
    let words = &*text.words;
    let first = words.floor_char_boundary(found.span.start.saturating_sub(MOST_OF_A_LINE));
    let last = words.floor_char_boundary(found.span.start + MOST_OF_A_LINE);
    let before = words.get(first..found.span.start).unwrap_or_default();
    let start = before.rfind('\n').map_or(first, |at| first + at + 1);
    let line = words.get(start..last).unwrap_or_default();
    let line = line.lines().next().unwrap_or_default();
    let lower = line.to_lowercase();
    let mut quoted = line.split('`').skip(1).step_by(2);
    lower.contains("built-in")
        || lower.contains("builtin")
        || quoted.any(|code| {
            let name = code.split('(').next().unwrap_or_default().trim();
            name.contains('.') && is_builtin(name)
        })
}

/// Names for a message; only the first of many.
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

/// Collects the findings of rules.
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
