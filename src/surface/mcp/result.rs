//! Converts outcomes and errors to MCP responses.
//!
//! The model must read why a call was refused or failed, so such an error is a result with
//! `isError`. A protocol error means that the request itself is invalid, or that haft has a defect.

use std::path::Path;
use std::sync::atomic::Ordering;

use rmcp::ErrorData;
use rmcp::model::{
    AudioContent, CallToolResult, ContentBlock, EmbeddedResource, ErrorCode, ImageContent,
    MetaObject, Resource, ResourceContents, TextContent,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::tool_list::{ORIGIN, OfferedTool};
use haft_config::Structured;
use haft_tool::excerpt;
use haft_tool::{Block, Contents, Link, LogLevel, LogLine, LogListener, Outcome};
use haft_tool::{Error, ErrorKind};

/// Details for renderers and logs, not for models.
const DETAILS: &str = "haft/details";
/// Reason for which the call was stopped.
const STOPPED: &str = "haft/stopped";
/// True if the tool marked its result as useless for a model.
const USELESS: &str = "haft/useless";

/// Error of MCP 2025-11: the user has to open a page before the call.
const URL_REQUIRED: ErrorCode = ErrorCode(-32042);

/// Minimum length of shortened strings in bytes. The notices in one string take some hundred bytes.
const MIN_STRING_BYTES: usize = 1_000;
/// Precision of the search for the longest result below the limit.
const STEP: usize = 64;

/// Form of the results for one client.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResultForm {
    /// Condition for structured content.
    pub(super) structured: Structured,
    /// True if the client accepts structured content that is not an object.
    pub(super) any_json: bool,
    /// True if it is the result of a task, which tells an error of the protocol from a failure.
    pub(super) is_task: bool,
}

/// Converts the end of a call to the response for its client.
pub(super) fn answer(
    ended: Result<Outcome, Error>,
    tool: Option<&OfferedTool>,
    form: ResultForm,
    log: Option<&dyn LogListener>,
) -> Result<CallToolResult, ErrorData> {
    let ended = match tool {
        Some(tool) => tool.in_client_names(ended),
        None => ended,
    };
    match ended {
        Ok(outcome) => match error_for_client(&outcome, form) {
            Some(error) => Err(error),
            None => Ok(of_outcome(outcome, tool, form, log)),
        },
        Err(error) => of_error(&error),
    }
}

/// Returns the error of an MCP server behind haft that is the client's to handle: it has to open a page,
/// or lacks a capability. All others are for the model.
fn error_for_client(outcome: &Outcome, form: ResultForm) -> Option<ErrorData> {
    let error = outcome.server_error.as_deref()?;
    let code = ErrorCode(i32::try_from(error.code).ok()?);
    let is_for_client =
        code == URL_REQUIRED || code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
    (is_for_client || form.is_task)
        .then(|| ErrorData::new(code, error.message.clone(), error.data.clone()))
}

/// Converts an outcome to a response. Clients show a model either the content or the structured
/// content. So structured content is only sent if the author declared it. `log` receives a warning
/// if it hides content.
fn of_outcome(
    outcome: Outcome,
    tool: Option<&OfferedTool>,
    form: ResultForm,
    log: Option<&dyn LogListener>,
) -> CallToolResult {
    let Outcome {
        content,
        details,
        is_error,
        useless,
        stopped,
        kept_in,
        ..
    } = outcome;
    let mut meta = MetaObject::new();
    if let Some(why) = stopped {
        meta.insert(STOPPED.to_owned(), why.as_str().into());
    }
    if useless {
        meta.insert(USELESS.to_owned(), true.into());
    }
    if let Some(origin) = tool.and_then(|tool| tool.origin.as_ref()) {
        meta.insert(ORIGIN.to_owned(), origin.clone());
    }
    let promised = tool.filter(|tool| tool.listed.output_schema.is_some());
    let (is_structured, misfit) = match promised {
        Some(tool) => match tool.mismatch(&details) {
            None if !hides(tool, &content, &details) => (true, None),
            // A failure needs no structured content, and its text contains the error.
            None => {
                if !is_error {
                    warn_of_hidden_text(tool, log);
                }
                (!is_error, None)
            }
            // A failure does not have to match the schema of results.
            Some(_) if is_error => (false, None),
            Some(wrong) => (false, Some(wrong)),
        },
        None => {
            let is_readable = form.any_json || details.is_object();
            let is_wanted = form.structured == Structured::Always;
            (is_wanted && is_readable && !is_nothing(&details), None)
        }
    };
    // If the structured content repeats the text, it is also shortened to the length of the text.
    let view = match (promised, &kept_in) {
        (Some(tool), Some(file)) if is_structured && tool.text_repeats_details => {
            let texts = content.iter().map(|block| match block {
                Block::Text { text, .. } => text.len(),
                _ => 0,
            });
            let view = shortened(&details, texts.sum(), file);
            view.filter(|view| tool.mismatch(view).is_none())
        }
        _ => None,
    };
    let declares_output = tool.is_some_and(|tool| tool.declares_output);
    let mut blocks: Vec<ContentBlock> = content.into_iter().map(block).collect();
    if blocks.is_empty() && (is_structured || declares_output && !is_nothing(&details)) {
        // For clients that ignore structured content, or get none.
        blocks.push(ContentBlock::text(details.to_string()));
    }
    if let Some(wrong) = &misfit {
        let text = format!("The result does not fit the tool's own output schema:\n{wrong}");
        blocks.push(ContentBlock::text(text));
    }
    let mut result = if is_error || misfit.is_some() {
        CallToolResult::error(blocks)
    } else {
        CallToolResult::success(blocks)
    };
    if let Some(view) = view {
        result.structured_content = Some(view);
        meta.insert(DETAILS.to_owned(), details);
    } else if is_structured {
        result.structured_content = Some(details);
    } else if !is_nothing(&details) {
        meta.insert(DETAILS.to_owned(), details);
    }
    result.with_meta((!meta.is_empty()).then_some(meta))
}

/// Returns `value` with excerpts of its longest strings, so that its JSON has at most `most` bytes.
/// `file` contains the complete value. `None`: shorter strings would not suffice.
///
/// Some clients show a model only the structured content. Otherwise such a client would write all
/// of it to a file of its own, or cut the middle out of its JSON.
fn shortened(value: &Value, most: usize, file: &Path) -> Option<Value> {
    let way_out = excerpt::way_to(file);
    let cut = |longest: usize| {
        let cut = with_excerpts(value, longest, &way_out);
        (cut.to_string().len() <= most).then_some(cut)
    };
    let mut best = cut(MIN_STRING_BYTES)?;
    let (mut fits, mut too_long) = (MIN_STRING_BYTES, most);
    while too_long.saturating_sub(fits) > STEP {
        let middle = fits.midpoint(too_long);
        match cut(middle) {
            Some(longer) => (best, fits) = (longer, middle),
            None => too_long = middle,
        }
    }
    Some(best)
}

fn with_excerpts(value: &Value, longest: usize, way_out: &str) -> Value {
    match value {
        Value::String(text) if text.len() > longest => {
            Value::String(excerpt::of(text, longest, way_out))
        }
        Value::Array(items) => {
            let items = items.iter();
            items
                .map(|item| with_excerpts(item, longest, way_out))
                .collect()
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields =
                fields.map(|(key, field)| (key.clone(), with_excerpts(field, longest, way_out)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

/// Returns true if a model that only sees the JSON of `details` misses part of `content`.
fn hides(tool: &OfferedTool, content: &[Block], details: &Value) -> bool {
    match content {
        [] => false,
        [Block::Text { .. }] if tool.text_repeats_details => false,
        [Block::Text { text, .. }] => {
            serde_json::from_str::<Value>(text).map_or(true, |said| said != *details)
        }
        _ => true,
    }
}

/// Logs once for each tool that models do not see all of its results.
fn warn_of_hidden_text(tool: &OfferedTool, log: Option<&dyn LogListener>) {
    if tool.is_warned_of.swap(true, Ordering::Relaxed) {
        return;
    }
    let message = "the tool declares an output schema, so many MCP clients show models only the JSON \
                   of its details: text and images of its content are hidden from them";
    tracing::warn!(tool = tool.name, message);
    if let Some(log) = log {
        log.hear(LogLine {
            level: LogLevel::Warn,
            tool: tool.name.clone(),
            message: message.to_owned(),
            context: None,
        });
    }
}

/// Converts an error to a response.
fn of_error(error: &Error) -> Result<CallToolResult, ErrorData> {
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
        | ErrorKind::IsolateLost
        | ErrorKind::Unavailable
        | ErrorKind::Limited
        | ErrorKind::Lost => Ok(CallToolResult::error(vec![ContentBlock::text(text)])),
        ErrorKind::NoSuchTool | ErrorKind::Usage => Err(ErrorData::invalid_params(text, None)),
        // `Internal`, and any kind without a row here.
        _ => Err(ErrorData::internal_error(text, None)),
    }
}

fn block(block: Block) -> ContentBlock {
    match block {
        Block::Text {
            text,
            annotations,
            meta,
        } => {
            let mut content = TextContent::new(text);
            content.annotations = known(annotations);
            content.meta = known(meta);
            ContentBlock::Text(content)
        }
        Block::Image {
            data,
            mime_type,
            annotations,
            meta,
        } => {
            let mut content = ImageContent::new(data, mime_type);
            content.annotations = known(annotations);
            content.meta = known(meta);
            ContentBlock::Image(content)
        }
        Block::Audio {
            data,
            mime_type,
            annotations,
            meta,
        } => {
            let mut content = AudioContent::new(data, mime_type);
            content.annotations = known(annotations);
            content.meta = known(meta);
            ContentBlock::Audio(content)
        }
        Block::Resource {
            resource,
            annotations,
            meta,
        } => {
            let mut content = EmbeddedResource::new(contents(resource));
            content.annotations = known(annotations);
            content.meta = known(meta);
            ContentBlock::Resource(content)
        }
        Block::ResourceLink(link) => ContentBlock::resource_link(resource(link)),
    }
}

/// Returns a value as rmcp has it; one that is none is left out.
fn known<T: DeserializeOwned>(value: Option<Value>) -> Option<T> {
    serde_json::from_value(value?).ok()
}

fn contents(given: Contents) -> ResourceContents {
    let Contents {
        uri,
        mime_type,
        text,
        blob,
        meta,
    } = given;
    let contents = match blob {
        Some(blob) => ResourceContents::blob(blob, uri),
        None => ResourceContents::text(text.unwrap_or_default(), uri),
    };
    let contents = match mime_type {
        Some(mime_type) => contents.with_mime_type(mime_type),
        None => contents,
    };
    match known(meta) {
        Some(meta) => contents.with_meta(meta),
        None => contents,
    }
}

fn resource(link: Link) -> Resource {
    let mut resource = Resource::new(link.uri, link.name);
    resource.title = link.title;
    resource.description = link.description;
    resource.mime_type = link.mime_type;
    resource.size = link.size;
    resource.icons = known(link.icons);
    resource.annotations = known(link.annotations);
    resource.meta = known(link.meta);
    resource
}

fn is_nothing(details: &Value) -> bool {
    match details {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
