//! One HTTP server from its start to its end: the host, the port, the signals.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::audit::{Caller, Event};
use crate::config::{Config, Flags, Serve};
use crate::credentials::{Announcement, TokenStore, announce, random_token};
use crate::error::{Error, ErrorKind};
use crate::host::Host;
use crate::render;
use crate::render::ink::Ink;
use crate::sessions::Sessions;
use crate::surface::cli::exit::{Failure, SUCCESS, say};
use crate::surface::cli::flags::Globals;
use crate::surface::http::{self, Access, BodyBudget, BodyLimits, Listening, Unanswered};
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
    /// `router` for clients that are known.
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
    let router = http::guarded(router, Arc::clone(&web.access), limits, budget);
    say(&format!("listening on {}\n", listening.url()));
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
    drop(announced);
    let _ = timeout(STOPPING, host.kill()).await;
    if let Some(log) = log {
        log.record(Event::ServerStopped {
            surface: surface.to_owned(),
            address,
        });
    }
    Ok(code)
}

/// The token that the server's user has to know; `None` where none is wanted, or where only the user can
/// connect.
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
    match http::is_loopback(bound) || serve.allow_anyone {
        true => Ok(None),
        false => Err(http::reachable_by_others(bound)),
    }
}

/// The file by which `haft open` and other programs of the user find the server.
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
        // Its user knows the token, or needs none.
        Err(error) if config.serve.token.is_some() || config.serve.no_token => {
            say(&render::problem::error(&error, Ink::for_stderr()));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// What the user has to know of the token, which itself is never shown.
fn about_token(
    serve: &Serve,
    bound: Option<SocketAddr>,
    announced: Option<&Announcement>,
) -> String {
    match (serve.no_token, bound) {
        (_, None) => "only you can connect; no token is needed\n".to_owned(),
        (true, Some(bound)) if !http::is_loopback(bound) => {
            "warning: no token: whoever reaches this address can call these tools\n".to_owned()
        }
        (true, Some(_)) => {
            "warning: no token: every user and every program of this machine can call these tools\n"
                .to_owned()
        }
        (false, _) => match announced {
            Some(announced) if serve.token.is_none() => format!(
                "the token is in {}; `haft open` opens the page with it\n",
                announced.path().display()
            ),
            _ => "the token is the one that was configured\n".to_owned(),
        },
    }
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
