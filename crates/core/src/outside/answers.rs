//! The outside of an example: scripted answers in order, each used once.

use super::{Command, End, Outside, Pending, Ran, Refused, Request, Response, Text};
use crate::containment::Containment;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::network::Domains;
use tool_harness_sandbox::plan::Plan;
use tool_harness_sandbox::tier::Tier;

/// Scripted answers to commands and requests, in the expected order. Nothing is started or sent.
#[derive(Debug, Default)]
pub struct Answers(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    exec: VecDeque<Value>,
    http: VecDeque<Value>,
    problems: Vec<String>,
}

impl Answers {
    /// The answers to `exec` (`cmd`, `args`, `stdout`, `stderr`, `exit_code`) and to `http`
    /// (`method`, `url`, `status`, `headers`, `body`).
    #[must_use]
    pub fn new(exec: &[Value], http: &[Value]) -> Self {
        Self(Mutex::new(State {
            exec: exec.iter().cloned().collect(),
            http: http.iter().cloned().collect(),
            problems: Vec::new(),
        }))
    }

    /// Requests that had no answer, and answers that were not used.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let unused = |list: &VecDeque<Value>, what: &str| match list.len() {
            0 => None,
            1 => Some(format!("one answer of `{what}` was not used")),
            more => Some(format!("{more} answers of `{what}` were not used")),
        };
        state
            .problems
            .iter()
            .cloned()
            .chain(unused(&state.exec, "exec"))
            .chain(unused(&state.http, "http"))
            .collect()
    }

    /// The next answer of a list if it fits. Otherwise the problem is recorded, because a script
    /// may ignore a failure.
    fn next(
        &self,
        list: fn(&mut State) -> &mut VecDeque<Value>,
        asked: &str,
        fits: impl Fn(&Value) -> bool,
    ) -> Result<Value, Refused> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let problem = match list(&mut state).pop_front() {
            Some(answer) if fits(&answer) => return Ok(answer),
            Some(answer) => format!("{asked} was asked for, and the next answer is for {answer}"),
            None => format!("{asked} was asked for, and the example has no answer for it"),
        };
        state.problems.push(problem.clone());
        Err(Refused::Failed(problem))
    }
}

fn text(answer: &Value, key: &str) -> String {
    answer
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

impl Outside for Answers {
    fn tier(&self) -> Tier {
        Tier::A
    }

    fn run<'a>(
        &'a self,
        _: &'a Plan,
        _: Containment,
        command: Command,
        _: CancellationToken,
    ) -> Pending<'a, Ran> {
        let words: Vec<&str> = std::iter::once(command.program.as_str())
            .chain(command.args.iter().map(String::as_str))
            .collect();
        let fits = |answer: &Value| {
            let program = answer
                .get("cmd")
                .and_then(Value::as_str)
                .is_none_or(|cmd| cmd == command.program);
            let listed = answer.get("args").and_then(Value::as_array);
            program
                && listed.is_none_or(|args| {
                    args.iter()
                        .map(Value::as_str)
                        .eq(command.args.iter().map(|arg| Some(arg.as_str())))
                })
        };
        let answer = self.next(
            |state| &mut state.exec,
            &format!("`{}`", words.join(" ")),
            fits,
        );
        let ran = answer.map(|answer| Ran {
            end: End::Exited(
                answer
                    .get("exit_code")
                    .and_then(Value::as_i64)
                    .and_then(|code| i32::try_from(code).ok())
                    .unwrap_or(0),
            ),
            stdout: Text::whole(text(&answer, "stdout")),
            stderr: Text::whole(text(&answer, "stderr")),
            duration: Duration::ZERO,
            enforced: None,
            denials: Vec::new(),
        });
        Box::pin(std::future::ready(ran))
    }

    fn send<'a>(
        &'a self,
        _: &'a Domains,
        request: Request,
        _: Duration,
        _: CancellationToken,
    ) -> Pending<'a, Response> {
        let fits = |answer: &Value| {
            let method = answer
                .get("method")
                .and_then(Value::as_str)
                .unwrap_or("GET");
            let url = answer
                .get("url")
                .and_then(Value::as_str)
                .is_none_or(|url| url == request.url);
            url && method.eq_ignore_ascii_case(&request.method)
        };
        let answer = self.next(
            |state| &mut state.http,
            &format!("`{} {}`", request.method, request.url),
            fits,
        );
        let response = answer.map(|answer| Response {
            status: answer
                .get("status")
                .and_then(Value::as_u64)
                .and_then(|status| u16::try_from(status).ok())
                .unwrap_or(200),
            headers: headers(&answer),
            body: match answer.get("body") {
                None | Some(Value::Null) => Vec::new(),
                Some(Value::String(text)) => text.clone().into_bytes(),
                Some(other) => other.to_string().into_bytes(),
            },
            truncated: false,
            url: request.url,
        });
        Box::pin(std::future::ready(response))
    }
}

fn headers(answer: &Value) -> Vec<(String, String)> {
    let entries = answer
        .get("headers")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    entries
        .filter_map(|(name, value)| Some((name.to_lowercase(), value.as_str()?.to_owned())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn answers_come_in_order_and_what_does_not_fit_or_is_left_over_is_a_problem() {
        let answers = Answers::new(
            &[],
            &[
                json!({"url": "https://a/", "body": {"n": 1}}),
                json!({"url": "https://b/"}),
                json!({}),
            ],
        );
        let hosts = Domains::default();
        let first = answers
            .send(
                &hosts,
                Request::get("https://a/"),
                Duration::ZERO,
                CancellationToken::new(),
            )
            .await
            .expect("an answer");
        assert_eq!((first.status, first.body), (200, b"{\"n\":1}".to_vec()));
        assert!(
            answers
                .send(
                    &hosts,
                    Request::get("https://c/"),
                    Duration::ZERO,
                    CancellationToken::new()
                )
                .await
                .is_err()
        );
        let problems = answers.problems();
        assert!(
            problems.len() == 2
                && problems[0].contains("https://c/")
                && problems[1].contains("not used"),
            "{problems:?}"
        );
    }
}
