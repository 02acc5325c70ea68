//! Limits of the SQLite that tools use (`node:sqlite`, `bun:sqlite`). It is written in C, so V8
//! sees neither its memory nor its loops.
//!
//! Its allocator counts against the budget of the isolate on whose thread it allocates, and fails
//! beyond that. Every connection of an isolate checks regularly if the isolate has to end.
//! Connections of an embedding program, on other threads, are left alone.

#![expect(unsafe_code, reason = "SQLite is a C library")]

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use libsqlite3_sys as ffi;

use super::extension::Budget;
use super::worker::is_process_ending;

/// Header of each allocation: its size, and the budget that it was taken from.
#[repr(C, align(16))]
struct Header {
    size: usize,
    /// From [`Arc::into_raw`]; null for a thread without a budget.
    budget: *const Budget,
}

const HEADER: usize = size_of::<Header>();

/// Number of steps of SQLite's virtual machine between two checks: some tens of microseconds.
const STEPS_BETWEEN_QUESTIONS: c_int = 4096;

thread_local! {
    static BUDGET: RefCell<Option<Arc<Budget>>> = const { RefCell::new(None) };
}

/// Sets the allocator and the progress handler for queries. Must run before the first connection of
/// the process; if the embedding program was faster, its allocator stays.
pub(super) fn set_up() {
    let methods = ffi::sqlite3_mem_methods {
        xMalloc: Some(allocate),
        xFree: Some(free),
        xRealloc: Some(reallocate),
        xSize: Some(size),
        xRoundup: Some(round_up),
        xInit: Some(begin),
        xShutdown: Some(end),
        pAppData: std::ptr::null_mut(),
    };
    // SAFETY: SQLite copies the methods, and the functions keep to what it demands of them.
    let configured = unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MALLOC, &raw const methods) };
    if configured != ffi::SQLITE_OK {
        tracing::debug!(configured, "the memory of SQLite is not bounded");
    }
    // SAFETY: `watch` is an entry point of an extension.
    unsafe { ffi::sqlite3_auto_extension(Some(watch)) };
}

/// Sets the budget for SQLite's allocations on this thread.
pub(super) fn count_for(budget: &Arc<Budget>) {
    BUDGET.set(Some(budget.clone()));
}

/// Callback for each new connection, on the thread that opens it.
unsafe extern "C" fn watch(
    connection: *mut ffi::sqlite3,
    _error: *mut *mut c_char,
    _api: *const ffi::sqlite3_api_routines,
) -> c_int {
    if BUDGET.with_borrow(Option::is_some) {
        let steps = STEPS_BETWEEN_QUESTIONS;
        // SAFETY: the connection is the one that is being opened.
        unsafe {
            ffi::sqlite3_progress_handler(connection, steps, Some(must_end), std::ptr::null_mut())
        };
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn must_end(_data: *mut c_void) -> c_int {
    c_int::from(is_process_ending())
}

unsafe extern "C" fn allocate(bytes: c_int) -> *mut c_void {
    let Ok(size) = usize::try_from(bytes) else {
        return std::ptr::null_mut();
    };
    let budget = BUDGET
        .try_with(|budget| budget.borrow().clone())
        .ok()
        .flatten();
    if budget
        .as_ref()
        .is_some_and(|budget| !budget.take(size + HEADER))
    {
        return std::ptr::null_mut();
    }
    // SAFETY: the size is not zero.
    let header = unsafe { alloc(layout(size)) }.cast::<Header>();
    if header.is_null() {
        if let Some(budget) = budget {
            budget.give_back(size + HEADER);
        }
        return std::ptr::null_mut();
    }
    let budget = budget.map_or(std::ptr::null(), Arc::into_raw);
    // SAFETY: the memory begins with room for the header, and is aligned for it.
    unsafe {
        header.write(Header { size, budget });
        header.add(1).cast()
    }
}

unsafe extern "C" fn free(memory: *mut c_void) {
    if memory.is_null() {
        return;
    }
    // SAFETY: SQLite gives back what `allocate` gave it.
    let header = unsafe { memory.cast::<Header>().sub(1) };
    // SAFETY: the header was written by `allocate`; its budget is an `Arc` that is dropped here.
    unsafe {
        let Header { size, budget } = header.read();
        if !budget.is_null() {
            Arc::from_raw(budget).give_back(size + HEADER);
        }
        dealloc(header.cast(), layout(size));
    }
}

unsafe extern "C" fn reallocate(memory: *mut c_void, bytes: c_int) -> *mut c_void {
    let Ok(wanted) = usize::try_from(bytes) else {
        return std::ptr::null_mut();
    };
    // SAFETY: SQLite gives what `allocate` gave it, never null.
    let header = unsafe { memory.cast::<Header>().sub(1) };
    // SAFETY: as above; the budget is only borrowed.
    let Header { size, budget } = unsafe { header.read() };
    // SAFETY: it is null or from `Arc::into_raw`, and this allocation holds it.
    let held = unsafe { budget.as_ref() };
    if held.is_some_and(|held| wanted > size && !held.take(wanted - size)) {
        return std::ptr::null_mut();
    }
    // SAFETY: the layout is that of the allocation, and the new size is not zero.
    let grown = unsafe { realloc(header.cast(), layout(size), wanted + HEADER) }.cast::<Header>();
    if grown.is_null() {
        if let Some(held) = held.filter(|_| wanted > size) {
            held.give_back(wanted - size);
        }
        return std::ptr::null_mut();
    }
    if let Some(held) = held.filter(|_| wanted < size) {
        held.give_back(size - wanted);
    }
    // SAFETY: as in `allocate`.
    unsafe {
        grown.write(Header {
            size: wanted,
            budget,
        });
        grown.add(1).cast()
    }
}

unsafe extern "C" fn size(memory: *mut c_void) -> c_int {
    if memory.is_null() {
        return 0;
    }
    // SAFETY: SQLite asks for what `allocate` gave it.
    let header = unsafe { memory.cast::<Header>().sub(1).read() };
    c_int::try_from(header.size).unwrap_or(c_int::MAX)
}

unsafe extern "C" fn round_up(bytes: c_int) -> c_int {
    bytes.saturating_add(7) & !7
}

unsafe extern "C" fn begin(_data: *mut c_void) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn end(_data: *mut c_void) {}

fn layout(size: usize) -> Layout {
    // SAFETY: SQLite asks for less than 2 GB, and the alignment is a power of two.
    unsafe { Layout::from_size_align_unchecked(size + HEADER, align_of::<Header>()) }
}
