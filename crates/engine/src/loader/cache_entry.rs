//! Cache entries of compiled files: their keys and their encoding.

use std::path::Path;
use std::sync::Arc;

use deno_core::serde_json;
use serde::{Deserialize, Serialize};

use super::tsconfig::TsConfig;
use crate::transpile_cache::{Compiled, Key, Kind, LEAST};

/// A file ready for V8.
pub(super) struct Prepared {
    pub(super) code: String,
    pub(super) source_map: Option<Vec<u8>>,
    pub(super) form: Form,
}

/// Module system of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Form {
    Module,
    CommonJs,
}

/// Cache entry of one large file.
pub(super) struct Kept {
    store: Arc<Compiled>,
    key: Key,
}

/// Header in front of the code and its source map.
#[derive(Serialize, Deserialize)]
struct Header {
    form: Form,
    code_bytes: usize,
    has_map: bool,
}

impl Kept {
    /// Returns the entry for a text of `length` bytes; `None` if the text is too small to be
    /// cached.
    pub(super) fn place<const N: usize>(
        store: Option<&Arc<Compiled>>,
        length: usize,
        kind: Kind,
        parts: impl FnOnce() -> [Vec<u8>; N],
    ) -> Option<Kept> {
        let store = store.filter(|_| length >= LEAST)?.clone();
        let parts = parts();
        let key = Key::of(kind, &parts.each_ref().map(Vec::as_slice));
        Some(Kept { store, key })
    }

    /// Returns the cached value.
    pub(super) fn find<T: for<'a> Deserialize<'a>>(&self) -> Option<T> {
        serde_json::from_slice(&self.store.find(&self.key)?).ok()
    }

    /// Stores a value.
    pub(super) fn keep<T: Serialize>(&self, value: &T) {
        if let Ok(bytes) = serde_json::to_vec(value) {
            self.store.keep(&self.key, &bytes);
        }
    }

    /// Returns the compiled file.
    pub(super) fn find_prepared(&self) -> Option<Prepared> {
        let bytes = self.store.find(&self.key)?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let header: Header = serde_json::from_slice(&bytes[..end]).ok()?;
        let (code, map) = bytes[end + 1..].split_at_checked(header.code_bytes)?;
        Some(Prepared {
            code: String::from_utf8(code.to_vec()).ok()?,
            source_map: header.has_map.then(|| map.to_vec()),
            form: header.form,
        })
    }

    /// Stores the compiled file.
    pub(super) fn keep_prepared(&self, prepared: &Prepared) {
        let header = Header {
            form: prepared.form,
            code_bytes: prepared.code.len(),
            has_map: prepared.source_map.is_some(),
        };
        let Ok(mut bytes) = serde_json::to_vec(&header) else {
            return;
        };
        bytes.push(b'\n');
        bytes.extend_from_slice(prepared.code.as_bytes());
        bytes.extend_from_slice(prepared.source_map.as_deref().unwrap_or_default());
        self.store.keep(&self.key, &bytes);
    }
}

/// Returns all inputs besides the text that determine the JavaScript of the file.
pub(super) fn circumstances(path: &Path, config: Option<&TsConfig>, in_commonjs: bool) -> Vec<u8> {
    let options = config.map(|config| {
        (
            config.legacy_decorators,
            config.decorator_metadata,
            config.jsx_classic,
            &config.jsx_import_source,
        )
    });
    // Source maps and the code that is added for Bun contain the path.
    let path = path.as_os_str().as_encoded_bytes();
    serde_json::to_vec(&(path, options, in_commonjs)).unwrap_or_default()
}
