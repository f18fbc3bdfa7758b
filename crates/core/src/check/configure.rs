//! `checks`: how severe a finding is here, and which ones an artifact silences, with a reason.

use super::nearest::nearest;
use super::{RULES, checks_ineffective};
use crate::artifact::Form;
use crate::artifact::root::Checks;
use crate::diagnostic::{Diagnostic, Severity};
use crate::pattern::{Pattern, Separator};
use crate::span::Place;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// An artifact that may silence findings about itself.
pub struct Silencer<'a> {
    /// Its name, when it is a tool.
    pub tool: Option<&'a str>,
    /// How it was written.
    pub form: Form,
    /// Where a reader would look for it.
    pub place: Place,
    /// Its frontmatter.
    pub frontmatter: &'a Value,
}

struct Silence<'a> {
    by: &'a Silencer<'a>,
    code: &'a str,
    used: bool,
}

/// The findings as this project wants them: silenced ones left out, the others with the severity that counts here.
#[must_use]
pub fn configure(checks: &Checks, silencers: &[Silencer<'_>], findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let (mut silences, mut reported) = read(silencers);
    let mut by_file: HashMap<(Arc<str>, &str), Vec<usize>> = HashMap::new();
    for (index, silence) in silences.iter().enumerate() {
        by_file.entry((Arc::clone(&silence.by.place.source.path), silence.code)).or_default().push(index);
    }
    let paths = compiled(checks);
    reported.extend(checks.codes().filter_map(|(code, place)| unknown_code(code, place.cloned())));
    for mut finding in findings {
        if !is_fixed(&finding) {
            let key = finding.place.as_ref().map(|place| (Arc::clone(&place.source.path), finding.code));
            let there = key.and_then(|key| by_file.get(&key)).into_iter().flatten();
            let silence = there.copied().find(|&index| concerns(silences[index].by, &finding));
            if let Some(index) = silence {
                silences[index].used = true;
                continue;
            }
            match severity(checks, &paths, &finding) {
                Some(Setting::Off) => continue,
                Some(Setting::Severity(severity)) => finding.severity = severity,
                None => {}
            }
        }
        reported.push(finding);
    }
    let unused = silences.iter().filter(|silence| !silence.used);
    reported.extend(
        unused.map(|silence| ineffective(silence.by, format!("`{}` is silenced here, and there is nothing to silence", silence.code))),
    );
    reported
}

/// What `checks` makes of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Not reported.
    Off,
    /// Reported like this.
    Severity(Severity),
}

impl Setting {
    /// The setting of a word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Some(match word {
            "off" => Self::Off,
            "note" => Self::Severity(Severity::Note),
            "warning" => Self::Severity(Severity::Warning),
            "error" => Self::Severity(Severity::Error),
            _ => return None,
        })
    }
}

/// An error that takes an artifact out of use stays one: what does not work cannot be wished away.
fn is_fixed(finding: &Diagnostic) -> bool {
    finding.severity == Severity::Error && !finding.code.starts_with("TOOL_SURFACE_")
}

fn concerns(silencer: &Silencer<'_>, finding: &Diagnostic) -> bool {
    silencer.form == Form::File || (silencer.tool.is_some() && silencer.tool == finding.tool.as_deref())
}

fn read<'a>(silencers: &'a [Silencer<'a>]) -> (Vec<Silence<'a>>, Vec<Diagnostic>) {
    let (mut silences, mut wrong) = (Vec::new(), Vec::new());
    for by in silencers {
        for entry in by.frontmatter.get("checks").and_then(Value::as_array).into_iter().flatten() {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
            let code = text("code");
            if text("reason").trim().is_empty() {
                wrong.push(ineffective(by, format!("`{code}` is silenced without a reason, so it is not")));
            } else if let Some(finding) = unknown_code(code, Some(by.place.clone())) {
                wrong.push(finding);
            } else {
                silences.push(Silence { by, code, used: false });
            }
        }
    }
    (silences, wrong)
}

fn ineffective(by: &Silencer<'_>, message: String) -> Diagnostic {
    let mut finding = checks_ineffective::RULE.finding(message).at(by.place.clone()).field("checks");
    finding.tool = by.tool.map(str::to_owned);
    finding.help("write `code` and `reason`, or remove the entry")
}

fn unknown_code(code: &str, place: Option<Place>) -> Option<Diagnostic> {
    if RULES.iter().any(|rule| rule.code == code) {
        return None;
    }
    let close = nearest(code, RULES.iter().map(|rule| rule.code));
    let help = close.map_or_else(|| "`docs/diagnostics` lists the codes".to_owned(), |close| format!("did you mean `{close}`?"));
    Some(checks_ineffective::RULE.finding(format!("`{code}` is no code of a finding")).at_any(place).field("checks").help(help))
}

type Compiled = Vec<(Pattern, HashMap<String, Setting>)>;

fn compiled(checks: &Checks) -> Compiled {
    let of = |path: &str| Pattern::new(path, Separator::Literal).ok();
    checks.paths.iter().filter_map(|part| Some((of(&part.path)?, part.severity.iter().cloned().collect()))).collect()
}

/// The last path that fits and says something about the code counts; then what holds everywhere.
fn severity(checks: &Checks, paths: &Compiled, finding: &Diagnostic) -> Option<Setting> {
    let path = finding.place.as_ref().map_or("", |place| &place.source.path);
    let here = paths.iter().rev().filter(|(pattern, _)| pattern.is_match(path)).find_map(|(_, severity)| severity.get(finding.code));
    let everywhere = || checks.severity.iter().find(|(code, _)| code == finding.code).map(|(_, setting)| *setting);
    here.copied().or_else(everywhere)
}
