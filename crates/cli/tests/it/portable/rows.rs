//! The shapes, in the order of the review that collected them.

/// A shape that an author of the original system writes.
pub(super) struct Row {
    /// What it is.
    pub(super) says: &'static str,
    pub(super) shape: Shape,
}

pub(super) enum Shape {
    /// What a script computes.
    Expression(&'static str),
    /// Files, and the commands to run on them.
    Project(
        &'static [(&'static str, &'static str)],
        &'static [&'static str],
    ),
    /// Something that no command shows, and the test that holds it.
    Fact(&'static str, &'static str),
}

const fn value(says: &'static str, expression: &'static str) -> Row {
    Row {
        says,
        shape: Shape::Expression(expression),
    }
}

const fn project(
    says: &'static str,
    files: &'static [(&'static str, &'static str)],
    commands: &'static [&'static str],
) -> Row {
    Row {
        says,
        shape: Shape::Project(files, commands),
    }
}

const ECHO: (&str, &str) = (
    ".harness/tools/echo_text.md",
    "---\nparameters:\n  text: { type: string, default: hello, description: What to say }\nscript: |\n  def run(args):\n      return {\"text\": args[\"text\"]}\n---\n\nSay it back.\n",
);

pub(super) const PARTS: &[(&str, &[Row])] = &[
    ("Partly the same", PARTLY),
    ("Findings", FINDINGS),
    ("Mistakes that are found", MISTAKES),
    ("Built-ins", BUILTINS),
];

const PARTLY: &[Row] = &[
    project(
        "a bundle with `type`, `condition` and `depends_on`",
        &[
            (
                ".harness/plugins/base.md",
                "---\nname: base\ntype: plugin\nversion: 1.0.0\ndescription: What others build on\ntools:\n  - name: ping_base\n    description: Ping.\n    script: |\n      def run(args):\n          return {\"pong\": True}\n---\n\nThe base.\n",
            ),
            (
                ".harness/plugins/extra.md",
                "---\nname: extra\ntype: plugin\nversion: 1.0.0\ndescription: More\ndepends_on: [base]\ncondition: not ctx.has(\"off\")\ntools:\n  - name: ping_extra\n    description: Ping.\n    script: |\n      def run(args):\n          return {\"pong\": 2}\n---\n\nMore.\n",
            ),
        ],
        &["validate", "call ping_extra --json"],
    ),
    project(
        "endless recursion through a function value",
        &[(
            ".harness/tools/go_deep.md",
            "---\nscript: |\n  def run(args):\n      def step(f, n):\n          return f(f, n + 1)\n      return step(step, 0)\n---\n\nGo deep.\n",
        )],
        &["call go_deep"],
    ),
    project(
        "`cache.set` in one call and `cache.get` in the next, on the command line",
        &[
            (
                ".harness/tools/store_note.md",
                "---\nscript: |\n  def run(args):\n      cache.set(\"note\", \"milk\")\n      return {\"stored\": True}\n---\n\nStore a note.\n",
            ),
            (
                ".harness/tools/get_note.md",
                "---\nscript: |\n  def run(args):\n      return {\"value\": cache.get(\"note\")}\n---\n\nGet the note.\n",
            ),
        ],
        &["call store_note --json", "call get_note --json"],
    ),
    Row {
        says: "`cache.set` in one call and `cache.get` in the next, over one MCP connection",
        shape: Shape::Fact(
            "the next call finds it: a connection is one run",
            "a_note_that_one_call_stores_is_found_by_the_next_also_after_the_files_changed",
        ),
    },
    project(
        "an audit hook that puts `error` into a message, on a call that fails",
        &[
            (
                ".harness/tools/find_host.md",
                "---\nscript: |\n  def run(args):\n      fail(\"no such host\")\n---\n\nFind a host.\n",
            ),
            (
                ".harness/hooks/audit_results.md",
                "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      err = payload.get(\"error\", \"\")\n      if err:\n          log(\"failed: \" + err + \", \" + str(len(payload[\"result\"])))\n      return allow()\n---\n\nWrites down what failed.\n",
            ),
        ],
        &["validate", "call find_host --json"],
    ),
    project(
        "`exec` denied and `run_command` allowed",
        &[
            (
                "harness.md",
                "---\nformat: 1\ntools_policy:\n  allow: [run_command, fs.read, fs.list]\n  deny: [exec]\n---\n\nYou run commands.\n",
            ),
            (
                ".harness/tools/run_command.md",
                "---\nparameters:\n  command: { type: string, required: true, description: A line }\nscript: |\n  def run(args):\n      return {\"value\": exec.run(\"sh\", [\"-c\", args[\"command\"]])[\"stdout\"]}\ntimeout_ms: 30000\n---\n\nRun a command.\n",
            ),
            (
                ".harness/hooks/audit_calls.md",
                "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      metrics.incr(\"calls\")\n      return allow()\n---\n\nCounts.\n",
            ),
        ],
        &["validate", "call run_command 'command=echo ran' --json"],
    ),
    value(
        "a whole float where an integer is wanted",
        "exec.run(\"true\", [], 2000.0)[\"exit_code\"]",
    ),
    project(
        "a tool that needs approval",
        &[(
            ".harness/tools/drop_table.md",
            "---\nrequires_approval: true\nscript: |\n  def run(args):\n      return {\"dropped\": True}\n---\n\nDrop the table.\n",
        )],
        &["call drop_table"],
    ),
    project(
        "`approval_policy` in the root",
        &[
            (
                "harness.md",
                "---\nformat: 1\napproval_policy: { require_approval: [\"drop_*\"] }\n---\n\nYou ask.\n",
            ),
            ECHO,
        ],
        &["validate", "call echo_text"],
    ),
    project(
        "`requires_approval` as an expression",
        &[(
            ".harness/tools/drop_rows.md",
            "---\nparameters:\n  count: { type: integer, required: true, description: How many }\nrequires_approval: args[\"count\"] > 10\nscript: |\n  def run(args):\n      return {\"dropped\": args[\"count\"]}\n---\n\nDrop rows.\n",
        )],
        &["validate", "call drop_rows count=1"],
    ),
    project(
        "a mode file, which is a workflow stage",
        &[
            ECHO,
            (
                ".harness/modes/review.md",
                "---\ntools: [echo_text]\n---\n\nYou review.\n",
            ),
        ],
        &["validate", "call echo_text"],
    ),
    project(
        "`async: true`",
        &[(
            ".harness/tools/build_site.md",
            "---\nasync: true\nscript: |\n  def run(args):\n      return {\"built\": True}\n---\n\nBuild the site.\n",
        )],
        &["validate", "call build_site --json"],
    ),
    project(
        "`tool_search: true` in the root",
        &[
            (
                "harness.md",
                "---\nformat: 1\ntool_search: true\n---\n\nYou search.\n",
            ),
            ECHO,
        ],
        &["validate"],
    ),
    project(
        "an agent that names a tool, and one that does not exist",
        &[
            ECHO,
            (
                ".harness/agents/reviewer.md",
                "---\ndescription: Reviews\ntools: [echo_text, ecko_text]\n---\n\nYou review.\n",
            ),
        ],
        &["validate"],
    ),
    project(
        "`delegation`, `exit_policy`, `meta`, `record` in the root",
        &[
            (
                "harness.md",
                "---\nformat: 1\ndelegation: { max_depth: 2 }\nexit_policy: { mode: natural }\nmeta: { enabled: true }\nrecord: calls\n---\n\nYou delegate.\n",
            ),
            ECHO,
        ],
        &["validate"],
    ),
    project(
        "a context with a broken `when`",
        &[
            ECHO,
            (
                ".harness/context/deploys.md",
                "---\nwhen: ctx.get(\n---\n\nDeploys happen on Mondays.\n",
            ),
        ],
        &["validate"],
    ),
    Row {
        says: "an event names its run, its turn and its session; there is no thread id, and runs have no events of their own yet",
        shape: Shape::Fact(
            "`run_id`, `turn_id` and `sequence` in every event",
            "an_event_says_which_run_and_turn_it_belongs_to_and_events_of_a_session_are_numbered",
        ),
    },
    project(
        "`delegate(...)` in a tool's script",
        &[(
            ".harness/tools/ask_reviewer.md",
            "---\nscript: |\n  def run(args):\n      return {\"answer\": delegate({\"agent\": \"reviewer\"})}\n---\n\nAsk the reviewer.\n",
        )],
        &["validate", "call ask_reviewer"],
    ),
    Row {
        says: "events go to sinks; hosts cannot bring key-value stores of their own yet",
        shape: Shape::Fact(
            "a host adds sinks and a record in Rust; stores are in memory",
            "the_record_has_the_events_of_a_call_in_order",
        ),
    },
];

const FINDINGS: &[Row] = &[
    project(
        "`type` in a bundle that lies in another folder",
        &[(
            ".harness/plugins/pack.md",
            "---\ntype: builtin\ntools:\n  - name: ping_pack\n    description: Ping.\n    script: |\n      def run(args):\n          return {\"pong\": True}\n---\n\nA pack.\n",
        )],
        &["validate"],
    ),
    project(
        "`payload.get(key, default)` for a key that never comes",
        &[
            ECHO,
            (
                ".harness/hooks/look_up.md",
                "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      if payload.get(\"colour\", \"\") == \"red\":\n          return block(\"red\")\n      return allow()\n---\n\nLooks.\n",
            ),
        ],
        &["validate"],
    ),
    project(
        "`payload[key]` for a key that never comes",
        &[
            ECHO,
            (
                ".harness/hooks/look_up.md",
                "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      if payload[\"colour\"] == \"red\":\n          return block(\"red\")\n      return allow()\n---\n\nLooks.\n",
            ),
        ],
        &["validate"],
    ),
    project(
        "keys that the original documents: `response` on `agent.stop`",
        &[
            ECHO,
            (
                ".harness/hooks/read_response.md",
                "---\nevent: agent.stop\nscript: |\n  def handle(event, payload):\n      log.info(payload[\"response\"])\n      return allow()\n---\n\nReads.\n",
            ),
        ],
        &["validate"],
    ),
    project(
        "keys that the original documents: `response`, `tool_calls`, `agent_name` on `delegation.post`",
        &[
            ECHO,
            (
                ".harness/hooks/read_delegation.md",
                "---\nevent: delegation.post\nscript: |\n  def handle(event, payload):\n      log.info(str([payload[\"response\"], payload[\"tool_calls\"], payload[\"agent_name\"]]))\n      return allow()\n---\n\nReads.\n",
            ),
        ],
        &["validate"],
    ),
    project(
        "a restriction of a bundle that nothing enforces, with three tools in it",
        &[(
            ".harness/plugins/pack.md",
            "---\ncolour: red\ntools:\n  - { name: ping_one, description: Ping., script: \"def run(args):\\n    return 1\\n\" }\n  - { name: ping_two, description: Ping., script: \"def run(args):\\n    return 2\\n\" }\n  - { name: ping_three, description: Ping., script: \"def run(args):\\n    return 3\\n\" }\n---\n\nA pack.\n",
        )],
        &["validate"],
    ),
    project(
        "a guard that names `-----BEGIN PRIVATE KEY-----`",
        &[
            ECHO,
            (
                ".harness/hooks/guard_keys.md",
                "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      if \"-----BEGIN PRIVATE KEY-----\" in payload[\"content\"]:\n          return block(\"a private key\")\n      return allow()\n---\n\nGuards.\n",
            ),
        ],
        &["validate"],
    ),
    project(
        "`ctx.agent`, which the original has",
        &[(
            ".harness/tools/finish_work.md",
            "---\nscript: |\n  def run(args):\n      ctx.agent.set_done_flag(summary=\"done\")\n      return {\"done\": True}\n---\n\nFinish.\n",
        )],
        &["validate"],
    ),
    project(
        "`delegate*` in an allow list",
        &[
            (
                "harness.md",
                "---\nformat: 1\ntools_policy:\n  allow: [echo_text, \"delegate*\"]\n---\n\nYou delegate.\n",
            ),
            ECHO,
        ],
        &["validate"],
    ),
    project(
        "a hook without a script",
        &[
            ECHO,
            (
                ".harness/hooks/host_side.md",
                "---\nevent: tool.pre\n---\n\nThe host does this.\n",
            ),
        ],
        &["validate", "call echo_text --json"],
    ),
];

const MISTAKES: &[Row] = &[
    project(
        "a timeout of 10,000 seconds",
        &[
            (
                "harness.md",
                "---\nformat: 1\nnetwork: { allowed_domains: [example.com] }\n---\n\nYou read.\n",
            ),
            (
                ".harness/tools/get_page.md",
                "---\ntimeout_ms: 20000\nscript: |\n  def run(args):\n      return {\"body\": http.get(\"https://example.com/\", {}, 10000)[\"body\"]}\n---\n\nGet the page.\n",
            ),
        ],
        &["validate"],
    ),
    project(
        "an attribute of a payload in `when`",
        &[
            ECHO,
            (
                ".harness/hooks/match_agent.md",
                "---\nevent: tool.pre\nwhen: payload.agent == \"x\"\nscript: |\n  def handle(event, payload):\n      return allow()\n---\n\nMatches.\n",
            ),
        ],
        &["validate"],
    ),
    project(
        "changing a payload in place and returning `allow()`",
        &[
            ECHO,
            (
                ".harness/hooks/trim_text.md",
                "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      payload[\"args\"][\"text\"] = \"short\"\n      return allow()\n---\n\nTrims.\n",
            ),
        ],
        &["validate", "call echo_text --json"],
    ),
    project(
        "a policy under which an offered tool cannot run",
        &[
            (
                "harness.md",
                "---\nformat: 1\ntools_policy:\n  deny: [exec.run]\n---\n\nYou run.\n",
            ),
            (
                ".harness/tools/run_make.md",
                "---\ntimeout_ms: 20000\nscript: |\n  def run(args):\n      return {\"out\": exec.run(\"make\", [])[\"stdout\"]}\n---\n\nRun make.\n",
            ),
        ],
        &["validate"],
    ),
    project(
        "a redactor that treats a dict as text",
        &[
            (
                ".harness/tools/read_account.md",
                "---\nscript: |\n  def run(args):\n      return {\"password\": \"open sesame\"}\n---\n\nRead the account.\n",
            ),
            (
                ".harness/hooks/hide_passwords.md",
                "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      if \"password\" in payload[\"result\"].lower():\n          return block(\"a password\")\n      return allow()\n---\n\nHides.\n",
            ),
        ],
        &["validate", "call read_account"],
    ),
];

const BUILTINS: &[Row] = &[
    value("`random`", "type(random(1, 6))"),
    value("`os.args`", "os.args()"),
    value("`os.cwd`", "type(os.cwd())"),
    value("`validate.email`", "validate.email(\"ada@example.com\")"),
    value("`validate.url`", "validate.url(\"https://example.com/\")"),
    value("`validate.json`", "validate.json(\"{}\")"),
    value("`set.new`, `set.size`", "set.size(set.new([1, 2, 2]))"),
    value("`set.values`", "set.values(set.new([2, 1]))"),
    value("`set.intersect`", "set.intersect([1, 2], [2, 3])"),
    value("`set.diff`", "set.diff([1, 2], [2, 3])"),
    value("`metrics.reset`", "metrics.reset()"),
    value(
        "`meta.register_agent`",
        "meta.register_agent({\"name\": \"x\"})",
    ),
    value("`ctx.agent`", "ctx.agent"),
    value("`parallel.*`", "parallel.launch(\"x\", {})"),
    project(
        "`fs.find(path, pattern)`, the original's order",
        &[
            ("src/a.py", "import x\nretry(3)\n"),
            (
                ".harness/tools/find_it.md",
                "---\nscript: |\n  def run(args):\n      return {\"value\": [hit[\"path\"] for hit in fs.find(\"src\", \"retry\")]}\n---\n\nFind it.\n",
            ),
        ],
        &["call find_it --json"],
    ),
    value(
        "`ellipsis` of `string.truncate`",
        "string.truncate(\"abcdef\", 3, ellipsis=\"…\")",
    ),
    value(
        "`char` of `string.pad_left`",
        "string.pad_left(\"7\", 3, char=\"0\")",
    ),
    value("`delta` of `metrics.incr`", "metrics.incr(\"n\", delta=2)"),
    project(
        "`content` of `fs.insert_at`, `fs.replace_lines`",
        &[
            ("a.txt", "one\ntwo\n"),
            (
                ".harness/tools/edit_it.md",
                "---\nscript: |\n  def run(args):\n      fs.insert_at(\"a.txt\", 1, content=\"zero\")\n      fs.replace_lines(\"a.txt\", 2, 2, content=\"uno\")\n      return {\"value\": fs.read(\"a.txt\")}\n---\n\nEdit it.\n",
            ),
        ],
        &["call edit_it --json"],
    ),
    project(
        "`fs.read_lines(end=None)`, `fs.stat`, `fs.list`",
        &[
            ("a.txt", "one\ntwo\n"),
            (
                ".harness/tools/look_at_it.md",
                "---\nscript: |\n  def run(args):\n      return {\"value\": [fs.read_lines(\"a.txt\", 1, end=None), fs.stat(\"a.txt\")[\"name\"], fs.list(\".\")[-1][\"is_dir\"]]}\n---\n\nLook at it.\n",
            ),
        ],
        &["call look_at_it --json"],
    ),
    value(
        "`fs.stat` of what does not exist",
        "fs.stat(\"missing.txt\")",
    ),
    value("what `fs.write` returns", "fs.write(\"a.txt\", \"one\\n\")"),
    value(
        "what `fs.append` returns",
        "fs.append(\"a.txt\", \"two\\n\")",
    ),
    value(
        "`log.info` with fields",
        "log.info(\"started\", {\"n\": 1})",
    ),
    value(
        "`{{.name}}` in a template",
        "template.render(\"Hello {{.name}}\", {\"name\": \"Ada\"})",
    ),
    value("`env` of a name that no layer lists", "env(\"NOT_LISTED\")"),
    value("`re.match` by index", "re.match(\"(a)(b)\", \"ab\")[1]"),
    value(
        "`re.match` as a dict",
        "re.match(\"(a)(b)\", \"ab\")[\"groups\"]",
    ),
    value(
        "`re.match` without a match",
        "True if re.match(\"x\", \"ab\") else False",
    ),
    value("`re.find_all`", "re.find_all(\"a(.)\", \"ab ac\")"),
    value(
        "`url.parse`",
        "url.parse(\"https://example.com:8080/a?b=c\")",
    ),
    value(
        "`string.truncate` without an ellipsis",
        "string.truncate(\"abcdef\", 3)",
    ),
    value("two decimals", "string.format_number(2.5, 2)"),
    value(
        "`json.encode` of large integers",
        "json.encode({\"n\": 12345678901234567890})",
    ),
    project(
        "`meta.register_tool`",
        &[(
            ".harness/tools/grow.md",
            "---\nscript: |\n  def run(args):\n      meta.register_tool({\"name\": \"x\"})\n      return {\"grown\": True}\n---\n\nGrow.\n",
        )],
        &["validate"],
    ),
    Row {
        says: "`assert(x)`",
        shape: Shape::Project(
            &[(
                ".harness/tools/assert_it.md",
                "---\nscript: |\n  def run(args):\n      assert(1 == 1)\n      return {\"ok\": True}\n---\n\nAssert it.\n",
            )],
            &["validate"],
        ),
    },
];
