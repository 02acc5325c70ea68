//! Values that pass between tools and scripts: the result of a call as a script gets it, and the
//! value of a script as a result.

use serde::Serialize;
use serde_json::{Value, json};

use haft_engine::ScriptAnswer;
use haft_tool::{Block, Error, Outcome, Tool, json as safe_json};

/// Maximum size of one result for a script in bytes.
const MAX_RESULT_BYTES: usize = 32 << 20;

/// All parts of a result that is more than a text.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Parts<'a> {
    text: String,
    images: Vec<Image<'a>>,
    details: &'a Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Image<'a> {
    data: &'a str,
    mime_type: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Raw<'a> {
    content: &'a [Block],
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<&'a Value>,
    is_error: bool,
}

/// Returns the answer for the script that made a call. With `is_raw` a failure of the tool is a
/// value, too.
pub(super) fn answer(
    name: &str,
    tool: &Tool,
    ended: &Result<Outcome, Error>,
    is_raw: bool,
) -> ScriptAnswer {
    let outcome = match ended {
        Ok(outcome) => outcome,
        Err(error) => {
            let message = match error.hint() {
                Some(hint) => format!("{}\n{hint}", error.message()),
                None => error.message().to_owned(),
            };
            return failed(name, &message, &[]);
        }
    };
    let is_error = outcome.is_error || outcome.stopped.is_some();
    if is_error && !is_raw {
        return failed(name, &outcome.text(), &outcome.content);
    }
    let written = if is_raw {
        serde_json::to_string(&Raw {
            content: &outcome.content,
            structured_content: tool.output_schema.as_ref().map(|_| &outcome.details),
            is_error,
        })
    } else if tool.output_schema.is_some() {
        serde_json::to_string(&outcome.details)
    } else {
        serde_json::to_string(&undeclared(outcome))
    };
    match written {
        Ok(json) if json.len() <= MAX_RESULT_BYTES => ScriptAnswer::Value(json),
        Ok(json) => {
            let (size, most) = (json.len() >> 20, MAX_RESULT_BYTES >> 20);
            let text = format!("the result has {size} MiB, and a script gets at most {most} MiB");
            failed(name, &text, &[])
        }
        Err(error) => failed(name, &error.to_string(), &[]),
    }
}

/// Returns the value of a result without a declared type: its text, or all parts if there is more.
pub(crate) fn undeclared(outcome: &Outcome) -> Value {
    let is_plain = match &outcome.details {
        Value::Object(fields) => fields.is_empty(),
        Value::Null => true,
        _ => false,
    };
    match outcome.content.as_slice() {
        [Block::Text { text, .. }] if is_plain => Value::String(text.clone()),
        [] if is_plain => Value::String(String::new()),
        blocks => {
            let images = blocks.iter().filter_map(|block| match block {
                Block::Image {
                    data, mime_type, ..
                } => Some(Image { data, mime_type }),
                _ => None,
            });
            json!(Parts {
                text: outcome.text(),
                images: images.collect(),
                details: &outcome.details,
            })
        }
    }
}

fn failed(name: &str, message: &str, content: &[Block]) -> ScriptAnswer {
    ScriptAnswer::Failed {
        tool: name.to_owned(),
        message: message.to_owned(),
        content: serde_json::to_string(content).unwrap_or_else(|_| "[]".to_owned()),
    }
}

/// Returns the blocks for the value of a script.
pub(super) fn blocks_of(json: &str) -> Vec<Block> {
    let text = || vec![Block::text(json)];
    match safe_json::parse(json) {
        Ok(Value::String(text)) => vec![Block::text(text)],
        Ok(value @ Value::Object(_)) => match image(&value) {
            Some(image) => vec![image],
            None => text(),
        },
        Ok(Value::Array(items)) => {
            let images: Option<Vec<Block>> = items.iter().map(image).collect();
            match images {
                Some(images) if !images.is_empty() => images,
                _ => text(),
            }
        }
        _ => text(),
    }
}

fn image(value: &Value) -> Option<Block> {
    let (data, mime_type) = (
        value.get("data")?.as_str()?,
        value.get("mimeType")?.as_str()?,
    );
    let is_image =
        mime_type.starts_with("image/") && value["type"].as_str().is_none_or(|it| it == "image");
    is_image.then(|| Block::image(data, mime_type))
}
