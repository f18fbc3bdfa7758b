//! The outside as it is: the sandbox of this machine, and its network.

use super::{Command, Outside, Pending, Ran, Refused, Request, Response};
use crate::artifact::root::Containment;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::network::Domains;
use tool_harness_sandbox::plan::Plan;
use tool_harness_sandbox::tier::Tier;

/// This machine. What it can do is found out when it is first asked.
#[derive(Debug, Default)]
pub struct Machine {}

impl Outside for Machine {
    fn tier(&self) -> Tier {
        Tier::None
    }

    fn run<'a>(&'a self, _: &'a Plan, _: Containment, _: Command, _: CancellationToken) -> Pending<'a, Ran> {
        Box::pin(std::future::ready(Err(Refused::Unavailable { message: "not merged".into(), help: "wait".into() })))
    }

    fn send<'a>(&'a self, _: &'a Domains, _: Request, _: CancellationToken) -> Pending<'a, Response> {
        Box::pin(std::future::ready(Err(Refused::Unavailable { message: "not merged".into(), help: "wait".into() })))
    }
}
