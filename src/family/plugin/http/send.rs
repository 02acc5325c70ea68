//! Sends a request and reads the response, with one timeout from the first packet to the last byte.
//!
//! Redirects are followed here, hop by hop: each target is checked like the first URL. The plugin's
//! headers may be secrets and are never sent to another origin. The body is read in pieces up to a
//! limit.

use std::error::Error as _;

use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Method, Response, StatusCode};
use tokio::time::timeout;
use url::Url;

use super::HttpPlan;
use super::client::client;
use super::url::checked;
use crate::family::plugin::Ended;
use haft_tool::{CallCtx, PermissionProfile};

/// Limit of redirects; browsers follow 20, a tool's API needs one or two.
const MAX_REDIRECTS: u32 = 10;

/// Limit of a body that is kept, in bytes.
const MAX_BODY: usize = 8 << 20;

impl HttpPlan {
    /// Sends the request and waits for the response.
    pub(in crate::family::plugin) async fn run(
        self,
        permissions: &PermissionProfile,
        ctx: &CallCtx,
    ) -> Ended {
        let limit = self.timeout;
        tokio::select! {
            biased;
            () = ctx.cancel().cancelled() => Ended::Stopped("Request was cancelled".to_owned()),
            answered = timeout(limit, self.exchange(ctx, permissions)) => match answered {
                Ok(Ok(ended)) => ended,
                Ok(Err(why)) => Ended::Failed(format!("Request failed: {why}")),
                Err(_) => {
                    let limit = limit.as_secs_f64() * 1000.0;
                    Ended::Failed(format!("Request timed out after {limit}ms"))
                }
            },
        }
    }

    async fn exchange(
        self,
        ctx: &CallCtx,
        permissions: &PermissionProfile,
    ) -> Result<Ended, String> {
        let mut response = self.follow(ctx, permissions).await?;
        let status = response.status();
        refuse_compressed(&response)?;
        let text = body(&mut response).await?;
        if status.is_success() {
            return Ok(Ended::Succeeded(text));
        }
        let reason = status.canonical_reason().unwrap_or_default();
        let head = format!("HTTP {} {reason}", status.as_u16());
        Ok(Ended::Failed(format!("{}:\n{text}", head.trim_end())))
    }

    /// Follows redirects and returns the first response that is not one.
    async fn follow(
        mut self,
        ctx: &CallCtx,
        permissions: &PermissionProfile,
    ) -> Result<Response, String> {
        for _ in 0..=MAX_REDIRECTS {
            if let Some(refusal) = self.refusal(permissions) {
                return Err(refusal);
            }
            ctx.connects(&self.url);
            let request = client()?.request(self.method.clone(), self.url.clone());
            let request = request.headers(self.headers.clone());
            let request = match &self.body {
                Some(body) => request.body(body.clone()),
                None => request,
            };
            let response = request.send().await.map_err(|error| plain(&error))?;
            match target(&self.url, &response)? {
                None => return Ok(response),
                Some(target) => self.set_provider(target, response.status()),
            }
        }
        Err(format!("more than {MAX_REDIRECTS} redirects"))
    }

    /// Changes the request to the one that follows a redirect, as fetch does.
    fn set_provider(&mut self, target: Url, status: StatusCode) {
        let keeps_method =
            status == StatusCode::TEMPORARY_REDIRECT || status == StatusCode::PERMANENT_REDIRECT;
        // fetch repeats a PUT after 301 and 302, and nothing after 303.
        let repeats =
            keeps_method || (self.method == Method::PUT && status != StatusCode::SEE_OTHER);
        if !repeats {
            self.method = Method::GET;
            self.body = None;
            self.headers.remove(CONTENT_TYPE);
        }
        if target.origin() != self.url.origin() {
            let content_type = self.headers.remove(CONTENT_TYPE);
            self.headers = HeaderMap::new();
            if let Some(content_type) = content_type.filter(|_| self.body.is_some()) {
                self.headers.insert(CONTENT_TYPE, content_type);
            }
        }
        self.url = target;
    }
}

/// Returns the target of a redirect; `None` for other responses.
fn target(from: &Url, response: &Response) -> Result<Option<Url>, String> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(location) = response.headers().get(LOCATION).filter(|_| is_redirect) else {
        return Ok(None);
    };
    let location = location
        .to_str()
        .map_err(|_| "the redirect's target is not text")?;
    let refused = |why: String| format!("redirect to {location}: {why}");
    let target = from
        .join(location)
        .map_err(|error| refused(error.to_string()))?;
    checked(target.as_str()).map(Some).map_err(refused)
}

/// Refuses a compressed response: none was requested, and decoding it could turn a few bytes into
/// gigabytes.
fn refuse_compressed(response: &Response) -> Result<(), String> {
    match response.headers().get(CONTENT_ENCODING) {
        Some(encoding) if encoding != "identity" => Err(format!(
            "the body is compressed ({}), which was not asked for",
            String::from_utf8_lossy(encoding.as_bytes())
        )),
        _ => Ok(()),
    }
}

/// Returns the body as text, with a note if the limit cut it.
async fn body(response: &mut Response) -> Result<String, String> {
    let mut bytes = Vec::new();
    let mut is_cut = false;
    while let Some(chunk) = response.chunk().await.map_err(|error| plain(&error))? {
        let room = MAX_BODY - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            // The rest is not read: it may have no end.
            is_cut = true;
            break;
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok(if is_cut {
        format!("{text}\n[haft: the response goes on beyond {MAX_BODY} bytes]")
    } else {
        text.to_owned()
    })
}

/// Returns the innermost cause, without the URL: it may hold secrets that must not be logged.
fn plain(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    let mut inner = error.source();
    while let Some(source) = inner {
        cause = source;
        inner = source.source();
    }
    if error.source().is_none() {
        return "the request could not be sent".to_owned();
    }
    let text = cause.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_owned()
}
