//! The names scripts start with, made before the worker is confined.

use super::globals::{Table, globals, standard};
use super::meter::Meter;
use super::script::{Script, bounded};
use starlark::environment::{Globals, Module};
use starlark::values::Value;
use std::cell::OnceCell;
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::Budget;

/// Touches each part of the evaluator, and ends in an error because errors are a part of it.
const FIRST_SCRIPT: &str = r#"
TABLE = {"a": [1, 2.5, 1 << 70], "b": (True, None)}
def run(args):
  items = sorted([len(x) for x in TABLE.values()], key = lambda x: -x)
  text = f"{items} {TABLE!r}" + "%s %d" % ("a", 1) + "{}".format(1.5) + struct(a = 1).a * "x" + str(set([1]))
  return text.upper().split(" ")[100]
"#;

/// The globals of each kind of script, made when the first of its kind comes: a worker for hooks meets no tools.
pub(crate) struct Names {
    standard: Globals,
    table: Table,
    tool: OnceCell<Globals>,
    hook: OnceCell<Globals>,
}

impl Names {
    /// Builds Starlark's own names, and runs a script so that whatever the evaluator looks up once has been looked up.
    pub(crate) fn prepare(table: Table) -> Self {
        let names = Self {
            standard: standard(),
            table,
            tool: OnceCell::new(),
            hook: OnceCell::new(),
        };
        names.run_first_script();
        names
    }

    pub(super) fn of(&self, kind: ScriptKind) -> &Globals {
        match kind {
            ScriptKind::Tool => self
                .tool
                .get_or_init(|| globals(&self.standard, self.table, ScriptKind::Tool)),
            ScriptKind::Hook | ScriptKind::When => self
                .hook
                .get_or_init(|| globals(&self.standard, self.table, ScriptKind::Hook)),
        }
    }

    fn run_first_script(&self) {
        let meter = Meter::start(&Budget {
            wall_ms: 0,
            cpu_ms: 0,
            memory_bytes: 0,
            result_bytes: 0,
        });
        let script = Script::new(ScriptKind::Tool, FIRST_SCRIPT.to_owned(), Vec::new());
        Module::with_temp_heap(|module| {
            if let Ok(entry) = script.entry(&self.standard, &meter, None) {
                let function = module.heap().access_owned_frozen_value(&entry);
                // It fails on purpose.
                let _ = bounded(&module, &meter).eval_function(function, &[Value::new_none()], &[]);
            }
        });
    }
}
