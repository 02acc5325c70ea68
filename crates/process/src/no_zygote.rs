//! The interface of zygotes on systems without them.

use std::convert::Infallible;
use std::io;

use crate::{Descriptor, Spawn, SpawnError, Worker};

/// A process that is forked. This system has none, so no value of this type exists.
pub struct Zygote(Infallible);

impl Zygote {
    /// Fails: this system has no zygotes.
    ///
    /// # Errors
    /// Always.
    pub fn start(spawn: &Spawn) -> Result<Zygote, SpawnError> {
        Err(SpawnError::System {
            program: spawn.shown_program(),
            source: io::ErrorKind::Unsupported.into(),
        })
    }

    /// Ends the process. Blocks.
    pub fn end(&self) {
        match self.0 {}
    }

    /// Returns true if it has ended or has not answered.
    pub fn is_broken(&self) -> bool {
        match self.0 {}
    }

    /// Forks a worker.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_worker(&self, _: &Spawn, _: [Descriptor; 3]) -> Result<Worker, SpawnError> {
        match self.0 {}
    }
}

/// State of a process in which [`serve_zygote`] has returned.
pub enum Forked {
    /// This is a new process.
    Worker,
    /// haft has ended.
    End,
}

/// Fails: this system has no zygotes.
///
/// # Errors
/// Always.
pub fn serve_zygote() -> io::Result<Forked> {
    Err(io::ErrorKind::Unsupported.into())
}
