//! Blobs whose size V8 knows. Deno keeps their bytes outside of V8, which then sees no reason to
//! collect the unused ones.

use std::sync::Arc;

use deno_core::{OpState, op2, v8};
use deno_runtime::deno_web::{BlobStoreTrait, InMemoryBlobPart};
use uuid::Uuid;

/// Replaces `op_blob_create_part`.
#[op2]
pub fn op_haft_blob_create_part(
    scope: &mut v8::PinScope,
    state: &mut OpState,
    #[buffer] data: &[u8],
) -> Uuid {
    let id = store(state).insert_part(Arc::new(InMemoryBlobPart::from(data.to_vec())));
    adjust(scope, data.len(), 1);
    id
}

/// Replaces `op_blob_remove_part`.
#[op2]
pub fn op_haft_blob_remove_part(scope: &mut v8::PinScope, state: &mut OpState, #[scoped] id: Uuid) {
    if let Some(part) = store(state).remove_part(&id) {
        adjust(scope, part.size(), -1);
    }
}

fn store(state: &OpState) -> Arc<dyn BlobStoreTrait> {
    state.borrow::<Arc<dyn BlobStoreTrait>>().clone()
}

fn adjust(scope: &mut v8::PinScope, bytes: usize, sign: i64) {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    scope.adjust_amount_of_external_allocated_memory(bytes.saturating_mul(sign));
}
