//! A draft in the editor of the user.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::pages;
use crate::surface::cli::confirm::{can_ask, confirm};
use crate::surface::cli::exit::Failure;
use crate::surface::signals::Signals;
use crate::surface::terminal::say;
use crate::tool_files::{Edited, EditorDraft, Opened, open};
use haft_config::Config;
use haft_render::style::Ink;
use haft_render::text;
use haft_tool::Problem;
use haft_tool::{Error, ErrorKind, terminal_text};

/// A changed draft with its parsed text.
pub(super) struct Draft {
    pub(super) opened: Opened,
    desk: Arc<EditorDraft>,
    path: PathBuf,
}

/// Result of an editor session.
pub(super) enum Session {
    Same,
    Good(Box<Draft>),
    /// The draft is invalid. It has been kept and its problems have been shown.
    Bad,
}

impl Draft {
    /// Removes the draft, which has been saved as a tool.
    pub(super) fn done(&self) {
        self.desk.clear(&self.path);
    }
}

/// Lets the user edit `text` until it is valid or the user gives up. `target` is the future path of
/// the file. `check` returns problems that the text alone does not show.
pub(super) async fn edited(
    config: &Config,
    editor: Option<&str>,
    name: &str,
    text: String,
    target: &Path,
    check: impl Fn(&Opened) -> Vec<Problem>,
) -> Result<Session, Failure> {
    if editor.is_none() && config.editor.is_none() && !crate::surface::terminal::is_terminal() {
        let error = Error::new(ErrorKind::Load, "there is no terminal for an editor");
        return Err(error
            .with_hint("set $VISUAL or $EDITOR, or name one")
            .into());
    }
    // Ctrl-C belongs to the editor while it is open.
    let _signals = Signals::take()?;
    let desk = Arc::new(EditorDraft::new(config, editor));
    let draft = desk.lay(name, "yaml", &text)?;
    let shown = text::path(&draft, &config.home);
    loop {
        let (at, path, before) = (desk.clone(), draft.clone(), text.clone());
        let closed = tokio::task::spawn_blocking(move || at.edit(&path, &before)).await;
        let closed = closed.unwrap_or_else(|error| {
            Err(Error::new(
                ErrorKind::Internal,
                format!("the editor failed: {error}"),
            ))
        });
        let changed = match closed {
            Ok(Edited::Changed(changed)) => changed,
            Ok(Edited::Same) => {
                desk.clear(&draft);
                return Ok(Session::Same);
            }
            Err(error) => {
                let hint = format!("the draft is kept: {}", shown.as_str());
                return Err(error.with_hint(hint).into());
            }
        };
        let read = open(target, changed);
        let mut problems = read.problems.clone();
        problems.extend(check(&read));
        if !pages::has_errors(&problems) {
            return Ok(Session::Good(Box::new(Draft {
                opened: read,
                desk,
                path: draft,
            })));
        }
        let ink = Ink::for_stderr();
        for problem in &mut problems {
            // The user corrects the draft, so the problems refer to its path.
            problem.path = Some(draft.clone());
        }
        say(&pages::problems(&problems, &config.home, true, ink));
        if can_ask() && confirm("Edit it again? [y/N] ".into()).await? {
            continue;
        }
        say(&terminal_text!("the draft is kept: {shown}\n"));
        return Ok(Session::Bad);
    }
}
