//! What the original of seed 002 documents but does not do, and the tests that show it working
//! here. `docs/tinyagents.md` is generated from this table.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// One feature.
struct Row {
    feature: &'static str,
    /// Its state there: P in part, N documented only, D dead code, hole, broken.
    there: &'static str,
    /// Its state here.
    here: &'static str,
    /// The tests that show it.
    tests: &'static [&'static str],
}

const fn row(
    feature: &'static str,
    there: &'static str,
    here: &'static str,
    tests: &'static [&'static str],
) -> Row {
    Row {
        feature,
        there,
        here,
        tests,
    }
}

const ROWS: &[Row] = &[
    row(
        "`Tool` trait with `spec()`, a runtime and the run's context",
        "P",
        "`Tool<State, Ctx>` and `TypedTool<State, Ctx>`",
        &["a_typed_tool_gets_its_state_and_context_and_derives_its_schemas"],
    ),
    row(
        "`ToolSpec` as one struct, `ToolName`, `ToolCallId`",
        "N",
        "one struct, and every field is used",
        &[
            "a_bad_name_or_schema_is_refused_with_a_typed_error",
            "names_that_some_provider_would_not_take_are_told_apart",
        ],
    ),
    row(
        "`ToolRuntime` with stores, events, cancellation",
        "P",
        "a child context per call, with the stores that scripts see",
        &[
            "a_typed_tool_gets_its_state_and_context_and_derives_its_schemas",
            "an_abandoned_call_gets_its_last_event_and_its_tool_is_cancelled",
        ],
    ),
    row(
        "Empty, duplicate, spaced, long and unescapable names are rejected",
        "N",
        "at registration, with a typed error",
        &["a_bad_name_or_schema_is_refused_with_a_typed_error"],
    ),
    row(
        "Provider aliases of names",
        "P",
        "an alias finds the tool; events have the canonical name",
        &["rules_in_code_govern_rust_tools_and_their_aliases"],
    ),
    row(
        "The host injects hidden values",
        "N",
        "ids, mode, state, idempotency key, and the host's own values",
        &[
            "injected_names_cannot_be_forged_however_they_are_wrapped",
            "a_typed_tool_gets_its_state_and_context_and_derives_its_schemas",
        ],
    ),
    row(
        "A model cannot forge injected arguments",
        "P, hole",
        "nor in text, fences or wrappers, repaired or not",
        &["injected_names_cannot_be_forged_however_they_are_wrapped"],
    ),
    row(
        "Arguments are validated against the schema",
        "holes",
        "against all of JSON Schema 2020-12; every violation has its path",
        &[
            "admit_accepts_exactly_what_the_schema_does",
            "violations_name_the_path_and_defaults_fill_in",
        ],
    ),
    row(
        "The schema itself is checked at registration",
        "N",
        "both schemas are compiled at registration",
        &["a_bad_name_or_schema_is_refused_with_a_typed_error"],
    ),
    row(
        "Only tools that the turn offers run",
        "N",
        "yes, and refusals name no others",
        &[
            "a_turn_runs_only_what_it_offers_and_a_child_never_gets_more_than_its_parent",
            "selection_narrows_the_surface_of_a_turn_and_removed_tools_do_not_run",
        ],
    ),
    row(
        "Malformed JSON never becomes `{}`, under any policy",
        "hole",
        "it is refused under the call's id",
        &[
            "malformed_json_is_answered_with_the_calls_id_and_is_never_an_empty_object",
            "arguments_are_repaired_only_by_policy_and_never_for_tools_with_effects",
        ],
    ),
    row(
        "A call that a list does not allow is an event and a message the model can act on",
        "N",
        "`tool.rejected`, and the run continues",
        &[
            "rules_in_code_govern_rust_tools_and_their_aliases",
            "every_code_has_a_reaction_and_the_policy_is_data",
        ],
    ),
    row(
        "The order of a call's life",
        "P",
        "one path; no stage can be skipped",
        &[
            "middleware_runs_by_priority_and_each_sees_the_previous_changes",
            "every_case_does_what_its_page_says",
        ],
    ),
    row(
        "Changes by middleware are validated again",
        "hole",
        "against schema and rules",
        &["changed_arguments_are_validated_and_authorized_again"],
    ),
    row(
        "Layers around bodies do not serialise calls",
        "N",
        "calls do not wait for each other",
        &["middleware_does_not_serialize_calls"],
    ),
    row(
        "Bounded concurrency; tools that block",
        "N",
        "per engine, turn, tool, and argument value; threads for blocking tools",
        &[
            "a_thousand_calls_of_one_turn_run_eight_at_a_time_and_answer_in_order",
            "tool_key_and_engine_limits_are_enforced",
            "tools_that_block_do_not_stall_others",
            "two_calls_never_write_the_same_path_at_once",
        ],
    ),
    row(
        "Retry policy of a tool",
        "N",
        "exponential backoff with jitter, only if a repeat does no harm",
        &[
            "transient_failures_are_retried_only_if_a_repeat_is_safe",
            "waits_grow_up_to_their_cap_and_differ_by_chance",
        ],
    ),
    row(
        "Timeout of a tool",
        "P",
        "always, whichever side set it",
        &["deadline_and_cancellation_end_a_call_whether_its_tool_listens_or_not"],
    ),
    row(
        "Cancellation",
        "P",
        "a call in flight ends whether its tool listens or not",
        &[
            "deadline_and_cancellation_end_a_call_whether_its_tool_listens_or_not",
            "an_abandoned_call_gets_its_last_event_and_its_tool_is_cancelled",
        ],
    ),
    row(
        "Limits on calls",
        "P, broken",
        "per tool, run and turn; three of five run, two are refused",
        &["if_three_of_five_calls_are_allowed_three_run_and_two_are_refused"],
    ),
    row(
        "Classes of errors, and what a loop does about them",
        "P",
        "every failure has a class; the policy is data; control flow never becomes a message",
        &[
            "control_flow_is_not_a_message_and_the_policy_says_what_ends_a_run",
            "no_middleware_layer_or_deadline_turns_control_flow_into_a_result",
            "every_code_has_a_reaction_and_the_policy_is_data",
        ],
    ),
    row(
        "A panic is isolated",
        "N",
        "it fails its call and nothing else, in tools and middleware",
        &[
            "a_panic_ends_its_call_and_nothing_else",
            "middleware_that_panics_lets_nothing_pass",
        ],
    ),
    row(
        "Every call that starts has one last event",
        "P, broken",
        "also if it is dropped, and next to calls that fail",
        &[
            "an_abandoned_call_gets_its_last_event_and_its_tool_is_cancelled",
            "deadline_and_cancellation_end_a_call_whether_its_tool_listens_or_not",
            "ten_thousand_concurrent_calls_each_end_once",
        ],
    ),
    row(
        "Progress of a tool",
        "D",
        "an event, and an MCP notification",
        &[
            "a_typed_tool_gets_its_state_and_context_and_derives_its_schemas",
            "progress_arrives_before_the_answer_and_only_grows",
        ],
    ),
    row(
        "Results with blocks, value, artifacts, provider, time",
        "P",
        "text, images, audio, links, resources; every client format encodes a `ToolMessage`",
        &[
            "a_tool_can_return_blocks_and_provider_data_and_call_other_tools",
            "artifacts_of_a_tool_contain_no_secrets_and_are_readable_only_in_their_session",
            "every_kind_of_block_is_read_as_it_was_written",
            "every_kind_of_block_is_encoded_as_in_the_protocol",
        ],
    ),
    row(
        "Large output",
        "D",
        "bounded for every call; the whole is stored without its secrets, and its own session reads it in parts",
        &[
            "what_stays_of_a_long_text_is_within_the_bound_with_the_mark_of_the_cut",
            "a_long_result_keeps_head_and_tail_and_gets_a_handle_for_its_session_only",
            "a_gigabyte_of_output_shows_head_and_tail_and_its_start_is_stored",
        ],
    ),
    row(
        "A cap on results",
        "P",
        "always, and truncation is not an error",
        &["what_stays_of_a_long_text_is_within_the_bound_with_the_mark_of_the_cut"],
    ),
    row(
        "Safety metadata that is enforced",
        "P",
        "effects, which rules and ceilings judge and the runtime enforces",
        &[
            "rules_in_code_govern_rust_tools_and_their_aliases",
            "without_a_workspace_or_the_effect_a_tool_touches_no_file",
        ],
    ),
    row(
        "Approval that does not end the run",
        "P",
        "asked for; if no one can be asked, a refusal that the model reads",
        &[
            "a_tool_that_needs_approval_is_refused_without_an_approver",
            "middleware_can_refuse_ask_defer_or_end_the_run",
        ],
    ),
    row(
        "The workspace, links included",
        "P",
        "the kernel resolves paths beneath one folder",
        &[
            "without_a_workspace_or_the_effect_a_tool_touches_no_file",
            "links_that_leave_are_refused_by_every_operation",
            "constraints_judge_normalised_paths_and_every_element",
        ],
    ),
    row(
        "A guard against the same call again and again",
        "D",
        "the middleware `NoRepeats`",
        &["a_call_repeated_in_a_loop_is_refused_and_a_different_one_is_not"],
    ),
    row(
        "Typed tools, closures, checked output, stored results, dry run, rate limits",
        "N",
        "all of them",
        &[
            "a_typed_tool_gets_its_state_and_context_and_derives_its_schemas",
            "a_result_that_does_not_match_its_schema_or_is_not_json_is_an_error",
            "a_repeated_key_gets_the_stored_result_even_while_the_first_call_runs",
            "rules_in_code_govern_rust_tools_and_their_aliases",
            "a_rate_limit_delays_calls_and_refuses_those_that_cannot_wait",
        ],
    ),
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of every Rust file below a folder.
fn sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|end| end == "rs") {
            text.push_str(&std::fs::read_to_string(&path).expect("a file"));
        }
    }
}

#[test]
fn every_row_names_existing_tests_and_the_page_matches_the_table() {
    let mut all = String::new();
    for folder in [
        "crates/core",
        "crates/cli",
        "crates/script",
        "crates/sandbox",
    ] {
        sources(&repository().join(folder), &mut all);
    }
    let mut page = "<!-- Generated by `crates/core/tests/it/compared.rs`. Do not edit; `UPDATE=1 cargo test -p tool-harness --test it compared` rewrites it. -->\n\n# What TinyAgents documents and does not do\n\nTinyAgents 2.1.1 is where these features come from. P: works in part. N: documented only. D: dead code. Each row names the tests in this repository that show it working here.\n\n| feature | there | here | shown by |\n| --- | --- | --- | --- |\n".to_owned();
    for Row {
        feature,
        there,
        here,
        tests,
    } in ROWS
    {
        assert!(
            !there.is_empty() && !here.is_empty() && !tests.is_empty(),
            "{feature} is blank"
        );
        for test in *tests {
            assert!(
                all.contains(&format!("fn {test}(")),
                "{feature}: no test is called `{test}`"
            );
        }
        let tests: Vec<String> = tests.iter().map(|test| format!("`{test}`")).collect();
        let _ = writeln!(
            page,
            "| {feature} | {there} | {here} | {} |",
            tests.join(", ")
        );
    }
    let file = repository().join("docs/tinyagents.md");
    #[expect(
        clippy::disallowed_methods,
        reason = "how every generated page is rewritten"
    )]
    let update = std::env::var_os("UPDATE").is_some();
    if update {
        std::fs::write(&file, &page).expect("the page is written");
    }
    assert_eq!(
        std::fs::read_to_string(&file).unwrap_or_default(),
        page,
        "run it again with UPDATE=1"
    );
}
