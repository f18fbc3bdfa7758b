//! The projects under measurement, in temporary folders.

use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A project on disk, deleted on drop.
pub struct Project {
    folder: TempDir,
}

impl Project {
    /// An empty project.
    pub fn new() -> anyhow::Result<Self> {
        let project = Self {
            folder: tempfile::tempdir()?,
        };
        fs::create_dir_all(project.path().join(".harness/tools"))?;
        fs::create_dir_all(project.path().join(".harness/hooks"))?;
        Ok(project)
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Adds a tool.
    pub fn tool(&self, name: &str, text: &str) -> anyhow::Result<()> {
        Ok(fs::write(
            self.path().join(format!(".harness/tools/{name}.md")),
            text,
        )?)
    }

    /// Adds a hook.
    pub fn hook(&self, name: &str, text: &str) -> anyhow::Result<()> {
        Ok(fs::write(
            self.path().join(format!(".harness/hooks/{name}.md")),
            text,
        )?)
    }

    /// Writes the root file.
    pub fn root(&self, text: &str) -> anyhow::Result<()> {
        Ok(fs::write(self.path().join("harness.md"), text)?)
    }
}

/// The file of a tool whose body is in Rust.
pub const RUST_TOOL: &str = "\
---
risk: read
parameters:
  path: { type: string, description: where to look, required: true }
  query: { type: string, description: what to look for, required: true }
  limit: { type: integer, description: how many to give, default: 20, minimum: 1 }
---
Looks for something.
";

/// A tool with a script of twenty lines. `number` makes the script differ from the others.
#[must_use]
pub fn script_tool(number: usize) -> String {
    format!(
        "\
---
parameters:
  path: {{ type: string, description: where to look, required: true }}
  query: {{ type: string, description: what to look for, required: true }}
  limit: {{ type: integer, description: how many to give, default: 20, minimum: 1 }}
script: |
  KINDS = {{\"rs\": \"rust\", \"py\": \"python\", \"md\": \"text\"}}

  def kind_of(path):
      ending = path.split(\".\")[-1]
      return KINDS.get(ending, \"other\")

  def run(args):
      words = args[\"query\"].lower().split(\" \")
      found = []
      for index in range(args[\"limit\"]):
          name = args[\"path\"] + \"/file_\" + str(index + {number})
          if index % 3 == 0:
              name = name + \".rs\"
          score = len([word for word in words if word in name])
          if score > 0 or index < 5:
              found.append({{\"name\": name, \"kind\": kind_of(name), \"score\": score}})
      total = 0
      for item in found:
          total += item[\"score\"]
      return {{\"found\": found, \"total\": total, \"tool\": {number}}}
---
Looks for words in the names of files and says of what kind they are. Tool number {number}.
"
    )
}

/// A tool with this script and no parameters.
#[must_use]
pub fn plain_tool(fields: &str, script: &str) -> String {
    let script: String = script
        .trim_matches('\n')
        .lines()
        .map(|line| format!("  {line}\n"))
        .collect();
    format!("---\n{fields}script: |\n{script}---\nFor a measurement.\n")
}

/// Seven hooks before a call, typical guards, all of which allow.
pub const PRE_HOOKS: [&str; 7] = [
    "
def handle(event, payload):
    if payload[\"name\"] in [\"delete_everything\", \"format_disk\"]:
        return block(\"not here\")
    return allow()
",
    "
SECRET = [\".env\", \".ssh\", \".aws\"]
def handle(event, payload):
    path = payload[\"args\"].get(\"path\", \"\")
    for part in path.split(\"/\"):
        if part in SECRET:
            return block(\"holds secrets\")
    return allow()
",
    "
def handle(event, payload):
    if \"..\" in payload[\"args\"].get(\"path\", \"\"):
        return block(\"leaves the project\")
    return allow()
",
    "
def handle(event, payload):
    if len(payload[\"raw_arguments\"]) > 10000:
        return block(\"too long\")
    return allow()
",
    "
def handle(event, payload):
    effects = payload[\"effects\"]
    if \"spend\" in effects and payload[\"mode\"] != \"default\":
        return ask(\"this costs money\")
    return allow()
",
    "
def handle(event, payload):
    words = payload[\"arguments\"].get(\"query\", \"\").lower().split(\" \")
    if \"password\" in words:
        return block(\"no passwords\")
    return allow()
",
    "
def handle(event, payload):
    limit = payload[\"args\"].get(\"limit\", 0)
    if limit > 1000:
        return block(\"ask for less\")
    return allow()
",
];

/// Two hooks after a call, both of which allow.
pub const POST_HOOKS: [&str; 2] = [
    "
def handle(event, payload):
    if payload[\"is_error\"] and \"password\" in payload[\"content\"]:
        return block(\"an error that tells too much\")
    return allow()
",
    "
def handle(event, payload):
    result = payload[\"result\"]
    if type(result) == \"dict\" and \"token\" in result:
        return block(\"a token\")
    return allow()
",
];

/// A hook file around a script.
#[must_use]
pub fn hook(event: &str, script: &str) -> String {
    let script: String = script
        .trim_matches('\n')
        .lines()
        .map(|line| format!("  {line}\n"))
        .collect();
    format!("---\nevent: {event}\nscript: |\n{script}---\nFor a measurement.\n")
}
