//! Blobs within the isolate's budget. Deno keeps their bytes outside of V8, without a limit.

use std::sync::Arc;

use async_trait::async_trait;
use deno_core::{OpState, op2, v8};
use deno_error::JsErrorBox;
use deno_runtime::deno_web::{Blob, BlobPart, BlobStoreTrait};
use uuid::Uuid;

use super::budget::{Charge, budget};

/// Approximate size of the bookkeeping of a part or of a URL.
const OVERHEAD: usize = 512;

/// Bytes of a blob, which count until the last reference is dropped.
#[derive(Debug)]
struct BoundedPart {
    bytes: Vec<u8>,
    _charge: Charge,
}

#[async_trait]
impl BlobPart for BoundedPart {
    async fn read<'a>(&'a self) -> &'a [u8] {
        &self.bytes
    }

    fn size(&self) -> usize {
        self.bytes.len()
    }
}

/// Part without bytes that makes a URL count.
#[derive(Debug)]
struct UrlPart {
    _charge: Charge,
}

#[async_trait]
impl BlobPart for UrlPart {
    async fn read<'a>(&'a self) -> &'a [u8] {
        &[]
    }

    fn size(&self) -> usize {
        0
    }
}

/// Replaces `op_blob_create_part`. V8 does not see the bytes, so it is requested to collect unused
/// blobs; their finalizers run when JavaScript waits next.
#[op2]
pub fn op_haft_blob_create_part(
    scope: &mut v8::PinScope,
    state: &mut OpState,
    #[buffer] data: &[u8],
) -> Result<Uuid, JsErrorBox> {
    let budget = budget(state);
    let charge = budget.charge(data.len().saturating_add(OVERHEAD), "the Blob")?;
    let part = BoundedPart {
        bytes: data.to_vec(),
        _charge: charge,
    };
    let id = store(state).insert_part(Arc::new(part));
    adjust(scope, data.len(), 1);
    // This must come last: small buffers are in the heap, where a collection moves them.
    if budget.must_collect() {
        scope.low_memory_notification();
    }
    Ok(id)
}

/// Replaces `op_blob_remove_part`.
#[op2]
pub fn op_haft_blob_remove_part(scope: &mut v8::PinScope, state: &mut OpState, #[scoped] id: Uuid) {
    if let Some(part) = store(state).remove_part(&id) {
        adjust(scope, part.size(), -1);
    }
}

/// Replaces `op_blob_create_object_url`.
#[op2]
#[string]
pub fn op_haft_blob_create_object_url(
    state: &mut OpState,
    #[string] media_type: String,
    #[scoped] part_ids: Vec<Uuid>,
) -> Result<String, JsErrorBox> {
    let charge = budget(state).charge(OVERHEAD, "the URL of a Blob")?;
    let store = store(state);
    let mut parts = Vec::with_capacity(part_ids.len() + 1);
    for id in &part_ids {
        let part = store.get_part(id);
        parts.push(part.ok_or_else(|| JsErrorBox::type_error("Blob part not found"))?);
    }
    parts.push(Arc::new(UrlPart { _charge: charge }));
    Ok(store
        .insert_object_url(Blob { media_type, parts }, None)
        .into())
}

fn store(state: &OpState) -> Arc<dyn BlobStoreTrait> {
    state.borrow::<Arc<dyn BlobStoreTrait>>().clone()
}

fn adjust(scope: &mut v8::PinScope, bytes: usize, sign: i64) {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    scope.adjust_amount_of_external_allocated_memory(bytes.saturating_mul(sign));
}
