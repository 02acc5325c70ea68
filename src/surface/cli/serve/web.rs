//! One HTTP server from its start to its end: the host, the port, the signals.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::config::{Config, Flags};
use crate::host::Host;
use crate::render;
use crate::render::ink::Ink;
use crate::sessions::Sessions;
use crate::surface::cli::exit::{Failure, SUCCESS, say};
use crate::surface::cli::flags::Globals;
use crate::surface::http::{self, Access, BodyLimits, Listening};
use crate::surface::signals::Signals;
use crate::surface::stdin;
use crate::tool::Severity;

/// What a signal ends that is not to be waited for.
const INTERRUPTED: u8 = 130;
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

/// Serves what `compose` makes until a signal comes; a second one does not wait. Gives the exit code.
pub(super) async fn run(
    globals: &Globals,
    flags: Flags,
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
    let host = Host::new(config);
    let web = Web {
        sessions: Sessions::new(host.clone(), words),
        host,
        stop: CancellationToken::new(),
        access,
    };
    let router = http::guarded(compose(&web), Arc::clone(&web.access), limits);
    say(&format!("listening on {}\n", listening.url()));
    let Web {
        host,
        stop,
        sessions,
        ..
    } = web;
    let _watching = host.config().serve.watch.then(|| host.watch());
    let loading = tokio::spawn(load(host.clone()));
    let patience = grace + STOPPING + READING;
    let server = http::serve(listening, router, connections, stop.clone(), patience);
    let server = tokio::spawn(server);
    signals.next().await;
    say("stopping; once more does not wait for calls that run\n");
    stop.cancel();
    loading.abort();
    let ended = async {
        let all = async { tokio::join!(sessions.shutdown(), host.shutdown()) };
        let _ = timeout(grace + STOPPING, all).await;
        // What ended with the host is being read; the server itself knows how long that may take.
        let _ = server.await;
    };
    let code = tokio::select! {
        () = ended => SUCCESS,
        () = signals.next() => INTERRUPTED,
    };
    let _ = timeout(STOPPING, host.kill()).await;
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
    let untrusted = catalog.tools().filter(|tool| !tool.trusted).count();
    let rest = match untrusted {
        0 => String::new(),
        some => format!("; {some} more of the project are not trusted: `haft trust`"),
    };
    say(&format!("{} tools{rest}\n", catalog.usable()));
}
