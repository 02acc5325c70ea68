//! `pi.logger`, `console` and warnings about a tool: twin of `13_logger.ts`.

use deno_core::OpState;
use deno_core::op2;

use super::host::{LogLevel, host_of};

/// Writes one line to the log of the call behind `request`, 0 outside of calls. `context` is the
/// JSON text of an object, or empty.
#[op2(fast)]
pub fn op_haft_log(
    state: &mut OpState,
    #[smi] level: u8,
    #[smi] request: u32,
    #[string] tool: &str,
    #[string] message: &str,
    #[string] context: &str,
) {
    host_of(state).log(request, LogLevel::from_code(level), tool, message, context);
}
