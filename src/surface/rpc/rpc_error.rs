//! Errors of the protocol and their codes.
//!
//! Only this module knows the codes: those of JSON-RPC, and haft's own from -32001 down. The match
//! over the kinds is exhaustive, so a new kind does not compile without a code.

use serde::Serialize;

use haft_tool::Stopped;
use haft_tool::{Error, ErrorKind};

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const INTERNAL_ERROR: i32 = -32603;
const NO_SUCH_TOOL: i32 = -32001;
const REFUSED: i32 = -32002;
const STOPPED: i32 = -32003;
const ISOLATE_LOST: i32 = -32004;
const NOT_LOADABLE: i32 = -32005;
const ALREADY_INITIALIZED: i32 = -32006;

/// The `error` of a response.
#[derive(Debug, Serialize)]
pub(super) struct RpcError {
    code: i32,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Data>,
}

/// Error data for programs, in addition to the code.
#[derive(Debug, Default, Serialize)]
struct Data {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl RpcError {
    /// The line is not valid JSON.
    pub(super) fn parse(message: impl Into<String>) -> Self {
        Self::new(PARSE_ERROR, message)
    }

    /// The message is not a request.
    pub(super) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(INVALID_REQUEST, message)
    }

    /// The method is unknown.
    pub(super) fn no_method(name: &str, suggest: Option<&str>) -> Self {
        let mut rpc_error = Self::new(METHOD_NOT_FOUND, format!("there is no method `{name}`"));
        rpc_error.data = suggest.map(|name| Data {
            hint: Some(format!("did you mean `{name}`?")),
            ..Data::default()
        });
        rpc_error
    }

    /// The parameters do not match the method.
    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    /// A defect of haft.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(INTERNAL_ERROR, message)
    }

    /// `initialize` came after another request.
    pub(super) fn already_initialized() -> Self {
        let text = "`initialize` comes once, before anything else";
        Self::new(ALREADY_INITIALIZED, text)
    }

    fn new(code: i32, message: impl Into<String>) -> Self {
        RpcError {
            code,
            message: message.into(),
            data: None,
        }
    }
}

impl From<Error> for RpcError {
    fn from(error: Error) -> Self {
        let (code, stopped) = match error.kind() {
            ErrorKind::Usage | ErrorKind::BadArguments => (INVALID_PARAMS, None),
            ErrorKind::NoSuchTool => (NO_SUCH_TOOL, None),
            ErrorKind::Untrusted | ErrorKind::Denied => (REFUSED, None),
            ErrorKind::Load => (NOT_LOADABLE, None),
            ErrorKind::Stopped(why) => (STOPPED, Some(why)),
            ErrorKind::IsolateLost => (ISOLATE_LOST, None),
            // `Internal`, and any kind without a row here.
            _ => (INTERNAL_ERROR, None),
        };
        RpcError {
            code,
            message: error.message().to_owned(),
            data: Some(Data {
                kind: Some(error.kind().as_str()),
                stopped,
                hint: error.hint().map(str::to_owned),
            }),
        }
    }
}
