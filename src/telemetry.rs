//! Internal log of haft on standard error, for debugging.
//!
//! It is off unless `--verbose` or `HAFT_LOG` switches it on; until then nothing is set up. Results
//! and other data never go through it.

use std::io::Write;

use tracing_subscriber::EnvFilter;

use haft_tool::{Error, ErrorKind};

/// Turns on the log with a filter such as `debug` or `haft::engine=trace`. `make_writer` makes the
/// writer of one event, from whether it may be coloured.
///
/// # Errors
/// When the filter is invalid.
pub(crate) fn init<W: Write + Send + 'static>(
    filter: &str,
    make_writer: impl Fn(bool) -> W + Send + Sync + 'static,
) -> Result<(), Error> {
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        let text = format!("the log filter `{filter}` cannot be read: {error}");
        Error::new(ErrorKind::Usage, text).with_hint("`HAFT_LOG=debug` or `HAFT_LOG=haft=trace`")
    })?;
    let is_colored = console::colors_enabled_stderr();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || make_writer(is_colored))
        .with_ansi(is_colored)
        .init();
    Ok(())
}
