//! Requests for permissions in the user's own modules, which have no graph of their own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::source::{Imports, MAX_SOURCE_BYTES, on_deep_stack, requests, text_of};
use haft_process::regular_files;
use haft_tool::PermissionRequest;

/// Reader of the requests of several modules. Each manifest is read once.
#[derive(Default)]
pub struct RequestReader {
    /// The request in the nearest manifest, by folder.
    manifests: RefCell<HashMap<PathBuf, Option<PermissionRequest>>>,
}

impl RequestReader {
    /// Returns the requests of the user's own module at `entry`. The file is parsed only if its
    /// text contains the name of the constant.
    pub fn of_module(&self, entry: &Path) -> Vec<PermissionRequest> {
        let in_module = read(entry).and_then(|bytes| {
            let text = text_of(bytes);
            if !text.contains(requests::NAME) {
                return None;
            }
            let imports = on_deep_stack(|| Imports::of(entry, text));
            imports.permissions
        });
        let in_manifest = entry.parent().and_then(|folder| self.nearest(folder));
        let in_module = in_module.map(|found| requests::of_module(entry, found));
        in_module.into_iter().chain(in_manifest).collect()
    }

    /// Returns the request in the nearest manifest of a folder: its own, or that of a folder above.
    fn nearest(&self, folder: &Path) -> Option<PermissionRequest> {
        if let Some(known) = self.manifests.borrow().get(folder) {
            return known.clone();
        }
        let path = folder.join("package.json");
        let found = match read(&path) {
            Some(bytes) => requests::of_manifest(&path, &bytes),
            None => folder.parent().and_then(|above| self.nearest(above)),
        };
        let mut manifests = self.manifests.borrow_mut();
        manifests.insert(folder.to_owned(), found.clone());
        found
    }
}

fn read(path: &Path) -> Option<Vec<u8>> {
    regular_files::read(path, MAX_SOURCE_BYTES).ok()
}
