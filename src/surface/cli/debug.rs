//! Flags for debugging JavaScript tools: debuggers and profiles.

use std::path::PathBuf;

use super::context::CommandContext;
use super::exit::Failure;
use crate::host::Host;
use crate::registry::Entry;
use crate::surface::inspect::{DebugServer, InspectAddress};
use crate::surface::terminal::say;
use haft_config::Config;
use haft_tool::{Debugging, Error, ErrorKind, Family, terminal_text};

/// Options of the command line for debugging one call.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct DebugFlags {
    /// Let debuggers attach to the tool at this address of the machine [default: 127.0.0.1:9229]
    #[arg(long, value_name = "HOST:PORT", num_args = 0..=1, require_equals = true,
        default_missing_value = "9229")]
    inspect: Option<InspectAddress>,

    /// The same, and wait for a debugger before the tool's module is loaded
    #[arg(long, value_name = "HOST:PORT", num_args = 0..=1, require_equals = true,
        default_missing_value = "9229", conflicts_with = "inspect")]
    inspect_brk: Option<InspectAddress>,

    /// Write a CPU profile of the tool to this file [default: TOOL.cpuprofile]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    profile: Option<Option<PathBuf>>,
}

/// A call that is debugged.
pub(super) struct DebuggedCall {
    /// Ends with the call.
    _debuggers: Option<DebugServer>,
    /// The file for the profile.
    profile: Option<PathBuf>,
}

impl DebugFlags {
    /// Makes the host of `session` one in which the call of `entry` is debugged. Returns `None`, and
    /// changes nothing, if that was not asked for.
    pub(super) async fn begin(
        &self,
        entry: &Entry,
        session: &mut CommandContext<'_>,
    ) -> Result<Option<DebuggedCall>, Failure> {
        let address = self.inspect.or(self.inspect_brk);
        if address.is_none() && self.profile.is_none() {
            return Ok(None);
        }
        let name = &entry.tool.name;
        if entry.tool.source.family != Family::Js {
            let text = format!("`{name}` is not a JavaScript tool, so it cannot be debugged");
            return Err(Error::new(ErrorKind::Usage, text).into());
        }
        let file = Some(entry.resolved_path.clone());
        session
            .debugs(Debugging {
                is_inspected: address.is_some(),
                breaks_in: file.clone().filter(|_| self.inspect_brk.is_some()),
                profiles: file.filter(|_| self.profile.is_some()),
            })
            .await;
        let debuggers = serve(&session.host, address).await?;
        if self.inspect_brk.is_some() {
            say(&terminal_text!("`{name}` waits for a debugger\n"));
        }
        Ok(Some(DebuggedCall {
            _debuggers: debuggers,
            profile: self.profile.as_ref().map(|file| match file {
                Some(file) => file.clone(),
                None => PathBuf::from(format!("{name}.cpuprofile")),
            }),
        }))
    }
}

impl DebuggedCall {
    /// Writes the profile of the call, if one was asked for.
    pub(super) async fn finish(self, host: &Host) -> Result<(), Failure> {
        let Some(path) = self.profile else {
            return Ok(());
        };
        let profile = match host.profile().await {
            Some(Ok(profile)) => profile,
            Some(Err(why)) => return Err(no_profile(&why).into()),
            None => return Err(no_profile("the tool did not run").into()),
        };
        std::fs::write(&path, profile).map_err(|error| {
            let text = format!(
                "the profile cannot be written to {}: {error}",
                path.display()
            );
            Error::new(ErrorKind::Usage, text)
        })?;
        say(&terminal_text!("profile: {}\n", path.display()));
        Ok(())
    }
}

fn no_profile(why: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("there is no profile: {why}"))
}

/// Makes the tools of a server ones that can be debugged, if there is an address for debuggers.
pub(super) fn inspect(config: &mut Config, address: Option<InspectAddress>) {
    if address.is_some() {
        config.debugging.is_inspected = true;
        // Modules that were described by the cache would have no isolate to attach to.
        config.use_cache = false;
    }
}

/// Serves debuggers of the tools of `host`, if there is an address for them.
pub(super) async fn serve(
    host: &Host,
    address: Option<InspectAddress>,
) -> Result<Option<DebugServer>, Failure> {
    let (Some(address), Some(inspector)) = (address, host.inspector()) else {
        return Ok(None);
    };
    let server = DebugServer::start(address, inspector.clone()).await?;
    say(&server.announcement());
    Ok(Some(server))
}
