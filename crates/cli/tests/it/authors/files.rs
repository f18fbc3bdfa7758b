//! Mistakes in frontmatter, and kinds of files that have no effect yet.

use super::{TOOL, told, tool, untold};
use crate::support::Project;
use crate::support::program::harness;
use serde_json::json;

#[test]
fn yaml_that_does_not_parse_is_explained_by_what_stands_there() {
    let rest = "script: |\n  def run(args):\n      return 1\n---\nRead the note.\n";
    for (name, text) in [
        (
            "colon_in_description",
            format!("---\nparameters:\n  path:\n    type: string\n    description: The path: relative\n{rest}"),
        ),
        (
            "colon_in_braces",
            format!("---\nparameters:\n  path: {{type: string, description: The path: relative}}\n{rest}"),
        ),
        (
            "no_pipe",
            "---\nscript:\n  def run(args):\n      return 1\n---\nRead the note.\n".to_owned(),
        ),
        (
            "no_pipe_and_a_branch",
            "---\nscript:\n  def run(args):\n      if args:\n          return 1\n      return {\"a\": 2}\n---\nRead the note.\n".to_owned(),
        ),
        (
            "no_pipe_on_one_line",
            "---\nscript: def run(args): return 1\n---\nRead the note.\n".to_owned(),
        ),
        (
            "not_indented",
            "---\nscript: |\ndef run(args):\n    return 1\n---\nRead the note.\n".to_owned(),
        ),
        (
            "not_indented_and_a_branch",
            "---\nscript: |\ndef run(args):\n    if args:\n        return 1\n    return {\"a\": 2}\n---\nRead the note.\n".to_owned(),
        ),
        (
            "script_indented_with_tabs",
            "---\nscript: |\n\tdef run(args):\n\t\treturn 1\n---\nRead the note.\n".to_owned(),
        ),
        (
            "fields_indented_with_tabs",
            format!("---\nparameters:\n\tpath: {{type: string}}\n{rest}"),
        ),
        ("open_quote", format!("---\ntags: [a, 'b]\n{rest}")),
        ("sign_without_quotes", format!("---\ntags: [%a]\n{rest}")),
    ] {
        told(&format!("yaml_{name}"), &[(TOOL, &text)]);
    }
    let inline = "---\ntools:\n  - name: read_note\n    description: Reads: the note\n    script: |\n      def run(args):\n          return 1\n---\n";
    told("yaml_colon_in_an_inline_tool", &[("harness.md", inline)]);
}

#[test]
fn colons_and_scripts_that_are_fine_are_not_reported() {
    for text in [
        "---\nparameters:\n  path: {type: string, description: \"The path: relative\"}\nscript: |\n  def run(args):\n      return args.get(\"path\")\n---\nRead the note.\n".to_owned(),
        "---\nscript: \"def run(args):\\n    return 1\\n\"\n---\nRead the note.\n".to_owned(),
        "---\nscript: |\n  # A comment: with a colon\n\n  def run(args):\n      return {\"a\": 1}\n---\nRead the note.\n".to_owned(),
    ] {
        untold(&[(TOOL, &text)]);
    }
}

const OPENAI: &str = "---\nparameters:\n  type: object\n  properties:\n    path: {type: string, description: The note}\n  required: [path]\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nRead a note.\n";

#[test]
fn a_whole_schema_under_parameters_is_one_finding_that_fix_repairs() {
    told("parameters_as_schema", &[(TOOL, OPENAI)]);
    let project = Project::new(&[(TOOL, OPENAI), ("note.txt", "milk")]);
    harness(project.path(), &["validate", "--fix"]).ends(0);
    let called = harness(project.path(), &["call", "read_note", "path=note.txt"]).ends(0);
    assert_eq!(called.out.trim(), "milk");
    // Parameters with these names are parameters.
    untold(&[(
        TOOL,
        &tool(
            "parameters:\n  type: {type: string, required: true, description: A word}\n  properties: {type: object, required: true, description: All}\n",
            "return [args[\"type\"], args[\"properties\"]]",
        ),
    )]);
}

#[test]
fn nested_properties_say_themselves_that_they_are_required() {
    let nested = tool(
        "parameters:\n  user:\n    type: object\n    required: true\n    properties:\n      name: {type: string, required: true}\n      age: {type: integer, required: false}\n      homes:\n        type: array\n        items:\n          type: object\n          properties:\n            city: {type: string, required: true}\n",
        "return args[\"user\"][\"name\"]",
    );
    let files = [(TOOL, nested.as_str())];
    untold(&files);
    let project = Project::new(&files);
    let call = |user: &str| {
        let args = format!("{{\"user\": {user}}}");
        harness(project.path(), &["call", "read_note", "--args", &args])
    };
    assert_eq!(call("{\"name\": \"Ada\"}").ends(0).out.trim(), "Ada");
    assert!(call("{\"age\": 3}").ends(1).err.contains("name"));
    let homeless = call("{\"name\": \"Ada\", \"homes\": [{}]}").ends(1);
    assert!(homeless.err.contains("city"), "{}", homeless.err);
    let listed = harness(project.path(), &["tools", "--format", "json"]).document();
    let tools = listed["tools"].as_array().expect("a list").iter();
    let mut found = tools.filter(|tool| tool["name"] == "read_note");
    let tool = found.next().expect("the tool");
    assert_eq!(
        tool["input_schema"]["properties"]["user"]["required"],
        json!(["name"])
    );
}

#[test]
fn two_meanings_of_required_on_one_parameter_have_a_way_out() {
    let twice = "parameters:\n  user:\n    type: object\n    required: true\n    properties:\n      name: {type: string}\n    required: [name]\n";
    let body = "return args[\"user\"][\"name\"]";
    told("required_twice", &[(TOOL, &tool(twice, body))]);
    // What the help says.
    let followed = twice
        .replace("\n    required: [name]", "")
        .replace("{type: string}", "{type: string, required: true}");
    untold(&[(TOOL, &tool(&followed, body))]);
    // The list alone is JSON Schema's.
    let list = "parameters:\n  user:\n    type: object\n    properties:\n      name: {type: string}\n    required: [name]\n";
    untold(&[(TOOL, &tool(list, "return args.get(\"user\")"))]);
}

#[test]
fn only_a_key_with_its_body_is_a_secret() {
    let guard = |text: &str| {
        tool(
            "parameters: {}\n",
            &format!("return \"{text}\" in fs.read(\"note.txt\")"),
        )
    };
    untold(&[(TOOL, &guard("-----BEGIN PRIVATE KEY-----"))]);
    untold(&[(TOOL, &guard("-----BEGIN RSA PRIVATE KEY-----"))]);
    untold(&[(TOOL, &guard("-----BEGIN"))]);
    let key = "-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    told("secret_key_with_its_body", &[(TOOL, &guard(key))]);
}

#[test]
fn a_field_that_does_not_exist_lists_those_that_do() {
    told(
        "field_unknown",
        &[(
            "harness.md",
            "---\nsandbox:\n  secret_places: [infra]\n---\n",
        )],
    );
}

#[test]
fn what_has_no_effect_yet_is_checked_and_said_once() {
    let note = tool("parameters: {}\n", "return 1");
    let with = |path: &str, text: &str| {
        vec![
            (TOOL.to_owned(), note.clone()),
            (path.to_owned(), text.to_owned()),
        ]
    };
    for (name, path, text) in [
        (
            "agent",
            ".harness/agents/reader.md",
            "---\ndescription: Reads.\nmodel: some-model\ntools: [read_note, \"read_*\"]\n---\nRead.\n",
        ),
        (
            "agent_without_frontmatter",
            ".harness/agents/reader.md",
            "Read.\n",
        ),
        (
            "agent_key",
            ".harness/agents/reader.md",
            "---\ndescripton: Reads.\n---\nRead.\n",
        ),
        (
            "agent_reference",
            ".harness/agents/reader.md",
            "---\ntools: [raed_note]\nhooks: [watch]\n---\nRead.\n",
        ),
        (
            "agent_type",
            ".harness/agents/reader.md",
            "---\ntools: read_note\n---\nRead.\n",
        ),
        (
            "agent_own_tool",
            ".harness/agents/reader.md",
            "---\ntools:\n  - name: find_note\n    parameters: {}\n    script: |\n      def run(args):\n          return fs.raed(\"note.txt\")\n---\nRead.\n",
        ),
        (
            "skill",
            ".harness/skills/notes/SKILL.md",
            "---\nname: notes\ndescription: How notes are kept. Use it for notes.\nallowed-tools: [read_note]\n---\nKeep notes short.\n",
        ),
        (
            "skill_name",
            ".harness/skills/notes/SKILL.md",
            "---\nname: note\ndesription: How notes are kept.\n---\nKeep notes short.\n",
        ),
        (
            "skill_file_without_frontmatter",
            ".harness/skills/notes.md",
            "Keep notes short.\n",
        ),
        (
            "context",
            ".harness/context/style.md",
            "Write short sentences.\n",
        ),
        (
            "context_when",
            ".harness/context/style.md",
            "---\nwhen: ctx.get(\"mode\") == \"review\" and fs.exists(\"note.txt\")\n---\nWrite short sentences.\n",
        ),
        (
            "context_when_broken",
            ".harness/context/style.md",
            "---\nwhen: 'ctx.get(\"mode\"'\n---\nWrite short sentences.\n",
        ),
        (
            "context_key",
            ".harness/context/style.md",
            "---\nwen: 'True'\n---\nWrite short sentences.\n",
        ),
        (
            "root_fields",
            "harness.md",
            "---\nmodel: {name: some-model, max_tokens: 100}\nmodels: [other-model]\ncontext: {max_history: 5}\nrecord: calls\ndelegation: {max_depth: 2}\nmeta: {enabled: true}\nmcp_servers: {files: {command: server, args: [a]}}\ntool_search: true\nstore: {}\nserve: {}\nexit_policy: {mode: natural}\n---\n",
        ),
        (
            "root_fields_wrong",
            "harness.md",
            "---\nmodel: {nam: some-model}\nrecord: everything\ndelegation: {max_dept: 2}\nmeta: yes please\nmcp_servers: {files: {comand: server}}\nexit_policy: {mode: never}\n---\n",
        ),
        (
            "root_modes_wrong",
            "harness.md",
            "---\nmodes: {defalt: plan}\n---\n",
        ),
    ] {
        let files = with(path, text);
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        told(&format!("idle_{name}"), &files);
    }
}

#[test]
fn a_mistake_in_what_has_no_effect_breaks_no_call() {
    let project = Project::new(&[
        (TOOL, &tool("parameters: {}\n", "return \"milk\"")),
        (
            "harness.md",
            "---\ndelegation: {max_dept: 2}\nexit_policy: 3\n---\n",
        ),
        (".harness/agents/reader.md", "No frontmatter.\n"),
        (".harness/context/style.md", "---\nwhen: '('\n---\nShort.\n"),
    ]);
    let called = harness(project.path(), &["call", "read_note"]).ends(0);
    assert_eq!(called.out.trim(), "milk");
}

#[test]
fn the_last_line_names_the_worst_finding() {
    let project = Project::new(&[
        (
            ".harness/tools/a_tool.md",
            "---\nparameters: {}\ntimeoot_ms: 3\nscript: |\n  def run(args):\n      return 1\n---\nDo it.\n",
        ),
        (
            ".harness/tools/b_tool.md",
            "---\nparameters: {}\nscript: |\n  def run(args)\n      return 1\n---\nDo it.\n",
        ),
    ]);
    let report = harness(project.path(), &["validate"]).ends(1).out;
    let last = report.lines().last().unwrap_or_default();
    assert_eq!(
        last, "`harness explain SCRIPT_SYNTAX` says more about this code",
        "{report}"
    );
}
