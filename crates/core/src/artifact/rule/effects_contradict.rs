//! `EFFECTS_CONTRADICT`.

use crate::artifact::tool::{Claim, DeclaredEffects};
use crate::diagnostic::{Rule, Severity};
use crate::effect::Effects;

pub(crate) const RULE: Rule = Rule {
    code: "EFFECTS_CONTRADICT",
    severity: Severity::Error,
    why: "Effects decide what a tool may do and who is asked. When two fields of one tool \
          disagree, trusting either could be wrong.",
    bad: &[(
        ".harness/tools/save_note.md",
        "---\nrisk: write\nsafety:\n  read_only: true\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nSaves the note.\n",
    )],
    good: &[(
        ".harness/tools/save_note.md",
        "---\nrisk: write\nscript: |\n  def run(args):\n      return fs.write(\"note.txt\", \"\")\n---\nSaves the note.\n",
    )],
    check: (),
};

/// Each spelling that contradicts an earlier one, with the first such one. A tool has only a few.
pub(crate) fn contradictions(
    declared: &[DeclaredEffects],
) -> impl Iterator<Item = (&DeclaredEffects, &DeclaredEffects)> {
    declared
        .iter()
        .enumerate()
        .filter_map(move |(index, later)| {
            let earlier = declared[..index]
                .iter()
                .find(|earlier| contradict(earlier.claim, later.claim))?;
            Some((earlier, later))
        })
}

/// Whether no tool can satisfy both claims.
pub(crate) fn contradict(one: Claim, other: Claim) -> bool {
    match (one, other) {
        (Claim::Exactly(a), Claim::Exactly(b)) => a.unflagged() != b.unflagged(),
        (Claim::Exactly(all), Claim::AtLeast(some))
        | (Claim::AtLeast(some), Claim::Exactly(all)) => {
            // A tool that changes nothing destroys nothing.
            !all.contains(some.unflagged())
                || (some.contains(Effects::DESTRUCTIVE) && !all.changes())
        }
        (Claim::Exactly(set) | Claim::AtLeast(set), Claim::Without(none))
        | (Claim::Without(none), Claim::Exactly(set) | Claim::AtLeast(set)) => overlap(set, none),
        (Claim::AtLeast(_), Claim::AtLeast(_)) | (Claim::Without(_), Claim::Without(_)) => false,
    }
}

fn overlap(one: Effects, other: Effects) -> bool {
    one.without(other) != one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_contradict_when_no_set_satisfies_both() {
        let write = Effects::READ | Effects::WRITE;
        for (one, other, expected) in [
            (
                Claim::Exactly(write),
                Claim::Exactly(write | Effects::DESTRUCTIVE),
                false,
            ),
            (Claim::Exactly(write), Claim::Exactly(Effects::READ), true),
            (Claim::Exactly(write), Claim::AtLeast(Effects::SPEND), false),
            (Claim::Exactly(write), Claim::AtLeast(Effects::EXEC), true),
            (
                Claim::Exactly(write),
                Claim::AtLeast(Effects::DESTRUCTIVE),
                false,
            ),
            (
                Claim::Exactly(Effects::READ),
                Claim::AtLeast(Effects::DESTRUCTIVE),
                true,
            ),
            (
                Claim::Exactly(write),
                Claim::Without(Effects::WRITE | Effects::EXEC),
                true,
            ),
            (
                Claim::Exactly(write),
                Claim::Without(Effects::NET_READ | Effects::NET_WRITE),
                false,
            ),
            (
                Claim::AtLeast(Effects::EXEC),
                Claim::Without(Effects::EXEC),
                true,
            ),
            (Claim::AtLeast(Effects::EXEC), Claim::AtLeast(write), false),
        ] {
            assert_eq!(contradict(one, other), expected, "{one:?} {other:?}");
            assert_eq!(contradict(other, one), expected, "{other:?} {one:?}");
        }
    }
}
