//! The repl at a terminal: reads lines and handles events meanwhile.

use std::time::Duration;

use tokio::time::timeout;

use super::dispatch::Next;
use super::editor::{Draft, Editor, Read, Reading};
use super::history;
use super::state::{Happening, Shell};
use crate::surface::cli::exit::{Failure, SUCCESS};
use crate::surface::terminal::say;
use haft_tool::terminal_text;

/// Delay after which the prompt appears although tools are still loading.
const LOAD_WAIT: Duration = Duration::from_millis(300);

/// Timeout for stopping a line editor, whose terminal may be gone.
const STOPPING: Duration = Duration::from_millis(500);

/// Reads and runs lines until the user leaves.
pub(super) async fn run(shell: &mut Shell<'_, '_>) -> Result<u8, Failure> {
    let editor = Editor {
        known: shell.known.clone(),
        history: remembered(shell),
        ink: shell.session.err,
    };
    match timeout(LOAD_WAIT, shell.happening()).await {
        Ok(happening) => shell.heed(happening).await?,
        Err(_) => say(&"the tools are still loading; what you call waits for them\n".into()),
    }
    let mut draft = Draft::default();
    while !shell.session.signals.has_to_end() {
        while let Some(reload) = shell.news.now() {
            shell.heed(Happening::Reload(reload)).await?;
        }
        let reading = editor.read(std::mem::take(&mut draft));
        let Some(read) = next(reading, shell).await? else {
            break;
        };
        match read {
            Read::Line(line) => match shell.obey(&line).await? {
                Next::Line => {}
                Next::Leave => break,
            },
            Read::Nothing => say(&"Ctrl-D leaves; while a call runs, Ctrl-C cancels it\n".into()),
            Read::Dropped => {}
            Read::End => break,
            Read::Stopped(written) => draft = written,
        }
    }
    Ok(SUCCESS)
}

/// Returns the result of a line after handling an event that interrupted it. Returns `None` if haft
/// has to end.
async fn next(mut reading: Reading, shell: &mut Shell<'_, '_>) -> Result<Option<Read>, Failure> {
    let happening = tokio::select! {
        biased;
        read = reading.end() => return Ok(Some(read?)),
        happening = shell.happening() => happening,
    };
    let read = timeout(STOPPING, reading.stop()).await;
    if shell.session.signals.has_to_end() {
        return Ok(None);
    }
    let read = read.unwrap_or(Ok(Read::End))?;
    shell.heed(happening).await?;
    Ok(Some(read))
}

/// Returns the path of the history file.
fn remembered(shell: &Shell<'_, '_>) -> Option<std::path::PathBuf> {
    let file = history::file(shell.session.host.config());
    if let Err(error) = &file {
        let warning = shell.session.err.warning("warning");
        say(&terminal_text!(
            "{warning}: lines are not remembered: {error}\n"
        ));
    }
    file.ok()
}
