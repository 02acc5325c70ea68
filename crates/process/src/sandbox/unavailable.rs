//! The interface of the sandbox on systems without one: it cannot be made, and says so.

use std::convert::Infallible;
use std::path::Path;

use super::{Layers, SandboxError, SandboxPolicy};

/// Returns the mechanisms of this system: none.
pub(super) fn layers(policy: &SandboxPolicy) -> Layers {
    let mut missing = vec!["every restriction: there is no sandbox on this system".to_owned()];
    missing.extend(policy.unenforced.iter().cloned());
    Layers {
        landlock: 0,
        seccomp: false,
        namespaces: Vec::new(),
        missing,
    }
}

/// Returns the kinds of namespaces that this system allows: none.
pub(super) fn available_namespaces() -> Vec<&'static str> {
    Vec::new()
}

/// Sandbox for the files of now; as [`Sandbox`].
#[derive(Clone, Debug)]
pub struct ReadySandbox(pub(crate) Infallible);

impl ReadySandbox {
    /// Returns false if a path leads to another file by now.
    pub fn is_current(&self) -> bool {
        match self.0 {}
    }
}

/// Sandbox of a program. This system has none, so no value of this type exists.
#[derive(Clone, Debug)]
pub struct Sandbox(pub(crate) Infallible);

impl Sandbox {
    /// Fails: a sandbox is not available on this system.
    ///
    /// # Errors
    /// Always [`SandboxError::Unavailable`].
    pub fn new(_policy: &SandboxPolicy) -> Result<Sandbox, SandboxError> {
        let text = "it is not available on this system, only on Linux";
        Err(SandboxError::Unavailable(text.to_owned()))
    }

    /// Returns the mechanisms that are in force, and what is missing for this policy.
    pub fn layers(&self) -> &Layers {
        match self.0 {}
    }

    /// Returns the private temporary folder.
    pub fn tmp(&self) -> Option<&Path> {
        match self.0 {}
    }

    /// Removes the private temporary folder before its sandbox.
    pub fn remove_tmp(&self) {
        match self.0 {}
    }

    /// Returns the same sandbox for programs that also read and start what is in `image`.
    pub(crate) fn with_image(&self, _image: &crate::GrantedPath) -> Sandbox {
        match self.0 {}
    }

    /// Makes the sandbox for the files of now.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn ready(&self) -> Result<ReadySandbox, SandboxError> {
        match self.0 {}
    }

    /// Restricts this process.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn enter(&self) -> Result<(), SandboxError> {
        match self.0 {}
    }
}
