//! The root artifact: `harness.md`, `harness.yaml` or `harness.yml`.

mod checks;
mod idle;
mod policy;
mod sandbox;
mod secret;

pub use checks::Checks;
pub(crate) use checks::SeveritySetting;
pub(in crate::artifact) use idle::MODEL;
#[cfg(test)]
pub(crate) use policy::ArgConstraint;
pub use policy::Policy;
pub(crate) use policy::{
    BuiltinLists, Capabilities, Ceiling, ListMode, ToolsPolicy, missing_capability,
};
pub(in crate::artifact) use policy::{POLICY_FIELD, TOOLS_POLICY_FIELD, capabilities};
pub use sandbox::Sandbox;
pub(in crate::artifact) use sandbox::{NETWORK_FIELD, SANDBOX_FIELD};
pub(crate) use secret::SecretSource;
pub(in crate::artifact) use secret::{REDACTION_FIELD, SECRETS_FIELD, redaction};

use super::limits::{LIMITS, Limits, limits};
use super::{ArtifactKind, TEXTS, fields_of, hook, tool};
use crate::artifact::fit::{fit, unsupported};
use crate::artifact::node::Node;
use crate::artifact::problem::{Problems, quoted};
use crate::artifact::rule::{format_unknown, not_in_effect, pattern_invalid};
use crate::artifact::shape::{Field, FieldStatus, Shape};
use crate::nearest::backticked;
use crate::pattern::{Pattern, Separator};
use crate::span::{Place, Source, Spanned};
use checks::{CHECKS, checks};
use idle::{
    CONTEXT_FIELD, DELEGATION_FIELD, EXIT_POLICY_FIELD, MCP_SERVERS_FIELD, META_FIELD, MODEL_FIELD,
    MODELS_FIELD, MODES_FIELD, RECORD_FIELD, SERVE_FIELD, STORE_FIELD, TOOL_SEARCH_FIELD,
};
use policy::{policy, tools_policy};
use sandbox::{network, sandbox};
use secret::secrets;
use std::sync::Arc;
use tool_harness_sandbox::network::Domains;

/// `tools` of the root file and of bundles.
pub(in crate::artifact) const TOOLS: Shape =
    Shape::List(&Shape::Inline(tool::INLINE, tool::FIELDS));

/// `hooks` of the root file and of bundles.
pub(in crate::artifact) const HOOKS: Shape =
    Shape::List(&Shape::Inline(hook::INLINE, hook::FIELDS));

pub(in crate::artifact) const FIELDS: &[Field] = &[
    FORMAT,
    MODEL_FIELD,
    MODELS_FIELD,
    CONTEXT_FIELD,
    Field::new(
        "tools",
        TOOLS,
        "none",
        "Tools written inline, each with a `name`.",
    ),
    Field::new(
        "hooks",
        HOOKS,
        "none",
        "Hooks written inline, each with a `name`.",
    ),
    TOOLS_POLICY_FIELD,
    POLICY_FIELD,
    Field::new(
        "approval_policy",
        Shape::Any,
        "none",
        "When a person must agree.",
    )
    .unsupported(),
    NETWORK_FIELD,
    SANDBOX_FIELD,
    LIMITS_FIELD,
    REDACTION_FIELD,
    SECRETS_FIELD,
    Field::new(
        "checks",
        Shape::Record(CHECKS),
        "as each code's page says",
        "How severe findings are here. An error that takes an artifact out of use stays one.",
    ),
    RECORD_FIELD,
    DELEGATION_FIELD,
    META_FIELD,
    MODES_FIELD,
    MCP_SERVERS_FIELD,
    TOOL_SEARCH_FIELD,
    STORE_FIELD,
    SERVE_FIELD,
    EXIT_POLICY_FIELD,
];

pub(in crate::artifact) const FORMAT: Field = Field::new(
    "format",
    Shape::Integer(i64::MIN),
    "1",
    "The version of this format.",
);

pub(in crate::artifact) const LIMITS_FIELD: Field = Field::new(
    "limits",
    Shape::Record(LIMITS),
    "the harness's",
    "Limits of every tool that does not set its own; the smallest of all layers counts.",
);

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

/// Reads every field; a wrong value is reported, and any error makes the root broken.
pub(in crate::artifact) fn read_root(
    problems: &mut Problems<'_>,
    kind: ArtifactKind,
    node: &Node,
    body: String,
) -> Root {
    fit(problems, &[], fields_of(kind), node);
    report_idle(problems, kind, node);
    if let Some(format) = node.get("format")
        && format.integer().is_some_and(|format| format != 1)
    {
        let finding = format_unknown::RULE
            .finding("this version reads `format: 1` only")
            .field("format");
        problems.add(
            finding.help("write `format: 1`, or use a newer harness"),
            format.span,
        );
    }
    Root {
        source: Some(Arc::clone(problems.source)),
        body,
        tools_policy: node
            .get("tools_policy")
            .map(|node| tools_policy(problems, node))
            .unwrap_or_default(),
        policy: node
            .get("policy")
            .map(|node| policy(problems, node))
            .unwrap_or_default(),
        limits: node.get("limits").map(limits).unwrap_or_default(),
        network: node.get("network").map(|node| network(problems, node)),
        sandbox: node.get("sandbox").map(sandbox).unwrap_or_default(),
        redaction: redaction(problems, node.get("redaction"), "redaction"),
        secrets: secrets(problems, node.get("secrets")),
        prose: Vec::new(),
        checks: node
            .get("checks")
            .map(|node| checks(problems, node))
            .unwrap_or_default(),
        modes: Vec::new(),
        unsupported: unsupported(kind, node),
    }
}

/// Reports the fields that nothing uses yet, once for all of them.
fn report_idle(problems: &mut Problems<'_>, kind: ArtifactKind, node: &Node) {
    let idle = |name: &str| {
        fields_of(kind)
            .iter()
            .any(|field| field.name == name && field.status == FieldStatus::Idle)
    };
    let written: Vec<_> = node
        .entries()
        .iter()
        .filter(|(key, value)| idle(&key.name) && !value.is_null() && value.bool() != Some(false))
        .map(|(key, _)| key)
        .collect();
    let [first, others @ ..] = &written[..] else {
        return;
    };
    let names = backticked(written.iter().map(|key| key.name.as_str()));
    let (verb, help) = if others.is_empty() {
        (
            "has",
            "nothing needs changing: it is checked, and waits for a version that uses it",
        )
    } else {
        (
            "have",
            "this note needs no change: they are checked, and will count in a later version",
        )
    };
    let mut finding = not_in_effect::RULE
        .finding(format!("{names} {verb} no effect in this version"))
        .field(first.name.as_str())
        .help(help);
    finding.also = others
        .iter()
        .map(|key| Place::new(problems.source, key.span))
        .collect();
    problems.add(finding, first.span);
}

/// Reports each string of a field, or of its list, that is not a glob.
fn globs(problems: &mut Problems<'_>, node: Option<&Node>, field: &str) {
    let Some(node) = node else { return };
    for item in node.items().iter().chain([node]) {
        if let Some(Err(why)) = item
            .text()
            .map(|text| Pattern::new(text, Separator::Ordinary))
        {
            let finding = pattern_invalid::RULE.finding(format!(
                "{} is not a glob: {why}",
                quoted(item.text().unwrap_or_default())
            ));
            problems.add(
                finding
                    .field(field)
                    .help("write a name or a glob; `\\` before a character makes it literal"),
                item.span,
            );
        }
    }
}
