//! Drawing calls and results: the tool's own way where it has one and it works, else the host's.

use serde_json::value::RawValue;

use super::Host;
use crate::error::Error;
use crate::render::drawing;
use crate::tool::{Call, Drawing, Look, Scene};

impl Host {
    /// Draws a call: who is called with what. Nothing is run but the tool's `renderCall`.
    ///
    /// # Errors
    /// When there is no such tool. What is wrong with a renderer is in [`Drawing::problem`].
    pub async fn render_call(&self, call: &Call, look: &Look) -> Result<Drawing, Error> {
        self.draw(Scene::Call(call), look).await
    }

    /// Draws what came of a call, or an update of it: `result` is the JSON of
    /// `{content, details, isError?}`, as updates and [`Outcome::as_result`](crate::Outcome) are.
    /// Drawings of one call have one [`Call::id`]: what its renderers keep between them is theirs.
    ///
    /// # Errors
    /// When there is no such tool. What is wrong with a renderer is in [`Drawing::problem`].
    pub async fn render_result(
        &self,
        call: &Call,
        result: &RawValue,
        look: &Look,
    ) -> Result<Drawing, Error> {
        self.draw(Scene::Result(call, result), look).await
    }

    async fn draw(&self, scene: Scene<'_>, look: &Look) -> Result<Drawing, Error> {
        let entry = self.entry(&scene.call().tool).await?;
        // At least one column is drawn, whatever the block takes.
        let width = look.width.max(1);
        let look = Look {
            width,
            margin: look.margin.min(width - 1),
            ..look.clone()
        };
        let within = Look {
            width: width - look.margin,
            margin: 0,
            ..look.clone()
        };
        let problem = match entry.runner.render(scene, &look).await {
            Ok(Some(painted)) => {
                let look = if painted.is_framed { &look } else { &within };
                return Ok(Drawing {
                    lines: drawing::of_painted(&painted, look),
                    is_framed: painted.is_framed,
                    is_own: true,
                    problem: None,
                });
            }
            Ok(None) => None,
            Err(problem) => Some(problem),
        };
        Ok(Drawing {
            lines: drawing::by_host(&entry.tool, scene, &within),
            is_framed: false,
            is_own: false,
            problem,
        })
    }
}
