//! The life of a call, the same for every family and every surface.
//!
//! Sees `dyn Runner` and nothing of what is behind it. The deadline and the caller's cancel become
//! one token; what the runner reports becomes one stream of events; the outcome is the return value.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::error::{Error, ErrorKind};
use crate::tool::{Call, CallCtx, Event, Outcome, Progress, Runner, Stopped, Updates};

/// Runs `call` to its end. `cancel` is the caller's wish to stop; events go to `events`.
pub(crate) async fn execute(
    runner: Arc<dyn Runner>,
    call: Call,
    timeout: Option<Duration>,
    cancel: CancellationToken,
    events: mpsc::UnboundedSender<Event>,
) -> Result<Outcome, Error> {
    let (updates, mut progress) = Updates::channel();
    // Its own token: a deadline of this call must not cancel whatever else the caller's stands for.
    let ctx = CallCtx::new(cancel.child_token(), updates);
    let forward = |event: Event| {
        // Nobody has to listen.
        let _ = events.send(event);
    };

    let running = runner.run(call, ctx.clone());
    tokio::pin!(running);
    let deadline = async {
        match timeout {
            Some(timeout) => tokio::time::sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(deadline);
    let mut is_timed_out = false;
    let result = loop {
        tokio::select! {
            // Progress first, so that an update never comes after the end.
            biased;
            Some(step) = progress.recv() => forward(event(step)),
            result = &mut running => break result,
            () = &mut deadline, if !is_timed_out => {
                is_timed_out = true;
                ctx.stop(Stopped::Deadline);
            }
        }
    };
    while let Ok(step) = progress.try_recv() {
        forward(event(step));
    }
    forward(match &result {
        Err(error) if was_refused(error) => Event::Rejected {
            text: error.message().to_owned(),
        },
        _ => Event::Finished,
    });
    result
}

fn event(step: Progress) -> Event {
    match step {
        Progress::Started => Event::Started,
        Progress::Partial(partial) => Event::Update(partial),
    }
}

/// True for the errors with which nothing was started.
fn was_refused(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Usage
        | ErrorKind::BadArguments
        | ErrorKind::NoSuchTool
        | ErrorKind::Untrusted
        | ErrorKind::Denied
        | ErrorKind::Load => true,
        ErrorKind::Stopped(_) | ErrorKind::IsolateLost | ErrorKind::Internal => false,
    }
}
