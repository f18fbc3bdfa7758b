//! `HOOK_WITHOUT_HOSTS`.

use super::Check;
use crate::artifact::permission::PermissionKind;
use crate::check::reach::reached;
use crate::check::subject::{Findings, HookSubject};
use crate::diagnostic::{Rule, Severity};
use crate::effect::Effects;

pub(super) const RULE: Rule<Check> = Rule {
    code: "HOOK_WITHOUT_HOSTS",
    severity: Severity::Warning,
    why: "A hook can use the network only if its `permissions` name hosts. This one sends \
          requests and names no hosts, so each request is refused, and a gating hook then stops \
          the call.",
    bad: &[(
        ".harness/hooks/ask_scanner.md",
        "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      scanned = http.post(\"https://scanner.example/\", payload[\"arguments\"])\n      return allow() if scanned[\"ok\"] else block(\"the scanner refuses it\")\n---\nAsks the scanner.\n",
    )],
    good: &[
        (
            ".harness/hooks/ask_scanner.md",
            "---\nevent: tool.pre\npermissions:\n  - {kind: network, hosts: [scanner.example]}\nscript: |\n  def handle(event, payload):\n      scanned = http.post(\"https://scanner.example/\", payload[\"arguments\"])\n      return allow() if scanned[\"ok\"] else block(\"the scanner refuses it\")\n---\nAsks the scanner.\n",
        ),
        (
            "harness.md",
            "---\nnetwork: {allowed_domains: [scanner.example]}\n---\nYou are careful.\n",
        ),
    ],
    check: Check::Hook(check),
};

fn check(subject: &HookSubject<'_>, findings: &mut Findings<'_>) {
    let names_hosts = |kind: &PermissionKind| matches!(kind, PermissionKind::Network { hosts } if !hosts.is_empty());
    if subject
        .hook
        .permissions
        .iter()
        .any(|permission| names_hosts(&permission.kind))
    {
        return;
    }
    for (script, facts) in &subject.scripts {
        let sends = reached(facts).find(|(_, builtin)| builtin.effects.contains(Effects::NET_READ));
        if let Some((named, _)) = sends {
            findings.add(
                RULE.finding(format!("`{}` is refused: this hook's `permissions` name no hosts", named.name))
                    .at(script.place_of(named.position()))
                    .field("script")
                    .help("add `{kind: network, hosts: [...]}` to its `permissions`; `network.allowed_domains` must list them too"),
            );
        }
    }
}
