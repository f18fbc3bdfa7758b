//! What the host gives an engine beyond files: its tools, and what all calls share.

use crate::call::Call;
use crate::effect::Effects;
use crate::middleware::{Around, Middleware, Registered};
use crate::tool::{AnyTool, HostTool, Inject, RegisterError};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Computes a value to inject into the arguments of a call.
pub(crate) type Injector = Arc<dyn Fn(&Call) -> Option<Value> + Send + Sync>;

/// What the host registered. It outlives every version of the project's files.
#[derive(Default)]
pub(crate) struct HostParts {
    /// Complete Rust tools, by name.
    pub(crate) tools: HashMap<String, HostTool>,
    /// Bodies for artifacts that have no script, by name.
    pub(crate) bodies: HashMap<String, Arc<dyn AnyTool>>,
    /// The middleware, in running order.
    pub(crate) middleware: Vec<Registered<dyn Middleware>>,
    /// Layers around bodies, outermost first.
    pub(crate) around: Vec<Registered<dyn Around>>,
    /// Which tools have their arguments repaired.
    pub(crate) repair: Repair,
    /// Values for `Inject::Host`, by name.
    pub(crate) injectors: HashMap<String, Injector>,
}

impl fmt::Debug for HostParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostParts")
            .field("tools", &self.tools.keys())
            .finish_non_exhaustive()
    }
}

impl HostParts {
    /// Adds a tool, unless its name or an alias is taken.
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

    /// Inserts a middleware at its priority.
    pub(crate) fn add_middleware(
        &mut self,
        middleware: impl Middleware,
    ) -> Result<(), RegisterError> {
        self.middleware.push(Registered::middleware(middleware)?);
        self.middleware.sort_by_key(|one| one.priority);
        Ok(())
    }

    /// Whether there is middleware of this name.
    pub(crate) fn has_middleware(&self, name: &str) -> bool {
        self.middleware.iter().any(|one| &*one.name == name)
    }

    /// Inserts a layer around bodies at its priority.
    pub(crate) fn add_layer(&mut self, layer: impl Around) -> Result<(), RegisterError> {
        self.around.push(Registered::layer(layer)?);
        self.around.sort_by_key(|one| one.priority);
        Ok(())
    }

    /// Checks what can be checked only after everything is registered.
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

/// Which tools have their arguments repaired before validation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repair {
    /// No tools.
    #[default]
    Off,
    /// Tools without any effect. Reading the workspace or the network is an effect: a wrong guess
    /// would read the wrong thing.
    WithoutEffects,
}

impl Repair {
    /// Whether the arguments of a tool may be repaired.
    pub(crate) fn covers(self, effects: Effects) -> bool {
        match self {
            Self::Off => false,
            Self::WithoutEffects => effects.is_empty(),
        }
    }
}
