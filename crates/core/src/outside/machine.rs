//! The outside as it is: the sandbox of this machine, and its network.

use super::{Command, Outside, Pending, Ran, Refused, Request, Response};
use crate::artifact::root::Containment;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::network::{self, Bounds, Client, Domains, HttpError};
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

    fn send<'a>(&'a self, hosts: &'a Domains, request: Request, cancel: CancellationToken) -> Pending<'a, Response> {
        Box::pin(async move {
            let Request { method, url, headers, body, timeout } = request;
            let client = Client::new(hosts.clone(), Bounds { time: timeout, ..Bounds::default() });
            let asked = client.request(network::Request { method, url, headers, body });
            let answer = tokio::select! {
                answer = asked => answer.map_err(refused)?,
                () = cancel.cancelled() => return Err(Refused::Failed("cancelled while waiting for an answer".to_owned())),
            };
            let body = answer.text().into_owned().into_bytes();
            Ok(Response { status: answer.status, headers: answer.headers, body, url: answer.url })
        })
    }
}

fn refused(error: HttpError) -> Refused {
    let message = error.to_string();
    match error {
        HttpError::Refused(
            network::Refused::Host { host } | network::Refused::Port { host, .. } | network::Refused::Address { host, .. },
        ) => Refused::Denied { message, host: Some(host.to_string()) },
        _ => Refused::Failed(message),
    }
}
