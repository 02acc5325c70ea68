//! Component of a tool on the screen of a surface (`pi.ui.custom`, spec omp 5.2).
//!
//! The component runs in the tool, and the surface owns the screen. The component sends lines, of
//! which only the newest count. The surface sends keys and sizes.

use serde::Serialize;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{PromptOrigin, Screen};

/// Space in which a surface shows components of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WidgetSurface {
    /// Width of a component in columns.
    pub columns: usize,
    /// Height of a component in rows. Rows beyond it may be cut.
    pub rows: usize,
    /// Other capabilities of the screen.
    pub screen: Screen,
}

/// A component to be shown, which gets the keyboard meanwhile. It draws nothing before it knows its
/// size, so send it a [`InputEvent::Size`] with [`Widget::touch`] first.
#[derive(Debug)]
pub struct Widget {
    /// The call and the tool that the component belongs to.
    pub from: PromptOrigin,
    /// Cancelled when the component must be removed: the call has ended or was cancelled, or the
    /// component is done.
    pub withdrawn: CancellationToken,
    painted: watch::Receiver<String>,
    touches: InputSender,
}

/// Sender of input to a [`Widget`]. Cheap to clone.
#[derive(Clone, Debug)]
pub struct InputSender(mpsc::UnboundedSender<InputEvent>);

/// Input of a component from its screen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum InputEvent {
    /// The new size.
    Size {
        /// Width in columns.
        columns: usize,
        /// Height in rows.
        rows: usize,
    },
    /// One key or one paste, as a terminal sends it: `a`, `\r`, `\x1b[A`, `\x1b[200~text\x1b[201~`.
    Key {
        /// The bytes, as text.
        data: String,
    },
}

/// The tool's end of a [`Widget`].
pub struct WidgetHandle {
    pub painted: watch::Sender<String>,
    pub touches: mpsc::UnboundedReceiver<InputEvent>,
}

impl Widget {
    /// Creates both ends. [`User::show`](super::User::show) sets the call and the tool later.
    pub fn pair() -> (Widget, WidgetHandle) {
        let (painter, painted) = watch::channel(String::new());
        let (sender, touches) = mpsc::unbounded_channel();
        let widget = Widget {
            from: PromptOrigin {
                call_id: None,
                tool: String::new(),
            },
            withdrawn: CancellationToken::new(),
            painted,
            touches: InputSender(sender),
        };
        let puppet = WidgetHandle {
            painted: painter,
            touches,
        };
        (widget, puppet)
    }

    /// Returns the same component with its call and tool.
    pub fn of(self, from: PromptOrigin, withdrawn: CancellationToken) -> Widget {
        Widget {
            from,
            withdrawn,
            ..self
        }
    }

    /// Waits for the component's next picture: its lines, each ended by a newline. `None` when the
    /// component is done.
    ///
    /// The lines are the tool's own. They may contain any control sequences and be too wide;
    /// `haft::render::safe_lines` makes them safe to print.
    pub async fn painted(&mut self) -> Option<String> {
        self.painted.changed().await.ok()?;
        Some(self.painted.borrow_and_update().clone())
    }

    /// Returns a sender for keys.
    pub fn touches(&self) -> InputSender {
        self.touches.clone()
    }

    /// Sends input to the component; see [`InputSender::send`].
    pub fn touch(&self, touch: InputEvent) {
        self.touches.send(touch);
    }
}

impl InputSender {
    /// Sends input to the component. Input for a component that is gone is discarded.
    pub fn send(&self, touch: InputEvent) {
        // Fails only if the component is gone.
        let _ = self.0.send(touch);
    }
}
