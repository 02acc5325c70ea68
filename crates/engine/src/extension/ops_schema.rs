//! JSON Schema validation for tools that give a plain schema: used by `21_arguments.ts`.

use std::rc::Rc;

use deno_core::OpState;
use deno_core::op2;

use super::host::IsolateHost;

/// Returns the JSON text of the issues that `value` has under `schema`; empty if it is valid.
#[op2]
#[string]
pub fn op_haft_schema_check(
    state: &mut OpState,
    #[string] schema: &str,
    #[string] value: &str,
) -> String {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.check_schema(schema, value)
}
