//! A module that runs a recorded script of code mode: `haft new NAME --from-run`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::module::check_name;
use haft_tool::types::Observations;
use haft_tool::{Error, ErrorKind};

/// Directory of a new module: the folder, if nothing of that name is there.
///
/// # Errors
/// [`ErrorKind::Usage`] for a name that no tool can have, [`ErrorKind::Load`] if it is taken.
fn free_folder(tools: &Path, name: &str) -> Result<PathBuf, Error> {
    check_name(name)?;
    let folder = tools.join(name);
    if folder.exists() {
        let text = format!("{} is there already", folder.display());
        return Err(Error::new(ErrorKind::Load, text).with_hint("choose another name"));
    }
    Ok(folder)
}

/// A script that is about to become a tool.
pub(crate) struct ScriptModule<'a> {
    pub(crate) name: &'a str,
    pub(crate) code: &'a str,
    /// The arguments of the recorded run. They give the schema, and the test.
    pub(crate) args: &'a Value,
    /// The tools that the script called.
    pub(crate) tools: &'a [String],
    /// True if all of them only read.
    pub(crate) only_reads: bool,
}

impl ScriptModule<'_> {
    /// Writes the files below `tools` and returns their paths, the module first.
    ///
    /// # Errors
    /// If the name cannot be used, or if a file cannot be written.
    pub(crate) fn write(&self, tools: &Path) -> Result<Vec<PathBuf>, Error> {
        let folder = free_folder(tools, self.name)?;
        let mut script = self.code.trim().to_owned();
        script.push('\n');
        let files = [
            ("index.ts", self.module()),
            ("script.ts", script),
            ("index.tool-test.json", self.test()),
        ];
        let refused = |path: &Path, error: &std::io::Error| {
            let text = format!("{} cannot be written: {error}", path.display());
            Error::new(ErrorKind::Load, text)
        };
        fs::create_dir_all(&folder).map_err(|error| refused(&folder, &error))?;
        let mut written = Vec::with_capacity(files.len());
        for (name, text) in files {
            let path = folder.join(name);
            fs::write(&path, text).map_err(|error| refused(&path, &error))?;
            written.push(path);
        }
        Ok(written)
    }

    fn module(&self) -> String {
        let mut seen = Observations::default();
        seen.add(self.args);
        let schema = seen.observed().map(|observed| observed.schema);
        let mut schema = schema.unwrap_or_default();
        if schema["type"] != "object" {
            schema = json!({"type": "object", "properties": {}});
        }
        schema["additionalProperties"] = false.into();
        let schema = format!("{schema:#}").replace('\n', "\n  ");
        let name = self.name;
        let tools = self.tools.join(", ");
        // The call of a program is of the tier `exec`, whatever the script does.
        let (mode, note) = if self.only_reads {
            ("", "")
        } else {
            (
                ", \"--approval-mode\", \"yolo\"",
                "    // A call of this tool was approved as a whole, so its own calls are not asked about.\n",
            )
        };
        format!(
            r#"// Runs script.ts, which calls: {tools}.
import type {{ CustomToolFactory }} from "@oh-my-pi/pi-coding-agent";

const factory: CustomToolFactory = (pi) => ({{
  name: "{name}",
  label: "{name}",
  description: "Says what a model should know to call it: what it does, and when to use it",
  parameters: {schema},
  approval: "exec",
  async execute(_toolCallId, args: Record<string, unknown>, _onUpdate, _ctx, signal) {{
    const given = Object.entries(args).flatMap(([name, value]) => [
      "--arg",
      `${{name}}:=${{JSON.stringify(value)}}`,
    ]);
    const script = `${{import.meta.dirname}}/script.ts`;
{note}    const ran = await pi.exec("haft", ["run", script, "--json"{mode}, ...given], {{ signal }});
    let outcome;
    try {{
      outcome = JSON.parse(ran.stdout);
    }} catch {{
      throw new Error(`haft run: ${{ran.stderr || "no result"}}`);
    }}
    if (outcome.error) {{
      throw new Error(outcome.error.message);
    }}
    return {{
      content: outcome.content,
      details: {{ value: outcome.details?.value }},
      isError: outcome.isError,
    }};
  }},
}});

export default factory;
"#
        )
    }

    fn test(&self) -> String {
        let stdout = json!({
            "content": [{"type": "text", "text": "the result"}],
            "details": {"value": "the result"},
            "isError": false,
        });
        let test = json!({
            "tests": [{
                "name": "runs the script",
                "arguments": self.args,
                "exec": [{"command": "haft", "stdout": stdout.to_string()}],
                "expect": {"text": "the result"},
            }],
        });
        format!("{test:#}\n")
    }
}
