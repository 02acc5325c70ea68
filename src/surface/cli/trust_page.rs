//! Page for the trust decision: everything that a project would run.
//!
//! File names are untrusted text on the page that asks for trust. Their control characters and line
//! breaks must not reach it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::trust::{
    Change, ConfigKey, How, OutwardLinks, Review, Reviewed, ReviewedProfile, ReviewedSettings,
    ServerHost, State,
};
use haft_render::style::Ink;
use haft_render::{text, units};
use haft_tool::{
    Isolation, Permission, PermissionKind, PermissionRequest, RequestedAccess, TerminalText,
    shell_word, terminal_text,
};

/// Renders the page. Every line has a line break.
pub(super) fn page(review: &Review, home: &Path, ink: Ink) -> TerminalText {
    let page = Page {
        project: &review.project,
        home,
        ink,
    };
    let mut lines = terminal_text!("{}\n", ink.bold(text::path(&review.project, home)));
    for tool in &review.tools {
        lines.push(&page.tool(tool));
    }
    for settings in &review.settings {
        lines.push(&page.settings(settings));
    }
    if let Some((path, state)) = &review.config_file {
        let path = page.file(path);
        lines.push(&terminal_text!("\nconfiguration  {}\n", page.state(state)));
        lines.push(&terminal_text!("  {path}\n"));
        let is_known = !matches!(state, State::New);
        for key in &review.config_keys {
            lines.push(&page.config_key(key, is_known));
        }
    }
    lines.push(&page.outward_links(&review.outward_links));
    if !review.learned.is_empty() {
        lines.push_literal("\nlearned: files that tools loaded while they ran\n");
        for (path, state) in &review.learned {
            let changed = match state {
                State::Unchanged => TerminalText::new(),
                State::New | State::Changed(_) => terminal_text!("  ({})", page.state(state)),
            };
            lines.push(&terminal_text!("  {}{changed}\n", page.file(path)));
        }
    }
    if review.allows_code_from_data {
        let open = ink.warning("open");
        lines.push(&terminal_text!(
            "\n{open}: all modules may run text and bytes as code\n"
        ));
    }
    if !review.gone.is_empty() {
        lines.push_literal("\nno longer there\n");
        for path in &review.gone {
            lines.push(&terminal_text!("  {}\n", page.file(Path::new(path))));
        }
    }
    lines.push_literal("\n");
    lines
}

/// The page as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageView<'a> {
    project: String,
    granted: bool,
    tools: Vec<ToolView<'a>>,
    settings: Vec<SettingsView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration: Option<ConfigurationView<'a>>,
    learned: Vec<LearnedView>,
    gone: &'a [String],
    allows_code_from_data: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links_out: Vec<LinkView>,
}

/// A link that leads out of the repository.
#[derive(Serialize)]
struct LinkView {
    path: String,
    target: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolView<'a> {
    name: &'a str,
    provider: &'a str,
    path: String,
    state: &'static str,
    changes: Vec<ChangeView<'a>>,
    files: Vec<String>,
    packages: BTreeMap<&'a str, usize>,
    not_installed: Vec<&'a str>,
    open: Vec<OpeningView>,
    asks_for: Vec<RequestView<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_granted: Vec<String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    servers: &'a [String],
    /// Hosts that trust grants the servers: `SERVER HOST:PORT`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<String>,
    /// Accesses that it asks for and that nothing grants: `KIND=VALUE`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    isolation: Option<&'static str>,
}

#[derive(Serialize)]
struct ChangeView<'a> {
    path: &'a str,
    change: &'static str,
}

#[derive(Serialize)]
struct OpeningView {
    path: String,
    line: u32,
    what: &'static str,
}

/// A request for permissions as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestView<'a> {
    file: &'a str,
    line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    permissions: Option<&'a BTreeMap<PermissionKind, Permission>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    required_permissions: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    cannot_be_read: Option<&'a str>,
}

#[derive(Serialize)]
struct SettingsView<'a> {
    path: String,
    state: &'static str,
    values: &'a serde_json::Map<String, Value>,
}

#[derive(Serialize)]
struct ConfigurationView<'a> {
    path: String,
    state: &'static str,
    keys: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct LearnedView {
    path: String,
    state: &'static str,
}

impl<'a> From<&'a PermissionRequest> for RequestView<'a> {
    fn from(request: &'a PermissionRequest) -> Self {
        let kinds = request.kinds.as_ref();
        RequestView {
            file: &request.file,
            line: request.line,
            permissions: kinds.ok().filter(|_| request.texts.is_empty()),
            required_permissions: &request.texts,
            cannot_be_read: kinds.err().map(String::as_str),
        }
    }
}

impl<'a> PageView<'a> {
    /// Returns the JSON form of a review. `is_granted_now` is true if the user has just trusted it.
    pub(super) fn of(review: &'a Review, is_granted_now: bool) -> Self {
        let config = review.config_file.as_ref();
        PageView {
            project: shown(&review.project),
            granted: is_granted_now || review.is_granted(),
            tools: review.tools.iter().map(ToolView::from).collect(),
            settings: review
                .settings
                .iter()
                .map(|settings| SettingsView {
                    path: shown(&settings.path),
                    state: word(&settings.state),
                    values: &settings.says,
                })
                .collect(),
            configuration: config.map(|(path, state)| ConfigurationView {
                path: shown(path),
                state: word(state),
                keys: review
                    .config_keys
                    .iter()
                    .filter_map(|key| Some((&*key.key, key.value.as_deref()?)))
                    .collect(),
            }),
            learned: review
                .learned
                .iter()
                .map(|(path, state)| LearnedView {
                    path: shown(path),
                    state: word(state),
                })
                .collect(),
            gone: &review.gone,
            allows_code_from_data: review.allows_code_from_data,
            links_out: review
                .outward_links
                .links
                .iter()
                .map(|link| LinkView {
                    path: shown(&link.path),
                    target: shown(&link.target),
                })
                .collect(),
        }
    }
}

impl<'a> From<&'a Reviewed> for ToolView<'a> {
    fn from(tool: &'a Reviewed) -> Self {
        let changes = match &tool.state {
            State::Changed(changes) => changes.as_slice(),
            State::New | State::Unchanged => &[],
        };
        let change = |change: &'a Change| ChangeView {
            path: &change.path,
            change: change.how.as_str(),
        };
        let packages = tool.packages.iter();
        let openings = tool.openings.iter().map(|opening| OpeningView {
            path: shown(&opening.path),
            line: opening.line,
            what: opening.what.as_str(),
        });
        ToolView {
            name: &tool.key,
            provider: &tool.provider_name,
            path: shown(&tool.path),
            state: word(&tool.state),
            changes: changes.iter().map(change).collect(),
            files: tool.files.iter().map(|file| shown(file)).collect(),
            packages: packages.map(|one| (&*one.name, one.files)).collect(),
            not_installed: tool.missing.iter().map(String::as_str).collect(),
            open: openings.collect(),
            asks_for: tool.requests.iter().map(RequestView::from).collect(),
            not_granted: (tool.left_out.iter())
                .map(|left_out| left_out.problem().message)
                .collect(),
            servers: &tool.servers,
            hosts: (tool.lacking.hosts.iter())
                .map(|it| format!("{} {}", it.server, it.host))
                .collect(),
            refused: tool
                .lacking
                .refused
                .iter()
                .map(ToString::to_string)
                .collect(),
            profile: tool.profile.as_ref().map(|profile| &*profile.source.name),
            isolation: tool
                .profile
                .as_ref()
                .map(|profile| profile.rights.isolation.as_str()),
        }
    }
}

/// Returns the command that grants the target accesses.
pub(super) fn permit_command_of(target: &str, accesses: &[RequestedAccess]) -> String {
    let options = accesses.iter().map(|access| {
        let word = shell_word(&access.to_string());
        format!(" --allow {word}")
    });
    let allowed: String = options.collect();
    format!("haft permit {}{allowed}", shell_word(target))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn word(state: &State) -> &'static str {
    match state {
        State::New => "new",
        State::Unchanged => "unchanged",
        State::Changed(_) => "changed",
    }
}

struct Page<'a> {
    project: &'a Path,
    home: &'a Path,
    ink: Ink,
}

impl Page<'_> {
    fn tool(&self, tool: &Reviewed) -> TerminalText {
        let key = self.ink.bold(&tool.key);
        let state = self.state(&tool.state);
        let provider = &tool.provider_name;
        let mut lines = terminal_text!("\n{key}  {provider}  {state}\n");
        let changes: &[Change] = match &tool.state {
            State::Changed(changes) => changes,
            State::New | State::Unchanged => &[],
        };
        let files = std::iter::once(&tool.path).chain(&tool.files);
        for path in files {
            let change = changes
                .iter()
                .find(|change| Path::new(&change.path) == path);
            let how = change.map_or(TerminalText::new(), |change| {
                terminal_text!("  ({})", self.ink.warning(change.how.as_str()))
            });
            lines.push(&terminal_text!("  {}{how}\n", self.file(path)));
        }
        for gone in changes.iter().filter(|change| change.how == How::Removed) {
            let path = self.file(Path::new(&gone.path));
            lines.push(&terminal_text!(
                "  {path}  ({})\n",
                self.ink.warning("gone")
            ));
        }
        for package in &tool.packages {
            let files = units::count(package.files, "file");
            let changed = package_changes(&package.name, changes);
            lines.push(&terminal_text!(
                "  npm: {}, {files}{changed}\n",
                package.name
            ));
        }
        if !tool.missing.is_empty() {
            let word = self.ink.warning("not installed");
            let missing: Vec<&str> = tool.missing.iter().map(String::as_str).collect();
            lines.push(&terminal_text!("  {word}: {}\n", missing.join(", ")));
        }
        for opening in &tool.openings {
            let place = match opening.line {
                0 => self.file(&opening.path),
                line => terminal_text!("{}:{line}", self.file(&opening.path)),
            };
            let open = self.ink.warning("open");
            lines.push(&terminal_text!(
                "  {open}: {place} {}\n",
                opening.what.as_str()
            ));
        }
        for request in &tool.requests {
            lines.push(&self.request(tool, request));
        }
        if !tool.lacking.refused.is_empty() {
            let word = self.ink.warning("refused by default");
            let refused: Vec<String> = tool
                .lacking
                .refused
                .iter()
                .map(ToString::to_string)
                .collect();
            let command =
                permit_command_of(&tool.path.display().to_string(), &tool.lacking.refused);
            lines.push(&terminal_text!(
                "  {word}: {}; `{command}` grants it\n",
                refused.join(", ")
            ));
        }
        for interpreter in &tool.lacking.interpreters {
            let word = self.ink.warning("refused by default");
            let refused = RequestedAccess {
                kind: PermissionKind::Read,
                what: interpreter.display().to_string(),
            };
            let command = permit_command_of(&tool.path.display().to_string(), &[refused]);
            lines.push(&terminal_text!(
                "  {word}: its interpreter `{}`; `{command}` grants it\n",
                interpreter.display()
            ));
        }
        for left_out in &tool.left_out {
            let problem = left_out.problem();
            let word = self.ink.warning("not granted");
            lines.push(&terminal_text!("  {word}: {}\n", problem.message));
        }
        for server in &tool.servers {
            lines.push(&terminal_text!("  MCP server {server}\n"));
        }
        for ServerHost { server, host, .. } in &tool.lacking.hosts {
            lines.push(&terminal_text!(
                "  with your trust, the server `{server}` may connect to `{host}`\n"
            ));
        }
        // Tools that may do whatever the user may need no line.
        let is_bounded = |profile: &&ReviewedProfile| {
            profile.source.name != "full" || profile.rights.isolation == Isolation::Sandbox
        };
        if let Some(profile) = tool.profile.as_ref().filter(is_bounded) {
            let source = &profile.source;
            let isolation = profile.rights.isolation;
            lines.push(&terminal_text!("  may: {source}; isolation: {isolation}\n"));
        }
        lines
    }

    /// Renders what the tool asks for, one line for each kind.
    fn request(&self, tool: &Reviewed, request: &PermissionRequest) -> TerminalText {
        let file = Path::new(&request.file);
        let place = if file == tool.path {
            TerminalText::new()
        } else {
            terminal_text!("  ({})", self.file(file))
        };
        match &request.kinds {
            Err(why) => {
                let file = self.file(Path::new(&request.file));
                let place = match request.line {
                    0 => file,
                    line => terminal_text!("{file}:{line}"),
                };
                let asks = self.ink.warning("asks for permissions that cannot be read");
                terminal_text!("  {asks}: {place}: {why}\n")
            }
            Ok(_) => {
                let lines = request.lines();
                if lines.is_empty() {
                    return terminal_text!("  asks for no permission{place}\n");
                }
                let lines = lines.iter();
                lines
                    .map(|line| terminal_text!("  asks for {line}{place}\n"))
                    .collect()
            }
        }
    }

    fn outward_links(&self, found: &OutwardLinks) -> TerminalText {
        if found.links.is_empty() {
            return TerminalText::new();
        }
        let word = self.ink.warning("links that lead out of the repository");
        let mut lines = terminal_text!("\n{word}: they grant nothing to a tool\n");
        for link in &found.links {
            let (path, target) = (self.file(&link.path), text::path(&link.target, self.home));
            lines.push(&terminal_text!("  {path} -> {target}\n"));
        }
        if !found.is_complete {
            lines.push_literal("  there may be more\n");
        }
        lines
    }

    /// Renders a key of the configuration with its value, and with the value that was trusted
    /// before.
    fn config_key(&self, key: &ConfigKey, is_known: bool) -> TerminalText {
        let name = &key.key;
        let (value, change) = match (&key.value, &key.before) {
            (Some(value), Some(before)) if value != before => {
                (value, Some(terminal_text!("was {before}")))
            }
            (Some(value), None) if is_known => (value, Some("new".into())),
            (Some(value), _) => (value, None),
            (None, Some(before)) => (before, Some("gone".into())),
            (None, None) => return TerminalText::new(),
        };
        let change = change.map_or(TerminalText::new(), |change| {
            terminal_text!("  ({})", self.ink.warning(change))
        });
        terminal_text!("  {name}: {value}{change}\n")
    }

    /// Renders the settings, one line each.
    fn settings(&self, settings: &ReviewedSettings) -> TerminalText {
        let state = self.state(&settings.state);
        let path = self.file(&settings.path);
        let mut lines = terminal_text!("\nsettings  {state}\n  {path}\n");
        for (key, value) in &settings.says {
            let entries: Vec<String> = match value {
                Value::Object(map) => map
                    .iter()
                    .map(|(name, value)| format!("{name}: {value}"))
                    .collect(),
                Value::Array(list) if list.is_empty() => vec!["none".to_owned()],
                Value::Array(list) => list.iter().map(Value::to_string).collect(),
                other => vec![other.to_string()],
            };
            for entry in entries {
                let line = terminal_text!("    {key}: {entry}\n");
                lines.push(&line);
            }
        }
        lines
    }

    fn state(&self, state: &State) -> TerminalText {
        match state {
            State::Unchanged => self.ink.good(word(state)).to_text(),
            State::New | State::Changed(_) => self.ink.warning(word(state)).to_text(),
        }
    }

    /// Renders a path, relative to the project if it is inside.
    fn file(&self, path: &Path) -> TerminalText {
        match path.strip_prefix(self.project) {
            Ok(rest) => TerminalText::from_value(&rest.display()),
            Err(_) => text::path(path, self.home),
        }
    }
}

fn package_changes(package: &str, changes: &[Change]) -> TerminalText {
    let below = format!("/node_modules/{package}/");
    let count = changes
        .iter()
        .filter(|change| change.how != How::Removed && change.path.contains(&below))
        .count();
    match count {
        0 => TerminalText::new(),
        some => terminal_text!("  ({some} changed)"),
    }
}
