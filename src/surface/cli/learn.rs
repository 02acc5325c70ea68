//! Learns the files that tools load by computed paths: `haft trust --learn`, `haft call --learn`.
//!
//! The tools run with the trusted files. Files outside the grant are loaded and recorded instead of
//! refused. The recorded files are shown and added to the grant only if the user agrees.

use super::confirm::{confirm_or, nobody_can_be_asked};
use super::exit::{Failure, SUCCESS};
use super::trust_question::trusting;
use crate::host::Host;
use crate::surface::stdout::Out;
use crate::surface::terminal::say;
use crate::trust::Review;
use haft_config::{Config, Flags};
use haft_render::style::Ink;
use haft_render::{problem, text, units};
use haft_tool::Severity;
use haft_tool::{Error, ErrorKind, TerminalText, terminal_text};

/// Loads every tool of the project, and offers to add what they loaded.
pub(super) async fn by_loading(
    flags: Flags,
    is_agreed: bool,
    out: &mut Out,
) -> Result<u8, Failure> {
    let host = Host::learning(config(flags.clone())?);
    let catalog = host.catalog().await;
    let ink = Ink::for_stderr();
    for found in &catalog.problems {
        if found.severity == Severity::Error {
            say(&problem::problem(found, &host.config().home, ink));
        }
    }
    let added = offer(&host, flags, is_agreed).await;
    host.shutdown().await;
    out.print_line(&added?)?;
    Ok(SUCCESS)
}

/// Returns the configuration of a learning host. The cache is off, since a cached module would not
/// be loaded.
pub(super) fn config(flags: Flags) -> Result<Config, Error> {
    let mut config = Config::resolve(flags)?;
    config.use_cache = false;
    Ok(config)
}

/// Shows the untrusted files that the tools of `host` loaded, and adds them to the grant if the
/// user agrees. Returns a sentence about the result.
pub(super) async fn offer(
    host: &Host,
    flags: Flags,
    is_agreed: bool,
) -> Result<TerminalText, Failure> {
    let home = &host.config().home;
    let mut review = Review::of(&Config::resolve(trusting(flags))?);
    let new = review.learn(host.learned());
    if new.is_empty() {
        return Ok("nothing to learn: the tools loaded what is trusted".into());
    }
    let mut lines = TerminalText::from_literal("loaded, and not trusted yet:\n");
    for path in &new {
        lines.push(&terminal_text!("  {}\n", text::path(path, home)));
    }
    say(&lines);
    let files = units::count(new.len(), "file");
    let question = terminal_text!("Trust {files} besides? [y/N] ");
    let unasked = "the same command with `--yes`";
    let refusal = nobody_can_be_asked(ErrorKind::Untrusted, "to trust these files", unasked);
    if !is_agreed && !confirm_or(refusal, question).await? {
        return Err(Error::new(ErrorKind::Denied, "the files are not trusted").into());
    }
    review.grant()?;
    Ok(terminal_text!("trusted: {files} more"))
}
