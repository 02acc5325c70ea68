//! Definitions that a server sends, and their cache. Listing reads the cache and starts
//! nothing.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text::one_line;
use haft_process::StateFolder;
use haft_process::atomic_file::Durability;
use haft_tool::visible::is_harmful;
use haft_tool::{Tier, since_1970};

/// Version of the files.
const VERSION: u32 = 1;

/// Limit of a file's size in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Limit of the JSON text of one definition in bytes.
const MAX_DEFINITION_BYTES: usize = 1 << 20;

/// Limit of the number of tools of one server.
pub(crate) const MAX_TOOLS: usize = 4096;

/// Limit of the length of a name in bytes.
const MAX_NAME_BYTES: usize = 128;

/// Time for which a server that could not be connected is not tried again by a listing.
const FAILURE_HOLDS: Duration = Duration::from_secs(5 * 60);

/// Hint of haft for the tier of a tool, among the annotations.
pub const TIER_HINT: &str = "haft/tier";

/// A tool as its server defines it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    /// The server's name for it.
    pub name: String,
    /// The title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of the arguments.
    pub input_schema: Value,
    /// The JSON Schema of the structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Hints of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// Further data for clients.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

impl ToolDefinition {
    /// Returns the definition of a tool without arguments.
    pub fn named(name: &str) -> ToolDefinition {
        ToolDefinition {
            name: name.to_owned(),
            title: None,
            description: None,
            input_schema: serde_json::json!({"type": "object"}),
            output_schema: None,
            annotations: None,
            meta: None,
        }
    }

    /// Returns the hash of what models and people see and of the hints. The order of keys does not
    /// count.
    pub fn digest(&self) -> String {
        let mut parts = serde_json::json!([
            self.name,
            self.title,
            self.description,
            self.input_schema,
            self.output_schema,
            self.annotations,
        ]);
        parts.sort_all_objects();
        blake3::hash(parts.to_string().as_bytes())
            .to_hex()
            .to_string()
    }

    /// Returns true if the server says that the tool changes nothing.
    pub fn is_read_only(&self) -> bool {
        let hint = self.annotations.as_ref();
        let hint = hint.and_then(|hints| hints.get("readOnlyHint")?.as_bool());
        hint == Some(true)
    }

    /// Returns the tier that the definition names. Another host of haft says it by a hint of its own.
    pub fn claimed_tier(&self) -> Tier {
        let named = self
            .annotations
            .as_ref()
            .and_then(|hints| hints.get(TIER_HINT)?.as_str()?.parse().ok());
        let by_hint = if self.is_read_only() {
            Tier::Read
        } else {
            Tier::Exec
        };
        named.unwrap_or(by_hint)
    }

    /// Returns true if the definition says that a call may be made twice.
    pub fn is_idempotent(&self) -> bool {
        let hint = |name: &str| self.annotations.as_ref()?.get(name)?.as_bool();
        self.is_read_only() || hint("idempotentHint") == Some(true)
    }

    /// Returns the title for people: its own, or that of the annotations.
    pub fn label(&self) -> Option<&str> {
        let of_annotations = || self.annotations.as_ref()?.get("title")?.as_str();
        self.title.as_deref().or_else(of_annotations)
    }
}

/// Name and version of a server's program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerInfo {
    /// The name.
    pub name: String,
    /// The version.
    pub version: String,
}

/// Everything that a server offers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Definitions {
    /// Version of the protocol that both sides agreed on.
    pub protocol: String,
    /// The server's program.
    #[serde(default)]
    pub server: Option<ServerInfo>,
    /// Its tools, in its order.
    pub tools: Vec<ToolDefinition>,
    /// Entries of its list that are not tools, with the reason.
    #[serde(default)]
    pub faults: Vec<String>,
    /// Set if it has resources, prompts or completions of arguments.
    #[serde(default)]
    pub has_resources: bool,
    #[serde(default)]
    #[allow(missing_docs, reason = "see `has_resources`")]
    pub has_prompts: bool,
    #[serde(default)]
    #[allow(missing_docs, reason = "see `has_resources`")]
    pub has_completions: bool,
    /// True if it reports changes of single resources.
    #[serde(default)]
    pub has_subscriptions: bool,
    /// Its resources, as it lists them.
    #[serde(default)]
    pub resources: Vec<Value>,
    /// Its templates of resources.
    #[serde(default)]
    pub resource_templates: Vec<Value>,
    /// Its prompts.
    #[serde(default)]
    pub prompts: Vec<Value>,
    /// Names of the tools, while they are added.
    #[serde(skip)]
    names: HashSet<String>,
}

impl Definitions {
    /// Returns the definition of a tool.
    pub fn tool(&self, name: &str) -> Option<&ToolDefinition> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Reads definitions that another host sends; those that cannot be used become faults.
    pub fn of(entries: impl IntoIterator<Item = Value>) -> Definitions {
        let mut definitions = Definitions::default();
        entries.into_iter().for_each(|entry| definitions.add(entry));
        definitions.complete()
    }

    /// Forgets what is only needed while entries are added.
    pub(crate) fn complete(mut self) -> Definitions {
        self.names = HashSet::new();
        self
    }

    /// Adds an entry of the server's list. One that cannot be used is a fault and costs nothing
    /// else.
    pub(crate) fn add(&mut self, entry: Value) {
        let shown = |entry: &Value| match entry.get("name").and_then(Value::as_str) {
            Some(name) => format!("`{}`", one_line(name, MAX_NAME_BYTES)),
            None => "without a name".to_owned(),
        };
        let name = shown(&entry);
        let fault = match checked(entry) {
            Ok(tool) if !self.names.insert(tool.name.clone()) => "it is listed twice".to_owned(),
            Ok(_) if self.tools.len() >= MAX_TOOLS => {
                format!("the server has more than {MAX_TOOLS} tools")
            }
            Ok(tool) => return self.tools.push(tool),
            Err(why) => why,
        };
        if self.faults.len() < 100 {
            self.faults
                .push(format!("the tool {name} is not offered: {fault}"));
        }
    }
}

fn checked(mut entry: Value) -> Result<ToolDefinition, String> {
    let fields = entry.as_object_mut().ok_or("it is not an object")?;
    if fields.get("inputSchema").is_none_or(Value::is_null) {
        // The protocol requires one; servers without arguments leave it out.
        fields.insert(
            "inputSchema".to_owned(),
            serde_json::json!({"type": "object"}),
        );
    }
    let length = Value::to_string(&entry).len();
    if length > MAX_DEFINITION_BYTES {
        return Err(format!("its definition has {length} bytes"));
    }
    let tool: ToolDefinition = serde_json::from_value(entry).map_err(|error| error.to_string())?;
    let name = &tool.name;
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name.chars().any(is_harmful) {
        return Err(format!(
            "a name has 1 to {MAX_NAME_BYTES} bytes and no hidden characters"
        ));
    }
    if !tool.input_schema.is_object() {
        return Err("its `inputSchema` is not an object".to_owned());
    }
    Ok(tool)
}

/// Reason why a server could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The reason as a sentence without a period.
    pub message: String,
    /// The last lines of the server's standard error.
    #[serde(default)]
    pub last_words: Vec<String>,
    /// Seconds since 1970.
    pub at: u64,
}

impl Failure {
    /// Creates the failure of this moment.
    pub fn now(message: impl Into<String>, last_words: Vec<String>) -> Failure {
        Failure {
            message: message.into(),
            last_words,
            at: since_1970().as_secs(),
        }
    }

    /// Returns true if it is so recent that a listing does not try again.
    pub fn is_recent(&self) -> bool {
        let age = since_1970().as_secs().checked_sub(self.at);
        age.is_some_and(|age| age < FAILURE_HOLDS.as_secs())
    }
}

/// Writes the reason with the last words of the server.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if !self.last_words.is_empty() {
            write!(f, "; its last words: {}", self.last_words.join(" | "))?;
        }
        Ok(())
    }
}

/// A server of this name that cannot be used for this reason, as a sentence for people.
#[derive(Debug)]
pub struct Unusable<'a, T>(pub &'a str, pub T);

impl<T> Unusable<'_, T> {
    /// Returns the instruction that shows more.
    pub fn hint(&self) -> String {
        format!(
            "`haft mcp test {}` starts it and shows what it says",
            self.0
        )
    }
}

impl<T: fmt::Display> fmt::Display for Unusable<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unusable(server, why) = self;
        write!(f, "the MCP server `{server}` cannot be used: {why}")
    }
}

/// Knowledge of a server from earlier connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    pub(crate) version: u32,
    /// Its offer when it was last connected.
    #[serde(default)]
    pub definitions: Option<Arc<Definitions>>,
    /// The failure of the last start, if it failed.
    pub failure: Option<Failure>,
}

impl Record {
    /// Creates the record of what is known now.
    pub fn new(definitions: Option<Arc<Definitions>>, failure: Option<Failure>) -> Record {
        Record {
            version: VERSION,
            definitions,
            failure,
        }
    }

    /// Reads the record of a server. One that is missing or cannot be read is empty.
    pub fn read(folder: &StateFolder, identity: &str) -> Record {
        let bytes = folder.read(&file(identity), MAX_FILE_BYTES).ok().flatten();
        let record = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let record = record.filter(|record: &Record| record.version == VERSION);
        record.unwrap_or_default()
    }

    /// Returns the time since the record of a server was stored.
    pub fn age(folder: &StateFolder, identity: &str) -> Option<Duration> {
        folder.age(&file(identity))
    }

    /// Stores the record of a server.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, folder: &StateFolder, identity: &str) -> io::Result<()> {
        let record = Record {
            version: VERSION,
            ..self.clone()
        };
        let bytes = serde_json::to_vec(&record)?;
        folder.replace(&file(identity), &bytes, Durability::Unsynced)
    }
}

fn file(identity: &str) -> String {
    format!("{identity}.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn definitions(entries: Vec<Value>) -> Definitions {
        let mut definitions = Definitions::default();
        entries.into_iter().for_each(|entry| definitions.add(entry));
        definitions.complete()
    }

    #[test]
    fn one_bad_tool_costs_only_itself() {
        let found = definitions(vec![
            json!({"name": "good", "inputSchema": {"type": "object"}}),
            json!({"name": "bad", "inputSchema": 1}),
            json!({"inputSchema": {}}),
            json!("no object"),
            json!({"name": "good", "inputSchema": {}}),
            json!({"name": "a\u{1b}[2J", "inputSchema": {}}),
            json!({"name": "no_schema"}),
        ]);
        let names: Vec<_> = found.tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["good", "no_schema"]);
        assert_eq!(
            found.faults[..4],
            [
                "the tool `bad` is not offered: its `inputSchema` is not an object",
                "the tool without a name is not offered: missing field `name`",
                "the tool without a name is not offered: it is not an object",
                "the tool `good` is not offered: it is listed twice",
            ]
        );
        assert_eq!(found.faults.len(), 5);
        assert!(!found.faults[4].contains('\u{1b}'));
    }

    #[test]
    fn the_digest_ignores_the_order_of_keys_and_nothing_else() {
        let one = json!({"name": "a", "description": "d", "inputSchema":
            {"type": "object", "properties": {"x": {"type": "string"}}}});
        let same = json!({"inputSchema":
            {"properties": {"x": {"type": "string"}}, "type": "object"},
            "description": "d", "name": "a"});
        let mut changed = one.clone();
        changed["description"] = json!("d.");
        let mut hints = one.clone();
        hints["annotations"] = json!({"readOnlyHint": true});
        let all =
            [one, same, changed, hints].map(|entry| definitions(vec![entry]).tools[0].digest());
        assert_eq!(all[0], all[1]);
        assert_ne!(all[0], all[2]);
        assert_ne!(all[0], all[3]);
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = StateFolder::of_cache(folder.path().join("new"));
        assert_eq!(Record::read(&folder, "x"), Record::default());
        let record = Record {
            version: VERSION,
            definitions: Some(Arc::new(definitions(vec![
                json!({"name": "a", "inputSchema": {}}),
            ]))),
            failure: Some(Failure::now("it ended", vec!["why".to_owned()])),
        };
        record.write(&folder, "x").expect("it is written");
        let read = Record::read(&folder, "x");
        assert_eq!(read, record);
        let failure = read.failure.expect("it is stored");
        assert!(failure.is_recent());
        assert_eq!(failure.to_string(), "it ended; its last words: why");
    }
}
