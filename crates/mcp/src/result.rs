//! Results of servers as outcomes. haft's own server writes an outcome in the same form, so nothing
//! is lost on the way through several hosts.

use std::time::Duration;

use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};
use serde_json::{Value, json};

use haft_tool::{Block, Contents, Link, Outcome};

/// Keys of the metadata that haft's own server writes.
const DETAILS: &str = "haft/details";
const USELESS: &str = "haft/useless";

/// Converts a result.
pub(crate) fn outcome(result: CallToolResult, duration: Duration) -> Outcome {
    let CallToolResult {
        content,
        structured_content,
        is_error,
        mut meta,
        ..
    } = result;
    let mut taken = |key: &str| meta.as_mut().and_then(|meta| meta.remove(key));
    let useless = taken(USELESS) == Some(Value::Bool(true));
    let details = match structured_content {
        None | Some(Value::Null) => taken(DETAILS).unwrap_or_else(|| json!({})),
        Some(structured) => structured,
    };
    let mut content: Vec<Block> = content.into_iter().filter_map(block).collect();
    let has_details = details.as_object().is_none_or(|fields| !fields.is_empty());
    if content.is_empty() && has_details {
        // Models see the content.
        content.push(Block::Text {
            text: details.to_string(),
        });
    }
    Outcome {
        content,
        details,
        is_error: is_error == Some(true),
        useless,
        ..Outcome::success(String::new(), duration)
    }
}

fn block(block: ContentBlock) -> Option<Block> {
    Some(match block {
        ContentBlock::Text(text) => Block::Text { text: text.text },
        ContentBlock::Image(image) => Block::Image {
            data: image.data,
            mime_type: image.mime_type,
        },
        ContentBlock::Audio(audio) => Block::Audio {
            data: audio.data,
            mime_type: audio.mime_type,
        },
        ContentBlock::Resource(resource) => Block::Resource {
            resource: contents(resource.resource)?,
        },
        ContentBlock::ResourceLink(resource) => Block::ResourceLink(link(resource)),
        other => Block::Text {
            text: serde_json::to_string(&other).ok()?,
        },
    })
}

fn contents(contents: ResourceContents) -> Option<Contents> {
    Some(match contents {
        ResourceContents::TextResourceContents {
            uri,
            mime_type,
            text,
            ..
        } => Contents {
            uri,
            mime_type,
            text: Some(text),
            blob: None,
        },
        ResourceContents::BlobResourceContents {
            uri,
            mime_type,
            blob,
            ..
        } => Contents {
            uri,
            mime_type,
            text: None,
            blob: Some(blob),
        },
        _ => return None,
    })
}

fn link(resource: Resource) -> Link {
    Link {
        uri: resource.uri,
        name: resource.name,
        title: resource.title,
        description: resource.description,
        mime_type: resource.mime_type,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(result: Value) -> Outcome {
        let result = serde_json::from_value(result).expect("it is a result");
        outcome(result, Duration::ZERO)
    }

    #[test]
    fn every_kind_of_content_passes() {
        let content = json!([
            {"type": "text", "text": "a"},
            {"type": "image", "data": "AA==", "mimeType": "image/png"},
            {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "x:1", "text": "t", "mimeType": "text/plain"}},
            {"type": "resource", "resource": {"uri": "x:2", "blob": "AA=="}},
            {"type": "resource_link", "uri": "x:3", "name": "n", "title": "T"},
        ]);
        let outcome = read(json!({"content": content, "structuredContent": {"n": 1},
            "isError": true}));
        assert_eq!(
            serde_json::to_value(&outcome.content).expect("it is JSON"),
            content
        );
        assert_eq!(outcome.details, json!({"n": 1}));
        assert!(outcome.is_error);
    }

    #[test]
    fn details_of_haft_and_lone_structured_content_are_kept() {
        let outcome = read(json!({"content": [], "_meta": {"haft/details": {"a": 1},
            "haft/useless": true}}));
        assert_eq!(outcome.details, json!({"a": 1}));
        assert!(outcome.useless);
        let outcome = read(json!({"content": [], "structuredContent": [1, 2]}));
        assert_eq!(outcome.text(), "[1,2]");
        let outcome = read(json!({"content": []}));
        assert!(outcome.content.is_empty());
    }
}
