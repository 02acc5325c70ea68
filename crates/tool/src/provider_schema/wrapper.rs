//! Envelope of a schema: the tool definition in each provider's list of tools.

use serde_json::{Map, Value, json};

use super::{Provider, Written};
use crate::Tool;

/// Limit of OpenAI for the description of a function, in characters.
const MAX_OPENAI_CHARS: usize = 1024;

pub(super) fn around(
    tool: &Tool,
    name: &str,
    written: Written,
    provider: Provider,
    strict: bool,
) -> Value {
    let Written { schema, notes, .. } = written;
    let described = described(&tool.description, &notes);
    match provider {
        Provider::Mcp => {
            let mut definition = Map::from_iter([("name".to_owned(), json!(name))]);
            if tool.label != tool.name {
                definition.insert("title".to_owned(), json!(tool.label));
            }
            definition.insert("description".to_owned(), json!(described));
            definition.insert("inputSchema".to_owned(), Value::Object(schema));
            Value::Object(definition)
        }
        Provider::OpenAi | Provider::OpenAiStrict => json!({
            "type": "function",
            "function": {
                "name": name,
                "description": shortened(&described),
                "parameters": schema,
                "strict": strict,
            },
        }),
        Provider::Anthropic => json!({
            "name": name,
            "description": described,
            "input_schema": schema,
        }),
        Provider::Gemini => {
            let mut definition = json!({"name": name, "description": described});
            let properties = schema.get("properties").and_then(Value::as_object);
            // Gemini refuses an object without properties, so `parameters` is left out.
            if properties.is_some_and(|properties| !properties.is_empty()) {
                definition["parameters"] = Value::Object(schema);
            }
            definition
        }
        Provider::Bedrock => {
            let mut specification = json!({"name": name});
            // Bedrock refuses an empty description.
            if !described.trim().is_empty() {
                specification["description"] = json!(described);
            }
            specification["inputSchema"] = json!({ "json": schema });
            json!({ "toolSpec": specification })
        }
    }
}

pub(super) fn described(description: &str, notes: &[String]) -> String {
    let parts = std::iter::once(description).chain(notes.iter().map(String::as_str));
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_OPENAI_CHARS {
        return text.to_owned();
    }
    let start: String = text.chars().take(MAX_OPENAI_CHARS - 1).collect();
    format!("{start}…")
}
