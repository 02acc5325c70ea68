//! A tool's own component on the screen of a surface (`pi.ui.custom`, spec omp 5.2).
//!
//! The component lives with the tool, the screen with the surface. Between them go lines in one
//! direction, of which only the newest count, and keys and sizes in the other.

use serde::Serialize;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{Screen, Speaker};

/// Where a surface shows components of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canvas {
    /// The columns that a component has.
    pub columns: usize,
    /// The rows that a component has; what is higher may be cut.
    pub rows: usize,
    /// What else the screen can show.
    pub screen: Screen,
}

/// A component that wants to be shown, and the keyboard with it. It says nothing before it knows
/// how large it may be: [`Widget::touch`] it with a [`Touch::Size`] first.
#[derive(Debug)]
pub struct Widget {
    /// Whose it is.
    pub from: Speaker,
    /// Fires when it is to go: the call has ended or was cancelled, or the component is done.
    pub withdrawn: CancellationToken,
    painted: watch::Receiver<String>,
    touches: Touches,
}

/// Reaches a [`Widget`] from where its keys come in. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Touches(mpsc::UnboundedSender<Touch>);

/// What comes to a component from its screen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Touch {
    /// So large may it be from now on.
    Size {
        /// Its columns.
        columns: usize,
        /// Its rows.
        rows: usize,
    },
    /// One key, or one paste, as a terminal sends it: `a`, `\r`, `\x1b[A`, `\x1b[200~text\x1b[201~`.
    Key {
        /// The bytes, as text.
        data: String,
    },
}

/// The tool's end of a [`Widget`].
pub(crate) struct Puppet {
    pub(crate) painted: watch::Sender<String>,
    pub(crate) touches: mpsc::UnboundedReceiver<Touch>,
}

impl Widget {
    /// Both ends. Whose it is, [`User::show`](super::User::show) knows.
    pub(crate) fn pair() -> (Widget, Puppet) {
        let (painter, painted) = watch::channel(String::new());
        let (sender, touches) = mpsc::unbounded_channel();
        let widget = Widget {
            from: Speaker {
                call_id: None,
                tool: String::new(),
            },
            withdrawn: CancellationToken::new(),
            painted,
            touches: Touches(sender),
        };
        let puppet = Puppet {
            painted: painter,
            touches,
        };
        (widget, puppet)
    }

    /// The same, as that of a call.
    pub(crate) fn of(self, from: Speaker, withdrawn: CancellationToken) -> Widget {
        Widget {
            from,
            withdrawn,
            ..self
        }
    }

    /// Waits for the component's next picture: its lines, each ended by a newline. `None`: it is done.
    ///
    /// The lines are the tool's own: they may hold any control sequences and be too wide.
    /// [`safe_lines`](crate::safe_lines) makes them safe to print.
    pub async fn painted(&mut self) -> Option<String> {
        self.painted.changed().await.ok()?;
        Some(self.painted.borrow_and_update().clone())
    }

    /// Where keys go.
    pub fn touches(&self) -> Touches {
        self.touches.clone()
    }

    /// Tells the component; see [`Touches::send`].
    pub fn touch(&self, touch: Touch) {
        self.touches.send(touch);
    }
}

impl Touches {
    /// Tells the component. One that is gone hears nothing.
    pub fn send(&self, touch: Touch) {
        // Whoever is done listens no more.
        let _ = self.0.send(touch);
    }
}
