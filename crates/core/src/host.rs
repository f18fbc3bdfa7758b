//! What the host of an engine gives it, beyond files: tools, and what all calls share.

use crate::call::Call;
use crate::effect::Effects;
use crate::middleware::{Around, Middleware, Registered};
use crate::tool::{AnyTool, HostTool, Inject, RegisterError};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Gives a value to be injected into the arguments of a call.
pub(crate) type Injector = Arc<dyn Fn(&Call) -> Option<Value> + Send + Sync>;

/// What the host gave. It outlives every version of the project's files.
#[derive(Default)]
pub(crate) struct HostParts {
    /// Whole tools in Rust, by name.
    pub(crate) tools: HashMap<String, HostTool>,
    /// Bodies for artifacts that have no script, by name.
    pub(crate) bodies: HashMap<String, Arc<dyn AnyTool>>,
    /// Links of the chain, in the order they run.
    pub(crate) middleware: Vec<Registered<dyn Middleware>>,
    /// Layers around bodies, outermost first.
    pub(crate) around: Vec<Registered<dyn Around>>,
    /// Whose arguments are repaired.
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
        self.middleware.push(Registered::middleware(middleware)?);
        self.middleware.sort_by_key(|one| one.priority);
        Ok(())
    }

    /// Takes a layer around bodies in, at its place.
    pub(crate) fn add_layer(&mut self, layer: impl Around) -> Result<(), RegisterError> {
        self.around.push(Registered::layer(layer)?);
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

/// For which tools arguments are repaired before they are validated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repair {
    /// For none.
    #[default]
    Off,
    /// For tools without any effect. Reading is one, of the workspace or of the network: what was
    /// guessed might be what is read.
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
