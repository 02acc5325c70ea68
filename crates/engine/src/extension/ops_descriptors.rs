//! Access to descriptors by their number: a tool uses those that it opened, never the host's.
//!
//! The process has one table of descriptors, which includes the host's pipes and sockets. Node's
//! functions take numbers (`new net.Socket({fd})`, `stdio: [0, fd]`, `tty.WriteStream(fd)`), which
//! Deno passes to the system unchecked.

use std::collections::HashSet;
use std::io::IsTerminal;

use deno_core::{OpState, op2};
use deno_error::JsErrorBox;
use deno_runtime::deno_io::FdTable;

/// Pipes to children that were just started, which Node's streams take over next.
#[derive(Default)]
struct Expected(HashSet<i32>);

/// Notes that a pipe to a child has this number.
#[op2(fast)]
pub fn op_haft_expect_descriptor(state: &mut OpState, #[smi] fd: i32) {
    if !state.has::<Expected>() {
        state.put(Expected::default());
    }
    state.borrow_mut::<Expected>().0.insert(fd);
}

/// Returns true if a stream of Node may take the descriptor over; once for each number.
#[op2(fast)]
pub fn op_haft_adopts_descriptor(state: &mut OpState, #[smi] fd: i32) -> bool {
    let expected = state.try_borrow_mut::<Expected>();
    expected.is_some_and(|expected| expected.0.remove(&fd))
}

/// Returns true if the tools of this isolate opened the descriptor.
#[op2(fast)]
pub fn op_haft_owns_descriptor(state: &mut OpState, #[smi] fd: i32) -> bool {
    state.borrow::<FdTable>().contains(fd)
}

/// Replaces `op_tty_check_fd_permission`.
#[allow(
    clippy::disallowed_methods,
    reason = "it only asks whether they are terminals"
)]
#[op2(fast)]
pub fn op_haft_check_terminal(state: &mut OpState, fd: i32) -> Result<(), JsErrorBox> {
    // Of the standard streams only a terminal is allowed: it is opened anew, while any other file
    // would be taken over.
    let is_own = match fd {
        0 => std::io::stdin().is_terminal(),
        1 => std::io::stdout().is_terminal(),
        2 => std::io::stderr().is_terminal(),
        fd => state.borrow::<FdTable>().contains(fd),
    };
    is_own.then_some(()).ok_or_else(|| not_own(fd))
}

/// Replaces `op_node_udp_open`, which would close any descriptor that is not a socket.
#[op2(fast)]
pub fn op_haft_refuse_udp_open(#[smi] fd: i32) -> Result<(), JsErrorBox> {
    Err(not_own(fd))
}

/// Refuses a preopened folder of a WebAssembly program. Its files would be opened without Deno's
/// file system, which keeps tools out of the host's process.
#[op2(fast)]
pub fn op_haft_refuse_preopen(#[string] path: &str) -> Result<(), JsErrorBox> {
    Err(JsErrorBox::generic(format!(
        "WASI({{ preopens }}) is not available to tools: '{path}' cannot be given to the program; \
         read and write its files with node:fs"
    )))
}

fn not_own(fd: i32) -> JsErrorBox {
    JsErrorBox::generic(format!(
        "EBADF: {fd} is not a descriptor that this tool opened"
    ))
}
