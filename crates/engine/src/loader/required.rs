//! `require` by the rules of `import`: TypeScript, tsconfig paths, files without an extension.
//!
//! Deno's `require` follows Node, which does not support these. `js-runtime/06_loader.ts` changes
//! its search for files. So `node:module`, which exports `createRequire`, is imported through a
//! module of haft that makes this change first.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use deno_core::url::Url;

use super::cache_entry::Form;
use super::compile::form_of_file;
use super::find::{BunOnly, Finder};
use super::node::NodeServices;
use super::sys::Sys;
use super::tsconfig;

/// Finds the file that `require` means where Node's rules are not enough.
pub(crate) struct Required {
    node: Rc<NodeServices>,
    tsconfigs: tsconfig::Cache,
    bun_only: BunOnly,
}

impl Required {
    pub(crate) fn new(node: Rc<NodeServices>) -> Required {
        Required {
            tsconfigs: tsconfig::Cache::on(node.sys()),
            node,
            bun_only: BunOnly::default(),
        }
    }

    /// Admits the module at `entry`, which is loaded on purpose, with all that it imports.
    pub(crate) fn admit(&self, entry: &Path) {
        self.node.guard.admit(entry);
    }

    /// Returns the file that `require(specifier)` means in the file `from`.
    pub(crate) fn find(&self, specifier: &str, from: &Path) -> Option<PathBuf> {
        self.finder().find_required(specifier, from)
    }

    /// Returns the name of haft's own package that `require(specifier)` means in the file `from`.
    pub(crate) fn provided(&self, specifier: &str, from: &Path) -> Option<String> {
        self.finder().find_provided(specifier, from)
    }

    fn finder(&self) -> Finder<'_, Sys, NodeServices> {
        Finder {
            tsconfigs: &self.tsconfigs,
            packages: &*self.node,
            bun_only: &self.bun_only,
        }
    }

    /// Returns true if the file is an ES module by its syntax.
    pub(crate) fn is_es_module(&self, path: &Path) -> bool {
        form_of_file(path, &self.node) == Form::Module
    }
}

/// The module of haft that is imported in place of `node:module`.
const OURS: &str = "haft:node-module";

/// Returns [`OURS`] for `node:module`, and `url` otherwise.
pub(super) fn in_place_of(url: Url, referrer: &str) -> Url {
    if url.as_str() == "node:module" && referrer != OURS {
        Url::parse(OURS).unwrap_or(url)
    } else {
        url
    }
}

/// Returns the source of [`OURS`].
pub(super) fn module_source(url: &Url) -> Option<String> {
    (url.as_str() == OURS).then(|| {
        "import Module from \"node:module\";\n\
         globalThis[Symbol.for(\"haft.require\")](Module);\n\
         export * from \"node:module\";\n\
         export default Module;\n"
            .to_owned()
    })
}
