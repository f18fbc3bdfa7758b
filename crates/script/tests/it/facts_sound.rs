//! Static reach is sound: `facts` lists every built-in that a script calls when it runs.

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use starlark::environment::{Globals, GlobalsBuilder, Module as Script};
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::syntax::{AstModule, Dialect};
use starlark::values::Value;
use starlark::values::tuple::UnpackTuple;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use tool_harness::Effects;
use tool_harness::builtin::{Body, Builtin, Module, Scope, Shape};
use tool_harness::facts::ScriptKind;
use tool_harness_script::check::facts;

const fn absent(name: &'static str) -> Builtin {
    Builtin {
        name,
        params: &[],
        doc: "",
        returns: "",
        effects: Effects::NONE,
        scope: Scope::Both,
        shape: Shape::Plain,
        body: Body::Absent("a test"),
        examples: &[],
    }
}

const fn module(name: &'static str, calls: &'static [Builtin]) -> Module {
    Module {
        name,
        doc: "",
        constants: &[],
        calls,
    }
}

/// Every namespace has the same calls, so that any of them can replace another.
const MEMBERS: [&str; 3] = ["get", "put", "drop"];
const CALLS: &[Builtin] = &[absent("get"), absent("put"), absent("drop")];
const SPACES: [&str; 4] = ["fs", "http", "state", "log"];
const GLOBALS: [&str; 2] = ["env", "emit"];
const MODULES: &[&Module] = &[
    &module("fs", CALLS),
    &module("http", CALLS),
    &module("state", CALLS),
    &module("log", CALLS),
    &module("", &[absent("env"), absent("emit")]),
];
const EVERY_CALL: usize = SPACES.len() * MEMBERS.len() + GLOBALS.len();

thread_local! {
    static CALLED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

fn called(name: &str) -> String {
    CALLED.with_borrow_mut(|called| called.insert(name.to_owned()));
    "answer".to_owned()
}

/// The members of a namespace. Each records its own name when called.
macro_rules! members {
    ($space:ident) => {
        #[starlark_module]
        fn $space(builder: &mut GlobalsBuilder) {
            fn get(#[starlark(args)] _rest: UnpackTuple<Value<'_>>) -> starlark::Result<String> {
                Ok(called(concat!(stringify!($space), ".get")))
            }
            fn put(#[starlark(args)] _rest: UnpackTuple<Value<'_>>) -> starlark::Result<String> {
                Ok(called(concat!(stringify!($space), ".put")))
            }
            fn drop(#[starlark(args)] _rest: UnpackTuple<Value<'_>>) -> starlark::Result<String> {
                Ok(called(concat!(stringify!($space), ".drop")))
            }
        }
    };
}

members!(fs);
members!(http);
members!(state);
members!(log);

#[starlark_module]
fn plain(builder: &mut GlobalsBuilder) {
    fn env(#[starlark(args)] _rest: UnpackTuple<Value<'_>>) -> starlark::Result<String> {
        Ok(called("env"))
    }
    fn emit(#[starlark(args)] _rest: UnpackTuple<Value<'_>>) -> starlark::Result<String> {
        Ok(called("emit"))
    }
}

fn globals() -> Globals {
    GlobalsBuilder::standard()
        .with(plain)
        .with_namespace("fs", fs)
        .with_namespace("http", http)
        .with_namespace("state", state)
        .with_namespace("log", log)
        .build()
}

/// Runs a script; returns what it called and the error it ended with.
fn run(source: &str, globals: &Globals) -> (BTreeSet<String>, Option<String>) {
    let dialect = Dialect {
        enable_f_strings: true,
        enable_keyword_only_arguments: true,
        ..Dialect::Standard
    };
    CALLED.with_borrow_mut(BTreeSet::clear);
    let outcome = AstModule::parse("script", source.to_owned(), &dialect).and_then(|script| {
        Script::with_temp_heap(|module| {
            Evaluator::new(&module)
                .eval_module(script, globals)
                .map(|_| ())
        })
    });
    (
        CALLED.with_borrow(Clone::clone),
        outcome.err().map(|error| error.to_string()),
    )
}

/// What a variable holds.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Space,
    Call,
}

/// Generates a runnable script from a list of choices. It knows the kind of every variable in scope, so that most expressions are calls.
struct Writer<'a> {
    choices: std::slice::Iter<'a, u16>,
    text: String,
    indent: usize,
    /// The readable variables of each scope.
    scopes: Vec<Vec<(String, Kind)>>,
    /// How many names it has generated.
    fresh: usize,
}

impl Writer<'_> {
    fn script(choices: &[u16]) -> String {
        let mut writer = Writer {
            choices: choices.iter(),
            text: String::new(),
            indent: 0,
            scopes: vec![Vec::new()],
            fresh: 0,
        };
        if writer.pick(6) == 0 {
            let (shadow, of) = writer.two_spaces();
            writer.line(&format!("{shadow} = {of}"));
        }
        for _ in 0..writer.pick(3) {
            writer.assignment();
        }
        for _ in 0..=writer.pick(3) {
            writer.function();
        }
        writer.text
    }

    /// A number below `count`; zero, always the simplest choice, when the choices have run out.
    fn pick(&mut self, count: usize) -> usize {
        self.choices
            .next()
            .map_or(0, |&choice| usize::from(choice) % count)
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(&"  ".repeat(self.indent));
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn name(&mut self) -> String {
        self.fresh += 1;
        format!("v{}", self.fresh)
    }

    fn two_spaces(&mut self) -> (&'static str, &'static str) {
        let first = self.pick(SPACES.len());
        let second = (first + 1 + self.pick(SPACES.len() - 1)) % SPACES.len();
        (SPACES[first], SPACES[second])
    }

    fn bind(&mut self, name: &str, kind: Kind) {
        self.scopes
            .last_mut()
            .expect("a scope")
            .push((name.to_owned(), kind));
    }

    fn variable(&mut self, kind: Kind) -> Option<String> {
        let all: Vec<&str> = self
            .scopes
            .iter()
            .flatten()
            .filter(|(_, of)| *of == kind)
            .map(|(name, _)| name.as_str())
            .collect();
        if all.is_empty() {
            return None;
        }
        let names: Vec<String> = all.into_iter().map(str::to_owned).collect();
        let index = self.pick(names.len());
        names.get(index).cloned()
    }

    /// An expression that evaluates to a namespace.
    fn space(&mut self, depth: usize) -> String {
        let choice = if depth == 0 {
            self.pick(3)
        } else {
            self.pick(14)
        };
        let inner = depth.saturating_sub(1);
        match choice {
            0 => SPACES[self.pick(SPACES.len())].to_owned(),
            1..=3 => self
                .variable(Kind::Space)
                .unwrap_or_else(|| "http".to_owned()),
            4 => format!(
                "({} if {} else {})",
                self.space(inner),
                self.condition(inner),
                self.space(inner)
            ),
            5 => format!("[{}][0]", self.space(inner)),
            6 => format!("{{'k': {}}}['k']", self.space(inner)),
            7 => format!("(lambda: {})()", self.space(inner)),
            8 => {
                let name = self.parameter();
                let argument = self.space(inner);
                self.inside(&name, Kind::Space, |writer| {
                    format!("(lambda {name}: {})({argument})", writer.space(inner))
                })
            }
            9 => {
                let name = self.parameter();
                let over = self.space(inner);
                self.inside(&name, Kind::Space, |writer| {
                    format!("[{} for {name} in [{over}]][0]", writer.space(inner))
                })
            }
            10 => format!("({} or 1)", self.space(inner)),
            11 => {
                let name = self.parameter();
                let default = self.space(inner);
                self.inside(&name, Kind::Space, |writer| {
                    format!("(lambda {name}={default}: {})()", writer.space(inner))
                })
            }
            12 => format!("({},)[-1]", self.space(inner)),
            _ => {
                let name = self.parameter();
                let over = self.space(inner);
                self.inside(&name, Kind::Space, |writer| {
                    format!(
                        "{{'k': {} for {name} in [{over}]}}['k']",
                        writer.space(inner)
                    )
                })
            }
        }
    }

    /// An expression that evaluates to something callable.
    fn callable(&mut self, depth: usize) -> String {
        let inner = depth.saturating_sub(1);
        match if depth == 0 {
            self.pick(4)
        } else {
            self.pick(11)
        } {
            0 | 1 => format!(
                "{}.{}",
                self.space(inner),
                MEMBERS[self.pick(MEMBERS.len())]
            ),
            2 => GLOBALS[self.pick(GLOBALS.len())].to_owned(),
            3 => self
                .variable(Kind::Call)
                .unwrap_or_else(|| "fs.get".to_owned()),
            4 => format!(
                "getattr({}, '{}')",
                self.space(inner),
                MEMBERS[self.pick(MEMBERS.len())]
            ),
            5 => format!(
                "[{}, {}][{}]",
                self.callable(inner),
                self.callable(inner),
                self.pick(2)
            ),
            6 => format!("{{'k': {}}}.get('k')", self.callable(inner)),
            7 => format!("(lambda *a: {}(*a))", self.callable(inner)),
            8 => format!(
                "({} if {} else {})",
                self.callable(inner),
                self.condition(inner),
                self.callable(inner)
            ),
            9 => {
                let (name, over) = (self.parameter(), self.callable(inner));
                format!("[{name} for {name} in [{over}]][0]")
            }
            _ => format!("(lambda f: f)({})", self.callable(inner)),
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        match self.pick(4) {
            0 => "True".to_owned(),
            1 => "len('') > 0".to_owned(),
            2 => "hasattr(state, 'get')".to_owned(),
            _ => format!("{}('x')", self.callable(depth)),
        }
    }

    /// A name for a parameter or a loop: new, or one that shadows a namespace.
    fn parameter(&mut self) -> String {
        if self.pick(3) == 0 {
            SPACES[self.pick(SPACES.len())].to_owned()
        } else {
            self.name()
        }
    }

    fn inside(
        &mut self,
        name: &str,
        kind: Kind,
        write: impl FnOnce(&mut Self) -> String,
    ) -> String {
        self.scopes.push(vec![(name.to_owned(), kind)]);
        let text = write(self);
        self.scopes.pop();
        text
    }

    fn assignment(&mut self) {
        let name = self.name();
        match self.pick(6) {
            0 | 1 => {
                let value = self.space(0);
                self.line(&format!("{name} = {value}"));
                self.bind(&name, Kind::Space);
            }
            2 => {
                let value = self.space(2);
                self.line(&format!("{name} = {value}"));
                self.bind(&name, Kind::Space);
            }
            3 => {
                let (first, second) = (self.space(1), self.callable(1));
                let other = self.name();
                self.line(&format!("{name}, {other} = {first}, {second}"));
                self.bind(&name, Kind::Space);
                self.bind(&other, Kind::Call);
            }
            4 => {
                let value = format!(
                    "{} if {} else {}",
                    self.space(0),
                    self.condition(0),
                    self.space(0)
                );
                self.line(&format!("{name} = {value}"));
                self.bind(&name, Kind::Space);
            }
            _ => {
                let value = self.callable(2);
                self.line(&format!("{name} = {value}"));
                self.bind(&name, Kind::Call);
            }
        }
    }

    fn statement(&mut self) {
        match self.pick(10) {
            0..=2 => {
                let call = self.callable(2);
                self.line(&format!("{call}('x')"));
            }
            3 | 4 => self.assignment(),
            5 => {
                let call = self.callable(1);
                let name = self.name();
                self.line(&format!("{name} = f\"a {{({call})(1)}} b\""));
            }
            6 if self.indent < 5 => {
                let name = self.name();
                let (first, second) = (self.space(1), self.space(0));
                self.line(&format!("for {name} in [{first}, {second}]:"));
                self.block(vec![(name, Kind::Space)]);
            }
            7 if self.indent < 5 => {
                let condition = self.condition(1);
                self.line(&format!("if {condition}:"));
                self.block(Vec::new());
            }
            8 if self.indent < 4 => self.function(),
            _ => {
                let (table, key) = (self.name(), self.name());
                let (first, second) = (self.callable(1), self.callable(1));
                self.line(&format!("{table} = {{'a': {first}, 'b': {second}}}"));
                self.line(&format!(
                    "[{table}[{key}]({key}) for {key} in ['b', 'a'] if {key} != 'a']"
                ));
            }
        }
    }

    /// Indented statements. Later code does not read what they assign: the block may not have run.
    fn block(&mut self, given: Vec<(String, Kind)>) {
        self.scopes.push(given);
        self.indent += 1;
        for _ in 0..=self.pick(2) {
            self.statement();
        }
        self.indent -= 1;
        self.scopes.pop();
    }

    /// A function and a call of it.
    fn function(&mut self) {
        let name = self.name();
        let parameter = self.parameter();
        let argument = self.space(1);
        let by_default = self.pick(3) == 0;
        let head = if by_default {
            format!("{parameter}={argument}")
        } else {
            parameter.clone()
        };
        self.line(&format!("def {name}({head}):"));
        self.scopes.push(vec![(parameter.clone(), Kind::Space)]);
        self.indent += 1;
        if self.pick(4) == 0 {
            let (shadow, of) = self.two_spaces();
            // The value must not be the name itself, which is now local.
            if shadow != parameter {
                self.line(&format!("{shadow} = {of}"));
            }
        }
        for _ in 0..=self.pick(3) {
            self.statement();
        }
        let result = self.callable(1);
        self.line(&format!("return {result}"));
        self.indent -= 1;
        self.scopes.pop();
        let result = self.name();
        let arguments = if by_default {
            String::new()
        } else {
            self.space(1)
        };
        self.line(&format!("{result} = {name}({arguments})"));
        self.bind(&result, Kind::Call);
        if self.pick(2) == 0 {
            self.line(&format!("{result}('y')"));
        }
    }
}

#[test]
fn every_builtin_a_script_calls_is_in_its_static_reach() {
    let cases = 10_000;
    let globals = globals();
    let (scripts, calling, calls, finished, precise) = (
        Cell::new(0),
        Cell::new(0),
        Cell::new(0),
        Cell::new(0),
        Cell::new(0),
    );
    let count = |counter: &Cell<usize>, by: usize| counter.set(counter.get() + by);
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    let outcome = runner.run(&vec(any::<u16>(), 5..200), |choices| {
        let source = Writer::script(&choices);
        let found = facts(ScriptKind::Tool, &source, MODULES);
        let (called, error) = run(&source, &globals);
        let reaches: BTreeSet<&str> = found
            .reaches
            .iter()
            .map(|named| named.name.as_str())
            .collect();
        if let Some(problem) = &found.syntax {
            return Err(TestCaseError::fail(format!("{problem:?}\n{source}")));
        }
        if let Some(missed) = called.iter().find(|name| !reaches.contains(name.as_str())) {
            return Err(TestCaseError::fail(format!(
                "`{missed}` was called, reach is {reaches:?}\n{source}"
            )));
        }
        if !found.unknown_names.is_empty() {
            return Err(TestCaseError::fail(format!(
                "{:?}\n{source}",
                found.unknown_names
            )));
        }
        count(&scripts, 1);
        count(&calling, usize::from(!called.is_empty()));
        count(&calls, called.len());
        count(&finished, usize::from(error.is_none()));
        count(&precise, usize::from(reaches.len() < EVERY_CALL));
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let (scripts, calling, finished) = (scripts.get(), calling.get(), finished.get());
    println!(
        "{scripts} scripts, {calling} call, {} calls, {finished} finish, {} reach less than everything",
        calls.get(),
        precise.get()
    );
    assert!(
        calling * 10 > scripts * 8,
        "most scripts call something: {calling} of {scripts}"
    );
    assert!(
        finished * 10 > scripts * 6,
        "most scripts run to their end: {finished} of {scripts}"
    );
    assert!(
        calls.get() > scripts * 2,
        "scripts call several things: {} in {scripts}",
        calls.get()
    );
    assert!(
        precise.get() * 10 > scripts * 2,
        "reach is not simply everything: {} of {scripts}",
        precise.get()
    );
}
