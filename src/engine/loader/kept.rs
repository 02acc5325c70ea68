//! Compiled files on their way to the store and back: what decides what is made of a file, and how
//! it is written.

use std::path::Path;
use std::sync::Arc;

use deno_core::serde_json;
use serde::{Deserialize, Serialize};

use super::source::{Form, Prepared};
use super::tsconfig::TsConfig;
use crate::engine::compiled::{Compiled, Key, Kind, LEAST};
use crate::engine::graph::Imports;

/// Where one large file has its place in the store.
pub(super) struct Kept {
    store: Arc<Compiled>,
    key: Key,
}

/// In front of the code and its source map.
#[derive(Serialize, Deserialize)]
struct Header {
    form: Form,
    code_bytes: usize,
    has_map: bool,
    imports: Option<Imports>,
}

impl Kept {
    /// The place of what is made of a text of `length` bytes; nothing if it is not worth one.
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

    /// What was kept as it is.
    pub(super) fn find<T: for<'a> Deserialize<'a>>(&self) -> Option<T> {
        serde_json::from_slice(&self.store.find(&self.key)?).ok()
    }

    /// Keeps it as it is.
    pub(super) fn keep<T: Serialize>(&self, value: &T) {
        if let Ok(bytes) = serde_json::to_vec(value) {
            self.store.keep(&self.key, &bytes);
        }
    }

    /// The compiled file, and what it imports if that was kept with it.
    pub(super) fn find_prepared(&self) -> Option<(Prepared, Option<Imports>)> {
        let bytes = self.store.find(&self.key)?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let header: Header = serde_json::from_slice(&bytes[..end]).ok()?;
        let (code, map) = bytes[end + 1..].split_at_checked(header.code_bytes)?;
        let prepared = Prepared {
            code: String::from_utf8(code.to_vec()).ok()?,
            source_map: header.has_map.then(|| map.to_vec()),
            form: header.form,
        };
        Some((prepared, header.imports))
    }

    /// Keeps the compiled file.
    pub(super) fn keep_prepared(&self, prepared: &Prepared, imports: Option<Imports>) {
        let header = Header {
            form: prepared.form,
            code_bytes: prepared.code.len(),
            has_map: prepared.source_map.is_some(),
            imports,
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

/// All besides the text that decides what JavaScript is made of the file.
pub(super) fn circumstances(path: &Path, config: Option<&TsConfig>, in_commonjs: bool) -> Vec<u8> {
    let options = config.map(|config| {
        (
            config.legacy_decorators,
            config.decorator_metadata,
            config.jsx_classic,
            &config.jsx_import_source,
        )
    });
    // The path is in source maps and in what is added for Bun.
    let path = path.as_os_str().as_encoded_bytes();
    serde_json::to_vec(&(path, options, in_commonjs)).unwrap_or_default()
}
