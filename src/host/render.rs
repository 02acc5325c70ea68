//! Renders calls and results: with the tool's own renderer if it works, else with the host's.

use serde_json::value::RawValue;

use super::Host;
use haft_render::draw;
use haft_tool::Error;
use haft_tool::{Call, Drawing, RenderOptions, RenderTarget};

impl Host {
    /// Renders a call: the tool and its arguments. Runs nothing but the tool's `renderCall`.
    ///
    /// # Errors
    /// When the tool is unknown. The error of a renderer is in [`Drawing::problem`].
    pub async fn render_call(&self, call: &Call, look: &RenderOptions) -> Result<Drawing, Error> {
        self.draw(RenderTarget::Call(call), look).await
    }

    /// Renders the result of a call, or an update of it: `result` is the JSON of
    /// `{content, details, isError?}`, as updates and [`Outcome::as_result`](crate::Outcome) are.
    /// Renderings of one call have the same [`Call::id`]. Its renderers share the state of that
    /// call.
    ///
    /// # Errors
    /// When the tool is unknown. The error of a renderer is in [`Drawing::problem`].
    pub async fn render_result(
        &self,
        call: &Call,
        result: &RawValue,
        look: &RenderOptions,
    ) -> Result<Drawing, Error> {
        self.draw(RenderTarget::Result(call, result), look).await
    }

    async fn draw(&self, scene: RenderTarget<'_>, look: &RenderOptions) -> Result<Drawing, Error> {
        let entry = self.entry(&scene.call().tool).await?;
        // At least one column is drawn, whatever the margin is.
        let width = look.width.max(1);
        let look = RenderOptions {
            width,
            margin: look.margin.min(width - 1),
            ..look.clone()
        };
        let within = RenderOptions {
            width: width - look.margin,
            margin: 0,
            ..look.clone()
        };
        let problem = match entry.runner.render(scene, &look).await {
            Ok(Some(painted)) => {
                let look = if painted.is_framed { &look } else { &within };
                return Ok(Drawing {
                    lines: draw::of_painted(&painted, look),
                    is_framed: painted.is_framed,
                    is_own: true,
                    problem: None,
                });
            }
            Ok(None) => None,
            Err(problem) => Some(problem),
        };
        Ok(Drawing {
            lines: draw::by_host(&entry.tool, scene, &within),
            is_framed: false,
            is_own: false,
            problem,
        })
    }
}
