//! The question whether to trust a project, its tests, or the tools of a server.
//!
//! Nothing of them runs before the answer.

use std::path::PathBuf;

use super::confirm::{can_ask, confirm, confirm_or, nobody_can_be_asked};
use super::exit::Failure;
use super::trust_page;
use crate::audit::{self, Caller, Event};
use crate::surface::terminal::say;
use crate::trust::{self, Review, Reviewed};
use haft_config::{Config, Flags};
use haft_render::problem;
use haft_render::style::Ink;
use haft_tool::{Error, ErrorKind, Isolation, TerminalText, ToolRights, terminal_text};

/// Trusts the project's configuration for a review, so that the review covers the paths named
/// there.
pub(super) fn trusting(flags: Flags) -> Flags {
    Flags {
        trust_project: true,
        ..flags
    }
}

/// Shows on standard error what the project would run, and asks. Trusts the project if the answer
/// is `y`.
pub(super) async fn offer(flags: Flags, ink: Ink) -> Result<bool, Failure> {
    if !can_ask() {
        return Ok(false);
    }
    let config = Config::resolve(trusting(flags))?;
    let review = Review::of(&config);
    say(&trust_page::page(&review, &config.home, ink));
    if !ask(&review).await? {
        return Ok(false);
    }
    grant(&review, &config)?;
    Ok(true)
}

/// Shows on standard error the files that tests would load, and asks unless all of them are
/// trusted.
///
/// # Errors
/// [`ErrorKind::Untrusted`] without a terminal, [`ErrorKind::Denied`] if the user refuses.
pub(super) async fn ask_for_tests(
    config: &Config,
    tests: &[(PathBuf, Vec<PathBuf>)],
) -> Result<(), Failure> {
    let ink = Ink::for_stderr();
    let review = Review::of_tests(config, tests);
    if review.is_granted() {
        return Ok(());
    }
    if let Some(found) = &review.problem {
        say(&problem::problem(found, &config.home, ink));
    }
    let refused = |kind: ErrorKind, text: &str| -> Failure {
        let hint = "name the test files to run them as your own, or all of them with \
                    `haft --trust-project test`";
        Error::new(kind, text).with_hint(hint).into()
    };
    say(&trust_page::page(&review, &config.home, ink));
    if config.distrust_project || !can_ask() {
        let text = "these tests are not trusted, and nobody can be asked; none of them has run";
        return Err(refused(ErrorKind::Untrusted, text));
    }
    let question = "Once trusted, these tests and the tools that they load can do whatever you can \
                    do. Run them? [y/N] ";
    if !confirm(question.into()).await? {
        let text = "these tests are not trusted; none of them has run";
        return Err(refused(ErrorKind::Denied, text));
    }
    grant(&review, config)
}

/// Stores the trust for the reviewed files, and records it in the log.
pub(super) fn grant(review: &Review, config: &Config) -> Result<(), Failure> {
    review.grant()?;
    let granted = Event::TrustGranted {
        project: review.project.to_string_lossy().into_owned(),
        tools: review.tools.len(),
        grant: trust::grant_hash(config),
        by: Caller::parent("cli"),
    };
    audit::record(config, granted);
    Ok(())
}

/// Asks the user to trust the tools of `name`, which `haft trust` calls `subject`.
///
/// # Errors
/// If there is no terminal for the question, or the user does not agree.
pub(super) async fn agreed(
    name: &str,
    subject: &str,
    question: &'static str,
) -> Result<(), Failure> {
    let unasked = format!("`haft trust --yes {subject}`");
    let refusal = nobody_can_be_asked(ErrorKind::Untrusted, "to trust these tools", &unasked);
    if !confirm_or(refusal, question.into()).await? {
        let text = format!("the tools of `{name}` are not trusted");
        return Err(Error::new(ErrorKind::Denied, text).into());
    }
    Ok(())
}

/// Asks the user whether to trust the project.
pub(super) async fn ask(review: &Review) -> Result<bool, Failure> {
    let mut question = TerminalText::new();
    if review.tools.iter().any(|tool| !tool.openings.is_empty()) {
        question.push_literal(
            "Where a tool is open it may need files that are not in this list: they are refused \
             until you add them. Text that it runs as code cannot be checked.\n",
        );
    }
    question.push(&consequence(review));
    question.push_literal("Trust it? [y/N] ");
    let whether = "to trust this project";
    let refusal = nobody_can_be_asked(ErrorKind::Untrusted, whether, "`haft trust --yes`");
    confirm_or(refusal, question).await
}

/// Returns a sentence about the rights of the reviewed tools once they are trusted.
fn consequence(review: &Review) -> TerminalText {
    let rights = |tool: &Reviewed| tool.profile.as_ref().map(|profile| profile.rights.clone());
    let rights: Option<Vec<ToolRights>> = review.tools.iter().map(rights).collect();
    let rights = rights.unwrap_or_default();
    let is_sandboxed = |rights: &ToolRights| rights.isolation == Isolation::Sandbox;
    match &rights[..] {
        [first, rest @ ..] if rights.iter().all(is_sandboxed) => {
            let limits = if rest.iter().all(|other| other == first) {
                format!("limits: {}", first.permissions.summary())
            } else {
                "limits: see its profiles above".to_owned()
            };
            terminal_text!(
                "Once trusted, this code runs in a sandbox ({limits}). `haft trust --profile full` \
                 lets it do whatever you can do.\n"
            )
        }
        _ => "Once trusted, this code can do whatever you can do. ".into(),
    }
}
