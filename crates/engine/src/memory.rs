//! Memory limits of an isolate and their enforcement.
//!
//! V8 calls back shortly before its heap is full; without a handler it aborts the process. Buffers
//! are outside of the heap. Their allocator counts them and refuses what exceeds the limit, which
//! JavaScript sees as a RangeError. Neither sees WebAssembly memory and buffers that grow. They are
//! checked after each large garbage collection, which V8 starts on account of them.
//!
//! V8 also calls back when the allocator has refused a buffer, and the callback does not say which
//! of the two it means. So after a refusal the heap limit is only extended for a time. The next
//! large collection shows if the heap is too large, and the extension ends with the turn.

#![expect(
    unsafe_code,
    reason = "V8 takes allocators and callbacks with pointers"
)]

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::cell::OnceCell;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use deno_core::v8;

/// Upper bound of one allocation of V8: the longest two-byte string, the longest array. V8 aborts
/// the process when a single allocation does not fit, even if the isolate is being terminated.
const TERMINATION_HEADROOM: usize = 3 << 30;

type OnExceeded = Box<dyn Fn(&str)>;

/// State of an isolate's memory limits. Must outlive the isolate, which may call back until its
/// very end.
pub(super) struct HeapLimit {
    /// Called with the kind of memory whose limit is exceeded. It must terminate the execution.
    on_exceeded: OnceCell<OnExceeded>,
    buffers: Arc<Buffers>,
    /// Set while the heap limit is extended, which lasts until the end of the turn.
    has_lent: AtomicBool,
}

impl HeapLimit {
    pub(super) fn new(limit: usize) -> Box<HeapLimit> {
        Box::new(HeapLimit {
            on_exceeded: OnceCell::new(),
            buffers: Arc::new(Buffers {
                used: AtomicUsize::new(0),
                limit,
                has_refused: AtomicBool::new(false),
            }),
            has_lent: AtomicBool::new(false),
        })
    }

    /// Returns an allocator for `ArrayBuffer` and `SharedArrayBuffer` that enforces the limit.
    pub(super) fn buffer_allocator(&self) -> v8::UniqueRef<v8::Allocator> {
        // SAFETY: the handle is an `Arc` that `drop_buffers` takes back, and the functions agree
        // with each other on the layout of what they give and take.
        unsafe { v8::new_rust_allocator(Arc::into_raw(self.buffers.clone()), &ALLOCATOR) }
    }

    /// Sets what happens when the limit is exceeded. Only the first call has an effect.
    pub(super) fn call(&self, on_exceeded: impl Fn(&str) + 'static) {
        let _ = self.on_exceeded.set(Box::new(on_exceeded));
    }

    fn exceeded(&self, what: &str) {
        if let Some(on_exceeded) = self.on_exceeded.get() {
            on_exceeded(what);
        }
    }

    /// Registers the callbacks. `self` must outlive the isolate.
    pub(super) fn watch(&self, isolate: &mut v8::OwnedIsolate) {
        let data = std::ptr::from_ref(self).cast_mut().cast::<c_void>();
        isolate.add_near_heap_limit_callback(heap_is_full, data);
        isolate.add_gc_epilogue_callback(
            heap_was_collected,
            data,
            v8::GCType::kGCTypeMarkSweepCompact,
        );
    }

    /// Ends the extension of the heap limit, if there is one. Must not be called while JavaScript
    /// runs.
    pub(super) fn restore_headroom(&self, isolate: &mut v8::OwnedIsolate) {
        if self.has_lent.swap(false, Ordering::Relaxed) {
            let data = std::ptr::from_ref(self).cast_mut().cast::<c_void>();
            isolate.remove_near_heap_limit_callback(heap_is_full, self.buffers.limit);
            isolate.add_near_heap_limit_callback(heap_is_full, data);
        }
    }
}

extern "C" fn heap_is_full(data: *mut c_void, current: usize, _initial: usize) -> usize {
    // SAFETY: `data` is the `HeapLimit` that outlives the isolate; it is only read.
    let alarm = unsafe { &*data.cast::<HeapLimit>() };
    if alarm.buffers.has_refused.load(Ordering::Relaxed) {
        let has_room = alarm.has_lent.swap(true, Ordering::Relaxed);
        return if has_room {
            current
        } else {
            current + TERMINATION_HEADROOM
        };
    }
    alarm.exceeded("its heap");
    // The room is used only if the allocation that caused the callback needs it.
    current + TERMINATION_HEADROOM
}

unsafe extern "C" fn heap_was_collected(
    isolate: v8::UnsafeRawIsolatePtr,
    _kind: v8::GCType,
    _flags: v8::GCCallbackFlags,
    data: *mut c_void,
) {
    // SAFETY: `data` is the `HeapLimit` that outlives the isolate; it is only read.
    let alarm = unsafe { &*data.cast::<HeapLimit>() };
    // SAFETY: V8 gives the isolate that it has just swept, on that isolate's thread.
    let mut isolate = unsafe { v8::Isolate::from_raw_isolate_ptr(isolate) };
    let heap = isolate.get_heap_statistics();
    if alarm.has_lent.load(Ordering::Relaxed) && heap.used_heap_size() > alarm.buffers.limit {
        alarm.exceeded("its heap");
    }
    // Twice the limit, because the allocator alone keeps the buffers below it.
    if heap.external_memory() > alarm.buffers.limit.saturating_mul(2) {
        alarm.exceeded("its buffers");
    }
}

/// Counts the bytes in an isolate's buffers.
struct Buffers {
    used: AtomicUsize,
    limit: usize,
    /// Set if the last request was refused.
    has_refused: AtomicBool,
}

static ALLOCATOR: v8::RustAllocatorVtable<Buffers> = v8::RustAllocatorVtable {
    allocate: allocate_zeroed,
    allocate_uninitialized: allocate,
    free,
    drop: drop_buffers,
};

/// Size up to which a buffer is small.
const SMALL: usize = 64 << 10;

/// Bytes beyond the limit that small buffers may use.
const RESERVE: usize = 16 << 20;

/// Alignment that `malloc` gives; V8 puts numbers of up to 16 bytes there.
const ALIGNMENT: usize = 16;

impl Buffers {
    fn take(&self, size: usize, get: unsafe fn(Layout) -> *mut u8) -> *mut c_void {
        if size == 0 {
            return NonNull::<u128>::dangling().as_ptr().cast();
        }
        let Ok(layout) = Layout::from_size_align(size, ALIGNMENT) else {
            return std::ptr::null_mut();
        };
        let before = self.used.fetch_add(size, Ordering::Relaxed);
        // V8 aborts the process where Deno's own code requests a buffer and gets none (an HTTP
        // parser does), so small buffers may exceed the limit.
        let limit = if size <= SMALL {
            self.limit + RESERVE
        } else {
            self.limit
        };
        if before.saturating_add(size) <= limit {
            // SAFETY: the size is not zero.
            let bytes = unsafe { get(layout) };
            if !bytes.is_null() {
                self.has_refused.store(false, Ordering::Relaxed);
                return bytes.cast();
            }
        }
        self.used.fetch_sub(size, Ordering::Relaxed);
        self.has_refused.store(true, Ordering::Relaxed);
        std::ptr::null_mut()
    }
}

unsafe extern "C" fn allocate_zeroed(buffers: &Buffers, size: usize) -> *mut c_void {
    buffers.take(size, alloc_zeroed)
}

unsafe extern "C" fn allocate(buffers: &Buffers, size: usize) -> *mut c_void {
    buffers.take(size, alloc)
}

unsafe extern "C" fn free(buffers: &Buffers, bytes: *mut c_void, size: usize) {
    let Ok(layout) = Layout::from_size_align(size, ALIGNMENT) else {
        return;
    };
    if size == 0 || bytes.is_null() {
        return;
    }
    // SAFETY: V8 gives back what `take` gave it, with the same size.
    unsafe { dealloc(bytes.cast(), layout) };
    buffers.used.fetch_sub(size, Ordering::Relaxed);
}

unsafe extern "C" fn drop_buffers(buffers: *const Buffers) {
    // SAFETY: the pointer is the one that `buffer_allocator` made of an `Arc`.
    drop(unsafe { Arc::from_raw(buffers) });
}
