//! User interface at the terminal: approvals and prompts of tools, one at a time.
//!
//! Prompts go to standard error. Answers come from the terminal itself, since standard input may
//! contain arguments. Each prompt runs on its own thread, which ends when its future is dropped.

mod approval;
mod keys;
mod line;
mod notices;
mod prompt;
mod prompt_view;
mod sequences;
mod tty;
mod widget;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use rustix::event::{EventfdFlags, eventfd};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::OwnedMutexGuard;

use super::progress::Spinner;
use crate::tool_files::EditorDraft;
use haft_config::Config;
use haft_render::style::Ink;
use haft_tool::{
    Answer, ApprovalRequest, Approver, Decision, Notification, NotificationFrom, Question,
    RunApprovalRequest, RunDecision, Screen, UserInterface, Widget, WidgetSurface,
    ask_user_for_run,
};
use notices::Notices;

/// Terminal that haft was started at. Clones share it.
#[derive(Clone)]
pub(super) struct Terminal(Arc<Inner>);

struct Inner {
    spinner: Option<Spinner>,
    ink: Ink,
    desk: EditorDraft,
    screen: Screen,
    /// True if tools may prompt, as far as this is known at the start.
    may_ask: bool,
    /// Lock of the prompt on the screen.
    turn: Arc<tokio::sync::Mutex<()>>,
    notices: Mutex<Notices>,
}

impl Terminal {
    /// Creates the user interface; prompts replace `spinner`. `is_attended` means that standard
    /// input is a terminal as well.
    pub(super) fn new(
        spinner: Option<Spinner>,
        ink: Ink,
        config: &Config,
        is_attended: bool,
    ) -> Self {
        Terminal(Arc::new(Inner {
            notices: Mutex::new(Notices::new(spinner.clone(), ink)),
            spinner,
            ink,
            desk: EditorDraft::new(config, None),
            screen: config.screen,
            may_ask: is_attended && crate::surface::terminal::is_terminal(),
            turn: Arc::default(),
        }))
    }

    /// Waits until the prompt on the screen has ended. No other prompt can begin meanwhile.
    pub(super) async fn settle(&self) {
        drop(self.0.turn.lock().await);
    }

    /// Runs `prompt` when it is its turn. Returns `None` if it failed. Dropping the future ends the
    /// prompt.
    async fn put<T: Send + 'static>(
        &self,
        prompt: impl FnOnce(&Inner, &OwnedFd) -> io::Result<T> + Send + 'static,
    ) -> Option<T> {
        let turn = self.0.turn.clone().lock_owned().await;
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).ok()?);
        let _wake = WakeOnDrop(wake.clone());
        let stage = Stage::take(self.clone(), turn);
        let asked = tokio::task::spawn_blocking(move || prompt(&stage.terminal.0, &wake));
        // The terminal is missing, or it went away.
        asked.await.ok()?.ok()
    }
}

impl Inner {}

#[async_trait]
impl Approver for Terminal {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        if !crate::surface::terminal::is_terminal() {
            return Decision::NobodyToAsk;
        }
        let asked = self.put(move |terminal, wake| approval::ask(&request, terminal.ink, wake));
        asked.await.unwrap_or(Decision::NobodyToAsk)
    }

    async fn ask_for_run(&self, request: RunApprovalRequest) -> RunDecision {
        if !self.has_user() {
            return RunDecision::NobodyToAsk;
        }
        ask_user_for_run(self, &request).await
    }
}

#[async_trait]
impl UserInterface for Terminal {
    fn has_user(&self) -> bool {
        self.0.may_ask && tty::is_ours()
    }

    async fn ask(&self, question: Question) -> Answer {
        let put = self
            .put(move |terminal, wake| prompt::ask(&question, &terminal.desk, terminal.ink, wake));
        put.await.unwrap_or(Answer::Dismissed)
    }

    fn tell(&self, notice: NotificationFrom) {
        let mut notices = self.0.notices.lock();
        match notice.what {
            Notification::Notify { message, level } => {
                notices.say(&notice.from.tool, &message, level)
            }
            Notification::Status { key, text } => notices.status(key, text),
            Notification::EditorText { text } => notices.editor_text = text,
        }
    }

    fn editor_text(&self) -> String {
        self.0.notices.lock().editor_text.clone()
    }

    fn canvas(&self) -> Option<WidgetSurface> {
        self.has_user().then(|| widget::canvas(&self.0)).flatten()
    }

    async fn show(&self, mut widget: Widget) {
        let Some(board) = widget::Board::new(&widget) else {
            return;
        };
        let board = Arc::new(board);
        let easel = board.clone();
        let shown = self.put(move |terminal, wake| easel.run(terminal, wake));
        tokio::pin!(shown);
        let Ok(mut resized) = signal(SignalKind::window_change()) else {
            return;
        };
        loop {
            tokio::select! {
                biased;
                _ = &mut shown => return,
                painted = widget.painted() => match painted {
                    Some(lines) => board.paint(lines),
                    None => return,
                },
                _ = resized.recv() => board.look_again(),
            }
        }
    }
}

/// Guard for the screen during a prompt: pauses the spinner and holds back messages.
struct Stage {
    terminal: Terminal,
    _turn: OwnedMutexGuard<()>,
}

impl Stage {
    fn take(terminal: Terminal, turn: OwnedMutexGuard<()>) -> Stage {
        if let Some(spinner) = &terminal.0.spinner {
            spinner.rest();
        }
        terminal.0.notices.lock().hold();
        Stage {
            terminal,
            _turn: turn,
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let inner = &self.terminal.0;
        inner.notices.lock().release();
        if let Some(spinner) = &inner.spinner {
            spinner.resume();
        }
    }
}

/// Guard that ends the prompt when its future is dropped.
struct WakeOnDrop(Arc<OwnedFd>);

impl Drop for WakeOnDrop {
    fn drop(&mut self) {
        // A prompt that has ended ignores this.
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }
}
