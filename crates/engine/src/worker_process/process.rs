//! The worker process itself: one isolate, whose requests come from a socket.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use deno_core::InspectorMsg;
use rustix::net::RecvFlags;

use super::event_loop::run_isolate;
use super::inbox::RequestInbox;
use crate::Programs;
use crate::boot::{self, Unconfigured};
use crate::messages::Termination;
use crate::platform::Threads;
use crate::script_process;
use crate::telemetry;
use crate::verify::Verifier;
use crate::worker::protocol::{BootSettings, Control, FromWorker, WorkerTask};
use crate::worker::socket::{MessageReader, Received};
use crate::worker::{HostLink, HostSender, RemoteReplay, WorkerReport, WorkerState};
use haft_process::Forked;
use haft_tool::Replay;

/// Time in which the isolate has to end after haft's process has gone.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs a worker process until haft's process ends it. `programs` makes the starter of programs: its
/// arguments are the replay of a test, and whether detached programs outlive haft. Returns true if
/// the isolate could be started.
pub fn run_worker(
    programs: impl FnOnce(Option<Arc<dyn Replay>>, bool) -> Arc<dyn Programs>,
) -> bool {
    run(None, programs)
}

fn run(
    isolate: Option<Unconfigured>,
    programs: impl FnOnce(Option<Arc<dyn Replay>>, bool) -> Arc<dyn Programs>,
) -> bool {
    // Lists of processes show it; it only helps people.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(c"haft-worker");
    let Ok((main, host)) = connect() else {
        return false;
    };
    let served = serve(main, &host, isolate, programs)
        .inspect_err(|why| host.send(&FromWorker::Booted(Err(why.clone()))));
    served.is_ok()
}

/// Runs a zygote until haft's process ends it: a worker process that has created an isolate and
/// waits. Each process that is forked from it is a worker. Other arguments as [`run_worker`].
pub fn run_zygote(
    heap_mb: u32,
    programs: impl FnOnce(Option<Arc<dyn Replay>>, bool) -> Arc<dyn Programs>,
) -> bool {
    boot::start_v8(heap_mb, Threads::One);
    let isolate = Unconfigured::new(heap_mb);
    match haft_process::serve_zygote() {
        Ok(Forked::Worker) => run(Some(isolate), programs),
        Ok(Forked::End) => true,
        Err(_) => false,
    }
}

/// Returns the main socket, for reading and for writing.
fn connect() -> io::Result<(OwnedFd, Arc<HostSender>)> {
    let main = io::stdin().as_fd().try_clone_to_owned()?;
    let host = HostSender::new(main.try_clone()?);
    Ok((main, Arc::new(host)))
}

#[allow(
    clippy::disallowed_methods,
    reason = "in a worker process, standard output is the control socket"
)]
fn serve(
    main: OwnedFd,
    host: &Arc<HostSender>,
    isolate: Option<Unconfigured>,
    programs: impl FnOnce(Option<Arc<dyn Replay>>, bool) -> Arc<dyn Programs>,
) -> Result<(), String> {
    let cannot = |error: io::Error| format!("the worker process cannot work: {error}");
    let control = detach_streams().map_err(cannot)?;
    let report = WorkerReport::of_this_process().map_err(cannot)?;
    let null = std::fs::File::options()
        .write(true)
        .open("/dev/null")
        .map_err(cannot)?;
    rustix::stdio::dup2_stderr(&null).map_err(|errno| cannot(errno.into()))?;

    let mut reader = MessageReader::default();
    let received = reader.read(&main, RecvFlags::empty()).map_err(cannot)?;
    let settings = match received {
        Received::Message(WorkerTask::Modules(settings)) => settings,
        Received::Message(WorkerTask::Scripts { heap_mb }) => {
            return script_process::serve(&main, heap_mb, isolate).map_err(cannot);
        }
        Received::Nothing | Received::Closed => return Err("haft has ended".to_owned()),
    };
    let link = Arc::new(HostLink::new(host.clone()));
    let key = settings.key()?;
    let tape = settings
        .has_replay
        .then(|| Arc::new(RemoteReplay(link.clone())) as Arc<dyn Replay>);
    let programs = programs(tape.clone(), settings.keeps_detached);
    let (verifier, mut settings) = verifier(*settings, host);
    let files = std::mem::take(&mut settings.files);
    if settings.sends_spans {
        let host = host.clone();
        telemetry::start_in_worker(move |spans| host.send(&FromWorker::Spans(spans)));
    }
    let options = settings.into_options(&key, programs, tape, verifier.clone());
    // Relative paths mean the same in a tool as in its configuration.
    std::env::set_current_dir(&options.cwd).map_err(|error| {
        let cwd = options.cwd.display();
        format!("the working directory `{cwd}` cannot be entered: {error}")
    })?;
    let state = WorkerState::new(&options, &key, host.clone(), report);
    start_control(control, state.clone(), link.clone(), host.clone()).map_err(cannot)?;

    let inbox = RequestInbox {
        main: Arc::new(main),
        events: None,
        reader,
        state: state.clone(),
        link: link.clone(),
        host: host.clone(),
        verifier,
    };
    if isolate.is_some() {
        boot::reseed()?;
    }
    let is_ready = || host.send(&FromWorker::Booted(Ok(())));
    run_isolate(&options, &state, inbox, &link, isolate, &files, is_ready)?;
    // The callers of what still ran need not wait until the process has given back its memory.
    host.send(&FromWorker::Ended);
    link.close();
    telemetry::finish();
    haft_process::kill_all();
    if !haft_process::has_children() {
        host.send(&FromWorker::NothingLeft);
        host.close();
    }
    Ok(())
}

/// Takes the control socket off standard output, and leaves the standard streams empty.
#[allow(
    clippy::disallowed_methods,
    reason = "in a worker process, standard output is the control socket"
)]
fn detach_streams() -> io::Result<OwnedFd> {
    let control = io::stdout().as_fd().try_clone_to_owned()?;
    let null = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(control)
}

/// Makes the verifier, which reports what it learns.
fn verifier(
    mut settings: BootSettings,
    host: &Arc<HostSender>,
) -> (Option<Arc<Verifier>>, BootSettings) {
    let verifier = settings.verifier.take().map(|verifier| {
        let made = if verifier.is_learning {
            let host = host.clone();
            Verifier::learning_with(move |path, digest| {
                host.send(&FromWorker::Learned {
                    path: path.to_owned(),
                    digest: *digest.as_bytes(),
                });
            })
        } else {
            Verifier::default()
        };
        made.trust(Arc::new(verifier.files.into()));
        Arc::new(made)
    });
    (verifier, settings)
}

/// Starts the thread that reads the control socket.
fn start_control(
    socket: OwnedFd,
    state: Arc<WorkerState>,
    link: Arc<HostLink>,
    host: Arc<HostSender>,
) -> io::Result<()> {
    let control = move || {
        let mut reader = MessageReader::default();
        while let Ok(Received::Message(message)) =
            reader.read::<Control>(&socket, RecvFlags::empty())
        {
            obey(message, &state, &link, &host);
        }
        // haft's process has gone.
        link.close();
        state.terminate(&Termination::because("haft has ended"));
        std::thread::sleep(END_TIMEOUT);
        haft_process::kill_all();
        leave();
    };
    std::thread::Builder::new()
        .name("haft-control".to_owned())
        .spawn(control)
        .map(drop)
}

/// Ends the process although its isolate has not ended.
#[allow(
    clippy::disallowed_methods,
    reason = "nobody waits for the exit code, and the isolate's thread does not answer"
)]
fn leave() -> ! {
    std::process::exit(1)
}

fn obey(message: Control, state: &Arc<WorkerState>, link: &HostLink, host: &Arc<HostSender>) {
    match message {
        Control::Withdraw { id } => {
            let withdrawn = state.requests.withdraw(id);
            host.send(&FromWorker::Withdrawn { id, withdrawn });
        }
        Control::TellStart { id } => state.requests.tell_start(id),
        Control::InterruptRender { id } => state.interrupt_render(id),
        Control::Reply(query, reply) => link.replied(query, reply),
        Control::Terminate { why } => {
            // A thread that waits for a reply must notice the end.
            link.close();
            state.terminate(&Termination::because(why));
            // So must one that waits for a request.
            host.stop_reading();
        }
        Control::OpenInspector { session } => open_inspector(session, state, host),
        Control::Inspect { session, message } => {
            if let Some(sessions) = &state.sessions {
                sessions.send(session, message);
            }
        }
        Control::CloseInspector { session } => {
            if let Some(sessions) = &state.sessions {
                sessions.close(session);
            }
        }
    }
}

/// Opens a session for a debugger of haft's process. A thread passes on its messages, because that
/// of the isolate waits while JavaScript is paused.
fn open_inspector(session: u32, state: &WorkerState, host: &Arc<HostSender>) {
    let Some(sessions) = &state.sessions else {
        return;
    };
    let (outgoing, messages) = futures::channel::mpsc::unbounded::<InspectorMsg>();
    let host = host.clone();
    let pass_on = move || {
        for message in futures::executor::block_on_stream(messages) {
            host.send(&FromWorker::Inspected {
                session,
                message: message.content,
            });
        }
    };
    let started = std::thread::Builder::new()
        .name("haft-inspector".to_owned())
        .spawn(pass_on);
    if started.is_ok() {
        sessions.open(session, outgoing);
    }
}
