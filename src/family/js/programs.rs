//! `pi.exec` on top of the process module: the request and the answer of `js-runtime/11_exec.ts`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::family::rights::program_rights;
use haft_engine::Programs;
use haft_process::{
    Captured, ChosenProgram, End, Environment, Finished, Rights, Spawn, SpawnError, Stdin,
};
use haft_tool::{PermissionProfile, Replay, ReplayAnswer, ReplayChannel};

/// Timeout for output that a program's background processes still write after `pi.exec` has ended.
/// oh-my-pi waits for ever; a server that was started without a redirection would hang the call
/// then.
const LATE_OUTPUT: Duration = Duration::from_secs(10);

/// Programs that run a script that is given to `process.execPath`, the best first.
const SCRIPT_RUNNERS: [&str; 2] = ["node", "bun"];

/// Returns the starter of programs. With a tape, programs are started only where the tape says so.
/// With `keeps_detached`, a program that a tool detached and released outlives the host.
pub(crate) fn programs(tape: Option<Arc<dyn Replay>>, keeps_detached: bool) -> Arc<dyn Programs> {
    let programs = ChildPrograms { keeps_detached };
    match tape {
        Some(tape) => Arc::new(TapedPrograms(tape, programs)),
        None => Arc::new(programs),
    }
}

/// Starts real programs.
struct ChildPrograms {
    keeps_detached: bool,
}

/// Starts programs as the tape decides.
struct TapedPrograms(Arc<dyn Replay>, ChildPrograms);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    command: String,
    args: Vec<String>,
    cwd: PathBuf,
    timeout_ms: Option<f64>,
    env: Option<BTreeMap<String, Option<String>>>,
    input: Option<String>,
    input_bytes: Option<Vec<u8>>,
}

#[derive(Default, Serialize)]
struct Answer {
    stdout: String,
    stderr: String,
    code: i32,
    killed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ExecError>,
}

#[derive(Serialize)]
struct ExecError {
    code: String,
    message: String,
    /// Set if oh-my-pi throws a TypeError here.
    #[serde(rename = "type")]
    is_type_error: bool,
}

impl Programs for ChildPrograms {
    fn exec(
        &self,
        request: String,
        permissions: &PermissionProfile,
        cancel: CancellationToken,
    ) -> Pin<Box<dyn Future<Output = String> + Send>> {
        let rights = program_rights(permissions);
        Box::pin(async move {
            let answer = run(&request, rights, &cancel).await;
            serde_json::to_string(&answer).expect("an answer of strings and numbers is JSON")
        })
    }

    fn starts_by(&self, thread_id: i32) {
        haft_process::thread_starts_program(thread_id);
    }

    fn kill_started_by(&self, thread_id: i32) {
        haft_process::kill_children_of_thread(thread_id);
    }

    fn release(&self, pid: i32) {
        if self.keeps_detached {
            haft_process::release_child(pid);
        }
    }

    fn script_runner(&self) -> Option<PathBuf> {
        SCRIPT_RUNNERS
            .iter()
            .find_map(|name| haft_process::find_installed(name))
    }
}

impl Programs for TapedPrograms {
    fn exec(
        &self,
        request: String,
        permissions: &PermissionProfile,
        cancel: CancellationToken,
    ) -> Pin<Box<dyn Future<Output = String> + Send>> {
        let tape = self.0.clone();
        let keeps_detached = self.1.keeps_detached;
        let permissions = permissions.clone();
        Box::pin(async move {
            match tape.play(ReplayChannel::Exec, &request) {
                ReplayAnswer::Answer(answer) => answer,
                ReplayAnswer::Nothing(why) => {
                    let refused = refused("ERR_HAFT_NOT_RECORDED", why, false);
                    serde_json::to_string(&refused).expect("an answer of strings is JSON")
                }
                ReplayAnswer::World => {
                    let programs = ChildPrograms { keeps_detached };
                    let answer = programs.exec(request.clone(), &permissions, cancel).await;
                    tape.keep(ReplayChannel::Exec, &request, &answer);
                    answer
                }
            }
        })
    }

    fn starts_by(&self, thread_id: i32) {
        self.1.starts_by(thread_id);
    }

    fn kill_started_by(&self, thread_id: i32) {
        self.1.kill_started_by(thread_id);
    }

    fn release(&self, pid: i32) {
        self.1.release(pid);
    }

    fn script_runner(&self) -> Option<PathBuf> {
        self.1.script_runner()
    }
}

async fn run(request: &str, rights: Rights, cancel: &CancellationToken) -> Answer {
    let request: Request = match serde_json::from_str(request) {
        Ok(request) => request,
        Err(error) => return refused("ERR_INVALID_ARG_VALUE", error.to_string(), true),
    };
    match spawn(request, rights).run(cancel).await {
        Ok(finished) => answer(&finished),
        Err(error) => {
            let is_type_error = matches!(error, SpawnError::Nul { .. });
            refused(&error.code(), error.to_string(), is_type_error)
        }
    }
}

fn spawn(request: Request, rights: Rights) -> Spawn {
    let mut env = Environment::inherit();
    for (name, value) in request.env.unwrap_or_default() {
        env = match value {
            Some(value) => env.with(name, value),
            None => env.without(name),
        };
    }
    let input = request
        .input
        .map(String::into_bytes)
        .or(request.input_bytes);
    #[expect(
        clippy::disallowed_methods,
        reason = "a trusted module decides what it starts, within the permissions of its tool"
    )]
    let program = ChosenProgram::not_of_project(request.command);
    Spawn {
        // A relative directory starts at the process's own, as in oh-my-pi.
        cwd: Some(request.cwd),
        env,
        rights,
        stdin: input.map_or(Stdin::Empty, Stdin::Bytes),
        deadline: request
            .timeout_ms
            .and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok()),
        late_output: LATE_OUTPUT,
        ..Spawn::new(program, request.args)
    }
}

fn answer(finished: &Finished) -> Answer {
    let code = match finished.end {
        // A program that handled the signal keeps its own code, unless that looks like success.
        End::TimedOut(_) | End::Cancelled(_) => stopped_code(finished.end),
        end => end.shell_code(),
    };
    Answer {
        stdout: shown(&finished.stdout),
        stderr: shown(&finished.stderr),
        code,
        killed: finished.end.was_stopped(),
        error: None,
    }
}

fn stopped_code(end: End) -> i32 {
    use haft_process::Exit;
    match end {
        End::Cancelled(Some(Exit::Code(code))) if code != 0 => code,
        end => end.shell_code(),
    }
}

/// Returns the output, with a line about the missing part where the limit cut it.
fn shown(captured: &Captured) -> String {
    if captured.dropped == 0 {
        return captured.text();
    }
    let (head, tail) = captured.parts();
    format!(
        "{head}\n[haft: {} bytes of output dropped]\n{tail}",
        captured.dropped
    )
}

fn refused(code: &str, message: String, is_type_error: bool) -> Answer {
    Answer {
        error: Some(ExecError {
            code: code.to_owned(),
            message,
            is_type_error,
        }),
        ..Answer::default()
    }
}
