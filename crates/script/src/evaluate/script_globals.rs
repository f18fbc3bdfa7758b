//! The globals of each kind of script, prepared before the worker confines itself.

use super::globals::{BuiltinTable, globals, standard};
use super::meter::Meter;
use super::script::{LoadedScript, bounded};
use starlark::environment::{Globals, Module};
use starlark::values::Value;
use std::cell::OnceCell;
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::Budget;

/// Uses each part of the evaluator. It ends in an error because errors are one of them.
const FIRST_SCRIPT: &str = r#"
TABLE = {"a": [1, 2.5, 1 << 70], "b": (True, None)}
def run(args):
  items = sorted([len(x) for x in TABLE.values()], key = lambda x: -x)
  text = f"{items} {TABLE!r}" + "%s %d" % ("a", 1) + "{}".format(1.5) + struct(a = 1).a * "x" + str(set([1]))
  return text.upper().split(" ")[100]
"#;

/// Globals by kind of script, built on first use: a worker for hooks never runs a tool.
pub(crate) struct ScriptGlobals {
    standard: Globals,
    table: BuiltinTable,
    tool: OnceCell<Globals>,
    hook: OnceCell<Globals>,
}

impl ScriptGlobals {
    /// Builds Starlark's own globals, and runs a script so that the evaluator initialises its
    /// caches.
    pub(crate) fn prepare(table: BuiltinTable) -> Self {
        let globals = Self {
            standard: standard(),
            table,
            tool: OnceCell::new(),
            hook: OnceCell::new(),
        };
        globals.run_first_script();
        globals
    }

    pub(super) fn of(&self, kind: ScriptKind) -> &Globals {
        match kind {
            ScriptKind::Tool => self
                .tool
                .get_or_init(|| globals(&self.standard, self.table, ScriptKind::Tool)),
            ScriptKind::Hook | ScriptKind::When | ScriptKind::Condition => self
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
        let script = LoadedScript::new(ScriptKind::Tool, FIRST_SCRIPT.to_owned(), Vec::new());
        Module::with_temp_heap(|module| {
            if let Ok(entry) = script.entry(&self.standard, &meter, None) {
                let function = module.heap().access_owned_frozen_value(&entry.function);
                // The script fails on purpose.
                let _ = bounded(&module, &meter).eval_function(function, &[Value::new_none()], &[]);
            }
        });
    }
}
