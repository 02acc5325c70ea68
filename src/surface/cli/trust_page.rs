//! Page for the trust decision: everything that a project would run.
//!
//! File names are untrusted text on the page that asks for trust. Their control characters and line
//! breaks must not reach it.

use std::path::Path;

use serde_json::Value;

use crate::trust::{Change, ConfigKey, How, Review, Reviewed, ReviewedSettings, State};
use haft_render::style::Ink;
use haft_render::{text, units};

/// Renders the page. Every line has a line break.
pub(super) fn page(review: &Review, home: &Path, ink: Ink) -> String {
    let page = Page {
        project: &review.project,
        home,
        ink,
    };
    let mut lines = format!("{}\n", ink.bold(page.path(&review.project, home)));
    for tool in &review.tools {
        lines.push_str(&page.tool(tool));
    }
    for settings in &review.settings {
        lines.push_str(&page.settings(settings));
    }
    if let Some((path, state)) = &review.config_file {
        let path = page.file(path);
        lines.push_str(&format!("\nconfiguration  {}\n", page.state(state)));
        lines.push_str(&format!("  {path}\n"));
        let is_known = !matches!(state, State::New);
        for key in &review.config_keys {
            lines.push_str(&page.config_key(key, is_known));
        }
    }
    if !review.learned.is_empty() {
        lines.push_str("\nlearned: files that tools loaded while they ran\n");
        for (path, state) in &review.learned {
            let changed = match state {
                State::Unchanged => String::new(),
                State::New | State::Changed(_) => format!("  ({})", page.state(state)),
            };
            lines.push_str(&format!("  {}{changed}\n", page.file(path)));
        }
    }
    if review.allows_code_from_data {
        let open = ink.warning("open");
        lines.push_str(&format!(
            "\n{open}: all modules may run text and bytes as code\n"
        ));
    }
    if !review.gone.is_empty() {
        lines.push_str("\nno longer there\n");
        for path in &review.gone {
            lines.push_str(&format!("  {}\n", page.file(Path::new(path))));
        }
    }
    lines.push('\n');
    lines
}

struct Page<'a> {
    project: &'a Path,
    home: &'a Path,
    ink: Ink,
}

impl Page<'_> {
    fn tool(&self, tool: &Reviewed) -> String {
        let key = self.ink.bold(one_line(&tool.key));
        let state = self.state(&tool.state);
        let provider = one_line(&tool.provider_name);
        let mut lines = format!("\n{key}  {provider}  {state}\n");
        let changes: &[Change] = match &tool.state {
            State::Changed(changes) => changes,
            State::New | State::Unchanged => &[],
        };
        let files = std::iter::once(&tool.path).chain(&tool.files);
        for path in files {
            let change = changes
                .iter()
                .find(|change| Path::new(&change.path) == path);
            let how = change.map_or(String::new(), |change| {
                format!("  ({})", self.ink.warning(change.how.as_str()))
            });
            lines.push_str(&format!("  {}{how}\n", self.file(path)));
        }
        for gone in changes.iter().filter(|change| change.how == How::Removed) {
            let path = self.file(Path::new(&gone.path));
            lines.push_str(&format!("  {path}  ({})\n", self.ink.warning("gone")));
        }
        for package in &tool.packages {
            let files = units::count(package.files, "file");
            let changed = package_changes(&package.name, changes);
            lines.push_str(&format!(
                "  npm: {}, {files}{changed}\n",
                one_line(&package.name)
            ));
        }
        if !tool.missing.is_empty() {
            let missing: Vec<String> = tool.missing.iter().map(|it| one_line(it)).collect();
            let word = self.ink.warning("not installed");
            lines.push_str(&format!("  {word}: {}\n", missing.join(", ")));
        }
        for opening in &tool.openings {
            let place = match opening.line {
                0 => self.file(&opening.path),
                line => format!("{}:{line}", self.file(&opening.path)),
            };
            let open = self.ink.warning("open");
            lines.push_str(&format!("  {open}: {place} {}\n", opening.what.as_str()));
        }
        lines
    }

    /// Renders a key of the configuration with its value, and with the value that was trusted
    /// before.
    fn config_key(&self, key: &ConfigKey, is_known: bool) -> String {
        let name = one_line(&key.key);
        let (value, change) = match (&key.value, &key.before) {
            (Some(value), Some(before)) if value != before => {
                (value, Some(format!("was {}", one_line(before))))
            }
            (Some(value), None) if is_known => (value, Some("new".to_owned())),
            (Some(value), _) => (value, None),
            (None, Some(before)) => (before, Some("gone".to_owned())),
            (None, None) => return String::new(),
        };
        let change = change.map_or(String::new(), |change| {
            format!("  ({})", self.ink.warning(change))
        });
        format!("  {name}: {}{change}\n", one_line(value))
    }

    /// Renders the settings, one line each.
    fn settings(&self, settings: &ReviewedSettings) -> String {
        let state = self.state(&settings.state);
        let path = self.file(&settings.path);
        let mut lines = format!("\nsettings  {state}\n  {path}\n");
        for (key, value) in &settings.says {
            let entries: Vec<String> = match value {
                Value::Object(map) => map
                    .iter()
                    .map(|(name, value)| format!("{}: {value}", one_line(name)))
                    .collect(),
                Value::Array(list) if list.is_empty() => vec!["none".to_owned()],
                Value::Array(list) => list.iter().map(Value::to_string).collect(),
                other => vec![other.to_string()],
            };
            for entry in entries {
                let line = format!("    {}: {}\n", one_line(key), one_line(&entry));
                lines.push_str(&line);
            }
        }
        lines
    }

    fn state(&self, state: &State) -> String {
        match state {
            State::New => self.ink.warning("new").to_string(),
            State::Unchanged => self.ink.good("unchanged").to_string(),
            State::Changed(_) => self.ink.warning("changed").to_string(),
        }
    }

    /// Renders a path, relative to the project if it is inside.
    fn file(&self, path: &Path) -> String {
        match path.strip_prefix(self.project) {
            Ok(rest) => one_line(&rest.display().to_string()),
            Err(_) => self.path(path, self.home),
        }
    }

    fn path(&self, path: &Path, home: &Path) -> String {
        one_line(&text::path(path, home))
    }
}

fn package_changes(package: &str, changes: &[Change]) -> String {
    let below = format!("/node_modules/{package}/");
    let count = changes
        .iter()
        .filter(|change| change.how != How::Removed && change.path.contains(&below))
        .count();
    match count {
        0 => String::new(),
        some => format!("  ({some} changed)"),
    }
}

fn one_line(stranger: &str) -> String {
    text::name(stranger)
}
