//! Hints of a module's author for clients: `long`, `mcp` and `loadMode` of a tool.
//!
//! A value that cannot be used is left out and listed among the problems; the tool still loads.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use haft_config::parse_task_mode;
use haft_tool::{ClientHints, TaskMode};

/// Hints as `30_load.ts` describes them: texts, numbers, flags, or `{is}` with the kind of any
/// other value.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Written {
    task: Option<Value>,
    always_load: Option<Value>,
    search_hint: Option<Value>,
    /// The kind of the value of `mcp` if it is not an object.
    not_an_object: Option<String>,
}

impl Written {
    /// Returns the hints that can be used.
    pub(super) fn read(&self) -> ClientHints {
        ClientHints {
            task: self.task.as_ref().and_then(task),
            always_load: self.always_load.as_ref().and_then(Value::as_bool),
            search_hint: self
                .search_hint
                .as_ref()
                .and_then(Value::as_str)
                .map(str::to_owned),
            keywords: Vec::new(),
        }
    }

    /// Returns the hints that cannot be used, each with advice.
    pub(super) fn misfits(&self, tool: &str) -> Vec<(String, &'static str)> {
        let hints = self.read();
        let members = [
            (
                "mcp.task",
                self.task.as_ref().filter(|_| hints.task.is_none()),
                "write \"always\", \"never\" or a number of seconds",
            ),
            (
                "mcp.alwaysLoad",
                self.always_load
                    .as_ref()
                    .filter(|_| hints.always_load.is_none()),
                "write true or false",
            ),
            (
                "mcp.searchHint",
                self.search_hint
                    .as_ref()
                    .filter(|_| hints.search_hint.is_none()),
                "write a text",
            ),
        ];
        let members = members.into_iter().filter_map(|(member, value, hint)| {
            let value = value?;
            // A value of another type comes as the name of its kind.
            let shown = match (value.get("is").and_then(Value::as_str), value.as_str()) {
                (Some(kind), _) => format!("it is {kind}"),
                (None, Some(text)) => format!("`{text}`"),
                (None, None) => format!("`{value}`"),
            };
            Some((format!("`{member}` of `{tool}` is ignored: {shown}"), hint))
        });
        let mcp = self.not_an_object.as_ref().map(|kind| {
            let text = format!("`mcp` of `{tool}` is ignored: it is {kind}");
            (text, "write an object like { task: \"always\" }")
        });
        members.chain(mcp).collect()
    }
}

fn task(value: &Value) -> Option<TaskMode> {
    match value {
        Value::String(text) => parse_task_mode(text).ok(),
        Value::Number(seconds) => {
            let time = Duration::try_from_secs_f64(seconds.as_f64()?).ok()?;
            Some(TaskMode::After(time))
        }
        _ => None,
    }
}
