//! Run of one agent, from its start to its last event.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::State;
use super::event::{Happened, Kind, SessionLog};
use super::launch_plan::{Folder, Order};
use super::stream::{AgentResult, Stream};
use haft_process::{Child, End, Finished, SpawnError, Stream as Output};
use haft_tool::{Error, ErrorKind};

/// Maximum number of lines of an agent's error output in a message.
const MAX_LINES: usize = 20;

/// A running agent.
pub(super) struct Started {
    child: Child,
    /// Folder of the session's files, removed when the agent is dropped.
    _folder: Folder,
    at: Instant,
    program: String,
}

/// Starts the agent.
///
/// # Errors
/// [`ErrorKind::Load`] if the program is missing, or if the system refuses to start it.
pub(super) async fn start(order: Order, cancel: &CancellationToken) -> Result<Started, Error> {
    let program = order.spawn.program.name().to_string_lossy().into_owned();
    let child = order.spawn.start(cancel).await.map_err(|error| {
        let hint = match error {
            SpawnError::NotFound { .. } => "install it, or name another one as `sessions.command`",
            _ => "`sessions.command` in the configuration says what is started",
        };
        Error::new(
            ErrorKind::Load,
            format!("the agent was not started: {error}"),
        )
        .with_hint(hint)
    })?;
    Ok(Started {
        child,
        _folder: order.folder,
        at: Instant::now(),
        program,
    })
}

/// Reads the agent's output until it has ended, and returns the final state.
pub(super) async fn follow(
    mut agent: Started,
    log: &SessionLog,
    cancel: &CancellationToken,
) -> State {
    let mut stream = Stream::default();
    while let Some(chunk) = agent.child.next().await {
        if chunk.stream == Output::Stdout {
            for event in stream.take(&chunk.bytes) {
                log.push(event);
            }
        }
    }
    let finished = agent.child.wait().await;
    for event in stream.end() {
        log.push(event);
    }
    let end = Ending::of(&agent.program, &finished, stream.result.as_ref(), cancel);
    if let Some(message) = &end.error {
        log.push(Happened::error(message, true));
    }
    log.push(completed(&end, &stream, agent.at.elapsed()));
    end.state
}

/// End of a session.
struct Ending {
    state: State,
    error: Option<String>,
    exit_code: i32,
}

impl Ending {
    fn of(
        program: &str,
        finished: &Finished,
        result: Option<&AgentResult>,
        cancel: &CancellationToken,
    ) -> Ending {
        let exit_code = finished.end.shell_code();
        let ended = |state, error| Ending {
            state,
            error,
            exit_code,
        };
        match finished.end {
            End::Cancelled(_) => ended(State::Cancelled, None),
            // The agent was asked to end and did so before it had to be killed.
            _ if cancel.is_cancelled() => ended(State::Cancelled, None),
            End::TimedOut(_) => {
                let text = format!("`{program}` was stopped: the session's time was up");
                ended(State::Failed, Some(text))
            }
            End::Exited(_) | End::Signaled(_) => match result {
                Some(result) if result.is_error => ended(State::Failed, Some(words(result))),
                Some(_) => ended(State::Completed, None),
                None if exit_code == 0 => ended(State::Completed, None),
                None => ended(State::Failed, Some(complaint(program, finished, exit_code))),
            },
        }
    }
}

fn words(result: &AgentResult) -> String {
    let named = || result.subtype.clone();
    let text = result.text.clone().or_else(named);
    text.unwrap_or_else(|| "the agent reports an error".to_owned())
}

fn complaint(program: &str, finished: &Finished, code: i32) -> String {
    let text = finished.stderr.text();
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let last = lines[lines.len().saturating_sub(MAX_LINES)..].join("\n");
    let how = match finished.end {
        End::Signaled(signal) => format!("`{program}` was ended by signal {signal}"),
        _ => format!("`{program}` ended with exit code {code}"),
    };
    if last.is_empty() {
        how
    } else {
        format!("{how}:\n{last}")
    }
}

fn completed(end: &Ending, stream: &Stream, took: Duration) -> Happened {
    let mut data = json!({
        "state": end.state.as_str(),
        "exitCode": end.exit_code,
        "durationMs": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    });
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            data[key] = value;
        }
    };
    let result = stream.result.as_ref();
    set(
        "result",
        result.and_then(|it| it.text.clone()).map(Value::from),
    );
    set("turns", result.and_then(|it| it.turns).map(Value::from));
    set(
        "costUsd",
        result.and_then(|it| it.cost_usd).map(Value::from),
    );
    set(
        "agentSessionId",
        stream.agent_session.clone().map(Value::from),
    );
    Happened::new(Kind::Completed, data)
}
