//! The root artifact: `harness.md`, `harness.yaml` or `harness.yml`.

use super::tool::Limits;
use crate::containment::Containment;
use crate::diagnostic::Severity;
use crate::effect::{Effects, Level};
use crate::pattern::{Pattern, Separator};
use crate::span::{Place, Source, Span, Spanned};
use std::sync::Arc;
use tool_harness_sandbox::network::Domains;

/// The project's settings. Without a root file every field has its default.
#[derive(Clone, Debug, Default)]
pub struct Root {
    /// The file, if there is one.
    pub source: Option<Arc<Source>>,
    /// The body: the system prompt.
    pub body: String,
    /// `tools_policy`.
    pub tools_policy: ToolsPolicy,
    /// `policy`.
    pub policy: Policy,
    /// `limits`.
    pub limits: Limits,
    /// `network.allowed_domains`, when `network` is written.
    pub network: Option<Spanned<Domains>>,
    /// `sandbox`.
    pub sandbox: Sandbox,
    /// `redaction`: names of fields, and patterns between slashes.
    pub redaction: Vec<Spanned<String>>,
    /// `secrets`: name to where it comes from.
    pub secrets: Vec<(String, Spanned<SecretSource>)>,
    /// Other texts that may reach a model: bodies of modes, agents, skills, contexts and bundles.
    pub prose: Vec<Place>,
    /// `checks`.
    pub checks: Checks,
    /// Mode files. The harness does not enforce them yet, so each refuses every call.
    pub modes: Vec<Place>,
    /// Fields the author wrote that restrict calls and are not enforced yet; each refuses every
    /// call.
    pub unsupported: Vec<Spanned<&'static str>>,
}

/// Where a secret comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// `env:VAR`.
    Variable(String),
    /// `file:PATH`: absolute, or from `~`.
    File(String),
    /// `command: [...]`.
    Command(Vec<String>),
}

/// `checks`: how severe findings are here.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    /// Code to severity, everywhere.
    pub severity: Vec<(String, SeveritySetting)>,
    /// Code to severity, for some files.
    pub paths: Vec<CheckedPaths>,
    /// How many tokens a model's context has, when written.
    pub context_tokens: Option<u64>,
    /// Whether fenced code in texts is checked.
    pub scan_fences: bool,
    /// Where it was written.
    pub place: Option<Place>,
}

/// One entry of `checks.paths`.
#[derive(Clone, Debug)]
pub struct CheckedPaths {
    /// Glob over paths.
    pub path: String,
    /// Code to severity.
    pub severity: Vec<(String, SeveritySetting)>,
}

impl Checks {
    /// Every code that is named, with the place of `checks`.
    pub fn codes(&self) -> impl Iterator<Item = (&str, Option<&Place>)> {
        let all = self
            .severity
            .iter()
            .chain(self.paths.iter().flat_map(|part| &part.severity));
        all.map(|(code, _)| (code.as_str(), self.place.as_ref()))
    }
}

/// `sandbox`.
#[derive(Clone, Debug, Default)]
pub struct Sandbox {
    /// `mode`, when written.
    pub mode: Option<Spanned<Containment>>,
    /// `env`: environment names.
    pub env: Vec<Spanned<String>>,
    /// `hidden`.
    pub hidden: Vec<Spanned<String>>,
    /// `readable`.
    pub readable: Vec<Spanned<String>>,
    /// `writable`.
    pub writable: Vec<Spanned<String>>,
}

/// `tools_policy`.
#[derive(Clone, Debug, Default)]
pub struct ToolsPolicy {
    /// `mode`, when written.
    pub mode: Option<Spanned<ListMode>>,
    /// `allow` globs.
    pub allow: Vec<Spanned<String>>,
    /// `deny` globs.
    pub deny: Vec<Spanned<String>>,
}

/// How `tools_policy` reads its lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListMode {
    /// Tools that are not allowed are denied.
    Allowlist,
    /// Tools that are not denied are allowed.
    Denylist,
}

/// `policy`.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// `side_effect_level` or `effects`.
    pub ceiling: Option<Spanned<Ceiling>>,
    /// `capabilities`: capability to allowed operations; absent means all.
    pub capabilities: Option<Spanned<Capabilities>>,
    /// `tool_arg_constraints`.
    pub constraints: Vec<Spanned<ArgConstraint>>,
}

/// Capability to operations.
pub type Capabilities = Vec<(String, Vec<String>)>;

/// The most a tool may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ceiling {
    /// A side-effect level; ranks are compared.
    Level(Level),
    /// Exactly these effects.
    Effects(Effects),
}

impl Ceiling {
    /// Why these effects are more than the ceiling admits; `None` when they are not.
    pub(crate) fn exceeded_by(self, effects: Effects) -> Option<String> {
        match self {
            Self::Level(level) => {
                let needed = Level::of(effects);
                (needed > level).then(|| {
                    format!(
                        "the tool needs `{}` and the ceiling is `{}`",
                        needed.word(),
                        level.word()
                    )
                })
            }
            Self::Effects(allowed) => {
                let more = effects.unflagged().without(allowed);
                (!more.is_empty())
                    .then(|| format!("the tool needs {more}, which the policy does not list"))
            }
        }
    }
}

/// Which capability a tool wants that the policy does not list, as a sentence.
pub(crate) fn missing_capability(
    allowed: &[(String, Vec<String>)],
    wanted: &[(String, Vec<String>)],
) -> Option<String> {
    wanted.iter().find_map(|(capability, operations)| {
        let Some((_, listed)) = allowed.iter().find(|(name, _)| name == capability) else {
            return Some(format!(
                "the tool wants the capability `{capability}`, which the policy does not list"
            ));
        };
        let is_listed = |operation: &String| {
            let glob = |listed: &&String| listed.contains(['*', '?', '[', '{']);
            let matches = |listed: &String| {
                Pattern::new(listed, Separator::Ordinary)
                    .is_ok_and(|pattern| pattern.is_match(operation))
            };
            listed.contains(operation) || listed.iter().filter(glob).any(matches)
        };
        let missing = operations.iter().find(|operation| !is_listed(operation))?;
        Some(format!(
            "the tool wants `{capability}: {missing}`, which the policy does not list"
        ))
    })
}

/// One entry of `tool_arg_constraints`.
#[derive(Clone, Debug)]
pub struct ArgConstraint {
    /// Glob over tool names.
    pub tool: String,
    /// The argument; absent means every declared path argument.
    pub arg_key: Option<String>,
    /// Globs, one of which the value must match.
    pub arg_patterns: Vec<String>,
    /// The place of the entry.
    pub span: Span,
}

/// What `checks` sets a code to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeveritySetting {
    /// Not reported.
    Off,
    /// Reported like this.
    Severity(Severity),
}

impl SeveritySetting {
    /// Parses a setting.
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
