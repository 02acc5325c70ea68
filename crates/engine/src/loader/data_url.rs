//! Modules whose code is in their URL: `data:text/javascript,…`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use deno_core::url::Url;
use deno_error::JsErrorBox;

use crate::source::text_of;

/// Content of a `data:` URL.
pub(super) struct DataUrl {
    pub(super) media: DataMedia,
    pub(super) text: String,
}

/// The kinds of text that can be a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataMedia {
    JavaScript,
    TypeScript,
    Json,
}

impl DataUrl {
    /// Parses a URL of the scheme `data`.
    pub(super) fn parse(url: &Url) -> Result<DataUrl, JsErrorBox> {
        let Some((head, body)) = url.path().split_once(',') else {
            return Err(JsErrorBox::type_error(format!(
                "`{url}` is not a `data:` URL: it has no comma"
            )));
        };
        // A `?` belongs to the text, although URLs split it off as a query.
        let body = match url.query() {
            Some(query) => format!("{body}?{query}"),
            None => body.to_owned(),
        };
        let mut parameters = head.split(';').map(str::trim);
        let media = parameters.next().unwrap_or_default();
        let is_base64 = parameters.any(|parameter| parameter.eq_ignore_ascii_case("base64"));
        let media = match media.to_ascii_lowercase().as_str() {
            "text/javascript"
            | "application/javascript"
            | "application/x-javascript"
            | "text/ecmascript"
            | "application/ecmascript" => DataMedia::JavaScript,
            "text/typescript" | "application/typescript" => DataMedia::TypeScript,
            "application/json" | "text/json" => DataMedia::Json,
            _ => {
                return Err(JsErrorBox::type_error(format!(
                    "Cannot import a `data:` URL of the type `{media}`: use `text/javascript`, \
                     `text/typescript` or `application/json`"
                )));
            }
        };
        let bytes: Vec<u8> = percent_encoding::percent_decode_str(&body).collect();
        let bytes = if is_base64 {
            BASE64_STANDARD.decode(bytes).map_err(|error| {
                JsErrorBox::type_error(format!("The base64 of a `data:` URL is invalid: {error}"))
            })?
        } else {
            bytes
        };
        let text = text_of(bytes);
        Ok(DataUrl { media, text })
    }
}
