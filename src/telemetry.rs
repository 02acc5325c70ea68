//! Internal log of haft on standard error, for debugging.
//!
//! It is off unless `--verbose` or `HAFT_LOG` switches it on; until then nothing is set up. Results
//! and other data never go through it.

use tracing_subscriber::EnvFilter;

use haft_tool::{Error, ErrorKind};

/// Turns on the log with a filter such as `debug` or `haft::engine=trace`.
///
/// # Errors
/// When the filter is invalid.
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
