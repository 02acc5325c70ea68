//! Resolution of `require`: twin of `06_loader.ts`.

use deno_core::OpState;
use deno_core::op2;

use super::host::host_of;

/// Returns true if the file is an ES module by its syntax, whatever its name says.
#[op2(fast)]
pub fn op_haft_is_es_module(state: &mut OpState, #[string] path: &str) -> bool {
    host_of(state).is_es_module(path)
}

/// Notes that `require(specifier)` found nothing.
#[op2(fast)]
pub fn op_haft_required_in_vain(state: &mut OpState, #[string] specifier: &str) {
    host_of(state).require_failed(specifier);
}

/// Returns the file that `require(specifier)` means in the file `from`; empty if there is none.
#[op2]
#[string]
pub fn op_haft_find_required(
    state: &mut OpState,
    #[string] specifier: &str,
    #[string] from: &str,
) -> String {
    host_of(state)
        .find_required(specifier, from)
        .unwrap_or_default()
}

/// Returns the name of haft's own package that `require(specifier)` means in the file `from`; empty if
/// it means something else.
#[op2]
#[string]
pub fn op_haft_find_provided(
    state: &mut OpState,
    #[string] specifier: &str,
    #[string] from: &str,
) -> String {
    host_of(state)
        .find_provided(specifier, from)
        .unwrap_or_default()
}
