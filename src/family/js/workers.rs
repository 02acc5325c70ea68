//! Worker processes of JavaScript modules: their program, environment and sandbox.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;

use haft_engine::{IsolateKey, WorkerProcess, Workers};
use haft_process::{Exit, Spawn, Worker};
use haft_tool::Isolation;

/// The program of worker processes: a `haft` of this version.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Argument with which the program starts as a worker.
pub(crate) const WORKER: &str = "--worker";

/// Sets the program of worker processes. Only the first call has an effect.
pub(crate) fn use_program(program: PathBuf) {
    let _ = PROGRAM.set(program);
}

/// Returns the starter of worker processes; `None` if no program is set.
pub(super) fn workers() -> Option<Arc<dyn Workers>> {
    let program = PROGRAM.get()?.clone();
    Some(Arc::new(WorkerStarter { program }))
}

struct WorkerStarter {
    program: PathBuf,
}

struct RunningWorker(Worker);

impl Workers for WorkerStarter {
    fn start(
        &self,
        key: &IsolateKey,
        streams: [OwnedFd; 3],
    ) -> Result<Arc<dyn WorkerProcess>, String> {
        if key.isolation == Isolation::Sandbox {
            return Err("the sandbox of modules is not built yet".to_owned());
        }
        let spawn = Spawn::new(&self.program, [WORKER]);
        let worker = Worker::start(&spawn, streams)
            .map_err(|error| format!("cannot start a worker process: {error}"))?;
        Ok(Arc::new(RunningWorker(worker)))
    }
}

impl WorkerProcess for RunningWorker {
    fn kill(&self) {
        self.0.kill();
    }

    fn wait(&self) -> String {
        match self.0.wait() {
            Some(Exit::Signal(signal)) => format!("was ended by the signal {signal}"),
            Some(Exit::Code(code)) => format!("exited with code {code}"),
            None => "has ended".to_owned(),
        }
    }

    fn memory_exceeded(&self, limit: u64) -> BoxFuture<'static, ()> {
        let pid = self.0.pid().as_raw_pid();
        Box::pin(async move {
            haft_process::sandbox::memory_exceeded(pid, limit).await;
        })
    }
}
