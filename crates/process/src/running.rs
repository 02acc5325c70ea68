//! One running child and the loop that serves it: both outputs, its input, its end.
//!
//! There is one future and no task: the caller that awaits the call does the work. Dropping the
//! call drops the leader, which kills the tree. A child that always has output must not keep the
//! loop from seeing the cancel token or the deadline.
//!
//! A stop asks the whole tree to end (TERM), waits for the grace period, and kills the whole tree.
//! It takes at most the grace period and the time that KILL needs. Outputs are drained meanwhile,
//! because a process that cannot write its last output cannot end. A process that still holds an
//! output after KILL has left the tree; it is found by the pipe it holds.

use std::future::pending;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::child::{Chunk, Stream};
use crate::error::SpawnError;
use crate::exec_args::{Ends, Order};
use crate::finished::{End, Exit, Finished};
use crate::output::{Feed, Output};
use crate::sandbox::{
    ExceededLimit, Sandbox, TreeLimits, empty_folder, tree_exceeded, watch_session,
};
use crate::spawn::{Leftovers, Spawn, Stdin};
use crate::system::{
    self, Cell, Descriptor, Ended, Leader, OurEnd, Pid, Sender, Starvation, launch,
};
use crate::verified::{NotVerified, ReadyProgram, SpawnProgram, VerifiedProgram};
use crate::{observe, verified};

/// Time for which outputs are read after the end in any case.
const DRAIN: Duration = Duration::from_millis(50);

/// Minimum interval between two measurements of the time that an overdue child was kept from
/// running.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// Number of bytes that are read at once: the size of a pipe.
const READ_SIZE: usize = 64 * 1024;

/// Timeout of KILL. Only a process that hangs in the kernel needs longer.
const KILL_TAKES: Duration = Duration::from_secs(1);

/// Time for which the pipes of killed processes may stay open.
const PIPES_TAKE: Duration = Duration::from_millis(20);

pub(super) struct Running {
    pub(super) leader: Leader,
    ended: Ended,
    has_ended: bool,
    feed: Option<Feed>,
    /// Our end of an input that stays open, until [`super::Child`] takes it.
    pub(super) input: Option<Sender>,
    stdout: Output,
    stderr: Output,
    buffer: Vec<u8>,
    sink: Option<mpsc::Sender<Chunk>>,
    started: Instant,
    plan: Plan,
    /// The control group with its memory limit. Dropped after the leader, which kills the processes
    /// in it.
    cell: Option<Cell>,
    /// The limit of memory that the control group enforces.
    memory: Option<u64>,
    /// The limits that must be measured.
    measured: TreeLimits,
    /// The private temporary folder of its sandbox.
    tmp: Option<PathBuf>,
}

/// The settings of a [`Spawn`] that are needed while the child runs.
struct Plan {
    deadline: Option<Instant>,
    start_delay_allowance: Duration,
    grace: Duration,
    timeout_grace: Duration,
    force_token: Option<CancellationToken>,
    leftovers: Leftovers,
    late_output: Duration,
}

enum Cause {
    Itself,
    Deadline,
    Cancel,
    /// The tree exceeded a limit.
    Limit(ExceededLimit),
}

impl Running {
    /// Starts the child. Returns `None` if `cancel` fired before the start.
    pub(super) async fn begin(
        spawn: Spawn,
        sink: Option<mpsc::Sender<Chunk>>,
        cancel: &CancellationToken,
    ) -> Result<Option<Self>, SpawnError> {
        Self::begin_between(spawn, sink, Neighbours::default(), cancel).await
    }

    /// Starts a member of a pipeline, as [`Running::begin`] does.
    pub(super) async fn begin_between(
        mut spawn: Spawn,
        sink: Option<mpsc::Sender<Chunk>>,
        neighbours: Neighbours,
        cancel: &CancellationToken,
    ) -> Result<Option<Self>, SpawnError> {
        system::keep_children();
        observe::add_variables(&mut spawn.env);
        let started = Instant::now();
        let limit = spawn.limits.memory;
        // In a sandbox a program cannot change its affinity.
        let processors = spawn.limits.processors.filter(|_| spawn.sandbox.is_none());
        let cell = Cell::with_limits(limit, processors);
        let has_group = cell.as_ref().is_some_and(Cell::limits_memory);
        let measured_memory = limit.filter(|_| !has_group && spawn.is_memory_measured());
        let ready = match &spawn.program {
            SpawnProgram::Verified(program) => {
                let (ready, sandbox) = verify(&spawn, program.clone()).await?;
                spawn.sandbox = sandbox;
                Some(ready)
            }
            SpawnProgram::Chosen(_) => None,
        };
        let (limits, sandbox) = (spawn.limits, spawn.sandbox.clone());
        let order = Order::new(&spawn, cell.as_ref(), ready)?;
        let program = spawn.shown_program();
        let system = |source: io::Error| SpawnError::System {
            program: program.clone(),
            source,
        };

        let (ends, ours) = streams(spawn.stdin, neighbours).map_err(system)?;
        let Some(leader) = launch(order, ends, cancel).await? else {
            return Ok(None);
        };
        observe::starts(&program);
        if let Some(count) = limits.open_files {
            system::limit_open_files(leader.pid(), count);
        }
        // The rest is done while the child starts up. An error drops the leader, which ends the
        // child.
        let ended = Ended::of(leader.pid()).map_err(system)?;
        let stdout = Output::new(Stream::Stdout, spawn.stdout, ours.stdout).map_err(system)?;
        let stderr = Output::new(Stream::Stderr, spawn.stderr, ours.stderr).map_err(system)?;
        let feed = ours.stdin.map(|(pipe, bytes)| Feed::new(pipe, bytes));
        let feed = feed.transpose().map_err(system)?;
        let input = ours.open_stdin.map(system::sender);
        let input = input.transpose().map_err(system)?;
        Ok(Some(Self {
            leader,
            ended,
            has_ended: false,
            feed,
            input,
            stdout,
            stderr,
            buffer: Vec::with_capacity(READ_SIZE),
            sink,
            started,
            plan: Plan {
                deadline: spawn.deadline.and_then(|limit| started.checked_add(limit)),
                start_delay_allowance: spawn.start_delay_allowance,
                grace: spawn.grace,
                timeout_grace: spawn.timeout_grace,
                force_token: spawn.force_token,
                leftovers: spawn.leftovers,
                late_output: spawn.late_output,
            },
            cell,
            memory: limit,
            measured: limits.measured(measured_memory),
            tmp: sandbox.and_then(|sandbox| sandbox.tmp().map(Path::to_owned)),
        }))
    }

    /// Returns the token that fires when the standard output is closed.
    pub(super) fn output_closed(&self) -> CancellationToken {
        self.stdout.closed()
    }

    /// Serves the child until the call has ended. A call that ended by itself in the moment of a
    /// deadline or a cancel counts as not stopped.
    pub(super) async fn finish(mut self, cancel: &CancellationToken) -> Finished {
        // The input was not taken, so nothing will be written to it.
        self.input = None;
        let (deadline, start_delay_allowance) =
            (self.plan.deadline, self.plan.start_delay_allowance);
        let leader = self.leader.pid();
        let mut was_held_up = false;
        let cause = tokio::select! {
            // The loop is polled last. Under a flood it uses up the task's budget, and a timer that
            // is polled afterwards reports nothing.
            biased;
            () = cancel.cancelled() => Cause::Cancel,
            is_understated = until(deadline, start_delay_allowance, leader) => {
                was_held_up = is_understated;
                Cause::Deadline
            }
            limit = tree_exceeded(leader.as_raw_pid(), self.measured, self.tmp.clone()) => {
                Cause::Limit(limit)
            }
            () = self.until_exit() => Cause::Itself,
        };
        // Checked again, since the child may have ended in the same moment.
        let cause = if self.leader.has_ended() {
            self.late_output(cancel).await
        } else {
            cause
        };
        let Plan {
            grace,
            timeout_grace,
            ..
        } = self.plan;
        let force_token = self.plan.force_token.take();
        match cause {
            Cause::Itself => {}
            Cause::Limit(limit) => self.end_tree(limit).await,
            Cause::Deadline => stop(&mut self, timeout_grace, force_token).await,
            Cause::Cancel => stop(&mut self, grace, force_token).await,
        }
        if !matches!(cause, Cause::Itself) {
            // A timeout is needed: processes that left the tree can hold the outputs.
            let _ = timeout(DRAIN, self.until_quiet()).await;
        }
        if matches!(cause, Cause::Itself) && self.plan.leftovers == Leftovers::Kill {
            kill(&mut self).await;
        }
        let mut finished = self.conclude(cause).await;
        finished.was_held_up = was_held_up && matches!(finished.end, End::TimedOut(_));
        finished
    }

    /// Reads the output of processes that the program left behind. A cancel ends them and the call.
    /// The deadline ends them too, but the program still counts as ended by itself.
    async fn late_output(&mut self, cancel: &CancellationToken) -> Cause {
        let (deadline, late) = (self.plan.deadline, self.plan.late_output);
        // This time is always waited.
        if timeout(DRAIN, self.until_quiet()).await.is_ok() {
            return Cause::Itself;
        }
        let Some(late) = late.checked_sub(DRAIN).filter(|late| !late.is_zero()) else {
            return Cause::Itself;
        };
        let is_over = tokio::select! {
            biased;
            () = cancel.cancelled() => return Cause::Cancel,
            // Processes left behind get no extra time for having been kept from running.
            _ = until(deadline, Duration::ZERO, self.leader.pid()) => true,
            // Without a limit they could go on forever.
            _ = timeout(late, self.until_quiet()) => false,
        };
        if is_over {
            kill(self).await;
        }
        Cause::Itself
    }

    /// Serves the child until it has ended. Its outputs may still be open.
    pub(super) async fn until_exit(&mut self) {
        while !self.has_ended {
            self.step().await;
        }
    }

    /// Serves the child until it has ended and no process holds its outputs.
    pub(super) async fn until_quiet(&mut self) {
        while !self.has_ended || self.stdout.is_open() || self.stderr.is_open() {
            self.step().await;
        }
    }

    /// Handles the first event that is ready. Dropping this future between two polls loses nothing.
    async fn step(&mut self) {
        tokio::task::consume_budget().await;
        let sink = self.sink.as_ref();
        tokio::select! {
            permit = self.stdout.ready(sink), if self.stdout.is_open() => {
                self.stdout.take(&mut self.buffer, permit);
            }
            permit = self.stderr.ready(sink), if self.stderr.is_open() => {
                self.stderr.take(&mut self.buffer, permit);
            }
            () = writable(self.feed.as_ref()), if self.feed.is_some() => {
                self.feed.take_if(Feed::push);
            }
            () = self.ended.wait(), if !self.has_ended => self.has_ended = true,
            else => {}
        }
    }

    /// Kills a tree that exceeded a limit.
    async fn end_tree(&mut self, limit: ExceededLimit) {
        kill(self).await;
        if let (ExceededLimit::TemporaryFiles(_), Some(tmp)) = (limit, &self.tmp) {
            empty_folder(tmp.clone()).await;
        }
    }

    /// Reaps the leader, then sends the last of the output. The reader may be slow, so reaping
    /// comes first.
    async fn conclude(mut self, cause: Cause) -> Finished {
        let mut late = self.stdout.rest(&mut self.buffer);
        late.extend(self.stderr.rest(&mut self.buffer));
        let exit = self.leader.reap();
        let exceeded = match cause {
            Cause::Limit(limit) => Some(limit),
            Cause::Itself | Cause::Deadline | Cause::Cancel => None,
        };
        if exit.is_some() && self.plan.leftovers == Leftovers::Leave && exceeded.is_none() {
            self.watch_leftovers();
        }
        let end = match (cause, exit) {
            (Cause::Deadline, exit) => End::TimedOut(exit),
            (Cause::Cancel, exit) => End::Cancelled(exit),
            (Cause::Itself | Cause::Limit(_), Some(Exit::Code(code))) => End::Exited(code),
            (Cause::Itself | Cause::Limit(_), Some(Exit::Signal(signal))) => End::Signaled(signal),
            (Cause::Itself | Cause::Limit(_), None) => {
                tracing::error!("a child was reaped by someone else: its exit code is lost");
                End::Exited(-1)
            }
        };
        let duration = self.started.elapsed();
        if let Some(sink) = self.sink {
            for chunk in late {
                // An error means that the reader is gone.
                let _ = sink.send(chunk).await;
            }
        }
        Finished {
            end,
            pipe_held: self.stdout.is_open() || self.stderr.is_open(),
            stdout: self.stdout.into_captured(),
            stderr: self.stderr.into_captured(),
            duration,
            was_held_up: false,
            exceeded: exceeded.or_else(|| {
                let is_out = self.cell.is_some_and(|cell| cell.ran_out());
                let limit = self.memory.filter(|_| is_out)?;
                Some(ExceededLimit::Memory(limit))
            }),
        }
    }

    /// Keeps the limits of processes that the program left behind.
    fn watch_leftovers(&self) {
        let leader = self.leader.pid();
        if system::has_group(leader) {
            tokio::spawn(watch_session(leader, self.measured, self.tmp.clone()));
        }
    }
}

/// Our ends of the child's streams. `stdin` is set only if there is something to write.
struct Ours {
    stdin: Option<(OurEnd, Vec<u8>)>,
    /// Our end of an input that stays open.
    open_stdin: Option<OurEnd>,
    stdout: OurEnd,
    stderr: OurEnd,
}

/// Pipe ends that connect a member of a pipeline with other children.
#[derive(Default)]
pub(super) struct Neighbours {
    /// The pipe that the child reads, instead of its `stdin`.
    pub(super) before: Option<Descriptor>,
    /// The pipe that the child writes to. Its own standard output stays empty then.
    pub(super) after: Option<Descriptor>,
}

/// Verifies the program of `spawn`, and returns it with its sandbox.
async fn verify(
    spawn: &Spawn,
    program: VerifiedProgram,
) -> Result<(ReadyProgram, Option<Sandbox>), SpawnError> {
    let path = PathBuf::from(program.name());
    let search = spawn.search_path(&spawn.variables());
    let verified = verified::verify(program, search, spawn.folder(), spawn.sandbox.clone()).await;
    verified.map_err(|source| match source {
        NotVerified::ProgramMissing(program) => SpawnError::NotFound { program },
        NotVerified::ProgramNotExecutable(program) => SpawnError::PermissionDenied { program },
        source => SpawnError::NotVerified {
            program: path,
            source,
        },
    })
}

fn streams(stdin: Stdin, neighbours: Neighbours) -> io::Result<(Ends, Ours)> {
    // If a neighbour reads the output, our pipe has no writer, so it ends at once.
    let (stdout, stdout_end) = system::output_pipe()?;
    let stdout_end = neighbours.after.unwrap_or(stdout_end);
    let (stderr, stderr_end) = system::output_pipe()?;
    let mut open_stdin = None;
    let (stdin_end, stdin) = match stdin {
        Stdin::Open => {
            let (reader, writer) = system::input_pipe()?;
            open_stdin = Some(writer);
            (reader, None)
        }
        Stdin::Bytes(bytes) if !bytes.is_empty() => {
            let (reader, writer) = system::input_pipe()?;
            (reader, Some((writer, bytes)))
        }
        Stdin::Empty | Stdin::Bytes(_) => (system::empty_input()?, None),
    };
    let (stdin_end, stdin) = match neighbours.before {
        Some(before) => (before, None),
        None => (stdin_end, stdin),
    };
    let ends = Ends {
        stdin: stdin_end,
        stdout: stdout_end,
        stderr: stderr_end,
    };
    let ours = Ours {
        stdin,
        open_stdin,
        stdout,
        stderr,
    };
    Ok((ends, ours))
}

/// Waits for the deadline of a child, extended by the time that the child was kept from running, up
/// to `start_delay_allowance`. Returns true if it may have been kept for longer than was measured.
async fn until(deadline: Option<Instant>, start_delay_allowance: Duration, leader: Pid) -> bool {
    let Some(deadline) = deadline else {
        return pending().await;
    };
    sleep_until(deadline).await;
    if start_delay_allowance.is_zero() {
        return false;
    }
    loop {
        let starvation = Starvation::of(leader);
        let due = deadline + starvation.waited.min(start_delay_allowance);
        if due <= Instant::now() {
            return starvation.is_understated();
        }
        // The child may wait longer meanwhile. The interval limits the number of measurements.
        sleep_until(due.max(Instant::now() + LOOK_INTERVAL)).await;
    }
}

async fn writable(feed: Option<&Feed>) {
    match feed {
        Some(feed) => feed.writable().await,
        None => pending().await,
    }
}

/// Ends the tree. The grace period ends early when the leader is gone and no process holds the
/// pipes, or when `force_token` fires.
async fn stop(running: &mut Running, grace: Duration, force_token: Option<CancellationToken>) {
    if !grace.is_zero() {
        running.leader.ask_tree();
        tokio::select! {
            biased;
            () = hurried(force_token) => {}
            () = sleep(grace) => {}
            () = running.until_quiet() => {}
        }
    }
    kill(running).await;
}

async fn hurried(force_token: Option<CancellationToken>) {
    match force_token {
        Some(force_token) => force_token.cancelled_owned().await,
        None => std::future::pending().await,
    }
}

/// Kills what is left of the tree.
async fn kill(running: &mut Running) {
    running.leader.kill_tree();
    if timeout(KILL_TAKES, running.until_exit()).await.is_err() {
        tracing::warn!(
            pid = running.leader.pid().as_raw_pid(),
            "a killed child does not end"
        );
    }
    if timeout(PIPES_TAKE, running.until_quiet()).await.is_err() {
        running.leader.kill_holders();
    }
}
