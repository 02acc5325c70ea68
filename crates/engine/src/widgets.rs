//! Passes the components of one isolate's tools to the screen of the user behind the call.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde::Serialize;
use tokio::sync::{Mutex, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::screen::ScreenView;
use super::users::{Opened, Users};
use haft_tool::{InputEvent, Widget, WidgetHandle};

/// Finds the user of a call and shows a component to that user.
pub(super) struct WidgetBridge {
    users: Users,
    open: Opened<Open>,
}

/// A component that is shown or queued.
struct Open {
    withdrawn: CancellationToken,
    painted: watch::Sender<String>,
    touches: Arc<Mutex<mpsc::UnboundedReceiver<InputEvent>>>,
}

/// A canvas as `12_custom.ts` reads it.
#[derive(Serialize)]
struct CanvasView {
    columns: usize,
    rows: usize,
    screen: ScreenView,
}

impl WidgetBridge {
    pub(super) fn new(users: Users) -> Self {
        WidgetBridge {
            users,
            open: Opened::default(),
        }
    }

    pub(super) fn canvas(&self, request: u32, owner: &str) -> String {
        let user = self.users.of(request, owner);
        let Some(canvas) = user.and_then(|user| user.canvas()) else {
            return String::new();
        };
        let view = CanvasView {
            columns: canvas.columns,
            rows: canvas.rows,
            screen: ScreenView::from(&canvas.screen),
        };
        serde_json::to_string(&view).expect("numbers and texts are JSON")
    }

    pub(super) fn show(
        &self,
        request: u32,
        owner: &str,
        id: u32,
    ) -> BoxFuture<'static, Result<(), String>> {
        let users = self.users.clone();
        let user = users.of(request, owner);
        let (widget, WidgetHandle { painted, touches }) = Widget::pair();
        let withdrawn = CancellationToken::new();
        let open = Open {
            withdrawn: withdrawn.clone(),
            painted,
            touches: Arc::new(Mutex::new(touches)),
        };
        let closing = self.open.open(id, open);
        Box::pin(async move {
            let _closing = closing;
            let Some(user) = user else { return Ok(()) };
            let shown = tokio::select! {
                biased;
                () = withdrawn.cancelled() => return Ok(()),
                shown = user.show(widget) => shown,
            };
            users.after_signal(&user, request, &withdrawn).await;
            shown.map_err(|error| error.to_string())
        })
    }

    pub(super) fn next_touch(&self, id: u32) -> BoxFuture<'static, String> {
        let touches = self.open.with(id, |open| open.touches.clone());
        Box::pin(async move {
            let Some(touches) = touches else {
                return String::new();
            };
            let touch = touches.lock().await.recv().await;
            let text = touch.map(|touch| serde_json::to_string(&touch).unwrap_or_default());
            text.unwrap_or_default()
        })
    }

    pub(super) fn paint(&self, id: u32, lines: String) {
        self.open.with(id, |open| open.painted.send_replace(lines));
    }

    pub(super) fn withdraw(&self, id: u32) {
        self.open.with(id, |open| open.withdrawn.cancel());
    }
}
