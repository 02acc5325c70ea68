//! Definitions of tools as other hosts see them, in the form of MCP: they are pinned like those of MCP
//! servers.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use haft_mcp::{TIER_HINT, ToolDefinition};
use haft_nats::OfferedTool;
use haft_tool::{Tier, Tool};

/// Returns a tool as it is offered.
pub(super) fn offered(tool: &Tool) -> OfferedTool {
    let annotations = annotations(tool.approval, tool.is_idempotent);
    let metadata = [
        ("tier", tool.approval.as_str().to_owned()),
        ("annotations", annotations.to_string()),
        ("schema", tool.input_schema.to_string()),
    ];
    let mut metadata: BTreeMap<String, String> = { metadata.into_iter() }
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
    // Its hash says whether two hosts have the same; the schema itself is in the definition.
    if let Some(schema) = metadata.get_mut("schema") {
        *schema = blake3::hash(schema.as_bytes()).to_hex().to_string();
    }
    let mut meta = Map::new();
    if let Some(always_load) = tool.hints.always_load {
        meta.insert("anthropic/alwaysLoad".to_owned(), always_load.into());
    }
    if let Some(hint) = &tool.hints.search_hint {
        meta.insert("anthropic/searchHint".to_owned(), hint.clone().into());
    }
    let definition = ToolDefinition {
        title: (tool.label != tool.name).then(|| tool.label.clone()),
        description: Some(tool.description.clone()).filter(|text| !text.is_empty()),
        input_schema: tool.input_schema.clone(),
        output_schema: tool.output_schema.clone(),
        annotations: Some(annotations),
        meta: (!meta.is_empty()).then_some(Value::Object(meta)),
        ..ToolDefinition::named(&tool.name)
    };
    OfferedTool {
        name: tool.name.clone(),
        digest: definition.digest(),
        definition: serde_json::to_value(&definition).unwrap_or_default(),
        metadata,
    }
}

/// Returns the hints of a tier. A call that only reads may be made twice, as others whose author says so.
fn annotations(tier: Tier, is_idempotent: bool) -> Value {
    let (reads, destroys, is_open) = match tier {
        Tier::Read => (true, false, false),
        Tier::Write => (false, false, false),
        Tier::Exec => (false, true, true),
    };
    json!({
        "readOnlyHint": reads,
        "destructiveHint": destroys,
        "idempotentHint": reads || is_idempotent,
        "openWorldHint": is_open,
        TIER_HINT: tier.as_str(),
    })
}
