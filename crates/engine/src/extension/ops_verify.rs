//! Checks of code that does not pass the module loader: twin of `07_verify.ts`.

use deno_core::OpState;
use deno_core::op2;

use super::host::{Refusal, host_of};

/// Returns true if modules of this isolate may load only what the user trusted.
#[op2(fast)]
pub fn op_haft_is_verified(state: &mut OpState) -> bool {
    host_of(state).is_verified()
}

/// Checks the code that `require` compiles.
#[op2(fast)]
pub fn op_haft_check_required(state: &mut OpState, #[string] code: &str) -> Result<(), Refusal> {
    host_of(state).check_required(code)
}

/// Checks that text may be run as code.
#[op2(fast)]
pub fn op_haft_check_text(state: &mut OpState, #[string] text: &str) -> Result<(), Refusal> {
    host_of(state).check_text(text)
}

/// Checks the native code at `path`.
#[op2(fast)]
pub fn op_haft_check_native(state: &mut OpState, #[string] path: &str) -> Result<(), Refusal> {
    host_of(state).check_native(path)
}

/// Checks bytes that become WebAssembly.
#[op2(fast)]
pub fn op_haft_check_wasm(
    state: &mut OpState,
    #[buffer] bytes: &[u8],
    #[string] url: &str,
) -> Result<(), Refusal> {
    host_of(state).check_wasm(bytes, url)
}
