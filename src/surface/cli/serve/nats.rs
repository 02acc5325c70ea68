//! `haft serve nats`: serves the tools to other hosts.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::How;
use crate::audit::{Caller, Event};
use crate::host::Host;
use crate::surface::cli::debug;
use crate::surface::cli::exit::{Failure, SUCCESS};
use crate::surface::cli::flags::Globals;
use crate::surface::nats::{NatsPlace, NatsSurface, connect, open_queue, service_options};
use crate::surface::rpc::Descriptor;
use crate::surface::selection::Wanted;
use crate::surface::signals::Signals;
use crate::surface::stdin;
use crate::surface::terminal::say;
use haft_config::{Config, NatsUrls, ServeNatsFlags};
use haft_nats::Service;
use haft_tool::{Error, ErrorKind, terminal_text};

/// Time for running calls to end by themselves if the configuration sets none.
const FINISHING: Duration = Duration::from_millis(900);
/// Time for the host beyond its own grace period.
const STOPPING: Duration = Duration::from_secs(2);
/// Time for callers to confirm the results of calls that ended with the host.
const READING: Duration = Duration::from_secs(1);
/// Exit code after a second signal.
const INTERRUPTED: u8 = 130;

/// Serve the tools to other hosts, by a NATS server
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft serve nats --url nats://127.0.0.1:4222
  haft serve nats --url tls://nats.example.org --creds host.creds --tenant acme
  haft serve nats --toolset review --name gpu-1

Hosts with `remote: nats://127.0.0.1:4222` in config.yaml have these tools then. Several hosts with the
same tools share the calls. docs/scale.md has the rest.")]
pub(super) struct Args {
    /// Addresses of the NATS servers, separated by commas: nats://HOST:PORT or tls://HOST:PORT
    #[arg(long, value_name = "URL")]
    url: Option<NatsUrls>,

    /// A file with the credentials of an account
    #[arg(long, value_name = "FILE")]
    creds: Option<PathBuf>,

    /// Certificates of the authorities that are trusted instead of the machine's
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// The tenant whose callers are served [default: default]
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,

    /// The name of this host, which callers see [default: the machine's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    wanted: Wanted,

    #[command(flatten)]
    how: How,
}

impl Args {
    /// Serves until a signal comes. `earlier` has the flags that were typed before `nats`, `program`
    /// is the descriptor of a program that is served too.
    pub(super) async fn run(
        &self,
        globals: &Globals,
        earlier: &How,
        program: Option<Descriptor>,
    ) -> Result<u8, Failure> {
        let how = earlier.followed_by(&self.how);
        if how.network.says_where() {
            let text = "`haft serve nats` listens on no address";
            let hint = "leave out --listen; --url is the address of the NATS server";
            return Err(Error::new(ErrorKind::Usage, text).with_hint(hint).into());
        }
        let mut flags = how.over(globals.flags())?;
        flags.serve.nats = ServeNatsFlags {
            url: self.url.clone(),
            creds: self.creds.clone(),
            ca: self.ca.clone(),
            tenant: self.tenant.clone(),
            name: self.name.clone(),
        };
        flags.serve.with_builtin_tools = false;
        let mut config = Config::resolve(flags)?;
        debug::inspect(&mut config, how.inspect);
        let selection = self.wanted.scope(&config.toolsets)?;
        let settings = config.serve.nats.clone();
        // Tools must not read input that is meant for haft.
        drop(stdin::claim()?);
        let mut signals = Signals::take()?;
        let (client, name) = connect(&settings).await?;
        let host = Host::new(config).recorded(Caller::on("nats"));
        host.keep_spare_worker();
        let _debuggers = debug::serve(&host, how.inspect).await?;
        let program = program.map(|descriptor| descriptor.serve(&host));
        let program = program.transpose()?;
        let log = host.audit_log().cloned();
        let place = NatsPlace::of(&settings, &name);
        let address = place.address.clone();
        if let Some(log) = &log {
            log.record(Event::ServerStarted {
                surface: "nats".to_owned(),
                address: address.clone(),
                by: Caller::parent("cli"),
            });
        }
        let _watching = host.config().serve.watch.then(|| host.watch());
        let queue = open_queue(&client, &settings, report).await;
        let options = service_options(&settings, &name, queue.ok())?;
        let surface = NatsSurface::new(host.clone(), selection, place, report);
        let service = Service::start(&client, options, Arc::new(surface)).await;
        let (tools, tenant) = (service.tools(), &settings.tenant);
        say(&terminal_text!(
            "serving {tools} tools on {address} as `{name}` to the tenant `{tenant}`\n"
        ));
        signals.next().await;
        let drain = host.config().serve.drain.max(FINISHING);
        say(&terminal_text!(
            "draining for {} s; once more stops at once\n",
            drain.as_secs_f64()
        ));
        let drained = async {
            service.take_no_more().await;
            service.calls_ended().await;
        };
        tokio::select! {
            _ = timeout(drain, drained) => {}
            () = signals.next() => {}
        }
        say(&"stopping; once more does not wait for calls that run\n".into());
        let grace = host.config().limits.grace;
        let ended = async {
            let _ = timeout(grace + STOPPING, host.shutdown()).await;
            // Callers still read the results of calls that ended with the host.
            let _ = timeout(READING, service.calls_ended()).await;
        };
        let code = tokio::select! {
            () = ended => SUCCESS,
            () = signals.next() => INTERRUPTED,
        };
        let _ = timeout(STOPPING, host.kill()).await;
        if let Some(program) = program {
            program.finish().await;
        }
        if let Some(log) = log {
            log.record(Event::ServerStopped {
                surface: "nats".to_owned(),
                address,
            });
        }
        Ok(code)
    }
}

pub(super) fn report(problem: &str) {
    say(&terminal_text!("warning: {problem}\n"));
}
