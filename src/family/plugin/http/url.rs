//! URL of an HTTP tool: a template, and values that cannot leave their places.
//!
//! Every value is encoded as `encodeURIComponent` does, but for a placeholder that begins the
//! template: that is a whole URL, or the beginning of one, and the caller's choice. Encoding alone
//! does not keep a value in its place: `..` climbs, and a value behind a host name lengthens it.

use std::ops::Range;

use url::Url;

use super::Refused;
use crate::family::plugin::args::Args;
use crate::family::plugin::template::{Part, parts};
use haft_tool::schema::encode_component;

pub(super) const WRONG_SCHEME: &str = "Invalid URL scheme: only http:// and https:// are allowed";

/// Template whose fixed parts are valid.
pub(super) struct UrlTemplate {
    pub(super) parts: Vec<Part>,
}

impl UrlTemplate {
    /// Checks the fixed parts.
    pub(super) fn parse(text: &str) -> Result<UrlTemplate, Refused> {
        let parts = parts(text.trim());
        let Some(Part::Text(start)) = parts.first() else {
            return Ok(UrlTemplate { parts });
        };
        let Some((scheme, authority)) = start.split_once("://") else {
            return Err(Refused::new(
                "HTTP handler url must begin with http://, https:// or a placeholder",
                "write the whole URL",
            ));
        };
        if !is_http(scheme) {
            return Err(Refused::new(WRONG_SCHEME, "use http:// or https://"));
        }
        if let Some(name) = end_of_host(authority, &parts[1..]) {
            return Err(Refused::new(
                format!(
                    "HTTP handler url: {{{{{name}}}}} stands in the host name: its value could \
                     name another host"
                ),
                "put a `/` before the placeholder",
            ));
        }
        if let [Part::Text(whole)] = &parts[..] {
            Url::parse(whole).map_err(|error| {
                Refused::new(
                    format!("HTTP handler url is not a URL: {error}"),
                    "write the whole URL",
                )
            })?;
        }
        Ok(UrlTemplate { parts })
    }

    /// Returns the parameter that decides which host is contacted, if there is one.
    pub(super) fn host_parameter(&self) -> Option<&str> {
        match &self.parts[..] {
            [Part::Parameter(name), ..] => Some(name),
            [Part::Text(start), Part::Parameter(name), rest @ ..] if start.ends_with("://") => {
                let is_whole = match rest.first() {
                    Some(Part::Text(text)) => text.starts_with(['/', '?', '#', ':']),
                    Some(Part::Parameter(_)) | None => true,
                };
                is_whole.then_some(name)
            }
            _ => None,
        }
    }

    /// Returns the URL with values in their places.
    pub(super) fn build(&self, args: &Args) -> Result<Url, String> {
        let (mut text, mut values) = (String::new(), Vec::<(Range<usize>, &str)>::new());
        for (index, part) in self.parts.iter().enumerate() {
            match part {
                Part::Text(fixed) => text.push_str(fixed),
                Part::Parameter(name) if index == 0 => {
                    let value = args.text(name)?;
                    check_start(name, &value, self.parts.len() > 1)?;
                    text.push_str(&value);
                }
                Part::Parameter(name) => {
                    let start = text.len();
                    text.push_str(&encode_component(&args.text(name)?));
                    values.push((start..text.len(), name));
                }
            }
        }
        refuse_climbing(&text, &values)?;
        checked(&text)
    }
}

/// Parses a URL that may be requested: http or https, with a host, without credentials.
pub(super) fn checked(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| match text.split_once(':') {
        // `javascript:…` and the like are not valid http URLs.
        Some((scheme, _)) if !is_http(scheme) => WRONG_SCHEME.to_owned(),
        _ => format!("Invalid URL: {error}"),
    })?;
    if !is_http(url.scheme()) {
        return Err(WRONG_SCHEME.to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("Invalid URL: it must not contain credentials".to_owned());
    }
    Ok(url)
}

fn is_http(scheme: &str) -> bool {
    ["http", "https"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
}

/// Returns true if a text before a colon has the form of a scheme.
fn is_scheme(text: &str) -> bool {
    let is_sign = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_sign)
}

/// Returns the parameter that ends the host name after a fixed beginning:
/// `https://example.com{{path}}`. A port may be a parameter, and so may the beginning of a host
/// name.
fn end_of_host<'a>(start: &str, rest: &'a [Part]) -> Option<&'a str> {
    let ends = |text: &str| text.contains(['/', '?', '#', '\\']);
    if ends(start) {
        return None;
    }
    let (mut fixed, mut last) = (start, None);
    for part in rest {
        match part {
            Part::Text(text) if ends(text) => {
                fixed = if text.starts_with(['/', '?', '#', '\\']) {
                    fixed
                } else {
                    ""
                };
                last = if fixed.is_empty() { None } else { last };
                break;
            }
            Part::Text(text) => (fixed, last) = (text, None),
            Part::Parameter(name) => last = Some(name.as_str()),
        }
    }
    let is_host = !fixed.is_empty() && !fixed.ends_with(':');
    last.filter(|_| is_host)
}

/// Checks the value of a placeholder at the start, which is not encoded.
fn check_start(name: &str, value: &str, is_followed: bool) -> Result<(), String> {
    if value.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return Err(format!(
            "Parameter '{name}' contains whitespace or control characters, which no URL has"
        ));
    }
    // A wrong scheme is reported first: such a value can never be a URL.
    if let Some((scheme, _)) = value.split_once(':')
        && is_scheme(scheme)
        && !is_http(scheme)
    {
        return Err(WRONG_SCHEME.to_owned());
    }
    if is_followed && value.contains(['?', '#']) {
        return Err(format!(
            "Parameter '{name}' must be the beginning of a URL, without `?` and `#`"
        ));
    }
    Ok(())
}

/// Refuses a value that makes a path segment `.` or `..`: those mean another path.
fn refuse_climbing(text: &str, values: &[(Range<usize>, &str)]) -> Result<(), String> {
    let path_end = text.find(['?', '#']).unwrap_or(text.len());
    let mut start = 0;
    for segment in text[..path_end].split(['/', '\\']) {
        let range = start..start + segment.len();
        start = range.end + 1;
        let is_dots = matches!(
            segment.to_ascii_lowercase().replace("%2e", ".").as_str(),
            "." | ".."
        );
        let touches = |value: &Range<usize>| value.start <= range.end && range.start <= value.end;
        if is_dots && let Some((_, name)) = values.iter().find(|(value, _)| touches(value)) {
            return Err(format!(
                "Parameter '{name}' would make the path segment '{segment}', which leads to \
                 another path"
            ));
        }
    }
    Ok(())
}
