//! Every spelling of effects a tool's author used, as claims that can be compared.

use super::TEXTS;
use crate::artifact::node::Node;
use crate::artifact::shape::{Field, Shape};
use crate::effect::{Effects, Level};
use crate::span::Span;

/// The words of side-effect levels.
pub(in crate::artifact) const LEVELS: Shape = Shape::Word(&[
    "none",
    "read_only",
    "workspace_write",
    "process_exec",
    "network_read",
    "network",
    "desktop_control",
]);

/// The words of effects.
pub(in crate::artifact) const EFFECTS: Shape = Shape::List(&Shape::Word(&[
    "read",
    "write",
    "exec",
    "net_read",
    "net_write",
    "desktop",
    "destructive",
    "spend",
]));

pub(super) const SAFETY: &[Field] = &[
    Field::new(
        "read_only",
        Shape::Bool,
        "inferred",
        "The tool changes nothing.",
    ),
    Field::new(
        "idempotent",
        Shape::Bool,
        "false",
        "A repeated call changes nothing more.",
    ),
    Field::new(
        "local_only",
        Shape::Bool,
        "inferred",
        "The tool does not use the network.",
    ),
    Field::new(
        "filesystem",
        Shape::Word(&["none", "read", "write"]),
        "inferred",
        "What the tool does with files.",
    ),
    Field::new(
        "process",
        Shape::Bool,
        "inferred",
        "The tool starts processes.",
    ),
    Field::new("spend", Shape::Bool, "false", "A call costs money."),
    Field::new(
        "confirm",
        Shape::Bool,
        "false",
        "Same as `requires_approval: true`.",
    ),
    Field::new(
        "workspace_root",
        Shape::Text,
        "the workspace",
        "The folder of the workspace that the tool is limited to.",
    ),
    Field::new(
        "redact",
        TEXTS,
        "none",
        "What is removed from this tool's results: the name of a field (`*` matches anything), or a pattern between slashes.",
    ),
];

/// One spelling of a tool's effects.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredEffects {
    /// The spelling, as `risk: write`.
    pub spelling: String,
    /// Its place.
    pub span: Span,
    /// What it claims about the set.
    pub claim: Claim,
}

/// What one spelling says about the effect set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The set is exactly this (`risk`, `side_effect_level`).
    Exactly(Effects),
    /// The set holds at least this (`safety.process: true`, `safety.spend: true`, `destructiveHint:
    /// true`).
    AtLeast(Effects),
    /// None of these are in the set (`safety.local_only: true`, `read_only: true`).
    Without(Effects),
}

/// The author's spellings of effects, taken together.
#[derive(Default)]
pub(crate) struct DeclaredBounds {
    /// The sets given in full, joined; absent when no spelling gives one.
    pub(crate) exactly: Option<Effects>,
    /// What some spelling adds.
    pub(crate) at_least: Effects,
    /// What some spelling rules out.
    pub(crate) without: Effects,
}

impl DeclaredBounds {
    pub(crate) fn of(spellings: &[DeclaredEffects]) -> Self {
        let mut declared = Self::default();
        for spelling in spellings {
            match spelling.claim {
                Claim::Exactly(set) => {
                    declared.exactly = Some(declared.exactly.unwrap_or_default() | set)
                }
                Claim::AtLeast(set) => declared.at_least |= set,
                Claim::Without(set) => declared.without |= set,
            }
        }
        declared
    }
}

const MUTATES: Effects = Effects::WRITE
    .and(Effects::EXEC)
    .and(Effects::NET_WRITE)
    .and(Effects::DESKTOP)
    .and(Effects::DESTRUCTIVE);
const NETWORK: Effects = Effects::NET_READ.and(Effects::NET_WRITE);
const FILES: Effects = Effects::READ.and(Effects::WRITE);

/// Where effects are spelled, in the order of the claims.
const SPELLINGS: [&[&str]; 10] = [
    &["risk"],
    &["annotations", "side_effect_level"],
    &["annotations", "readOnlyHint"],
    &["annotations", "destructiveHint"],
    &["annotations", "openWorldHint"],
    &["safety", "read_only"],
    &["safety", "local_only"],
    &["safety", "filesystem"],
    &["safety", "process"],
    &["safety", "spend"],
];

/// One entry per spelling, in a fixed order. A value of the wrong type was reported and claims
/// nothing.
pub(crate) fn declared_effects(node: &Node) -> Vec<DeclaredEffects> {
    let mut declared = Vec::new();
    for path in SPELLINGS {
        let Some(value) = node.at(path) else {
            continue;
        };
        let written = value
            .text()
            .map_or_else(|| value.to_json().to_string(), str::to_owned);
        declared.extend(
            claims(path, value)
                .into_iter()
                .map(|claim| DeclaredEffects {
                    spelling: format!("{}: {written}", path.join(".")),
                    span: value.span,
                    claim,
                }),
        );
    }
    declared
}

fn claims(path: &[&str], value: &Node) -> Vec<Claim> {
    let (text, flag) = (value.text(), value.bool());
    match (path, text, flag) {
        (["risk"], Some(word), _) => risk(word).into_iter().collect(),
        ([_, "side_effect_level"], Some(word), _) => {
            let effects = Level::named(word).map(Level::effects);
            effects.map(Claim::Exactly).into_iter().collect()
        }
        ([_, "readOnlyHint" | "read_only"], _, Some(true)) => vec![Claim::Without(MUTATES)],
        ([_, "destructiveHint"], _, Some(does)) => vec![whether(does, Effects::DESTRUCTIVE)],
        // A process can also reach the open world, so only the closed one is a claim.
        ([_, "openWorldHint"], _, Some(false)) => vec![Claim::Without(NETWORK)],
        ([_, "local_only"], _, Some(true)) => vec![Claim::Without(NETWORK)],
        ([_, "local_only"], _, Some(false)) => vec![Claim::AtLeast(Effects::NET_READ)],
        ([_, "filesystem"], Some("none"), _) => vec![Claim::Without(FILES)],
        ([_, "filesystem"], Some("read"), _) => vec![
            Claim::AtLeast(Effects::READ),
            Claim::Without(Effects::WRITE),
        ],
        ([_, "filesystem"], Some("write"), _) => vec![Claim::AtLeast(FILES)],
        ([_, "process"], _, Some(does)) => vec![whether(does, Effects::EXEC)],
        ([_, "spend"], _, Some(does)) => vec![whether(does, Effects::SPEND)],
        _ => Vec::new(),
    }
}

fn whether(does: bool, effects: Effects) -> Claim {
    if does {
        Claim::AtLeast(effects)
    } else {
        Claim::Without(effects)
    }
}

fn risk(word: &str) -> Option<Claim> {
    Some(match word {
        "safe" => Claim::Exactly(Effects::NONE),
        "read" => Claim::Exactly(Effects::READ),
        "write" => Claim::Exactly(FILES),
        "execute" => Claim::Exactly(Level::ProcessExec.effects()),
        "network" => Claim::Exactly(Level::Network.effects()),
        "destructive" => Claim::AtLeast(FILES.and(Effects::DESTRUCTIVE)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::yaml::parse;
    use crate::span::{Source, Span};

    fn check(yaml: &str, expected: &[(&str, Claim)]) {
        let source = Source::new("x.md", yaml);
        let node = parse(&source, Span::new(0, yaml.len()))
            .0
            .expect("good yaml");
        let seen: Vec<_> = declared_effects(&node)
            .into_iter()
            .map(|declared| (declared.spelling, declared.claim))
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|&(spelling, claim)| (spelling.to_owned(), claim))
            .collect();
        assert_eq!(seen, expected, "{yaml}");
    }

    #[test]
    fn each_spelling_is_one_claim() {
        check(
            "risk: safe",
            &[("risk: safe", Claim::Exactly(Effects::NONE))],
        );
        check(
            "risk: destructive",
            &[(
                "risk: destructive",
                Claim::AtLeast(FILES | Effects::DESTRUCTIVE),
            )],
        );
        check("risk: daring", &[]);
        check(
            "annotations: { side_effect_level: network_read, readOnlyHint: true, openWorldHint: true }",
            &[
                (
                    "annotations.side_effect_level: network_read",
                    Claim::Exactly(Effects::READ | Effects::NET_READ),
                ),
                ("annotations.readOnlyHint: true", Claim::Without(MUTATES)),
            ],
        );
        check(
            "safety: { local_only: true, filesystem: read, process: false, spend: true }",
            &[
                ("safety.local_only: true", Claim::Without(NETWORK)),
                ("safety.filesystem: read", Claim::AtLeast(Effects::READ)),
                ("safety.filesystem: read", Claim::Without(Effects::WRITE)),
                ("safety.process: false", Claim::Without(Effects::EXEC)),
                ("safety.spend: true", Claim::AtLeast(Effects::SPEND)),
            ],
        );
    }

    #[test]
    fn a_spelling_of_the_wrong_type_claims_nothing_and_the_others_count() {
        check(
            "safety: { read_only: sometimes, spend: true }",
            &[("safety.spend: true", Claim::AtLeast(Effects::SPEND))],
        );
    }
}
