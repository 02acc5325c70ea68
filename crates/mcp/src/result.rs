//! Results of servers as outcomes. haft's own server writes an outcome in the same form, so nothing
//! is lost on the way through several hosts.

use std::time::Duration;

use rmcp::model::{Annotations, CallToolResult, ContentBlock, Resource, ResourceContents};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use haft_tool::{Block, Contents, Link, Outcome};

/// Keys of the metadata that haft's own server writes.
const DETAILS: &str = "haft/details";
const USELESS: &str = "haft/useless";

/// Result of a call in the form that nearly all servers send. A result with anything else in it is read
/// by rmcp, which takes several times as long.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PlainResult {
    content: Vec<PlainText>,
    structured_content: Option<Value>,
    is_error: Option<bool>,
    #[serde(rename = "resultType")]
    _kind: Option<PlainKind>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum PlainKind {
    Complete,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainText {
    #[serde(rename = "type")]
    _kind: PlainType,
    text: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum PlainType {
    Text,
}

/// Converts a plain result.
pub(crate) fn plain_outcome(result: PlainResult, duration: Duration) -> Outcome {
    let texts = result.content.into_iter();
    outcome_of(
        texts.map(|block| Block::text(block.text)).collect(),
        result.structured_content.filter(|value| !value.is_null()),
        result.is_error == Some(true),
        duration,
    )
}

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
        None | Some(Value::Null) => taken(DETAILS),
        structured => structured,
    };
    let content = content.into_iter().filter_map(block).collect();
    Outcome {
        useless,
        ..outcome_of(content, details, is_error == Some(true), duration)
    }
}

fn outcome_of(
    mut content: Vec<Block>,
    details: Option<Value>,
    is_error: bool,
    duration: Duration,
) -> Outcome {
    let details = details.unwrap_or_else(|| json!({}));
    let has_details = details.as_object().is_none_or(|fields| !fields.is_empty());
    if content.is_empty() && has_details {
        // Models see the content.
        content.push(Block::text(details.to_string()));
    }
    Outcome {
        content,
        details,
        is_error,
        ..Outcome::success(String::new(), duration)
    }
}

fn block(block: ContentBlock) -> Option<Block> {
    Some(match block {
        ContentBlock::Text(text) => Block::Text {
            text: text.text,
            annotations: annotations(text.annotations),
            meta: json_of(text.meta),
        },
        ContentBlock::Image(image) => Block::Image {
            data: image.data,
            mime_type: image.mime_type,
            annotations: annotations(image.annotations),
            meta: json_of(image.meta),
        },
        ContentBlock::Audio(audio) => Block::Audio {
            data: audio.data,
            mime_type: audio.mime_type,
            annotations: annotations(audio.annotations),
            meta: json_of(audio.meta),
        },
        ContentBlock::Resource(resource) => Block::Resource {
            resource: contents(resource.resource)?,
            annotations: annotations(resource.annotations),
            meta: json_of(resource.meta),
        },
        ContentBlock::ResourceLink(resource) => Block::ResourceLink(link(resource)),
        other => Block::text(serde_json::to_string(&other).ok()?),
    })
}

/// Returns annotations as JSON, with the priority in the digits that the server wrote.
fn annotations(annotations: Option<Annotations>) -> Option<Value> {
    let annotations = annotations?;
    let digits = annotations.priority.map(|priority| priority.to_string());
    let mut value = serde_json::to_value(annotations).ok()?;
    if let Some(priority) = digits.and_then(|digits| digits.parse::<f64>().ok()) {
        value["priority"] = json!(priority);
    }
    Some(value)
}

/// Returns a value that haft only passes on, as JSON.
fn json_of(value: Option<impl Serialize>) -> Option<Value> {
    serde_json::to_value(value?).ok()
}

fn contents(contents: ResourceContents) -> Option<Contents> {
    Some(match contents {
        ResourceContents::TextResourceContents {
            uri,
            mime_type,
            text,
            meta,
            ..
        } => Contents {
            uri,
            mime_type,
            text: Some(text),
            blob: None,
            meta: json_of(meta),
        },
        ResourceContents::BlobResourceContents {
            uri,
            mime_type,
            blob,
            meta,
            ..
        } => Contents {
            uri,
            mime_type,
            text: None,
            blob: Some(blob),
            meta: json_of(meta),
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
        size: resource.size,
        icons: json_of(resource.icons),
        annotations: annotations(resource.annotations),
        meta: json_of(resource.meta),
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
            {"type": "text", "text": "b", "annotations": {"audience": ["user"], "priority": 0.3},
                "_meta": {"a": 1}},
            {"type": "image", "data": "AA==", "mimeType": "image/png", "annotations": {"priority": 1.0}},
            {"type": "audio", "data": "AA==", "mimeType": "audio/wav", "_meta": {"b": [2]}},
            {"type": "resource", "resource": {"uri": "x:1", "mimeType": "text/plain", "text": "t",
                "_meta": {"c": 3}}, "annotations": {"audience": ["assistant"]}},
            {"type": "resource", "resource": {"uri": "x:2", "blob": "AA=="}},
            {"type": "resource_link", "uri": "x:3", "name": "n", "title": "T", "size": 5,
                "annotations": {"lastModified": "2026-01-01T00:00:00Z"}, "_meta": {"d": 4}},
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
    fn plain_results_are_those_without_anything_else() {
        for plain in [
            json!({"content": []}),
            json!({"content": [{"type": "text", "text": "a"}, {"text": "\u{0}\"ä", "type": "text"}]}),
            json!({"content": [], "isError": true, "resultType": "complete"}),
            json!({"content": [], "structuredContent": {"n": 1.50}, "isError": false}),
            json!({"content": [], "structuredContent": null, "isError": null}),
        ] {
            let text = plain.to_string();
            let result: PlainResult = serde_json::from_str(&text).expect("it is plain");
            let outcome = plain_outcome(result, Duration::ZERO);
            assert_eq!(format!("{outcome:?}"), format!("{:?}", read(plain)));
        }
        for other in [
            json!({}),
            json!({"content": [], "_meta": {}}),
            json!({"content": [], "resultType": "task"}),
            json!({"content": [{"type": "image", "text": "a"}]}),
            json!({"content": [{"type": "text", "text": "a", "annotations": {}}]}),
        ] {
            assert!(serde_json::from_value::<PlainResult>(other).is_err());
        }
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
