//! Applies `checks`: sets severities, and drops findings that an artifact silences with a reason.

use super::rule::checks_ineffective;
use super::rules;
use crate::artifact::Form;
use crate::artifact::frontmatter::split;
use crate::artifact::root::Checks;
use crate::artifact::root::SeveritySetting;
use crate::artifact::yaml;
use crate::diagnostic::{Diagnostic, Severity};
use crate::nearest::{did_you_mean, nearest};
use crate::pattern::{Pattern, Separator};
use crate::span::Place;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// An artifact that may silence findings about itself.
pub struct Silencer<'a> {
    /// Its name, when it is a tool.
    pub tool: Option<&'a str>,
    /// How it was written.
    pub form: Form,
    /// Where a reader expects it.
    pub place: Place,
    /// Its frontmatter.
    pub frontmatter: &'a Value,
}

impl Silencer<'_> {
    /// The place of an entry of its list. Parses the file again, but only for files with a finding.
    fn entry(&self, index: usize) -> Place {
        let source = &self.place.source;
        let find = || {
            let halves = split(&source.text).ok()?;
            let root = yaml::parse(source, halves.yaml).0?;
            Some(Place::new(
                source,
                root.get("checks")?.items().get(index)?.span,
            ))
        };
        if self.form == Form::File {
            find().unwrap_or_else(|| self.place.clone())
        } else {
            self.place.clone()
        }
    }
}

struct Silence<'a> {
    by: &'a Silencer<'a>,
    /// Which entry of its list it is.
    entry: usize,
    code: &'a str,
    used: bool,
}

/// The findings as this project wants them: silenced ones left out, the others with the severity
/// that counts here.
#[must_use]
pub fn configure(
    checks: &Checks,
    silencers: &[Silencer<'_>],
    findings: Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    let (mut silences, mut reported) = read(silencers);
    let mut by_file: HashMap<(Arc<str>, &str), Vec<usize>> = HashMap::new();
    for (index, silence) in silences.iter().enumerate() {
        by_file
            .entry((Arc::clone(&silence.by.place.source.path), silence.code))
            .or_default()
            .push(index);
    }
    let paths = compiled(checks);
    reported.extend(
        checks
            .codes()
            .filter_map(|(code, place)| unknown_code(code, place.cloned())),
    );
    let mut fixed = HashSet::new();
    let mut said = HashSet::new();
    for mut finding in findings {
        if !said.insert(Saying::of(&finding)) {
            continue;
        }
        let setting = severity(checks, &paths, &finding);
        if is_fixed(&finding) {
            if setting.is_some_and(|setting| setting != SeveritySetting::Severity(Severity::Error))
                && fixed.insert(finding.code)
            {
                let message = format!(
                    "`{}` stays an error: `checks` cannot change what breaks an artifact",
                    finding.code
                );
                reported.push(
                    checks_ineffective::RULE
                        .finding(message)
                        .at_any(checks.place.clone())
                        .field("checks")
                        .help("fix what it reports, and remove the entry"),
                );
            }
        } else {
            let key = finding
                .place
                .as_ref()
                .map(|place| (Arc::clone(&place.source.path), finding.code));
            let there = key.and_then(|key| by_file.get(&key)).into_iter().flatten();
            let silence = there
                .copied()
                .find(|&index| concerns(silences[index].by, &finding));
            if let Some(index) = silence {
                silences[index].used = true;
                continue;
            }
            match setting {
                Some(SeveritySetting::Off) => continue,
                Some(SeveritySetting::Severity(severity)) => finding.severity = severity,
                None => {}
            }
        }
        reported.push(finding);
    }
    let unused = silences.iter().filter(|silence| !silence.used);
    reported.extend(unused.map(|silence| {
        ineffective(
            silence.by,
            silence.entry,
            format!(
                "`{}` is silenced here, but nothing reports it",
                silence.code
            ),
        )
    }));
    reported
}

/// What a finding says and where. Members of a bundle may all have the same to say about one line.
#[derive(PartialEq, Eq, Hash)]
struct Saying {
    code: &'static str,
    place: Option<(Arc<str>, usize)>,
    message: String,
}

impl Saying {
    fn of(finding: &Diagnostic) -> Self {
        let place = finding.place.as_ref();
        Self {
            code: finding.code,
            place: place.map(|place| (Arc::clone(&place.source.path), place.span.start)),
            message: finding.message.clone(),
        }
    }
}

/// An error that takes an artifact out of use stays one: what does not work cannot be wished away.
fn is_fixed(finding: &Diagnostic) -> bool {
    finding.severity == Severity::Error && !finding.code.starts_with("TOOL_SURFACE_")
}

fn concerns(silencer: &Silencer<'_>, finding: &Diagnostic) -> bool {
    silencer.form == Form::File
        || (silencer.tool.is_some() && silencer.tool == finding.tool.as_deref())
}

fn read<'a>(silencers: &'a [Silencer<'a>]) -> (Vec<Silence<'a>>, Vec<Diagnostic>) {
    let (mut silences, mut wrong) = (Vec::new(), Vec::new());
    for by in silencers {
        for (index, entry) in by
            .frontmatter
            .get("checks")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
        {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
            let code = text("code");
            if text("reason").trim().is_empty() {
                wrong.push(ineffective(
                    by,
                    index,
                    format!("`{code}` is not silenced: the entry has no reason"),
                ));
            } else if let Some(finding) = unknown_code(code, Some(by.entry(index))) {
                wrong.push(finding);
            } else {
                silences.push(Silence {
                    by,
                    entry: index,
                    code,
                    used: false,
                });
            }
        }
    }
    (silences, wrong)
}

fn ineffective(by: &Silencer<'_>, entry: usize, message: String) -> Diagnostic {
    let mut finding = checks_ineffective::RULE
        .finding(message)
        .at(by.entry(entry))
        .field("checks");
    finding.tool = by.tool.map(str::to_owned);
    finding.help("write `code` and `reason`, or remove the entry")
}

fn unknown_code(code: &str, place: Option<Place>) -> Option<Diagnostic> {
    if rules().any(|rule| rule.code == code) {
        return None;
    }
    let close = nearest(code, rules().map(|rule| rule.code));
    Some(
        checks_ineffective::RULE
            .finding(format!("`{code}` is not a diagnostic code"))
            .at_any(place)
            .field("checks")
            .help(did_you_mean(close, "`docs/diagnostics` lists the codes")),
    )
}

type PathSettings = Vec<(Pattern, HashMap<String, SeveritySetting>)>;

fn compiled(checks: &Checks) -> PathSettings {
    let of = |path: &str| Pattern::new(path, Separator::Literal).ok();
    checks
        .paths
        .iter()
        .filter_map(|part| Some((of(&part.path)?, part.severity.iter().cloned().collect())))
        .collect()
}

/// The last path that fits and says something about the code counts; then what holds everywhere.
fn severity(
    checks: &Checks,
    paths: &PathSettings,
    finding: &Diagnostic,
) -> Option<SeveritySetting> {
    let path = finding
        .place
        .as_ref()
        .map_or("", |place| &place.source.path);
    let here = paths
        .iter()
        .rev()
        .filter(|(pattern, _)| pattern.is_match(path))
        .find_map(|(_, severity)| severity.get(finding.code));
    let everywhere = || {
        checks
            .severity
            .iter()
            .find(|(code, _)| code == finding.code)
            .map(|(_, setting)| *setting)
    };
    here.copied().or_else(everywhere)
}
