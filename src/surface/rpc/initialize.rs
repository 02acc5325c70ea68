//! `initialize`: settings of the peer, before any tools are loaded.
//!
//! Settings that are missing keep the values that `haft rpc` was started with. The peer's paths
//! come after those of the command line.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::rpc_error::RpcError;
use crate::surface::selection::Wanted;
use crate::surface::wire;
use haft_config::{Config, Flags};
use haft_tool::ApprovalMode;

/// Protocol version. It is increased by changes that could break a client.
const PROTOCOL: u32 = 1;

/// Parameters of `initialize`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Initialize {
    cwd: Option<PathBuf>,
    built_in_tool_names: Option<Vec<String>>,
    configured_paths: Option<Vec<String>>,
    limits: Option<Limits>,
    approval_mode: Option<String>,
    toolsets: Option<Vec<String>>,
    include: Option<Vec<String>>,
    exclude: Option<Vec<String>>,
    #[serde(default)]
    capabilities: Capabilities,
}

/// Capabilities of the peer.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Capabilities {
    /// The peer answers `approval/ask`.
    pub(super) approval: bool,
    /// The peer answers `ui/select` and the other `ui/` questions.
    pub(super) ui: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Limits {
    call_timeout_ms: Option<u64>,
    load_timeout_ms: Option<u64>,
    heap_mb: Option<u32>,
    spill_kb: Option<u32>,
}

/// Result of `initialize`.
#[derive(Serialize)]
pub(super) struct Initialized<'a> {
    name: &'static str,
    version: &'static str,
    protocol: u32,
    cwd: Cow<'a, str>,
}

impl Initialize {
    /// Returns the capabilities of the peer.
    pub(super) fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Checks that no settings are given, for a host that was configured by another surface.
    pub(super) fn has_no_settings(&self) -> Result<(), RpcError> {
        let given = [
            ("cwd", self.cwd.is_some()),
            ("builtInToolNames", self.built_in_tool_names.is_some()),
            ("configuredPaths", self.configured_paths.is_some()),
            ("limits", self.limits.is_some()),
            ("approvalMode", self.approval_mode.is_some()),
            ("toolsets", self.toolsets.is_some()),
            ("include", self.include.is_some()),
            ("exclude", self.exclude.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((name, _)) => Err(RpcError::invalid_params(format!(
                "`{name}` cannot be set here: the command line of `haft --rpc-fd` configures the host"
            ))),
        }
    }

    /// Removes and returns the arguments of the selection of tools.
    pub(super) fn take_wanted(&mut self) -> Wanted {
        Wanted {
            toolsets: self.toolsets.take().unwrap_or_default(),
            include: self.include.take().unwrap_or_default(),
            exclude: self.exclude.take().unwrap_or_default(),
        }
    }

    /// Returns the flags of the command line, overridden by the peer's settings.
    pub(super) fn over(self, flags: Flags) -> Result<Flags, RpcError> {
        let limits = self.limits.unwrap_or_default();
        let call_timeout = millis("callTimeoutMs", limits.call_timeout_ms)?;
        let load_timeout = millis("loadTimeoutMs", limits.load_timeout_ms)?;
        let approval_mode = approval_mode(self.approval_mode.as_deref())?;
        let paths = self.configured_paths.unwrap_or_default();
        Ok(Flags {
            cwd: self.cwd.or(flags.cwd),
            tools: [flags.tools, paths].concat(),
            built_in_tool_names: self.built_in_tool_names.or(flags.built_in_tool_names),
            call_timeout: call_timeout.or(flags.call_timeout),
            load_timeout: load_timeout.or(flags.load_timeout),
            heap_mb: limits.heap_mb.or(flags.heap_mb),
            approval_mode: approval_mode.or(flags.approval_mode),
            spill_kb: limits.spill_kb.or(flags.spill_kb),
            ..flags
        })
    }
}

impl<'a> Initialized<'a> {
    pub(super) fn new(config: &'a Config) -> Self {
        Initialized {
            name: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            protocol: PROTOCOL,
            cwd: wire::path(&config.cwd),
        }
    }
}

fn approval_mode(given: Option<&str>) -> Result<Option<ApprovalMode>, RpcError> {
    let Some(name) = given else {
        return Ok(None);
    };
    let names = ApprovalMode::NAMES.map(|(name, _)| name).join(", ");
    match ApprovalMode::from_name(name) {
        Some(mode) => Ok(Some(mode)),
        None => Err(RpcError::invalid_params(format!(
            "`approvalMode` is one of {names}"
        ))),
    }
}

fn millis(name: &str, given: Option<u64>) -> Result<Option<Duration>, RpcError> {
    match given {
        Some(0) => Err(RpcError::invalid_params(format!(
            "`{name}` must be more than 0"
        ))),
        given => Ok(given.map(Duration::from_millis)),
    }
}
