//! Parser of `config.yaml`: its keys, and the exact place of each error.
//!
//! Unknown keys are refused with the nearest known one as a hint, because a typo that is silently
//! ignored is hard to find. A relative tool path starts at the file's own folder (the user's file)
//! or at the project (the project's file), never at the current directory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::de::Deserializer;
use serde::{Deserialize, de};
use serde_json::Value;

use super::aynd::AyndLayer;
use super::ikigai::IkigaiLayer;
use super::kodelet::{ConfigSource, CustomToolsLayer};
use super::layers::{self, ConfigLayer, LimitsLayer, PermissionsLayer, optional_duration};
use super::log::LogLayer;
use super::sessions::SessionsLayer;
use super::{
    ListenAddress, McpFlags, Permission, PermissionKind, PermissionSource, ServeFlags, Token,
    parse_duration, paths, serve, yaml,
};
use haft_tool::error::{Error, ErrorKind};
use haft_tool::{ApprovalMode, Rule, Tier, ToolPattern, suggest};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    tools: Option<Vec<String>>,
    trust_project: Option<bool>,
    system_tools: Option<bool>,
    rename: Option<BTreeMap<String, String>>,
    toolsets: Option<BTreeMap<String, Vec<String>>>,
    disabled_extensions: Option<Vec<String>>,
    disabled_providers: Option<Vec<String>>,
    cycod_global_dir: Option<String>,
    container_image: Option<String>,
    approval: Option<FileApproval>,
    limits: Option<FileLimits>,
    permissions: Option<FilePermissions>,
    aynd: Option<FileAynd>,
    /// Kodelet's own block. It is accepted as it is, so that its users can keep one file.
    custom_tools: Option<Value>,
    ikigai: Option<FileIkigai>,
    serve: Option<FileServe>,
    mcp: Option<McpFlags>,
    sessions: Option<SessionsLayer>,
    log: Option<LogLayer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FileIkigai {
    prefix: Option<PathBuf>,
    project: Option<bool>,
    #[serde(deserialize_with = "some_time")]
    timeout: Option<Duration>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FileServe {
    #[serde(deserialize_with = "from_text")]
    listen: Option<ListenAddress>,
    #[serde(deserialize_with = "from_text")]
    token: Option<Token>,
    allow_hosts: Vec<String>,
    allow_origins: Vec<String>,
    #[serde(deserialize_with = "body_mb")]
    body_mb: Option<u32>,
    #[serde(deserialize_with = "bodies_mb")]
    bodies_mb: Option<u32>,
    #[serde(deserialize_with = "serve_time")]
    body_timeout: Option<Duration>,
    #[serde(deserialize_with = "serve_count")]
    connections: Option<u32>,
    #[serde(deserialize_with = "serve_count")]
    mcp_sessions: Option<u32>,
    #[serde(deserialize_with = "serve_time")]
    mcp_session_idle: Option<Duration>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FileAynd {
    tools_dir: Option<String>,
    builtin_tools: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FileApproval {
    #[serde(deserialize_with = "approval_mode")]
    mode: Option<ApprovalMode>,
    tools: BTreeMap<String, FileRule>,
    tiers: BTreeMap<String, Tier>,
    approve: Vec<FilePattern>,
    deny: Vec<FilePattern>,
}

#[derive(Debug)]
struct FilePattern(ToolPattern);

#[derive(Debug)]
struct FileRule(Rule);

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FileLimits {
    #[serde(deserialize_with = "call_timeout")]
    call_timeout: Option<Option<Duration>>,
    #[serde(deserialize_with = "duration")]
    load_timeout: Option<Duration>,
    #[serde(deserialize_with = "duration")]
    grace: Option<Duration>,
    heap_mb: Option<u32>,
    isolates: Option<u32>,
    spill_kb: Option<u32>,
    keep_detached: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FilePermissions {
    read: Option<Permission>,
    write: Option<Permission>,
    net: Option<Permission>,
    env: Option<Permission>,
    run: Option<Permission>,
    sys: Option<Permission>,
    ffi: Option<Permission>,
    import: Option<Permission>,
}

impl FilePermissions {
    fn written_in(self, file: &Path, home: &Path) -> PermissionsLayer {
        let source = match file.strip_prefix(home) {
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => file.display().to_string(),
        };
        let kinds = [
            (PermissionKind::Read, self.read),
            (PermissionKind::Write, self.write),
            (PermissionKind::Net, self.net),
            (PermissionKind::Env, self.env),
            (PermissionKind::Run, self.run),
            (PermissionKind::Sys, self.sys),
            (PermissionKind::Ffi, self.ffi),
            (PermissionKind::Import, self.import),
        ];
        let written = kinds.into_iter().filter_map(|(kind, granted)| {
            Some((kind, (granted?, PermissionSource::File(source.clone()))))
        });
        PermissionsLayer(written.collect())
    }
}

/// Reads the file that `--config` names, which must exist.
pub(super) fn given(path: &Path, home: &Path) -> Result<ConfigLayer, Error> {
    let Some(text) = read(path)? else {
        let text = format!("the configuration file {} does not exist", path.display());
        return Err(Error::new(ErrorKind::Usage, text)
            .with_hint("create it, or leave out --config and HAFT_CONFIG"));
    };
    Ok(written(parse(path, &text)?, of_user(path, home)))
}

/// Reads the user's own file, if it exists.
pub(super) fn user(path: &Path, home: &Path) -> Result<ConfigLayer, Error> {
    let Some(text) = read(path)? else {
        return Ok(ConfigLayer::default());
    };
    Ok(written(parse(path, &text)?, of_user(path, home)))
}

/// Returns the text of the project's file, if it exists. Nothing in it is used yet.
pub(super) fn project_text(path: &Path) -> Result<Option<String>, Error> {
    read(path)
}

/// Reads the file of a trusted project. It may set neither its own trust nor the approval of its
/// tools.
pub(super) fn project(path: &Path, text: &str, home: &Path) -> Result<ConfigLayer, Error> {
    let file = parse(path, text)?;
    let aynd = file.aynd.as_ref();
    let has_tools_dir = aynd.is_some_and(|aynd| aynd.tools_dir.is_some());
    let for_the_user = [
        (
            "trust_project",
            file.trust_project.is_some(),
            "--trust-project",
        ),
        (
            "system_tools",
            file.system_tools.is_some(),
            "--system-tools",
        ),
        ("approval", file.approval.is_some(), "--approval-mode"),
        ("ikigai", file.ikigai.is_some(), "HAFT_IKIGAI_PROJECT"),
        // It decides who can run tools on this machine.
        ("serve", file.serve.is_some(), "the flags of `haft serve`"),
        (
            "container_image",
            file.container_image.is_some(),
            "HAFT_CONTAINER_IMAGE",
        ),
        // It decides which program is started with the user's rights.
        ("sessions", file.sessions.is_some(), "--config"),
        // It must not be able to hide what its tools do.
        ("log", file.log.is_some(), "--config"),
        // Its files count as the user's own, which are trusted.
        ("aynd.tools_dir", has_tools_dir, "--aynd-tools"),
        // Its files are trusted as the user's own.
        (
            "cycod_global_dir",
            file.cycod_global_dir.is_some(),
            "HAFT_CYCOD_GLOBAL_DIR",
        ),
    ];
    for (key, is_there, flag) in for_the_user {
        if is_there {
            let text = format!(
                "{}: `{key}` cannot stand in a project's file",
                path.display()
            );
            return Err(Error::new(ErrorKind::Usage, text).with_hint(format!(
                "move it to ~/.config/haft/config.yaml, or use {flag}"
            )));
        }
    }
    // Paths in `<project>/.haft/config.yaml` start at the project.
    let base = path.parent().and_then(Path::parent).unwrap_or(path);
    let at = ConfigSource {
        file: path,
        base,
        home,
        is_projects: true,
    };
    Ok(written(file, at))
}

fn of_user<'a>(path: &'a Path, home: &'a Path) -> ConfigSource<'a> {
    ConfigSource {
        file: path,
        base: path.parent().unwrap_or(path),
        home,
        is_projects: false,
    }
}

fn written(file: File, at: ConfigSource<'_>) -> ConfigLayer {
    let (base, home) = (at.base, at.home);
    let mut problems = Vec::new();
    let custom_tools = file.custom_tools.unwrap_or_default();
    let custom_tools = CustomToolsLayer::read(&custom_tools, at, &mut problems);
    let ikigai = file.ikigai.unwrap_or_default();
    let ikigai = IkigaiLayer {
        prefix: ikigai.prefix,
        project: ikigai.project,
        timeout: ikigai.timeout,
    };
    let tools = file.tools.unwrap_or_default();
    let limits = file.limits.unwrap_or_default();
    let approval = file.approval.unwrap_or_default();
    let permissions = file.permissions.unwrap_or_default();
    let aynd = file.aynd.unwrap_or_default();
    let serve = file.serve.unwrap_or_default();
    ConfigLayer {
        tools: tools
            .into_iter()
            .map(|tool| anchored(tool, base, home))
            .collect(),
        aynd: AyndLayer {
            tools_dir: aynd.tools_dir.map(|dir| {
                let expanded = paths::expand(&dir, home);
                paths::resolve(base, &expanded.unwrap_or_else(|_| dir.into()))
            }),
            builtin_tools: aynd.builtin_tools,
        },
        trust_project: file.trust_project,
        system_tools: file.system_tools,
        rename: file.rename.unwrap_or_default(),
        toolsets: file.toolsets.unwrap_or_default(),
        disabled_extensions: file.disabled_extensions.unwrap_or_default(),
        disabled_providers: file.disabled_providers.unwrap_or_default(),
        cycod_global_dir: file
            .cycod_global_dir
            .map(|given| PathBuf::from(anchored(given, base, home))),
        container_image: file.container_image,
        approval_mode: approval.mode,
        approval_rules: approval
            .tools
            .into_iter()
            .map(|(tool, FileRule(rule))| (tool, rule))
            .collect(),
        approval_tiers: approval.tiers,
        auto_approve: approval.approve.into_iter().map(|own| own.0).collect(),
        auto_deny: approval.deny.into_iter().map(|own| own.0).collect(),
        limits: LimitsLayer {
            call_timeout: limits.call_timeout,
            load_timeout: limits.load_timeout,
            grace: limits.grace,
            heap_mb: limits.heap_mb,
            isolates: limits.isolates,
            spill_kb: limits.spill_kb,
            keep_detached: limits.keep_detached,
        },
        permissions: permissions.written_in(at.file, home),
        custom_tools,
        ikigai: ikigai.anchored(base, home),
        serve: ServeFlags {
            listen: serve.listen,
            token: serve.token,
            // Only flags set them, so that they are visible where the server is started.
            no_token: false,
            allow_anyone: false,
            allowed_hosts: serve.allow_hosts,
            allowed_origins: serve.allow_origins,
            body_mb: serve.body_mb,
            bodies_mb: serve.bodies_mb,
            body_timeout: serve.body_timeout,
            connections: serve.connections,
            mcp_sessions: serve.mcp_sessions,
            mcp_session_idle: serve.mcp_session_idle,
            with_builtin_tools: false,
            no_watch: false,
        },
        mcp: file.mcp.unwrap_or_default(),
        log: file.log,
        sessions: file.sessions.map(|sessions| sessions.anchored(base, home)),
        problems,
        ..ConfigLayer::default()
    }
}

/// Makes a relative tool path absolute. An invalid path stays as it is: discovery reports it.
fn anchored(tool: String, base: &Path, home: &Path) -> String {
    match paths::expand(&tool, home) {
        Ok(path) if path.is_relative() && !tool.is_empty() => {
            let anchored = paths::resolve(base, &path);
            anchored.into_os_string().into_string().unwrap_or(tool)
        }
        _ => tool,
    }
}

fn read(path: &Path) -> Result<Option<String>, Error> {
    match paths::read_text(path) {
        Ok(text) => Ok(text),
        Err(error) => Err(unreadable(path, &error)),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    let text = format!(
        "cannot read the configuration file {}: {}",
        path.display(),
        paths::plain(error)
    );
    Error::new(ErrorKind::Usage, text).with_hint("make it a readable text file, or remove it")
}

fn parse(path: &Path, text: &str) -> Result<File, Error> {
    // A file of comments only is an empty document, hence the `Option`.
    let parsed = serde_saphyr::from_str::<Option<File>>(text);
    let error = match parsed {
        Ok(file) => return Ok(file.unwrap_or_default()),
        Err(error) => error,
    };
    let (message, place) = yaml::explain(&error);
    let (message, hint) = match error.without_snippet() {
        serde_saphyr::Error::SerdeUnknownField {
            field, expected, ..
        } => {
            let hint = match suggest(field, expected.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known here: {}", expected.join(", ")),
            };
            (format!("unknown key `{field}`"), hint)
        }
        _ => {
            let hint = "correct the line, or use another file with --config";
            (message, hint.to_owned())
        }
    };
    let place = place.map_or(String::new(), |(line, column)| format!(":{line}:{column}"));
    let text = format!("{}{place}: {message}", path.display());
    Err(Error::new(ErrorKind::Usage, text).with_hint(hint))
}

impl<'de> Deserialize<'de> for FileRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        layers::rule(&text).map(FileRule).map_err(de::Error::custom)
    }
}

fn from_text<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| text.parse().map_err(de::Error::custom))
        .transpose()
}

fn body_mb<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let number = Option::<u32>::deserialize(deserializer)?;
    number
        .map(|number| serve::body_mb(&number.to_string()).map_err(de::Error::custom))
        .transpose()
}

fn bodies_mb<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let number = Option::<i64>::deserialize(deserializer)?;
    number
        .map(|number| serve::bodies_mb(&number.to_string()).map_err(de::Error::custom))
        .transpose()
}

fn serve_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let number = Option::<i64>::deserialize(deserializer)?;
    number
        .map(|number| serve::count(&number.to_string()).map_err(de::Error::custom))
        .transpose()
}

fn serve_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| serve::some_time(&text).map_err(de::Error::custom))
        .transpose()
}

impl<'de> Deserialize<'de> for FilePattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let pattern = ToolPattern::parse(&text).map_err(de::Error::custom)?;
        Ok(FilePattern(pattern))
    }
}

fn approval_mode<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ApprovalMode>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| layers::approval_mode(&text).map_err(de::Error::custom))
        .transpose()
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| parse_duration(&text).map_err(de::Error::custom))
        .transpose()
}

fn call_timeout<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<Duration>>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| optional_duration(&text).map_err(de::Error::custom))
        .transpose()
}

/// Parses a duration above zero: a limit of zero would end everything at once.
fn some_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    match duration(deserializer)? {
        Some(time) if time.is_zero() => Err(de::Error::custom("it must be more than nothing")),
        time => Ok(time),
    }
}
