//! `haft tool import`: adds a tool from a definition file.

use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;

use super::super::exit::{FAILURE, Failure, SUCCESS};
use super::scope::ScopeArgs;
use super::{Bench, failed, pages};
use crate::surface::terminal::say;
use crate::tool_files::{Datum, Draft, Opened, Overwrite, advice, open};
use haft_config::paths;
use haft_render::style::Ink;
use haft_tool::Error;

/// Import a tool definition from a file
#[derive(clap::Args)]
pub(super) struct Args {
    /// A YAML or JSON file
    path: PathBuf,

    #[command(flatten)]
    scope: ScopeArgs,

    /// Override existing tool if it already exists
    #[arg(long)]
    r#override: bool,

    /// Validate the tool before importing
    #[arg(long)]
    validate: bool,
}

impl Args {
    pub(super) fn run(&self, bench: Bench<'_>) -> Result<u8, Failure> {
        let scope = self.scope.to_write()?;
        let path = bench.config.cwd.join(&self.path);
        let opened = opened(&path)?;
        let mut problems = opened.problems.clone();
        if self.validate {
            problems.extend(bench.tool_files.beside_others(&path, scope, &opened).1);
            problems.extend(advice(&path, &opened));
        }
        let is_refused = pages::has_errors(&problems);
        if is_refused || self.validate {
            let ink = Ink::for_stderr();
            say(&pages::problems(&problems, &bench.config.home, true, ink));
        }
        if is_refused {
            say(&"nothing was imported\n".into());
            return Ok(FAILURE);
        }
        let overwrite = if self.r#override {
            Overwrite::Yes
        } else {
            Overwrite::No
        };
        let name = opened.name;
        let path = bench
            .tool_files
            .write(&name, &opened.text, scope, overwrite)?;
        let home = &bench.config.home;
        let words = pages::saved("Imported", &name, scope.as_str(), &path, home);
        bench.out.print(&words)?;
        Ok(SUCCESS)
    }
}

/// Reads a definition and converts it to YAML. JSON is valid YAML as well, but it would be
/// inconvenient to edit.
pub(super) fn opened(path: &Path) -> Result<Opened, Error> {
    let text = match paths::read_text(path) {
        Ok(Some(text)) => text,
        Ok(None) => return Err(failed(format!("{} does not exist", path.display()))),
        Err(error) => {
            let why = paths::plain(&error);
            let place =
                not_utf8(path).map_or(String::new(), |(line, column)| format!(":{line}:{column}"));
            let text = format!("{}{place} cannot be read: {why}", path.display());
            return Err(failed(text));
        }
    };
    let is_json = path
        .extension()
        .is_some_and(|it| it.eq_ignore_ascii_case("json"));
    if !is_json {
        return Ok(open(path, text));
    }
    if let Err(error) = serde_json::from_str::<IgnoredAny>(&text) {
        let (line, column) = (error.line(), error.column());
        let why = error.to_string();
        // The position is in the part before.
        let why = why
            .rsplit_once(" at line ")
            .map_or(why.as_str(), |(why, _)| why);
        let path = path.display();
        return Err(failed(format!(
            "{path}:{line}:{column}: not valid JSON: {why}"
        )));
    }
    match Datum::from_json(&text) {
        Some(data @ Datum::Object(_)) => Ok(open(path, Draft::of(data).text())),
        _ => Err(failed(format!("{} holds no JSON object", path.display()))),
    }
}

/// Returns the line and the column at which a file is not UTF-8.
fn not_utf8(path: &Path) -> Option<(usize, usize)> {
    let bytes = std::fs::read(path).ok()?;
    let end = std::str::from_utf8(&bytes).err()?.valid_up_to();
    let before = std::str::from_utf8(&bytes[..end]).ok()?;
    let line = before.lines().count().max(1) + usize::from(before.ends_with('\n'));
    let last = before.rsplit('\n').next().unwrap_or_default();
    Some((line, last.chars().count() + 1))
}
