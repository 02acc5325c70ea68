//! The worker process itself: one isolate, whose requests come from a socket.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use deno_core::InspectorMsg;
use rustix::net::RecvFlags;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::host_sender::HostSender;
use super::protocol::{BootSettings, Control, FromWorker, ToWorker};
use super::remote_link::{RemoteLink, RemoteReplay};
use super::socket::{self, MessageReader, Received};
use crate::boot::{self, Unconfigured};
use crate::isolate_state::IsolateState;
use crate::messages::{Inbox, Message, NoMessage, PingSink, Termination};
use crate::platform::Threads;
use crate::requests::{AnswerSink, Slot};
use crate::spin_wait;
use crate::telemetry;
use crate::verify::Verifier;
use crate::worker_report::WorkerReport;
use crate::{Programs, thread};
use haft_process::Forked;
use haft_tool::Replay;

/// Time in which the isolate has to end after haft's process has gone.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs a worker process until haft's process ends it. `programs` makes the starter of programs: its
/// arguments are the replay of a test, and whether detached programs outlive haft.
pub fn run_worker(
    programs: impl FnOnce(Option<Arc<dyn Replay>>, bool) -> Arc<dyn Programs>,
) -> ExitCode {
    run(None, programs)
}

fn run(
    isolate: Option<Unconfigured>,
    programs: impl FnOnce(Option<Arc<dyn Replay>>, bool) -> Arc<dyn Programs>,
) -> ExitCode {
    let served = connect().and_then(|(main, host)| {
        serve(main, &host, isolate, programs).inspect_err(|error| {
            let why = format!("the worker process cannot work: {error}");
            host.send(&FromWorker::Booted(Err(why)));
        })
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Runs a zygote until haft's process ends it: a worker process that has created an isolate and
/// waits. Each process that is forked from it is a worker. Other arguments as [`run_worker`].
pub fn run_zygote(
    heap_mb: u32,
    programs: impl FnOnce(Option<Arc<dyn Replay>>, bool) -> Arc<dyn Programs>,
) -> ExitCode {
    boot::start_v8(heap_mb, Threads::One);
    let isolate = Unconfigured::new(heap_mb);
    match haft_process::serve_zygote() {
        Ok(Forked::Worker) => run(Some(isolate), programs),
        Ok(Forked::End) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
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
) -> io::Result<()> {
    let control = io::stdout().as_fd().try_clone_to_owned()?;
    let report = WorkerReport::of_this_process()?;
    let null = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;

    let mut reader = MessageReader::default();
    let Received::Message(ToWorker::Boot(settings)) = reader.read(&main, RecvFlags::empty())?
    else {
        return Err(io::Error::other("the first message is another one"));
    };
    let link = Arc::new(RemoteLink::new(host.clone()));
    let key = settings.key().map_err(io::Error::other)?;
    let tape = settings
        .has_replay
        .then(|| Arc::new(RemoteReplay(link.clone())) as Arc<dyn Replay>);
    let programs = programs(tape.clone(), settings.keeps_detached);
    let (verifier, settings) = verifier(*settings, host);
    if settings.sends_spans {
        let host = host.clone();
        telemetry::start_in_worker(move |spans| host.send(&FromWorker::Spans(spans)));
    }
    let options = settings.into_options(&key, programs, tape, verifier.clone());
    let (alive, ended) = std::sync::mpsc::channel();
    let shared = IsolateState::of_worker(&options, &key, host.clone(), ended);
    shared.requests.reported_by(Arc::new(report));
    start_control(control, shared.clone(), link.clone(), host.clone())?;

    let inbox = SocketInbox {
        main: Arc::new(main),
        events: None,
        reader,
        shared: shared.clone(),
        link: link.clone(),
        host: host.clone(),
        verifier,
    };
    let sender = host.clone();
    let booted = move |result| sender.send(&FromWorker::Booted(result));
    let inbox = Box::new(inbox);
    match isolate {
        // A forked isolate stays on the only thread that there was.
        Some(isolate) => {
            boot::reseed().map_err(io::Error::other)?;
            let (callers, isolate) = (link.clone(), Some(isolate));
            thread::run(&options, shared, inbox, callers, alive, isolate, booted);
        }
        None => {
            let isolate = thread::spawn(options, shared, inbox, link.clone(), alive, booted)?;
            // A panic was reported by the hook.
            let _ = isolate.join();
        }
    }
    link.close();
    telemetry::finish();
    haft_process::kill_all();
    Ok(())
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
    shared: Arc<IsolateState>,
    link: Arc<RemoteLink>,
    host: Arc<HostSender>,
) -> io::Result<()> {
    let control = move || {
        let mut reader = MessageReader::default();
        while let Ok(Received::Message(message)) =
            reader.read::<Control>(&socket, RecvFlags::empty())
        {
            obey(message, &shared, &link, &host);
        }
        // haft's process has gone.
        link.close();
        shared.terminate(Termination::because("haft has ended"));
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

fn obey(message: Control, shared: &Arc<IsolateState>, link: &RemoteLink, host: &Arc<HostSender>) {
    match message {
        Control::Withdraw { id } => {
            let state = shared.requests.withdraw_sent(id);
            host.send(&FromWorker::Withdrawn { id, state });
        }
        Control::Evict { query, module } => {
            let has_left = shared.requests.evict(module);
            host.send(&FromWorker::Evicted { query, has_left });
        }
        Control::Readmit { module } => shared.requests.readmit(module),
        Control::TellStart { id } => shared.requests.tell_start(id),
        Control::InterruptRender { id } => drop(shared.interrupt_drawing(id)),
        Control::Reply(query, reply) => link.replied(query, reply),
        Control::Terminate { why } => {
            // A thread that waits for a reply must notice the end.
            link.close();
            shared.terminate(Termination::because(why));
            // So must one that waits for a request.
            host.stop_reading();
        }
        Control::OpenInspector { session } => open_inspector(session, shared, host),
        Control::Inspect { session, message } => {
            if let Some(sessions) = &shared.sessions {
                sessions.send(session, message);
            }
        }
        Control::CloseInspector { session } => {
            if let Some(sessions) = &shared.sessions {
                sessions.close(session);
            }
        }
    }
}

/// Opens a session for a debugger of haft's process. A thread passes on its messages, because that
/// of the isolate waits while JavaScript is paused.
fn open_inspector(session: u32, shared: &IsolateState, host: &Arc<HostSender>) {
    let Some(sessions) = &shared.sessions else {
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

/// Requests that come from the main socket. The isolate's own thread reads it.
struct SocketInbox {
    main: Arc<OwnedFd>,
    /// Made by the first poll, because it belongs to the runtime.
    events: Option<AsyncFd<Arc<OwnedFd>>>,
    reader: MessageReader,
    shared: Arc<IsolateState>,
    link: Arc<RemoteLink>,
    host: Arc<HostSender>,
    verifier: Option<Arc<Verifier>>,
}

impl Inbox for SocketInbox {
    fn try_next(&mut self) -> Result<Message, NoMessage> {
        loop {
            match self.reader.read(&self.main, RecvFlags::DONTWAIT) {
                Ok(Received::Message(message)) => {
                    if let Some(message) = self.take(message) {
                        return Ok(message);
                    }
                }
                Ok(Received::Nothing) => return Err(NoMessage::Empty),
                Ok(Received::Closed) | Err(_) => return Err(NoMessage::Closed),
            }
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Message>> {
        loop {
            match self.try_next() {
                Ok(message) => return Poll::Ready(Some(message)),
                Err(NoMessage::Closed) => return Poll::Ready(None),
                Err(NoMessage::Empty) => {}
            }
            if self.events.is_none() {
                self.events = socket::watch(self.main.clone(), Interest::READABLE).ok();
            }
            let Some(events) = &self.events else {
                return Poll::Ready(None);
            };
            match events.poll_read_ready(cx) {
                Poll::Ready(Ok(mut ready)) => ready.clear_ready(),
                Poll::Ready(Err(_)) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl SocketInbox {
    /// Converts a message for the isolate's thread; handles the others.
    fn take(&self, message: ToWorker) -> Option<Message> {
        match message {
            ToWorker::Ask(ask) => {
                spin_wait::request_sent_on(self.reader.sent_on());
                if let Some(id) = ask.id() {
                    let sink = AnswerSink::Host(self.host.clone(), id);
                    let slot = Slot::new(None, sink, ask.purpose());
                    self.shared.requests.expect(id, slot);
                }
                Some(Message::Ask(ask))
            }
            ToWorker::Ping(number) => {
                Some(Message::Ping(PingSink::Host(self.host.clone(), number)))
            }
            ToWorker::Reply(query, reply) => {
                self.link.replied(query, reply);
                None
            }
            ToWorker::Trust(files) => {
                if let Some(verifier) = &self.verifier {
                    verifier.trust(Arc::new(files.into()));
                }
                None
            }
            // Only the first message boots.
            ToWorker::Boot(_) => None,
        }
    }
}
