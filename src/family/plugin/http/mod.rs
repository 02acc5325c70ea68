//! HTTP tools: one request, built from a template and the arguments.

mod client;
mod send;
mod url;

use std::time::Duration;

use ::url::Url;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use self::url::UrlTemplate;
use super::args::Args;
use super::json::{Fault, Fields, Json};
use super::{limits, text};
use haft_tool::{AccessTarget, PermissionKind, PermissionProfile};

/// Default timeout of a call.
const TIMEOUT: Duration = Duration::from_secs(10);

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Headers that belong to the connection; another value would break its framing.
const NOT_OURS: &[&str] = &[
    "connection",
    "content-length",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Fault of a template, with a hint.
struct Refused {
    message: String,
    hint: &'static str,
}

/// A request template, ready for values.
pub(super) struct Http {
    url: UrlTemplate,
    method: Method,
    headers: HeaderMap,
    timeout: Duration,
}

/// Complete request.
pub(super) struct HttpPlan {
    url: Url,
    method: Method,
    headers: HeaderMap,
    body: Option<String>,
    timeout: Duration,
}

impl Refused {
    fn new(message: impl Into<String>, hint: &'static str) -> Refused {
        let message = message.into();
        Refused { message, hint }
    }
}

impl Http {
    /// Reads the handler; minor faults are added to `warnings`.
    pub(super) fn read(
        handler: &Fields<'_>,
        faults: &mut Vec<Fault>,
        warnings: &mut Vec<Fault>,
    ) -> Option<Http> {
        let timeout = limits::timeout("HTTP handler", handler, TIMEOUT, faults);
        let method = method(handler, faults);
        let headers = headers(handler, faults);
        let text = handler.string("url").filter(|url| !url.trim().is_empty());
        let Some(text) = text else {
            let text = "HTTP handler url is required and must be a non-empty string";
            faults.push(handler.fault("url", text));
            return None;
        };
        let url = UrlTemplate::parse(&text)
            .map_err(|refused| {
                faults.push(handler.fault("url", refused.message).hint(refused.hint));
            })
            .ok();
        let http = Http {
            url: url?,
            method: method?,
            headers: headers?,
            timeout: timeout?,
        };
        if let Some(name) = http
            .url
            .host_parameter()
            .filter(|_| !http.headers.is_empty())
        {
            let text = format!("HTTP handler: whoever {{{{{name}}}}} names is sent the headers");
            let hint = "write the host into the url if the headers hold a secret";
            warnings.push(handler.fault("headers", text).hint(hint));
        }
        Some(http)
    }

    /// Returns every parameter of the URL.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &str> {
        super::template::parameters(&self.url.parts)
    }

    /// Returns true if calls are meant to change something.
    pub(super) fn writes(&self) -> bool {
        self.method != Method::GET
    }

    /// Puts the values into their places.
    pub(super) fn plan(&self, args: &Args) -> Result<HttpPlan, String> {
        let mut url = self.url.build(args)?;
        let others = args.others(&self.url.parts);
        let mut headers = self.headers.clone();
        let mut body = None;
        if self.method == Method::GET {
            let pairs = others.iter().filter(|(_, value)| !value.is_null());
            let pairs: Vec<_> = pairs.map(|(name, value)| (name, text::of(value))).collect();
            if !pairs.is_empty() {
                url.query_pairs_mut().extend_pairs(pairs);
            }
        } else if !others.is_empty() {
            headers.entry(CONTENT_TYPE).or_insert(JSON);
            body = Some(args.object(&others));
        }
        Ok(HttpPlan {
            url,
            method: self.method.clone(),
            headers,
            body,
            timeout: self.timeout,
        })
    }
}

impl HttpPlan {
    /// Returns the reason why the request may not connect to its host; `None` if it may.
    pub(super) fn refusal(&self, permissions: &PermissionProfile) -> Option<String> {
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port_or_known_default();
        let target = match port {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let host_target = match port {
            Some(port) => AccessTarget::Host(host, port),
            None => AccessTarget::AnyPort(host),
        };
        let is_granted = permissions
            .decide(PermissionKind::Net, host_target)
            .is_granted();
        (!is_granted).then(|| permissions.refusal(PermissionKind::Net, &target))
    }
}

fn method(handler: &Fields<'_>, faults: &mut Vec<Fault>) -> Option<Method> {
    if handler.get("method").is_none() {
        return Some(Method::POST);
    }
    match handler.string("method").as_deref() {
        Some("GET") => Some(Method::GET),
        Some("POST") => Some(Method::POST),
        Some("PUT") => Some(Method::PUT),
        _ => {
            let text = format!(
                "HTTP handler method must be \"GET\", \"POST\", or \"PUT\", got: {}",
                handler.shown("method")
            );
            faults.push(handler.fault("method", text));
            None
        }
    }
}

fn headers(handler: &Fields<'_>, faults: &mut Vec<Fault>) -> Option<HeaderMap> {
    let Some(given) = handler.get("headers") else {
        return Some(HeaderMap::new());
    };
    let Value::Object(fields) = given.value() else {
        faults.push(given.fault("HTTP handler headers must be an object of strings"));
        return None;
    };
    let mut headers = HeaderMap::new();
    let before = faults.len();
    for (name, value) in &fields {
        match header(name, value) {
            Ok((name, value)) => {
                headers.insert(name, value);
            }
            Err(what) => faults.push(header_fault(given, name, what)),
        }
    }
    (faults.len() == before).then_some(headers)
}

fn header(name: &str, value: &Value) -> Result<(HeaderName, HeaderValue), &'static str> {
    let value = value.as_str().ok_or("must be a string")?;
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| "is not a header's name")?;
    if NOT_OURS.contains(&name.as_str()) {
        return Err("is set by the connection itself");
    }
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| "has characters that a header must not have, such as a line break")?;
    value.set_sensitive(true);
    Ok((name, value))
}

fn header_fault(headers: Json<'_>, name: &str, what: &str) -> Fault {
    let fields = headers.fields();
    let text = format!("HTTP handler header \"{}\" {what}", name.escape_debug());
    match fields {
        Some(fields) => fields.fault(name, text),
        None => headers.fault(text),
    }
}
