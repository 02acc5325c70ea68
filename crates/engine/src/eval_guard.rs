//! Calls the [`Verifier`] before V8 makes code of text: `eval`, `new Function` and the like, by
//! whatever name a module reaches them.
//!
//! The `v8` crate has no binding for the two functions of V8 that this needs, so they are declared
//! here by their linker names. A V8 that lacks them, or has other parameters, does not link.

#![expect(
    unsafe_code,
    reason = "the `v8` crate has no binding for these functions of V8"
)]

use std::cell::RefCell;
use std::sync::Arc;

use deno_core::v8;

use super::verify::{CodeFrom, Verifier};

thread_local! {
    /// The verifier of this thread's isolate.
    static VERIFIER: RefCell<Option<Arc<Verifier>>> = const { RefCell::new(None) };
}

/// `v8::ModifyCodeGenerationFromStringsResult`.
#[repr(C)]
struct Verdict {
    is_allowed: bool,
    /// Text that replaces the source; null keeps the source.
    modified: *const v8::String,
}

type Callback =
    for<'a> extern "C" fn(v8::Local<'a, v8::Context>, v8::Local<'a, v8::Value>, bool) -> Verdict;

unsafe extern "C" {
    /// `v8::Isolate::SetModifyCodeGenerationFromStringsCallback`
    #[link_name = "_ZN2v87Isolate42SetModifyCodeGenerationFromStringsCallbackEPFNS_37ModifyCodeGenerationFromStringsResultENS_5LocalINS_7ContextEEENS2_INS_5ValueEEEbE"]
    fn set_callback(isolate: v8::UnsafeRawIsolatePtr, callback: Callback);

    /// `v8::Context::SetErrorMessageForCodeGenerationFromStrings`
    #[link_name = "_ZN2v87Context43SetErrorMessageForCodeGenerationFromStringsENS_5LocalINS_6StringEEE"]
    fn set_error_message(context: *const v8::Context, message: v8::Local<v8::String>);
}

/// The scripts of haft's own packages. zod compiles its checks into functions.
const OWN_SCRIPTS: &str = "ext:haft/";

/// Makes V8 call `verifier` for every text that becomes code in the runtime's main context.
pub(super) fn install(runtime: &mut deno_core::JsRuntime, verifier: Arc<Verifier>) {
    VERIFIER.set(Some(verifier));
    let context = runtime.main_context();
    {
        deno_core::scope!(scope, runtime);
        // V8 calls the callback only if the context itself does not allow it.
        v8::Local::new(scope, context).set_allow_generation_from_strings(false);
    }
    // SAFETY: the isolate is alive. `may_become_code` has the parameters and the result of V8's
    // header: two handles, which are pointers, a flag, and a struct of a flag and a handle.
    unsafe { set_callback(runtime.v8_isolate().as_raw_isolate_ptr(), may_become_code) };
}

extern "C" fn may_become_code<'a>(
    context: v8::Local<'a, v8::Context>,
    source: v8::Local<'a, v8::Value>,
    _is_code_like: bool,
) -> Verdict {
    // SAFETY: V8 calls this on the isolate's thread, inside of a handle scope.
    v8::callback_scope!(unsafe scope, context);
    let verifier = VERIFIER.with_borrow(Clone::clone);
    let checked = verifier.map_or(Ok(()), |verifier| {
        // V8 compiles only strings; `eval` returns any other value unchanged.
        let Ok(text) = v8::Local::<v8::String>::try_from(source) else {
            return Ok(());
        };
        if is_asked_by_haft(scope) {
            return Ok(());
        }
        verifier.check_text(&text.to_rust_string_lossy(scope), CodeFrom::Text)
    });
    if let Err(refusal) = &checked
        && let Some(message) = v8::String::new(scope, &refusal.to_string())
    {
        // SAFETY: the context is alive; V8 reads the text when this function has returned.
        unsafe { set_error_message(&raw const *context, message) };
    }
    Verdict {
        is_allowed: checked.is_ok(),
        modified: std::ptr::null(),
    }
}

/// Returns true if one of haft's own scripts requests the code.
fn is_asked_by_haft(scope: &v8::PinScope<'_, '_>) -> bool {
    let name = v8::StackTrace::current_stack_trace(scope, 1)
        .and_then(|trace| trace.get_frame(scope, 0))
        .and_then(|frame| frame.get_script_name(scope));
    name.is_some_and(|name| name.to_rust_string_lossy(scope).starts_with(OWN_SCRIPTS))
}
