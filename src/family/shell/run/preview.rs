//! Preview of a call, as text that can be pasted into a shell (spec cycod 151, 178).
//!
//! The texts take the same way as in a real call, so the preview shows what would be started:
//! values that must not act are variables there too. The output of steps is not known and stays a
//! reference.

use std::fmt::Write;

use tokio_util::sync::CancellationToken;

use super::super::arguments::Arguments;
use super::super::definition::{Command, Platform, Step, StepWork, Work};
use super::super::resolve::{ResolvedTool, ToolSet};
use super::host_env::HostEnv;
use super::mask::Mask;
use super::outside::check_variables;
use super::scheduler;
use super::session::{Around, Folders, Refusal, Session};
use super::words::words;
use haft_shell_quote::shell_word;
use haft_shell_quote::{self as quote, Dialect, Outside, Piece, variable};

/// Returns the commands of a call, masked.
///
/// # Errors
/// When nothing would be started.
pub(crate) async fn preview(
    tool: &ResolvedTool,
    arguments: &Arguments,
    tool_set: &ToolSet,
    host_env: &HostEnv,
) -> Result<String, Refusal> {
    let around = Around {
        stop: CancellationToken::new(),
        force_token: CancellationToken::new(),
        updates: None,
        user: None,
        mask: Mask::default(),
    };
    let definition = &tool.definition;
    let folders = Folders::Imagined;
    let session = Session::open(definition, arguments, tool_set, host_env, around, folders).await?;
    scheduler::plan_of(definition).map_err(Refusal::Impossible)?;
    let shown = async {
        let mut page = String::new();
        match &definition.work {
            Work::Command(command) => {
                let outside = session.outside(None, None).await?;
                session.show(command, &outside, "", &mut page).await?;
            }
            Work::Steps(steps) => {
                for step in steps {
                    session.show_step(step, &mut page).await?;
                }
            }
            Work::Alias(_) => unreachable!("aliases are resolved when files are loaded"),
        }
        Ok(page)
    };
    let page: Result<String, String> = shown.await;
    page.map_err(|why| Refusal::Impossible(session.mask.apply(&why)))
}

impl Session<'_> {
    async fn show_step(&self, step: &Step, page: &mut String) -> Result<(), String> {
        let mut more = String::new();
        if step.parallel {
            more.push_str(", parallel");
        }
        if !step.wait_for.is_empty() {
            more.push_str(&format!(", after {}", step.wait_for.join(", ")));
        }
        if let Some(condition) = &step.run_condition {
            more.push_str(&format!(", if {condition}"));
        }
        let head = format!("step '{}'{more}: ", step.name);
        match &step.work {
            StepWork::Command(command) => {
                let environment = Some(&step.environment);
                let outside = self.outside(environment, step.input.as_deref()).await?;
                self.show(command, &outside, &head, page).await?;
            }
            StepWork::UseTool(uses) => {
                let mut with = Vec::new();
                for (name, value) in &uses.with {
                    let value = self.values.datum(value).await;
                    let value = value.map_err(|error| error.to_string())?;
                    with.push(format!("{name}={}", value.to_json()));
                }
                self.block(&format!("{head}tool {}", uses.tool), &with.join("\n"), page);
            }
        }
        if let Some(fallback) = &step.error_handling.fallback {
            let text = self.values.text(fallback).await;
            let text = text.map_err(|error| error.to_string())?;
            self.block(&format!("step '{}', if that fails", step.name), &text, page);
        }
        Ok(())
    }

    async fn show(
        &self,
        command: &Command,
        outside: &[Outside],
        head: &str,
        page: &mut String,
    ) -> Result<(), String> {
        check_variables(outside).map_err(|error| error.to_string())?;
        let kind = command.key();
        let text = match command {
            Command::Bash(text) => self.shown_posix(text, Dialect::Bash, outside).await?,
            Command::Commands(commands) => {
                let platform = Platform::current();
                let text = commands.on(platform);
                let text =
                    text.ok_or_else(|| format!("not supported on platform {}", platform.as_str()))?;
                self.shown_posix(text, Dialect::Bash, outside).await?
            }
            Command::Script { text, shell } => {
                let shell = shell.as_deref().unwrap_or("bash");
                let text = match Dialect::of_shell(shell) {
                    Some(dialect) => self.shown_posix(text, dialect, outside).await?,
                    None => self.shown_text(text).await?,
                };
                self.block(&format!("{head}script for {shell}"), &text, page);
                return Ok(());
            }
            Command::Run(text) => {
                let words = words(text).map_err(|why| format!("`run` cannot be read: {why}"))?;
                let (mut shown, mut all) = (Vec::new(), Vec::new());
                for word in &words {
                    let pieces = self.values.pieces(word).await;
                    all.push(pieces.map_err(|error| error.to_string())?);
                    let filled = self.shown_text(word).await?;
                    if !filled.is_empty() || word.is_empty() {
                        shown.push(if is_harmless(&filled) {
                            filled
                        } else {
                            shell_word(&filled)
                        });
                    }
                }
                quote::direct(&all, outside).map_err(|error| error.to_string())?;
                shown.join(" ")
            }
            Command::Cmd(text) | Command::Pwsh(text) => self.shown_text(text).await?,
        };
        self.block(&format!("{head}{kind}"), &text, page);
        Ok(())
    }

    /// Writes a head, and below it the lines of a text. The text is masked before it is indented: a
    /// secret may have several lines.
    fn block(&self, head: &str, text: &str, page: &mut String) {
        page.push_str(&self.mask.apply(head));
        page.push_str(":\n");
        for line in self.mask.apply(text).trim_end_matches('\n').lines() {
            page.push_str("  ");
            page.push_str(line);
            page.push('\n');
        }
    }

    async fn shown_text(&self, text: &str) -> Result<String, String> {
        let filled = self.values.text(text).await;
        filled.map_err(|error| error.to_string())
    }

    /// Returns the source with the variables that it needs, each on a line of its own. A value
    /// without a meaning for a shell stays where its author put it.
    async fn shown_posix(
        &self,
        text: &str,
        dialect: Dialect,
        outside: &[Outside],
    ) -> Result<String, String> {
        let pieces = self.values.pieces(&text.replace("\r\n", "\n")).await;
        let pieces = pieces.map_err(|error| error.to_string())?;
        let checked = quote::bash_with(&pieces, dialect, outside);
        checked.map_err(|error| error.to_string())?;
        let plain = |piece: Piece| {
            if is_harmless(&piece.text) {
                Piece::raw(piece.text)
            } else {
                piece
            }
        };
        let pieces: Vec<Piece> = pieces.into_iter().map(plain).collect();
        let quoted = quote::bash(&pieces, dialect).map_err(|error| error.to_string())?;
        let mut shown = String::new();
        for (index, value) in quoted.values.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = writeln!(shown, "{}={}", variable(index), shell_word(value));
        }
        shown.push_str(&quoted.text);
        Ok(shown)
    }
}

/// Returns true if a word is the same with quotes around it and without.
fn is_harmless(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:,@%+=-".contains(c);
    !text.is_empty() && text.chars().all(is_plain)
}
