//! Shows a call as its tool renders it, again and again while it runs.
//!
//! On a terminal the rendering changes in place. Elsewhere it is printed once, after the call.

use std::pin::Pin;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::{Interval, MissedTickBehavior};

use super::{
    CallEnd, CallOptions, CallWaiter, Called, Frame, StartedCall, WaitEvent, pending_actions,
};
use crate::host::{Host, RunningCall};
use crate::surface::cli::call_session::CallSession;
use crate::surface::cli::context::CommandContext;
use crate::surface::cli::exit::Failure;
use crate::surface::cli::live_region::Region;
use crate::surface::cli::progress::Spinner;
use crate::surface::terminal::say;
use haft_render::draw;
use haft_render::palette::Ground;
use haft_render::problem;
use haft_tool::{
    Block, Call, Colors, Drawing, Event, Outcome, Problem, RenderOptions, Screen, TerminalText,
};

/// Time between two frames of a spinner.
const TICK: Duration = Duration::from_millis(80);

/// Default width in columns.
const WIDTH: usize = 80;

type Painting = Pin<Box<dyn Future<Output = Picture>>>;

impl CallOptions {
    pub(super) async fn draw(
        &self,
        frame: &Frame,
        call: Call,
        is_attended: bool,
        kept: Option<&CallSession>,
        session: &mut CommandContext<'_>,
    ) -> Result<Called, Failure> {
        let region = Region::new(session.out.terminal_file()?);
        let spinner = Spinner::Region(region.clone());
        let StartedCall {
            host,
            terminal,
            running,
        } = self.begin(&call, Some(spinner), is_attended, session);
        let mut canvas = Canvas::new(call.clone(), session.host.clone(), &region);
        let ended = frame.paint(running, &mut canvas, session).await;
        terminal.settle().await;
        let end = CallEnd::of(ended, &call, kept, session.err)?;
        frame.finish(&end.outcome, canvas, session).await?;
        self.tell(&call.tool, &end, session);
        self.save_test(&end, session)?;
        pending_actions::resolve(&host, session).await?;
        Ok(end.called)
    }
}

impl Frame {
    /// Renders a call until it ends.
    async fn paint(
        &self,
        running: RunningCall,
        canvas: &mut Canvas<'_>,
        session: &mut CommandContext<'_>,
    ) -> Result<Outcome, Failure> {
        let mut following = CallWaiter::new(running, &canvas.call.tool);
        let mut frames = tokio::time::interval(TICK);
        frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut has_started = false;
        loop {
            let look = self.look(session, true);
            let seen = tokio::select! {
                biased;
                seen = following.next(&mut session.signals) => seen,
                () = canvas.resume(has_started, &mut frames, look) => {
                    canvas.show(session)?;
                    continue;
                }
            };
            match seen {
                WaitEvent::Event(Event::Update(partial)) => canvas.update = Some(partial),
                WaitEvent::Event(Event::Started) => has_started = session.out.is_terminal(),
                WaitEvent::Cancelling(line) => canvas.note(&line),
                WaitEvent::Event(Event::Finished(ended)) => {
                    // After a second Ctrl-C nothing else is waited for.
                    session.killed |= following.was_hurried();
                    return Ok(ended?);
                }
                WaitEvent::Killed(error) => return Err(Failure::Killed(error)),
            }
        }
    }

    /// Renders the result and reports the problems of the tool's renderers.
    async fn finish(
        &self,
        outcome: &Outcome,
        canvas: Canvas<'_>,
        session: &mut CommandContext<'_>,
    ) -> Result<(), Failure> {
        let look = self.look(session, false);
        let shown = match &outcome.display {
            // Text for people, if the tool's system provides it in addition to the content.
            Some(text) => &Outcome {
                content: vec![Block::text(text)],
                ..outcome.clone()
            },
            None => outcome,
        };
        let ground = if outcome.is_error {
            Ground::Error
        } else {
            Ground::Success
        };
        let result = Some(shown.as_result());
        let picture = Picture::paint(canvas.host, canvas.call, result, look).await;
        let lines = picture.lines(ground);
        canvas.region.finish(&lines, session.out.size())?;
        let mut told: Vec<&Problem> = Vec::new();
        for problem in picture.problems().chain(&canvas.problems) {
            if !told.contains(&problem) {
                say(&problem::problem(problem, session.home(), session.err));
                told.push(problem);
            }
        }
        Ok(())
    }

    fn look(&self, session: &CommandContext<'_>, is_partial: bool) -> RenderOptions {
        let size = session.out.size();
        let columns = size.map_or(WIDTH, |size| size.columns);
        let width = self.width.unwrap_or(columns);
        let known = session.host.config().screen;
        let is_terminal = session.out.is_terminal();
        RenderOptions {
            width,
            margin: draw::margin(width),
            expanded: self.expanded,
            is_partial,
            spinner_frame: None,
            screen: Screen {
                colors: match (session.out.ink().is_on(), known.colors) {
                    (false, _) => Colors::None,
                    (true, Colors::None) => Colors::Indexed,
                    (true, colors) => colors,
                },
                // Images are only drawn once they are final.
                images: known.images.filter(|_| is_terminal && !is_partial),
                hyperlinks: known.hyperlinks && is_terminal,
                cell: size.and_then(|size| size.cell).unwrap_or(known.cell),
                ..known
            },
        }
    }
}

/// State of the rendering while the call runs.
struct Canvas<'a> {
    call: Call,
    host: Host,
    region: &'a Region,
    /// Latest update of the call.
    update: Option<Box<RawValue>>,
    frame: u32,
    /// Render request in progress.
    painting: Option<Painting>,
    /// Latest finished rendering.
    picture: Option<Picture>,
    problems: Vec<Problem>,
}

impl<'a> Canvas<'a> {
    fn new(call: Call, host: Host, region: &'a Region) -> Self {
        Canvas {
            call,
            host,
            region,
            update: None,
            frame: 0,
            painting: None,
            picture: None,
            problems: Vec::new(),
        }
    }

    /// Returns when there is something new to show. Cancel safe.
    async fn resume(&mut self, is_live: bool, frames: &mut Interval, look: RenderOptions) {
        if !is_live {
            return std::future::pending().await;
        }
        if self.painting.is_none() {
            frames.tick().await;
            let look = RenderOptions {
                spinner_frame: Some(self.frame),
                ..look
            };
            self.frame = self.frame.wrapping_add(1);
            let (host, call) = (self.host.clone(), self.call.clone());
            let painting = Picture::paint(host, call, self.update.clone(), look);
            self.painting = Some(Box::pin(painting));
        }
        if let Some(painting) = &mut self.painting {
            let picture = painting.await;
            self.painting = None;
            for problem in picture.problems() {
                if !self.problems.contains(problem) {
                    self.problems.push(problem.clone());
                }
            }
            self.picture = Some(picture.or_before(self.picture.take()));
        }
    }

    fn show(&self, session: &CommandContext<'_>) -> Result<(), Failure> {
        if let (Some(picture), Some(size)) = (&self.picture, session.out.size()) {
            self.region.draw(&picture.lines(Ground::Pending), size)?;
        }
        Ok(())
    }

    /// Prints a line that stays on the screen.
    fn note(&self, line: &TerminalText) {
        self.region.rest();
        say(line);
        self.region.resume();
    }
}

/// Rendering of a call and its result.
struct Picture {
    call: Option<Drawing>,
    result: Option<Drawing>,
    look: RenderOptions,
}

impl Picture {
    async fn paint(
        host: Host,
        call: Call,
        result: Option<Box<RawValue>>,
        look: RenderOptions,
    ) -> Picture {
        // A tool that has been removed renders nothing; the call itself reports the reason.
        let drawn_call = host.render_call(&call, &look).await.ok();
        let drawn_result = match &result {
            Some(result) => host.render_result(&call, result, &look).await.ok(),
            None => None,
        };
        Picture {
            call: drawn_call,
            result: drawn_result,
            look,
        }
    }

    /// Keeps the tool's previous rendering if the tool was too busy to render.
    fn or_before(mut self, before: Option<Picture>) -> Picture {
        let Some(before) = before else { return self };
        let is_busy = |now: &Option<Drawing>, then: &Option<Drawing>| {
            let plain = now
                .as_ref()
                .is_none_or(|now| !now.is_own && now.problem.is_none());
            plain && then.as_ref().is_some_and(|then| then.is_own)
        };
        if is_busy(&self.call, &before.call) {
            self.call = before.call;
        }
        if is_busy(&self.result, &before.result) {
            self.result = before.result;
        }
        self
    }

    fn parts(&self) -> impl Iterator<Item = &Drawing> {
        self.call.iter().chain(&self.result)
    }

    fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.parts().filter_map(|part| part.problem.as_ref())
    }

    fn lines(&self, ground: Ground) -> Vec<TerminalText> {
        let RenderOptions { width, screen, .. } = &self.look;
        let framed = self.parts().flat_map(|part| {
            if part.is_framed {
                part.lines.clone()
            } else {
                draw::block(&part.lines, ground, *width, screen)
            }
        });
        framed.collect()
    }
}
