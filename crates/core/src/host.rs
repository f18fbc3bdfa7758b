//! What the host of an engine gives it, beyond files: tools, and what all calls share.

use crate::call::Call;
use crate::middleware::{Around, Known, Middleware};
use crate::run::{Keys, Repair, Stored};
use crate::slots::Slots;
use crate::tool::{AnyTool, HostTool, Inject, RegisterError};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use tokio::sync::Semaphore;

/// Gives a value to be injected into the arguments of a call.
pub(crate) type Injector = Arc<dyn Fn(&Call) -> Option<Value> + Send + Sync>;

/// What the host gave. It outlives every version of the project's files.
#[derive(Default)]
pub(crate) struct Host {
    /// Whole tools in Rust, by name.
    pub(crate) tools: HashMap<String, HostTool>,
    /// Bodies for artifacts that have no script, by name.
    pub(crate) bodies: HashMap<String, Arc<dyn AnyTool>>,
    /// Links of the chain, in the order they run.
    pub(crate) middleware: Vec<Known<dyn Middleware>>,
    /// Layers around bodies, outermost first.
    pub(crate) around: Vec<Known<dyn Around>>,
    /// Whose arguments are repaired.
    pub(crate) repair: Repair,
    /// Values for `Inject::Host`, by name.
    pub(crate) injectors: HashMap<String, Injector>,
    /// Places for calls of this engine, when they are limited.
    pub(crate) places: Option<Arc<Slots>>,
    /// What calls of tools that must not overlap hold.
    pub(crate) keys: Keys,
    /// Results of calls that are not made twice.
    pub(crate) stored: Stored,
    /// Threads for tools that block.
    pub(crate) threads: Threads,
    /// Threads whose call ended without them.
    pub(crate) abandoned: AtomicUsize,
    /// Events that they, or others, raised after the end of their call.
    pub(crate) late: AtomicU64,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("tools", &self.tools.keys())
            .finish_non_exhaustive()
    }
}

impl Host {
    /// Takes a tool in, unless its name or one of its aliases is taken.
    pub(crate) fn add(&mut self, tool: HostTool) -> Result<(), RegisterError> {
        let known = |name: &str| {
            self.tools.values().any(|one| {
                one.spec.name == name || one.spec.aliases.iter().any(|(_, alias)| alias == name)
            })
        };
        let aliases = tool
            .spec
            .aliases
            .iter()
            .map(|(_, alias)| alias)
            .filter(|alias| **alias != tool.spec.name);
        if let Some(name) = std::iter::once(&tool.spec.name)
            .chain(aliases)
            .find(|name| known(name))
        {
            return Err(RegisterError::Duplicate(name.clone()));
        }
        self.tools.insert(tool.spec.name.clone(), tool);
        Ok(())
    }

    /// Takes a link of the chain in, at its place.
    pub(crate) fn add_middleware(
        &mut self,
        middleware: impl Middleware,
    ) -> Result<(), RegisterError> {
        self.middleware.push(Known::middleware(middleware)?);
        self.middleware.sort_by_key(|one| one.priority);
        Ok(())
    }

    /// Takes a layer around bodies in, at its place.
    pub(crate) fn add_layer(&mut self, layer: impl Around) -> Result<(), RegisterError> {
        self.around.push(Known::layer(layer)?);
        self.around.sort_by_key(|one| one.priority);
        Ok(())
    }

    /// Looks at what can only be seen when everything is there.
    pub(crate) fn check(&self) -> Result<(), RegisterError> {
        for tool in self.tools.values() {
            for (argument, inject) in &tool.spec.injected {
                if let Inject::Host(name) = inject
                    && !self.injectors.contains_key(name)
                {
                    let (tool, argument, name) =
                        (tool.spec.name.clone(), argument.clone(), name.clone());
                    return Err(RegisterError::NothingToInject {
                        tool,
                        argument,
                        name,
                    });
                }
            }
        }
        Ok(())
    }
}

/// Places for threads of tools that block.
pub(crate) struct Threads(Arc<Semaphore>);

/// Threads for tools that block, those that were left behind included.
const MAX_THREADS: usize = 256;

impl Default for Threads {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_THREADS)))
    }
}

impl Threads {
    pub(crate) fn places(&self) -> Arc<Semaphore> {
        Arc::clone(&self.0)
    }
}
