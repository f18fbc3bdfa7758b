//! What other harnesses offer to scripts under names that do not exist here.

/// Each name, and what to write instead.
const ELSEWHERE: [(&str, &str); 5] = [
    (
        "ctx.agent",
        "`ctx` holds values only: keep a flag with `ctx.set(\"done\", True)` for the turn, or with `state.set` for the session",
    ),
    ("events", "write `emit(name, payload)`"),
    ("log.warning", "write `log.warn(message)`"),
    (
        "meta.register_agent",
        "an agent is a file in `.harness/agents`; scripts cannot add one",
    ),
    (
        "parallel",
        "a script makes its calls one after the other; the calls that a model makes in one turn already run at the same time",
    ),
];

/// What to write instead of a name such as `parallel` or `ctx.agent`.
pub(crate) fn elsewhere(name: &str) -> Option<&'static str> {
    ELSEWHERE
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, instead)| *instead)
}
