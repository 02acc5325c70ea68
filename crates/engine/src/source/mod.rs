//! Contents of one source file, found by parsing its text and without running any of it: its imports,
//! the places that load code in other ways, and the permissions that it asks for.

mod dynamic;
mod imports;
mod nesting;
pub(crate) mod requests;

use std::path::Path;
use std::sync::Arc;

use deno_ast::swc::ast::Expr;
use deno_ast::{MediaType, ParseDiagnostic, ParseParams, ParsedSource};
use deno_core::url::Url;
use deno_error::JsErrorBox;

pub use dynamic::{DynamicImport, What};
pub(crate) use imports::Imports;
pub use nesting::on_deep_stack;
pub(crate) use nesting::{DEEP_STACK, stack_for};

/// Size limit of a source that is parsed.
pub(crate) const MAX_SOURCE_BYTES: u64 = 16 << 20;

/// Converts the bytes of a file to text. Bytes that are not UTF-8 are replaced, and a byte order mark
/// is removed.
pub(crate) fn text_of(bytes: Vec<u8>) -> String {
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

/// Returns the URL of the file at `path`, which is absolute.
pub(crate) fn url_of(path: &Path) -> Result<Url, JsErrorBox> {
    Url::from_file_path(path)
        .map_err(|()| JsErrorBox::generic(format!("'{}' is not an absolute path", path.display())))
}

/// Parses a file. One that is CommonJS by its name may still be an ES module, as in Bun.
pub(crate) fn parse_as(
    url: &Url,
    media_type: MediaType,
    text: Arc<str>,
) -> Result<ParsedSource, ParseDiagnostic> {
    let parse = |media_type| {
        deno_ast::parse_program(ParseParams {
            specifier: url.clone(),
            text: text.clone(),
            media_type,
            capture_tokens: false,
            scope_analysis: false,
            maybe_syntax: None,
        })
    };
    match parse(media_type) {
        // The parser supports no ES syntax in a file of this name.
        Err(_) if media_type == MediaType::Cjs => parse(MediaType::JavaScript),
        parsed => parsed,
    }
}

/// Returns the expression inside of parentheses and type assertions.
fn unwrapped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(inner) => unwrapped(&inner.expr),
        Expr::TsAs(inner) => unwrapped(&inner.expr),
        Expr::TsNonNull(inner) => unwrapped(&inner.expr),
        Expr::TsSatisfies(inner) => unwrapped(&inner.expr),
        Expr::TsConstAssertion(inner) => unwrapped(&inner.expr),
        Expr::TsTypeAssertion(inner) => unwrapped(&inner.expr),
        other => other,
    }
}
