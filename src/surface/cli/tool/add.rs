//! `haft tool add`: creates a tool from options, from a file or in an editor.

use std::ffi::OsString;
use std::path::Path;

use super::super::exit::{FAILURE, Failure, SUCCESS};
use super::super::flags::Globals;
use super::add_words::Typed;
use super::editor::{Session, edited};
use super::{Bench, failed, import, pages, usage};
use crate::surface::stdout::Out;
use crate::surface::terminal::say;
use crate::tool_files::{Draft, Opened, Overwrite, Scope, open, renamed, template};
use haft_render::style::Ink;
use haft_tool::Error;
use haft_tool::Problem;

const HELP: &str = include_str!("help/add.txt");

/// Create a new tool
#[derive(clap::Args)]
pub(super) struct Args {
    /// The name, then options
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl Args {
    pub(super) async fn run(&self, globals: &Globals, out: &mut Out) -> Result<u8, Failure> {
        let mut typed = Typed::read(&self.words)?;
        if typed.wants_help {
            out.print(&HELP.into())?;
            return Ok(SUCCESS);
        }
        let scope = typed.scope.to_write()?;
        let globals = globals.clone().with(typed.cwd.take(), typed.config.take());
        let bench = Bench::open(&globals, out)?;
        let text = first_text(&bench, &typed)?;
        let Some(name) = typed.name.clone().or_else(|| text.name.clone()) else {
            return Err(usage("a tool needs a name")
                .with_hint("`haft tool add NAME --description … --bash …`")
                .into());
        };
        let overwrite = if typed.is_override {
            Overwrite::Yes
        } else {
            Overwrite::No
        };
        if overwrite == Overwrite::No && bench.tool_files.find(&name, Some(scope)).is_ok() {
            // Checked before an editor opens in vain. The write checks again.
            let text = format!("there is a tool '{name}' in {} scope", scope.as_str());
            return Err(failed(text).with_hint("`--override` replaces it").into());
        }
        if typed.is_edited {
            return edit(bench, &name, text.text, scope, overwrite).await;
        }
        let target = bench.tool_files.folder(scope).join(format!("{name}.yaml"));
        let opened = open(&target, text.text);
        if opened.definition.is_none() {
            let ink = Ink::for_stderr();
            say(&if pages::has_errors(&text.problems) {
                pages::problems(&text.problems, &bench.config.home, true, ink)
            } else {
                pages::refusals(&opened.problems, ink)
            });
            return Ok(FAILURE);
        }
        created(bench, &opened, scope, overwrite)?;
        Ok(SUCCESS)
    }
}

/// Initial text of a file, and the name in it.
#[derive(Default)]
struct First {
    text: String,
    name: Option<String>,
    /// Problems of the file that the text comes from.
    problems: Vec<Problem>,
}

fn first_text(bench: &Bench<'_>, typed: &Typed) -> Result<First, Error> {
    let draft = &typed.building.draft;
    if let Some(path) = &typed.from_file {
        if !draft.is_empty() {
            return Err(usage("`--from-file` stands for the whole definition")
                .with_hint("change the file, or use options only"));
        }
        return from_file(&bench.config.cwd.join(path), typed.name.as_deref());
    }
    if draft.is_empty() && typed.is_edited {
        let name = typed.name.as_deref().unwrap_or("new-tool");
        return Ok(First {
            text: template(name),
            name: typed.name.clone(),
            ..First::default()
        });
    }
    if !typed.is_edited && !draft.has("description") {
        return Err(failed("a tool needs a description: a model decides by it")
            .with_hint("add `--description \"…\"`"));
    }
    let mut named = Draft::clone(draft);
    if let Some(name) = &typed.name {
        named.set(&["name"], crate::tool_files::Datum::Text(name.clone()));
    }
    Ok(First {
        text: named.text(),
        name: typed.name.clone(),
        ..First::default()
    })
}

/// Reads the file unchanged, including comments. If a name is given, it replaces the one in the
/// file (spec cycod 165).
fn from_file(path: &Path, name: Option<&str>) -> Result<First, Error> {
    let opened = import::opened(path)?;
    let Some(name) = name.filter(|name| *name != opened.name) else {
        return Ok(First {
            name: Some(opened.name),
            text: opened.text,
            problems: opened.problems,
        });
    };
    // Invalid YAML has no name to replace, and its problems are more helpful.
    let renamed = match renamed(path, &opened.text, name) {
        None if pages::has_errors(&opened.problems) => Some(opened.text.clone()),
        renamed => renamed,
    };
    let text = renamed.ok_or_else(|| {
        let text = format!("`name:` of {} cannot be replaced", path.display());
        failed(text).with_hint("change it in the file")
    })?;
    Ok(First {
        text,
        name: Some(name.to_owned()),
        problems: opened.problems,
    })
}

async fn edit(
    bench: Bench<'_>,
    name: &str,
    text: String,
    scope: Scope,
    overwrite: Overwrite,
) -> Result<u8, Failure> {
    let target = bench.tool_files.folder(scope).join(format!("{name}.yaml"));
    let check = |opened: &Opened| bench.tool_files.beside_others(&target, scope, opened).1;
    // The name becomes part of the draft's path, so it must not lead to another folder.
    let safe = open(&target, template(name)).definition.is_some();
    if !safe {
        let text = format!("`{name}` cannot be the name of a tool");
        return Err(usage(text)
            .with_hint("use letters, digits, `-` and `_`")
            .into());
    }
    match edited(&bench.config, None, name, text, &target, check).await? {
        Session::Good(draft) => {
            created(bench, &draft.opened, scope, overwrite)?;
            draft.done();
            Ok(SUCCESS)
        }
        Session::Same => {
            say(&"nothing was changed, so nothing was added\n".into());
            Ok(FAILURE)
        }
        Session::Bad => Ok(FAILURE),
    }
}

fn created(
    bench: Bench<'_>,
    opened: &Opened,
    scope: Scope,
    overwrite: Overwrite,
) -> Result<(), Failure> {
    let name = &opened.name;
    let path = bench
        .tool_files
        .write(name, &opened.text, scope, overwrite)?;
    let home = &bench.config.home;
    let words = pages::saved("Created", name, scope.as_str(), &path, home);
    bench.out.print(&words)?;
    Ok(())
}
