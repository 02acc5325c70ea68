//! Outcomes and errors as MCP answers.
//!
//! The model must read why a call was refused or failed, so that is a result with `isError`. A
//! protocol error says that the request itself could never have worked, or a defect of ours.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Resource, ResourceContents};
use serde_json::Value;

use super::offer::Offered;
use crate::error::{Error, ErrorKind};
use crate::tool::{Block, Contents, Link, Outcome};

/// Details that `structuredContent` cannot carry in the older protocol, which wants an object.
const DETAILS: &str = "haft/details";
/// Why the call was stopped.
const STOPPED: &str = "haft/stopped";
/// The tool says that there is nothing for a model in its result.
const USELESS: &str = "haft/useless";

/// What a call came to. `any_json`: the client reads structured results that are no objects.
pub(super) fn of_outcome(
    outcome: Outcome,
    tool: Option<&Offered>,
    any_json: bool,
) -> CallToolResult {
    let Outcome {
        content,
        details,
        is_error,
        useless,
        stopped,
        ..
    } = outcome;
    let mut meta = MetaObject::new();
    if let Some(why) = stopped {
        meta.insert(STOPPED.to_owned(), why.as_str().into());
    }
    if useless {
        meta.insert(USELESS.to_owned(), true.into());
    }
    let mut blocks: Vec<ContentBlock> = content.into_iter().map(block).collect();
    let mut is_error = is_error;
    let mut structured = None;
    let promised = tool.filter(|tool| tool.listed.output_schema.is_some());
    if let Some(tool) = promised {
        match tool.mismatch(&details) {
            None => structured = Some(details),
            // A failure need not have the form that results have.
            Some(_) if is_error => {}
            Some(wrong) => {
                let text =
                    format!("The result does not fit the tool's own output schema:\n{wrong}");
                blocks.push(ContentBlock::text(text));
                is_error = true;
            }
        }
    } else if !is_nothing(&details) {
        if any_json || details.is_object() {
            structured = Some(details);
        } else {
            meta.insert(DETAILS.to_owned(), details);
        }
    }
    if blocks.is_empty()
        && let Some(structured) = &structured
    {
        // For clients that do not look at structured content.
        blocks.push(ContentBlock::text(structured.to_string()));
    }
    let mut result = match is_error {
        true => CallToolResult::error(blocks),
        false => CallToolResult::success(blocks),
    };
    result.structured_content = structured;
    result.with_meta((!meta.is_empty()).then_some(meta))
}

/// Why there is no outcome.
pub(super) fn of_error(error: &Error) -> Result<CallToolResult, ErrorData> {
    let text = match error.hint() {
        Some(hint) => format!("{}\n{hint}", error.message()),
        None => error.message().to_owned(),
    };
    match error.kind() {
        ErrorKind::BadArguments
        | ErrorKind::Untrusted
        | ErrorKind::Denied
        | ErrorKind::Load
        | ErrorKind::Stopped(_)
        | ErrorKind::IsolateLost => Ok(CallToolResult::error(vec![ContentBlock::text(text)])),
        ErrorKind::NoSuchTool | ErrorKind::Usage => Err(ErrorData::invalid_params(text, None)),
        ErrorKind::Internal => Err(ErrorData::internal_error(text, None)),
    }
}

fn block(block: Block) -> ContentBlock {
    match block {
        Block::Text { text } => ContentBlock::text(text),
        Block::Image { data, mime_type } => ContentBlock::image(data, mime_type),
        Block::Audio { data, mime_type } => ContentBlock::audio(data, mime_type),
        Block::Resource { resource } => ContentBlock::resource(contents(resource)),
        Block::ResourceLink(link) => ContentBlock::resource_link(resource(link)),
    }
}

fn contents(given: Contents) -> ResourceContents {
    let Contents {
        uri,
        mime_type,
        text,
        blob,
    } = given;
    let contents = match blob {
        Some(blob) => ResourceContents::blob(blob, uri),
        None => ResourceContents::text(text.unwrap_or_default(), uri),
    };
    match mime_type {
        Some(mime_type) => contents.with_mime_type(mime_type),
        None => contents,
    }
}

fn resource(link: Link) -> Resource {
    let mut resource = Resource::new(link.uri, link.name);
    resource.title = link.title;
    resource.description = link.description;
    resource.mime_type = link.mime_type;
    resource
}

fn is_nothing(details: &Value) -> bool {
    match details {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
