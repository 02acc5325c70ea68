//! What haft does inside, on standard error, for whoever asked to see it.
//!
//! Off unless `--verbose` or `HAFT_LOG` says otherwise: then nothing is even set up.
//! Data never comes through here.

use tracing_subscriber::EnvFilter;

use crate::error::{Error, ErrorKind};

/// Turns on the log with a filter such as `debug` or `haft::engine=trace`.
///
/// # Errors
/// When the filter cannot be read.
pub(crate) fn init(filter: &str) -> Result<(), Error> {
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        let text = format!("the log filter `{filter}` cannot be read: {error}");
        Error::new(ErrorKind::Usage, text).with_hint("`HAFT_LOG=debug` or `HAFT_LOG=haft=trace`")
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(console::colors_enabled_stderr())
        .init();
    Ok(())
}
