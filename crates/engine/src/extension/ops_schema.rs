//! JSON Schema validation for tools that give a plain schema: used by `21_arguments.ts`.

use deno_core::OpState;
use deno_core::op2;

use super::host::host_of;

/// Returns the JSON text of the issues that `value` has under `schema`; empty if it is valid.
#[op2]
#[string]
pub fn op_haft_schema_check(
    state: &mut OpState,
    #[string] schema: &str,
    #[string] value: &str,
) -> String {
    host_of(state).check_schema(schema, value)
}
