//! `task`: background work. Known by name until tasks exist.

use super::{Body, Builtin, Example, Module, PLAIN, Param, Scope};

const ID: Param = Param::text("id");

const TASK: Builtin = Builtin {
    scope: Scope::Tools,
    body: Body::Absent("background work comes with tasks"),
    ..PLAIN
};

pub(super) const MODULE: Module = Module {
    name: "task",
    doc: "Work that goes on in the background.",
    constants: &[],
    calls: &[
        Builtin {
            name: "poll",
            params: &[ID],
            doc: "The status of a task, without waiting.",
            returns: "a dict with `status` and, when it ended, `result`",
            examples: &[Example::new(
                r#"task.poll("t1")"#,
                "error: not available yet",
            )],
            ..TASK
        },
        Builtin {
            name: "wait",
            params: &[
                ID,
                Param::int("timeout_ms").or("null"),
                Param::number("timeout_seconds").or("null"),
            ],
            doc: "Waits until a task ends.",
            returns: "a dict with `status` and, when it ended, `result`",
            examples: &[Example::new(
                r#"task.wait("t1", timeout_ms=100)"#,
                "error: not available yet",
            )],
            ..TASK
        },
        Builtin {
            name: "cancel",
            params: &[ID],
            doc: "Cancels a task.",
            returns: "whether it was still going on",
            examples: &[Example::new(
                r#"task.cancel("t1")"#,
                "error: not available yet",
            )],
            ..TASK
        },
    ],
};
