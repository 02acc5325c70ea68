//! What happens when a YAML shell tool is called.

use std::sync::Arc;

use async_trait::async_trait;

use super::arguments::Arguments;
use super::shelf::{Shelf, Shelved};
use crate::error::{Error, ErrorKind};
use crate::family::Means;
use crate::tool::{Call, CallCtx, Outcome, Runner};

/// What runs `tool`; what its steps use is on the `shelf`.
pub(super) fn runner(tool: Arc<Shelved>, shelf: Arc<Shelf>, means: &Means<'_>) -> Arc<dyn Runner> {
    let _ = (shelf, means);
    Arc::new(ShellRunner { tool })
}

struct ShellRunner {
    tool: Arc<Shelved>,
}

#[async_trait]
impl Runner for ShellRunner {
    async fn check(&self, call: &Call) -> Result<(), Error> {
        let parameters = &self.tool.definition.parameters;
        Arguments::from_json(parameters, call.arguments.get())
            .map(|_| ())
            .map_err(|problems| Error::new(ErrorKind::BadArguments, problems.join("\n")))
    }

    async fn run(&self, call: Call, _ctx: CallCtx) -> Result<Outcome, Error> {
        self.check(&call).await?;
        Err(Error::new(
            ErrorKind::Internal,
            "this build of haft cannot run YAML shell tools",
        ))
    }
}
