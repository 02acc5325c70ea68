//! The answer to `--schema`: one JSON object, or the reason in the parentheses of a debug line.
//!
//! Bytes in, data out.

use serde_json::{Map, Value};

use super::parameters;
use haft_process::{End, Finished};

/// The longest name that providers allow.
const MAX_NAME_LEN: usize = 64;

/// Description of a tool in the forms that are advertised.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) input_schema: Value,
    pub(super) output_schema: Value,
}

/// Reason why a description cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    #[error("timeout")]
    Timeout,
    #[error("crashed with exit code {0}")]
    Crashed(i32),
    #[error("invalid JSON")]
    NotJson,
    #[error("missing field: {0}")]
    Missing(&'static str),
    #[error("invalid field: {0}")]
    Invalid(&'static str),
    #[error("invalid name: {0:?}")]
    BadName(String),
}

impl Unusable {
    /// Returns advice for the tool's author.
    pub(super) fn hint(&self) -> &'static str {
        match self {
            Unusable::Timeout => "`TOOL --schema` has one second, and nothing to read",
            Unusable::Crashed(_) => "try it by hand: `TOOL --schema` prints JSON and exits with 0",
            Unusable::NotJson => "`TOOL --schema` prints one JSON object and nothing else",
            Unusable::Missing(_) | Unusable::Invalid(_) => {
                "`name` and `description` are texts, `parameters` is an object"
            }
            Unusable::BadName(_) => "1 to 64 letters, digits, `_` and `-`",
        }
    }
}

/// Parses the answer of a tool.
pub(super) fn read(finished: &Finished) -> Result<Described, Unusable> {
    match finished.end {
        End::Exited(0) => {}
        End::TimedOut(_) | End::Cancelled(_) => return Err(Unusable::Timeout),
        other => return Err(Unusable::Crashed(other.shell_code())),
    }
    if finished.stdout.dropped > 0 {
        return Err(Unusable::NotJson);
    }
    let value = serde_json::from_slice(&finished.stdout.bytes).map_err(|_| Unusable::NotJson)?;
    let Value::Object(mut fields) = value else {
        return Err(Unusable::NotJson);
    };
    let name = text(&mut fields, "name")?;
    let description = text(&mut fields, "description")?;
    let parameters = fields.shift_remove("parameters").unwrap_or_default();
    let returns = fields.shift_remove("returns").unwrap_or_default();
    Ok(Described {
        name: normalised(&name).ok_or(Unusable::BadName(name))?,
        description,
        input_schema: parameters::input_schema(parameters)
            .ok_or(Unusable::Invalid("parameters"))?,
        output_schema: parameters::output_schema(returns),
    })
}

fn text(fields: &mut Map<String, Value>, key: &'static str) -> Result<String, Unusable> {
    match fields.shift_remove(key) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text),
        None | Some(Value::Null | Value::String(_)) => Err(Unusable::Missing(key)),
        Some(_) => Err(Unusable::Invalid(key)),
    }
}

/// Returns the advertised name, with `_` for `-`; `None` for one that providers refuse, or a path.
fn normalised(name: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let fits = name.len() <= MAX_NAME_LEN && name.chars().all(plain);
    fits.then(|| name.replace('-', "_"))
}
