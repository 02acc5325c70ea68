//! One layer of configuration as written, with all values optional, and how layers combine.
//!
//! A single value of a higher layer wins. Lists of tools and of disabled names are joined, because
//! `--tool x` should not hide the tools of the configuration file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::aynd::AyndLayer;
use super::ikigai::IkigaiLayer;
use super::kodelet::CustomToolsLayer;
use super::log::LogLayer;
use super::sessions::SessionsLayer;
use super::{
    Env, Flags, HEAP_MB, LEAST_HEAP_MB, Limits, McpFlags, Permission, PermissionKind,
    PermissionProfile, PermissionSource, ServeFlags,
};
use super::{parse_duration, paths};
use haft_tool::error::{Error, ErrorKind};
use haft_tool::{ApprovalMode, Problem, Rule, Tier, ToolPattern};

#[derive(Debug, Default)]
pub(super) struct ConfigLayer {
    pub config: Option<PathBuf>,
    pub tools: Vec<String>,
    pub trust_project: Option<bool>,
    pub system_tools: Option<bool>,
    pub built_in_tool_names: Option<Vec<String>>,
    pub rename: BTreeMap<String, String>,
    pub toolsets: BTreeMap<String, Vec<String>>,
    pub disabled_extensions: Vec<String>,
    pub disabled_providers: Vec<String>,
    pub state_dir: Option<PathBuf>,
    pub cache_dir: Option<PathBuf>,
    pub cycod_global_dir: Option<PathBuf>,
    pub no_cache: Option<bool>,
    pub container_image: Option<String>,
    pub approval_mode: Option<ApprovalMode>,
    pub approval_rules: BTreeMap<String, Rule>,
    pub approval_tiers: BTreeMap<String, Tier>,
    pub auto_approve: Vec<ToolPattern>,
    pub auto_deny: Vec<ToolPattern>,
    pub limits: LimitsLayer,
    pub permissions: PermissionsLayer,
    pub custom_tools: CustomToolsLayer,
    pub ikigai: IkigaiLayer,
    /// Settings that are written but not used.
    pub problems: Vec<Problem>,
    pub aynd: AyndLayer,
    pub serve: ServeFlags,
    pub mcp: McpFlags,
    pub sessions: Option<SessionsLayer>,
    pub log: Option<LogLayer>,
}

#[derive(Debug, Default)]
pub(super) struct LimitsLayer {
    /// `Some(None)`: the layer turns the limit off.
    pub call_timeout: Option<Option<Duration>>,
    pub load_timeout: Option<Duration>,
    pub grace: Option<Duration>,
    pub heap_mb: Option<u32>,
    pub isolates: Option<u32>,
    pub spill_kb: Option<u32>,
    pub keep_detached: Option<bool>,
}

/// Permission for each kind of access, and the source that set it.
#[derive(Debug, Default)]
pub(super) struct PermissionsLayer(pub BTreeMap<PermissionKind, (Permission, PermissionSource)>);

impl ConfigLayer {
    /// Returns the layer of the flags. Relative paths start at `base`.
    pub(super) fn from_flags(flags: Flags, base: &Path) -> ConfigLayer {
        let tools_dir = flags.aynd_tools_dir;
        ConfigLayer {
            aynd: AyndLayer {
                tools_dir: tools_dir.map(|dir| paths::resolve(base, &dir)),
                builtin_tools: flags.builtin_tools,
            },
            tools: flags.tools,
            system_tools: flags.system_tools.then_some(true),
            no_cache: flags.no_cache.then_some(true),
            built_in_tool_names: flags.built_in_tool_names,
            approval_mode: flags.approval_mode,
            auto_approve: flags.auto_approve,
            auto_deny: flags.auto_deny,
            limits: LimitsLayer {
                call_timeout: flags.call_timeout.map(Some),
                load_timeout: flags.load_timeout,
                grace: None,
                heap_mb: flags.heap_mb,
                isolates: None,
                spill_kb: flags.spill_kb,
                keep_detached: None,
            },
            custom_tools: CustomToolsLayer::switched(flags.no_custom_tools.then_some(false)),
            serve: flags.serve,
            mcp: flags.mcp,
            ..ConfigLayer::default()
        }
    }

    pub(super) fn from_env(env: &Env) -> Result<ConfigLayer, Error> {
        let text = |name: &str| env.haft.get(name).map(String::as_str);
        let list = |name: &str, separator: char| -> Vec<String> {
            let parts = text(name)
                .unwrap_or_default()
                .split(separator)
                .map(str::trim);
            parts
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let absolute = |name: &str| {
            let base = env.current_dir.clone().unwrap_or_else(|| "/".into());
            text(name).map(|path| paths::resolve(&base, path.as_ref()))
        };
        Ok(ConfigLayer {
            config: text("CONFIG").map(PathBuf::from),
            tools: list("TOOLS", ':'),
            trust_project: parsed("TRUST_PROJECT", text("TRUST_PROJECT"), yes_or_no)?,
            system_tools: parsed("SYSTEM_TOOLS", text("SYSTEM_TOOLS"), yes_or_no)?,
            disabled_extensions: list("DISABLED_EXTENSIONS", ','),
            disabled_providers: list("DISABLED_PROVIDERS", ','),
            state_dir: absolute("STATE_DIR"),
            cache_dir: absolute("CACHE_DIR"),
            aynd: AyndLayer::from_env(
                env,
                parsed("BUILTIN_TOOLS", text("BUILTIN_TOOLS"), yes_or_no)?,
            ),
            cycod_global_dir: absolute("CYCOD_GLOBAL_DIR"),
            container_image: text("CONTAINER_IMAGE").map(str::to_owned),
            no_cache: parsed("NO_CACHE", text("NO_CACHE"), yes_or_no)?,
            approval_mode: parsed("APPROVAL_MODE", text("APPROVAL_MODE"), approval_mode)?,
            auto_approve: patterns("AUTO_APPROVE", list("AUTO_APPROVE", ','))?,
            auto_deny: patterns("AUTO_DENY", list("AUTO_DENY", ','))?,
            limits: LimitsLayer {
                call_timeout: parsed("CALL_TIMEOUT", text("CALL_TIMEOUT"), optional_duration)?,
                load_timeout: parsed("LOAD_TIMEOUT", text("LOAD_TIMEOUT"), parse_duration)?,
                grace: parsed("GRACE", text("GRACE"), parse_duration)?,
                heap_mb: parsed("HEAP_MB", text("HEAP_MB"), mebibytes)?,
                isolates: parsed("ISOLATES", text("ISOLATES"), whole_number)?,
                spill_kb: parsed("SPILL_KB", text("SPILL_KB"), kibibytes)?,
                keep_detached: parsed("KEEP_DETACHED", text("KEEP_DETACHED"), yes_or_no)?,
            },
            custom_tools: CustomToolsLayer::switched(parsed(
                "CUSTOM_TOOLS",
                text("CUSTOM_TOOLS"),
                yes_or_no,
            )?),
            ikigai: IkigaiLayer {
                prefix: absolute("IKIGAI_PREFIX"),
                project: parsed("IKIGAI_PROJECT", text("IKIGAI_PROJECT"), yes_or_no)?,
                timeout: parsed("IKIGAI_TIMEOUT", text("IKIGAI_TIMEOUT"), some_time)?,
            },
            serve: ServeFlags::from_env(env)?,
            mcp: McpFlags::from_env(env)?,
            ..ConfigLayer::default()
        })
    }

    /// Takes the values from `lower` that this layer does not set, and joins the lists.
    pub(super) fn merge_from(&mut self, lower: ConfigLayer) {
        self.tools.extend(lower.tools);
        self.disabled_extensions.extend(lower.disabled_extensions);
        self.disabled_providers.extend(lower.disabled_providers);
        for (what, name) in lower.rename {
            self.rename.entry(what).or_insert(name);
        }
        // Only files have them. The user's sets replace the project's, so that a project cannot
        // widen them.
        self.toolsets.extend(lower.toolsets);
        self.built_in_tool_names = self
            .built_in_tool_names
            .take()
            .or(lower.built_in_tool_names);
        self.system_tools = self.system_tools.or(lower.system_tools);
        self.cache_dir = self.cache_dir.take().or(lower.cache_dir);
        self.aynd.merge_from(lower.aynd);
        self.no_cache = self.no_cache.or(lower.no_cache);
        self.container_image = self.container_image.take().or(lower.container_image);

        self.approval_mode = self.approval_mode.or(lower.approval_mode);
        for (tool, rule) in lower.approval_rules {
            self.approval_rules.entry(tool).or_insert(rule);
        }
        for (tool, tier) in lower.approval_tiers {
            self.approval_tiers.entry(tool).or_insert(tier);
        }
        self.auto_approve.extend(lower.auto_approve);
        self.auto_deny.extend(lower.auto_deny);

        self.custom_tools.merge_from(lower.custom_tools);
        self.ikigai.merge_from(lower.ikigai);
        self.serve.merge_from(lower.serve);
        self.mcp.merge_from(lower.mcp);
        self.sessions = self.sessions.take().or(lower.sessions);
        self.log = self.log.take().or(lower.log);
        self.problems.extend(lower.problems);

        let (limits, low) = (&mut self.limits, lower.limits);
        limits.call_timeout = limits.call_timeout.or(low.call_timeout);
        limits.load_timeout = limits.load_timeout.or(low.load_timeout);
        limits.grace = limits.grace.or(low.grace);
        limits.heap_mb = limits.heap_mb.or(low.heap_mb);
        limits.isolates = limits.isolates.or(low.isolates);
        limits.spill_kb = limits.spill_kb.or(low.spill_kb);
        limits.keep_detached = limits.keep_detached.or(low.keep_detached);

        for (kind, granted) in lower.permissions.0 {
            self.permissions.0.entry(kind).or_insert(granted);
        }
    }
}

impl LimitsLayer {
    pub(super) fn resolve(self) -> Result<Limits, Error> {
        self.resolve_within(Limits::default())
    }

    /// Resolves the limits. `otherwise` holds for limits that are not written.
    pub(super) fn resolve_within(self, otherwise: Limits) -> Result<Limits, Error> {
        let heap_mb = self.heap_mb.unwrap_or(otherwise.heap_mb);
        if heap_mb < LEAST_HEAP_MB {
            let text =
                format!("heap_mb {heap_mb}: the runtime does not boot with so little memory");
            let hint = format!("at least {LEAST_HEAP_MB}; {HEAP_MB} is the default");
            return Err(Error::new(ErrorKind::Usage, text).with_hint(hint));
        }
        if self.isolates == Some(0) {
            let hint = "1 keeps all tools together; leave it out for one for each core";
            return Err(
                Error::new(ErrorKind::Usage, "isolates 0: no tool could run").with_hint(hint),
            );
        }
        Ok(Limits {
            call_timeout: self.call_timeout.unwrap_or(otherwise.call_timeout),
            load_timeout: self.load_timeout.unwrap_or(otherwise.load_timeout),
            grace: self.grace.unwrap_or(otherwise.grace),
            heap_mb,
            isolates: self.isolates.unwrap_or(otherwise.isolates),
            spill_kb: self.spill_kb.unwrap_or(otherwise.spill_kb),
            keep_detached: self.keep_detached.unwrap_or(otherwise.keep_detached),
        })
    }
}

impl PermissionsLayer {
    /// Resolves the permissions. `otherwise` holds for kinds that no layer mentions. Relative paths
    /// start at `base`.
    pub(super) fn resolve(
        self,
        otherwise: PermissionProfile,
        base: &Path,
        home: &Path,
    ) -> PermissionProfile {
        let mut profile = otherwise;
        for (kind, (granted, source)) in self.0 {
            profile.set(kind, granted, source);
        }
        profile.anchor(|entry| match paths::expand(entry, home) {
            Ok(path) => paths::resolve(base, &path).display().to_string(),
            Err(_) => entry.to_owned(),
        });
        profile
    }
}

/// Parses a duration, or `none` for no limit.
pub(super) fn optional_duration(text: &str) -> Result<Option<Duration>, String> {
    match text.trim() {
        "none" => Ok(None),
        text => parse_duration(text).map(Some),
    }
}

pub(super) fn parsed<T>(
    name: &str,
    text: Option<&str>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Error> {
    text.map(|text| {
        parse(text).map_err(|problem| {
            Error::new(ErrorKind::Usage, format!("HAFT_{name}: {problem}"))
                .with_hint(format!("correct or unset the variable HAFT_{name}"))
        })
    })
    .transpose()
}

fn patterns(name: &str, texts: Vec<String>) -> Result<Vec<ToolPattern>, Error> {
    let pattern = |text: &String| parsed(name, Some(text), ToolPattern::parse);
    let patterns = texts.iter().map(pattern).collect::<Result<Vec<_>, _>>()?;
    Ok(patterns.into_iter().flatten().collect())
}

pub(super) fn yes_or_no(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(format!("`{text}` is neither true nor false")),
    }
}

/// Parses the name of an approval mode.
pub(super) fn approval_mode(text: &str) -> Result<ApprovalMode, String> {
    ApprovalMode::from_name(text).ok_or_else(|| {
        let names = ApprovalMode::NAMES.map(|(name, _)| name).join(", ");
        format!("`{text}` is not an approval mode: {names}")
    })
}

/// Parses the name of a rule.
pub(super) fn rule(text: &str) -> Result<Rule, String> {
    Rule::from_name(text).ok_or_else(|| format!("`{text}` is neither allow nor deny nor prompt"))
}

fn some_time(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        time if time.is_zero() => Err("it must be more than nothing".to_owned()),
        time => Ok(time),
    }
}

pub(super) fn kibibytes(text: &str) -> Result<u32, String> {
    let number = text.trim().parse();
    number.map_err(|_| format!("`{text}` is not a whole number of KiB"))
}

fn whole_number(text: &str) -> Result<u32, String> {
    let number = text.trim().parse();
    number.map_err(|_| format!("`{text}` is not a whole number"))
}

fn mebibytes(text: &str) -> Result<u32, String> {
    let number = text.trim().parse();
    number.map_err(|_| format!("`{text}` is not a whole number of MiB"))
}
