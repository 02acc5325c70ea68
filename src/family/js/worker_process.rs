//! Processes that haft starts from its own program: workers with the isolate of modules, and readers
//! of text from untrusted projects.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use haft_engine::graph::{Reader, serve_reader, set_reader};
use haft_engine::{run_worker, run_zygote};
use haft_process::Helper;

use super::programs::programs;

/// Argument with which the program starts as a worker. The version of haft follows.
pub(super) const WORKER: &str = "--worker";

/// The version of haft. Both sides of a connection must have the same.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Argument with which a worker becomes a zygote. The limit of the heap in MiB follows.
pub(super) const ZYGOTE: &str = "--zygote";

/// Exit code of a worker that was started by another version.
pub(super) const OTHER_VERSION: u8 = 78;

/// Argument with which the program starts as the parser of text from untrusted projects.
const READER: &str = "__reader";

/// Variables of that process. The allocator reserves its memory in pieces of 64 MiB: one piece of its
/// default size, 1 GiB, is as much as the process may map.
const READER_VARIABLES: [(&str, &str); 1] = [("MIMALLOC_ARENA_RESERVE", "64MiB")];

/// True if this program serves the processes that are started from it.
static IS_SERVED: AtomicBool = AtomicBool::new(false);

/// Serves as a worker process, and ends with it, if haft has started this program as one. Otherwise
/// returns at once.
///
/// Modules run in worker processes, and haft's hosts start the program that they are part of for
/// that. So this call is the first line of `main` of a program that embeds haft. Before a `tokio`
/// runtime or another thread is started it makes the start of workers fastest:
///
/// ```no_run
/// haft::run_worker_process();
/// // The program itself.
/// ```
///
/// Without it, modules are not loaded, with an error that says so. Code without a `main` of its own
/// names another program by [`HostBuilder::worker_program`](crate::HostBuilder::worker_program).
#[expect(
    clippy::disallowed_methods,
    reason = "the process is a worker, which has nothing else to do"
)]
pub fn run_worker_process() {
    let mut arguments = env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == WORKER => {
            let arguments: Vec<OsString> = arguments.collect();
            let code = match tokio::runtime::Handle::try_current() {
                Err(_) => run_as_worker(arguments),
                // In an `async` main, the event loop of a worker needs a thread of its own.
                Ok(_) => std::thread::spawn(|| run_as_worker(arguments))
                    .join()
                    .unwrap_or(1),
            };
            std::process::exit(code)
        }
        Some(first) if first == READER => {
            std::process::exit(i32::from(serve_reader().is_err()));
        }
        Some(_) | None => {}
    }
    IS_SERVED.store(true, Ordering::Release);
    set_reader(Box::new(|| Some(Box::new(start_reader()?))));
}

fn run_as_worker(arguments: Vec<OsString>) -> i32 {
    let mut arguments = arguments.into_iter();
    if arguments.next().is_none_or(|version| version != VERSION) {
        return OTHER_VERSION.into();
    }
    haft_process::harden_worker();
    let is_success = if arguments.next().is_some_and(|word| word == ZYGOTE) {
        let heap_mb: Option<u32> = arguments
            .next()
            .and_then(|heap| heap.to_str()?.parse().ok());
        heap_mb.is_some_and(|heap_mb| run_zygote(heap_mb, programs))
    } else {
        run_worker(programs)
    };
    i32::from(!is_success)
}

/// Returns the program of the worker processes of this one; `None` if it does not serve them.
pub(super) fn own_program() -> Option<PathBuf> {
    if !IS_SERVED.load(Ordering::Acquire) {
        return None;
    }
    let running = Path::new("/proc/self/exe");
    if running.exists() {
        // The program that runs, even if its file was replaced.
        return Some(running.to_owned());
    }
    env::current_exe().ok()
}

struct ReaderProcess(Helper);

fn start_reader() -> Option<ReaderProcess> {
    let program = own_program()?;
    let started = Helper::start(&program, &["haft", READER], &READER_VARIABLES);
    let helper = started.inspect_err(|error| {
        tracing::warn!(%error, program = %program.display(), "no reader can be started");
    });
    Some(ReaderProcess(helper.ok()?))
}

impl Reader for ReaderProcess {
    fn ask(&mut self, request: &[u8]) -> Option<Vec<u8>> {
        let answer = self.0.ask(request);
        answer
            .inspect_err(|error| tracing::debug!(%error, "the reader does not answer"))
            .ok()
    }
}
