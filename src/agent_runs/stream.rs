//! Parser for the stream of JSON lines that an agent writes. It turns bytes into events and does no
//! I/O.
//!
//! The format is that of `claude --output-format stream-json`. Unknown lines are ignored and lines
//! that are not JSON are reported; neither ends a session.

use serde_json::{Value, json};

use super::event::{Happened, Kind};
use crate::tool_registry::tool_of_allowed;

/// Maximum length of a line in bytes: a result with a large image fits. Longer lines are skipped.
const MAX_LINE_LEN: usize = 16 << 20;

/// Maximum length of a reported line that is not JSON, in characters.
const TOLD: usize = 500;

/// Incremental parser of an agent's output.
#[derive(Default)]
pub(super) struct Stream {
    line: Vec<u8>,
    is_too_long: bool,
    /// Last line of the stream, once it has come.
    pub(super) result: Option<AgentResult>,
    /// Id that the agent itself gives the session.
    pub(super) agent_session: Option<String>,
}

/// Last line of an agent's stream.
#[derive(Clone, Debug)]
pub(super) struct AgentResult {
    pub(super) is_error: bool,
    /// Final text of the agent, or the reason for its failure.
    pub(super) text: Option<String>,
    pub(super) subtype: Option<String>,
    pub(super) turns: Option<u64>,
    pub(super) cost_usd: Option<f64>,
}

impl Stream {
    /// Parses the next bytes and returns their events.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Happened> {
        let mut events = Vec::new();
        let mut lines = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = lines.next() {
            let is_whole = lines.peek().is_some();
            if self.line.len() + part.len() > MAX_LINE_LEN {
                self.is_too_long = true
            } else {
                self.line.extend_from_slice(part)
            }
            if is_whole {
                self.end_line(&mut events);
            }
        }
        events
    }

    /// Parses the rest when the stream has ended, and returns its events.
    pub(super) fn end(&mut self) -> Vec<Happened> {
        let mut events = Vec::new();
        self.end_line(&mut events);
        events
    }

    fn end_line(&mut self, events: &mut Vec<Happened>) {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) {
            let most = MAX_LINE_LEN >> 20;
            let text = format!("a line of the agent has more than {most} MiB and was skipped");
            events.push(Happened::error(text, false));
            return;
        }
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(value) => self.line_of_json(&value, events),
            Err(_) => {
                let text: String = String::from_utf8_lossy(line).chars().take(TOLD).collect();
                let text = format!("a line of the agent is not JSON: {text}");
                events.push(Happened::error(text, false));
            }
        }
    }

    fn line_of_json(&mut self, line: &Value, events: &mut Vec<Happened>) {
        if let Some(id) = line["session_id"].as_str() {
            self.agent_session = Some(id.to_owned());
        }
        match line["type"].as_str() {
            Some("assistant") => said(line, "assistant", events),
            Some("user") => said(line, "user", events),
            Some("system") => {
                let mut data = json!({"role": "system"});
                for key in ["subtype", "model", "cwd", "tools", "mcp_servers"] {
                    if let Some(value) = line.get(key) {
                        data[key] = value.clone();
                    }
                }
                events.push(Happened::new(Kind::Message, data));
            }
            Some("result") => self.result = Some(AgentResult::of(line)),
            Some("error") => {
                let text = text_of(&line["error"]).or_else(|| text_of(line));
                let text = text.unwrap_or_else(|| "the agent reports an error".to_owned());
                events.push(Happened::error(text, false));
            }
            // Parts of messages that are also sent whole, and kinds of lines that are not known
            // yet.
            _ => {}
        }
    }
}

/// Adds the blocks of a message in order. Consecutive texts become one message.
fn said(line: &Value, role: &str, events: &mut Vec<Happened>) {
    let content = &line["message"]["content"];
    let parent = line["parent_tool_use_id"].as_str();
    let mut words: Vec<Value> = Vec::new();
    let blocks = match content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    };
    for block in blocks {
        let event = match block["type"].as_str() {
            Some("tool_use") => tool_use(&block),
            Some("tool_result") => tool_result(&block),
            _ => {
                words.push(block);
                continue;
            }
        };
        message(role, parent, &mut words, events);
        events.push(under(parent, event));
    }
    message(role, parent, &mut words, events);
}

fn message(role: &str, parent: Option<&str>, words: &mut Vec<Value>, events: &mut Vec<Happened>) {
    if words.is_empty() {
        return;
    }
    let content = std::mem::take(words);
    let texts = content.iter().filter_map(|block| block["text"].as_str());
    let text = texts.collect::<Vec<_>>().join("\n");
    let data = json!({"role": role, "text": text, "content": content});
    events.push(under(parent, Happened::new(Kind::Message, data)));
}

/// Marks an event of a subagent with the call that started the subagent.
fn under(parent: Option<&str>, mut event: Happened) -> Happened {
    if let Some(parent) = parent {
        event.data["parentToolUseId"] = json!(parent);
    }
    event
}

fn tool_use(block: &Value) -> Happened {
    let name = block["name"].as_str().unwrap_or_default();
    let mut data = json!({"id": block["id"], "name": name, "input": block["input"]});
    if let Some(tool) = tool_of_allowed(name) {
        data["tool"] = json!(tool);
    }
    Happened::new(Kind::ToolUse, data)
}

fn tool_result(block: &Value) -> Happened {
    let content = match &block["content"] {
        Value::String(text) => json!([{"type": "text", "text": text}]),
        Value::Null => json!([]),
        content => content.clone(),
    };
    let data = json!({
        "toolUseId": block["tool_use_id"],
        "content": content,
        "isError": block["is_error"] == true,
    });
    Happened::new(Kind::ToolResult, data)
}

impl AgentResult {
    fn of(line: &Value) -> AgentResult {
        let subtype = line["subtype"].as_str().map(str::to_owned);
        let failed = subtype.as_deref().is_some_and(|it| it != "success");
        AgentResult {
            is_error: line["is_error"] == true || failed,
            text: text_of(&line["result"]),
            subtype,
            turns: line["num_turns"].as_u64(),
            cost_usd: line["total_cost_usd"].as_f64(),
        }
    }
}

fn text_of(value: &Value) -> Option<String> {
    let text = value.as_str().or_else(|| value["message"].as_str());
    text.filter(|text| !text.is_empty()).map(str::to_owned)
}
