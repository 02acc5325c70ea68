//! Inputs of a module load that JavaScript records: twin of `09_load_trace.ts`.

use deno_core::OpState;
use deno_core::op2;

use super::host::host_of;

/// Notes that the loading module changed the global object under a registered symbol
/// (`Symbol.for`).
#[op2(fast)]
pub fn op_haft_noticed_symbol(state: &mut OpState) {
    host_of(state).noticed_symbol();
}

/// Notes that the loading module must not be cached, because of `what`. `is_trace`: later modules
/// can see what it did.
#[op2(fast)]
pub fn op_haft_noticed(state: &mut OpState, #[string] what: &str, is_trace: bool) {
    host_of(state).noticed(what, is_trace);
}
