//! Renderers of one tool: calls them, and reports what is wrong with them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Described, frame};
use haft_engine::{Drawn, Module, ScreenView};
use haft_tool::{Problem, RawRender, RenderOptions, RenderTarget};

/// Renderers that a tool brings itself.
pub(super) struct Renderers {
    name: String,
    path: PathBuf,
    resolved: PathBuf,
    call: Renderer,
    result: Renderer,
}

struct Renderer {
    /// The name of the author's function.
    function: &'static str,
    is_there: bool,
    /// Set once it timed out. It is not called again, because another two seconds would give no new
    /// result.
    hangs: AtomicBool,
}

impl Renderer {
    fn new(function: &'static str, is_there: bool) -> Self {
        Renderer {
            function,
            is_there,
            hangs: AtomicBool::new(false),
        }
    }
}

/// Request that `35_render.ts` reads.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    call_id: &'a str,
    args: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    width: usize,
    margin: usize,
    expanded: bool,
    is_partial: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    spinner_frame: Option<u32>,
    #[serde(flatten)]
    screen: ScreenView,
}

/// Answer of `35_render.ts` where a renderer failed.
#[derive(Deserialize)]
struct Failure {
    error: String,
    stack: Option<String>,
}

impl Renderers {
    /// Returns the renderers of the tool in the file `path`, which is at `resolved`.
    pub(super) fn new(described: &Described, path: &Path, resolved: &Path) -> Self {
        Renderers {
            name: described.name.clone(),
            path: path.to_owned(),
            resolved: resolved.to_owned(),
            call: Renderer::new("renderCall", described.renders_call),
            result: Renderer::new("renderResult", described.renders_result),
        }
    }

    /// Lets the tool render. Returns `None` if it leaves that to the host or cannot be called now.
    pub(super) async fn draw(
        &self,
        module: &Module,
        index: u32,
        scene: RenderTarget<'_>,
        look: &RenderOptions,
    ) -> Result<Option<RawRender>, Problem> {
        let renderer = match scene {
            RenderTarget::Call(_) => &self.call,
            RenderTarget::Result(..) => &self.result,
        };
        if !renderer.is_there {
            return Ok(None);
        }
        if renderer.hangs.load(Ordering::Relaxed) {
            return Err(self.problem(renderer, HANGS, None));
        }
        match module.draw(index, &request(scene, look)).await {
            Drawn::RawRender(text) => Ok(painted(text)),
            Drawn::Failed(failure) => Err(self.failed(renderer, &failure)),
            Drawn::Hung(failure) => {
                renderer.hangs.store(true, Ordering::Relaxed);
                Err(self.failed(renderer, &failure))
            }
            Drawn::Away => Ok(None),
        }
    }

    fn failed(&self, renderer: &Renderer, failure: &str) -> Problem {
        let Failure { error, stack } = serde_json::from_str(failure).unwrap_or(Failure {
            error: failure.to_owned(),
            stack: None,
        });
        self.problem(renderer, &error, stack.as_deref())
    }

    fn problem(&self, renderer: &Renderer, error: &str, stack: Option<&str>) -> Problem {
        let text = format!("`{}` of `{}` failed: {error}", renderer.function, self.name);
        let problem = Problem::warning(text)
            .at(&self.path)
            .about(&self.name)
            .hint("the tool works; haft drew this in its own way");
        frame::locate(problem, &self.resolved, stack)
    }
}

const HANGS: &str = "it did not end before, and is not called again";

fn request(scene: RenderTarget<'_>, look: &RenderOptions) -> String {
    let call = scene.call();
    let request = Request {
        call_id: &call.id,
        args: &call.arguments,
        result: match scene {
            RenderTarget::Call(_) => None,
            RenderTarget::Result(_, result) => Some(result),
        },
        width: look.width,
        margin: look.margin,
        expanded: look.expanded,
        is_partial: look.is_partial,
        spinner_frame: look.spinner_frame,
        screen: ScreenView::from(&look.screen),
    };
    serde_json::to_string(&request).expect("numbers and texts are JSON")
}

/// Parses two marks, then the lines: `F` framed by the tool or `-`, `L` lines follow below it or
/// `0`. The text is empty if the renderer does not exist any more.
fn painted(mut text: String) -> Option<RawRender> {
    let marks = text.get(..2)?;
    let is_framed = marks.starts_with('F');
    let has_lines = marks.ends_with('L');
    let has_break = text.as_bytes().get(2) == Some(&b'\n');
    text.drain(..if has_break { 3 } else { 2 });
    Some(RawRender {
        text: has_lines.then_some(text),
        is_framed,
    })
}
