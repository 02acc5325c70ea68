//! One HTTP server from its start to its end: the host, the port, the signals.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::audit::{Caller, Event};
use crate::config::{Config, Flags};
use crate::host::Host;
use crate::render;
use crate::render::ink::Ink;
use crate::sessions::Sessions;
use crate::surface::cli::exit::{Failure, SUCCESS, say};
use crate::surface::cli::flags::Globals;
use crate::surface::http::{self, Access, BodyLimits, Listening, Unanswered};
use crate::surface::signals::Signals;
use crate::surface::stdin;
use crate::tool::Severity;

/// What a signal ends that is not to be waited for.
const INTERRUPTED: u8 = 130;
/// Calls that run at the end may come to their own end in this time.
const FINISHING: Duration = Duration::from_millis(900);
/// Answers may take this long to be read once their calls have ended.
const READING: Duration = Duration::from_secs(1);
/// The host may take this long beyond its own grace period.
const STOPPING: Duration = Duration::from_secs(2);

/// What a router is made of.
pub(super) struct Web {
    /// The tools.
    pub(super) host: Host,
    /// Fires when the server ends: whatever streams without end must end then.
    pub(super) stop: CancellationToken,
    /// Fires when whatever is still connected is cut off.
    pub(super) cut: CancellationToken,
    /// Sessions of an agent that has these tools.
    pub(super) sessions: Sessions,
    access: Arc<Access>,
}

impl Web {
    /// `router` for those who know the token, if there is one.
    pub(super) fn for_clients(&self, router: Router) -> Router {
        http::for_clients_only(router, Arc::clone(&self.access))
    }
}

/// Serves what `compose` makes, `surface` in the log of calls, until a signal comes; a second one does not wait. Gives the exit code.
pub(super) async fn run(
    globals: &Globals,
    flags: Flags,
    surface: &str,
    compose: impl FnOnce(&Web) -> Router,
) -> Result<u8, Failure> {
    let config = Config::resolve(flags)?;
    // No tool may read what was meant for haft.
    drop(stdin::claim()?);
    let mut signals = Signals::take()?;
    let listening = Listening::open(&config.serve.listen).await?;
    let access = Arc::new(Access::new(&config.serve, listening.address())?);
    let (limits, grace) = (BodyLimits::of(&config.serve), config.limits.grace);
    let connections = config.serve.connections;
    let words = globals.words(&config, false);
    let host = Host::new(config).recorded(Caller::on(surface));
    let log = host.audit_log().cloned();
    let address = listening.url();
    if let Some(log) = &log {
        log.record(Event::ServerStarted {
            surface: surface.to_owned(),
            address: address.clone(),
            by: Caller::parent("cli"),
        });
    }
    let web = Web {
        sessions: Sessions::new(host.clone(), words),
        host,
        stop: CancellationToken::new(),
        cut: CancellationToken::new(),
        access,
    };
    let unanswered = Unanswered::default();
    let router = http::counted(compose(&web), &unanswered);
    let router = http::guarded(router, Arc::clone(&web.access), limits);
    say(&format!("listening on {}\n", listening.url()));
    let Web {
        host,
        stop,
        cut,
        sessions,
        ..
    } = web;
    let _watching = host.config().serve.watch.then(|| host.watch());
    let loading = tokio::spawn(load(host.clone()));
    let patience = FINISHING + grace + STOPPING + READING;
    let server = http::serve(listening, router, connections, stop.clone(), patience);
    let server = tokio::spawn(server);
    signals.next().await;
    say("stopping; once more does not wait for calls that run\n");
    stop.cancel();
    loading.abort();
    let ended = async {
        let _ = timeout(FINISHING, unanswered.none()).await;
        let all = async { tokio::join!(sessions.shutdown(), host.shutdown()) };
        let _ = timeout(grace + STOPPING, all).await;
        // What ended with the host is being read.
        let _ = timeout(READING, unanswered.none()).await;
        cut.cancel();
        let _ = server.await;
    };
    let code = tokio::select! {
        () = ended => SUCCESS,
        () = signals.next() => INTERRUPTED,
    };
    let _ = timeout(STOPPING, host.kill()).await;
    if let Some(log) = log {
        log.record(Event::ServerStopped {
            surface: surface.to_owned(),
            address,
        });
    }
    Ok(code)
}

/// Loads the tools before anybody asks, and says what there is.
async fn load(host: Host) {
    let catalog = host.catalog().await;
    let home = &host.config().home;
    let errors = catalog.problems.iter();
    let errors = errors.filter(|problem| problem.severity == Severity::Error);
    for problem in errors {
        say(&render::problem::problem(problem, home, Ink::for_stderr()));
    }
    let offered = catalog.tools().filter(|tool| tool.trusted && !tool.hidden);
    let untrusted = catalog.tools().filter(|tool| !tool.trusted).count();
    let rest = match untrusted {
        0 => String::new(),
        some => format!("; {some} more of the project are not trusted: `haft trust`"),
    };
    say(&format!("{} tools{rest}\n", offered.count()));
}
