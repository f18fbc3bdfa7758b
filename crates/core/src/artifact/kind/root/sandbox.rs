//! `network` and `sandbox` of the root file.

use super::TEXTS;
use crate::artifact::kind::permission::domains;
use crate::artifact::node::Node;
use crate::artifact::problem::Problems;
use crate::artifact::shape::{Field, Shape};
use crate::artifact::value::texts;
use crate::containment::Containment;
use crate::span::Spanned;
use tool_harness_sandbox::network::Domains;

pub(in crate::artifact) const NETWORK_FIELD: Field = Field::new(
    "network",
    Shape::Record(NETWORK),
    "no network",
    "Hosts that may be reached.",
);

const NETWORK: &[Field] = &[Field::new(
    "allowed_domains",
    TEXTS,
    "none",
    "Hosts that `http` and processes may reach: `example.com` with its subdomains, `*.example.com` only those, `\"*\"` any public host, an address or a range; each with or without `:PORT`. A layer above only narrows the project's list.",
)];

pub(in crate::artifact) const SANDBOX_FIELD: Field = Field::new(
    "sandbox",
    Shape::Record(SANDBOX),
    "the strongest there is",
    "What scripts and processes may see of this machine.",
);

const SANDBOX: &[Field] = &[
    Field::new(
        "mode",
        Shape::Word(&["on", "off"]),
        "on",
        "Whether processes are contained. `off` counts only in the user's or the machine's file.",
    ),
    Field::new(
        "env",
        TEXTS,
        "none",
        "Environment variables that scripts may read and processes receive. A project's names count once a person trusts it.",
    ),
    Field::new(
        "hidden",
        TEXTS,
        "none",
        "More files and folders that no script and no process sees: absolute, from `~`, or in the workspace.",
    ),
    Field::new(
        "read_only",
        TEXTS,
        "none",
        "Files and folders that no script and no process changes: absolute, from `~`, or in the workspace. It wins over `writable` and over what a tool may write.",
    ),
    Field::new(
        "readable",
        TEXTS,
        "none",
        "Places in hidden folders that processes may still read. Counts only in the user's or the machine's file.",
    ),
    Field::new(
        "writable",
        TEXTS,
        "none",
        "Places outside the workspace that processes may write. Counts only in the user's or the machine's file.",
    ),
];

/// `sandbox`.
#[derive(Clone, Debug, Default)]
pub struct Sandbox {
    /// `mode`, when written.
    pub mode: Option<Spanned<Containment>>,
    /// `env`: environment names.
    pub env: Vec<Spanned<String>>,
    /// `hidden`.
    pub hidden: Vec<Spanned<String>>,
    /// `read_only`.
    pub read_only: Vec<Spanned<String>>,
    /// `readable`.
    pub readable: Vec<Spanned<String>>,
    /// `writable`.
    pub writable: Vec<Spanned<String>>,
}

pub(super) fn network(problems: &mut Problems<'_>, node: &Node) -> Spanned<Domains> {
    let listed = node.get("allowed_domains");
    node.spanned(domains(problems, listed, "network.allowed_domains"))
}

pub(super) fn sandbox(node: &Node) -> Sandbox {
    let mode = node.get("mode").and_then(|mode| {
        let value = match mode.text()? {
            "on" => Containment::On,
            "off" => Containment::Off,
            _ => return None,
        };
        Some(mode.spanned(value))
    });
    let list = |name| texts(node.get(name));
    Sandbox {
        mode,
        env: list("env"),
        hidden: list("hidden"),
        read_only: list("read_only"),
        readable: list("readable"),
        writable: list("writable"),
    }
}
