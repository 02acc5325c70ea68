//! Life cycle of one HTTP server: the host, the port and the signals.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::nats::report;
use crate::agent_runs::Sessions;
use crate::audit::{Caller, Event};
use crate::credentials::{Announcement, TokenStore, announce, random_token};
use crate::host::Host;
use crate::surface::cli::debug;
use crate::surface::cli::exit::{Failure, SUCCESS};
use crate::surface::cli::flags::Globals;
use crate::surface::http::{
    self, Access, BodyBudget, BodyLimits, Listening, Readiness, Unanswered,
};
use crate::surface::inspect::InspectAddress;
use crate::surface::nats::Sharing;
use crate::surface::rest;
use crate::surface::rpc::Descriptor;
use crate::surface::signals::Signals;
use crate::surface::stdin;
use crate::surface::terminal::say;
use haft_config::{Config, Flags, Serve};
use haft_render::style::Ink;
use haft_tool::Severity;
use haft_tool::{CallerScope, Error, ErrorKind, TerminalText, terminal_text};

/// Exit code after a second signal.
const INTERRUPTED: u8 = 130;
/// Time for balancers to notice that a draining server is not ready. It still takes calls.
const NOTICE: Duration = Duration::from_secs(2);
/// Time for running calls to end by themselves.
const FINISHING: Duration = Duration::from_millis(900);
/// Time for clients to read replies after the end of their calls.
const READING: Duration = Duration::from_secs(1);
/// Time for the host beyond its own grace period.
const STOPPING: Duration = Duration::from_secs(2);

/// Parts that routers are built from.
pub(super) struct Web {
    /// Host of the tools.
    pub(super) host: Host,
    /// Fires when the server ends. Endless streams must end then.
    pub(super) stop: CancellationToken,
    /// Fires when the remaining connections are closed.
    pub(super) cut: CancellationToken,
    /// Sessions of agents that use these tools.
    pub(super) sessions: Sessions,
    /// The hosts that the server shares its calls with, if it does.
    pub(super) sharing: Option<Arc<Sharing>>,
    access: Arc<Access>,
}

impl Web {
    /// Returns `router` with authentication.
    pub(super) fn for_clients(&self, router: Router) -> Router {
        http::for_clients_only(router, Arc::clone(&self.access))
    }
}

/// Serves the router of `compose` until a signal comes, and returns the exit code. A second signal
/// ends it at once. If the configuration says so, other hosts share the tools of `shared`. Debuggers can
/// attach at `inspect`. `surface` is the name in the call log, `program` the descriptor of a program that
/// is served too.
pub(super) async fn run(
    globals: &Globals,
    flags: Flags,
    inspect: Option<InspectAddress>,
    (surface, shared): (&str, CallerScope),
    program: Option<Descriptor>,
    compose: impl FnOnce(&Web) -> Router,
) -> Result<u8, Failure> {
    let mut config = Config::resolve(flags)?;
    debug::inspect(&mut config, inspect);
    // Tools must not read input that is meant for haft.
    drop(stdin::claim()?);
    let mut signals = Signals::take()?;
    let listening = Listening::open(&config.serve.listen, &config.runtime_dir).await?;
    let bound = listening.address();
    let token = token(&config.serve, bound)?;
    let access = Arc::new(Access::new(
        &config.serve,
        bound.is_none_or(http::is_loopback),
        token.as_deref(),
        TokenStore::new(&config.state_dir),
    ));
    let announced = announced(&config, bound, token.as_deref())?;
    let (limits, grace) = (BodyLimits::of(&config.serve), config.limits.grace);
    let budget = BodyBudget::of(&config.serve);
    let connections = config.serve.connections;
    let words = globals.words(&config, false);
    let host = Host::new(config).recorded(Caller::on(surface));
    host.keep_spare_worker();
    let _debuggers = debug::serve(&host, inspect).await?;
    let program = program.map(|descriptor| descriptor.serve(&host));
    let program = program.transpose()?;
    let log = host.audit_log().cloned();
    let address = listening.url();
    if let Some(log) = &log {
        log.record(Event::ServerStarted {
            surface: surface.to_owned(),
            address: address.clone(),
            by: Caller::parent("cli"),
        });
    }
    let sharing = Sharing::of(&host, shared, report).await?;
    let web = Web {
        sharing: sharing.clone(),
        sessions: Sessions::new(host.clone(), words),
        host,
        stop: CancellationToken::new(),
        cut: CancellationToken::new(),
        access,
    };
    let unanswered = Unanswered::default();
    let metrics = web.for_clients(rest::metrics_router(&web.host));
    let readiness = Arc::<Readiness>::default();
    let ready = http::readiness_router(readiness.clone());
    let router = compose(&web).merge(metrics).merge(ready);
    let router = http::counted(router, &unanswered);
    let router = http::guarded(router, Arc::clone(&web.access), limits, budget);
    say(&terminal_text!("listening on {}\n", listening.url()));
    say(&about_token(
        &web.host.config().serve,
        bound,
        announced.as_ref(),
    ));
    let Web {
        host,
        stop,
        cut,
        sessions,
        ..
    } = web;
    let _watching = host.config().serve.watch.then(|| host.watch());
    let loading = tokio::spawn(load(host.clone(), readiness.clone()));
    let drain = host.config().serve.drain;
    let shutdown_timeout = FINISHING + grace + STOPPING + READING;
    let server = http::serve(
        listening,
        router,
        connections,
        stop.clone(),
        shutdown_timeout,
    );
    let server = tokio::spawn(server);
    signals.next().await;
    if let Some(sharing) = &sharing {
        // Other hosts take the queued calls. The NATS server may be away.
        let _ = timeout(READING, sharing.take_no_more()).await;
    }
    if !drain.is_zero() {
        readiness.drains();
        drain_calls(&host, &mut signals, drain).await;
    }
    say(&"stopping; once more does not wait for calls that run\n".into());
    stop.cancel();
    loading.abort();
    let ended = async {
        let _ = timeout(FINISHING, unanswered.none()).await;
        let all = async { tokio::join!(sessions.shutdown(), host.shutdown()) };
        let _ = timeout(grace + STOPPING, all).await;
        if let Some(sharing) = &sharing {
            // The queue gets the results, and what is put back.
            let _ = timeout(READING, sharing.calls_ended()).await;
        }
        // Clients still read the replies of calls that ended with the host.
        let _ = timeout(READING, unanswered.none()).await;
        cut.cancel();
        let _ = server.await;
    };
    let code = tokio::select! {
        () = ended => SUCCESS,
        () = signals.next() => INTERRUPTED,
    };
    drop(announced);
    let _ = timeout(STOPPING, host.kill()).await;
    if let Some(program) = program {
        program.finish().await;
    }
    if let Some(log) = log {
        log.record(Event::ServerStopped {
            surface: surface.to_owned(),
            address,
        });
    }
    Ok(code)
}

/// Returns the token that users of the server need. Returns `None` if a token is not required, or
/// if only the user can connect.
fn token(serve: &Serve, bound: Option<SocketAddr>) -> Result<Option<String>, Error> {
    let Some(bound) = bound else {
        return Ok(None);
    };
    if !serve.no_token {
        let configured = serve.token.as_ref().map(|token| token.text().to_owned());
        return Ok(Some(configured.unwrap_or_else(random_token)));
    }
    if serve.token.is_some() {
        let text = "`--no-token` is given, and a token is configured";
        return Err(Error::new(ErrorKind::Usage, text).with_hint(
            "leave out --no-token, or remove `serve.token` from the configuration and HAFT_SERVE_TOKEN",
        ));
    }
    if http::is_loopback(bound) || serve.allow_anyone {
        Ok(None)
    } else {
        Err(http::reachable_by_others(bound))
    }
}

/// Writes the file by which `haft open` and other programs of the user find the server.
fn announced(
    config: &Config,
    bound: Option<SocketAddr>,
    token: Option<&str>,
) -> Result<Option<Announcement>, Error> {
    let Some(bound) = bound else {
        return Ok(None);
    };
    match announce(&config.runtime_dir, &bound.to_string(), token) {
        Ok(announced) => Ok(Some(announced)),
        // The user knows the configured token, or needs none, so the server can do without the
        // file.
        Err(error) if config.serve.token.is_some() || config.serve.no_token => {
            say(&haft_render::problem::error(&error, Ink::for_stderr()));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns a message about the token. It never contains the token itself.
fn about_token(
    serve: &Serve,
    bound: Option<SocketAddr>,
    announced: Option<&Announcement>,
) -> TerminalText {
    match (serve.no_token, bound) {
        (_, None) => "only you can connect; no token is needed\n".into(),
        (true, Some(bound)) if !http::is_loopback(bound) => {
            "warning: no token: whoever reaches this address can call these tools\n".into()
        }
        (true, Some(_)) => {
            "warning: no token: every user and every program of this machine can call these tools\n"
                .into()
        }
        (false, _) => match announced {
            Some(announced) if serve.token.is_none() => terminal_text!(
                "the token is in {}; `haft open` opens the page with it\n",
                announced.path().display()
            ),
            _ => "the token is the one that was configured\n".into(),
        },
    }
}

/// Lets the running calls finish for `time`. A signal ends the wait.
async fn drain_calls(host: &Host, signals: &mut Signals, time: Duration) {
    say(&terminal_text!(
        "draining for {} s; once more stops at once\n",
        time.as_secs_f64()
    ));
    let drained = async {
        // Balancers notice first that the server is not ready.
        sleep(NOTICE.min(time)).await;
        host.refuse_calls();
        host.calls_ended().await;
    };
    tokio::select! {
        _ = timeout(time, drained) => {}
        () = signals.next() => {}
    }
}

/// Loads the tools before the first request, and prints a summary.
async fn load(host: Host, readiness: Arc<Readiness>) {
    let catalog = host.catalog().await;
    readiness.loaded();
    let home = &host.config().home;
    let errors = catalog.problems.iter();
    let errors = errors.filter(|problem| problem.severity == Severity::Error);
    for problem in errors {
        say(&haft_render::problem::problem(
            problem,
            home,
            Ink::for_stderr(),
        ));
    }
    let offered = catalog.tools().filter(|tool| tool.trusted && !tool.hidden);
    let untrusted = catalog.tools().filter(|tool| !tool.trusted).count();
    let rest = match untrusted {
        0 => String::new(),
        some => format!("; {some} more of the project are not trusted: `haft trust`"),
    };
    say(&terminal_text!("{} tools{rest}\n", offered.count()));
}
