//! Record and replay in tests of tools, and recorded calls: twin of `41_replay.ts`.

use deno_core::OpState;
use deno_core::op2;

use super::host::{Channel, host_of};

/// Returns the recorded answer to a request: the JSON text of an answer or of a refusal. Empty if
/// the request is to be sent to the network. The request is JSON text, too.
#[op2]
#[string]
pub fn op_haft_replay_play(state: &mut OpState, #[string] request: &str) -> String {
    host_of(state).tape_play(request)
}

/// Records the network's answer to a request.
#[op2(fast)]
pub fn op_haft_replay_keep(state: &mut OpState, #[string] request: &str, #[string] answer: &str) {
    host_of(state).tape_keep(request, answer);
}

/// Adds the answer to a program or a request of the call `call` to its recording.
#[op2(fast)]
pub fn op_haft_record(
    state: &mut OpState,
    call: u32,
    #[smi] channel: u8,
    #[string] request: &str,
    #[string] answer: &str,
) {
    host_of(state).record(call, Channel::from_code(channel), request, answer);
}
