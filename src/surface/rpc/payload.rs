//! Parses parameters and serializes results, with the errors for the peer.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

use super::rpc_error::RpcError;

/// The result of a request as JSON, or the error.
pub(super) type Answer = Result<Box<RawValue>, RpcError>;

/// Parses the parameters of `method`, which are passed by name.
pub(super) fn read<T: DeserializeOwned>(
    method: &str,
    params: Option<&RawValue>,
) -> Result<T, RpcError> {
    let text = params.map_or("{}", RawValue::get);
    if !text.starts_with('{') {
        let text = format!("`{method}` takes its parameters by name, in an object");
        return Err(RpcError::invalid_params(text));
    }
    serde_json::from_str(text).map_err(|error| {
        let text = format!("the parameters of `{method}` do not fit: {error}");
        RpcError::invalid_params(text)
    })
}

/// Serializes a result.
pub(super) fn json(value: &impl Serialize) -> Answer {
    to_raw_value(value).map_err(|error| RpcError::internal(error.to_string()))
}

/// Returns `null`, the result of methods without a result.
pub(super) fn null() -> Box<RawValue> {
    RawValue::NULL.to_owned()
}
