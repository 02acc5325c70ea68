//! `tools/render`: renders a call or its result as lines for the peer's terminal.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::payload::{self, Answer};
use crate::host::Host;
use crate::surface::wire::ProblemView;
use haft_tool::{Call, Colors, ImageProtocol, RenderOptions, Screen, TerminalText};

/// The parameters of `tools/render`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RenderParams {
    name: String,
    arguments: Option<Box<RawValue>>,
    /// All renderings of one call share this id.
    call_id: Option<String>,
    /// `{content, details, isError?}`; without it the call itself is rendered.
    result: Option<Box<RawValue>>,
    width: usize,
    #[serde(default)]
    margin: usize,
    #[serde(default)]
    expanded: bool,
    #[serde(default)]
    is_partial: bool,
    spinner_frame: Option<u32>,
    #[serde(default)]
    screen: ScreenParams,
}

/// Capabilities of the peer's terminal. The default is plain text.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScreenParams {
    #[serde(default)]
    colors: Depth,
    #[serde(default)]
    is_light: bool,
    images: Option<Pictures>,
    #[serde(default)]
    hyperlinks: bool,
    cell: Option<(u16, u16)>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Depth {
    #[default]
    None,
    #[serde(rename = "256")]
    Indexed,
    Truecolor,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Pictures {
    Kitty,
    Iterm,
    Sixel,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rendered<'a> {
    lines: &'a [TerminalText],
    is_framed: bool,
    is_own: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<ProblemView<'a>>,
}

/// Renders the call or the result of the request.
pub(super) async fn render(host: Host, asked: RenderParams) -> Answer {
    let look = RenderOptions {
        width: asked.width,
        margin: asked.margin,
        expanded: asked.expanded,
        is_partial: asked.is_partial,
        spinner_frame: asked.spinner_frame,
        screen: asked.screen.into(),
    };
    let call = Call {
        id: asked.call_id.unwrap_or_else(|| "render".to_owned()),
        tool: asked.name,
        arguments: asked.arguments.unwrap_or_else(Call::no_arguments),
    };
    let drawing = match &asked.result {
        None => host.render_call(&call, &look).await?,
        Some(result) => host.render_result(&call, result, &look).await?,
    };
    payload::json(&Rendered {
        lines: &drawing.lines,
        is_framed: drawing.is_framed,
        is_own: drawing.is_own,
        problem: drawing.problem.as_ref().map(ProblemView::from),
    })
}

impl From<ScreenParams> for Screen {
    fn from(asked: ScreenParams) -> Screen {
        Screen {
            colors: match asked.colors {
                Depth::None => Colors::None,
                Depth::Indexed => Colors::Indexed,
                Depth::Truecolor => Colors::True,
            },
            is_light: asked.is_light,
            images: asked.images.map(|images| match images {
                Pictures::Kitty => ImageProtocol::Kitty,
                Pictures::Iterm => ImageProtocol::Iterm,
                Pictures::Sixel => ImageProtocol::Sixel,
            }),
            hyperlinks: asked.hyperlinks,
            cell: asked.cell.unwrap_or(Screen::PLAIN.cell),
        }
    }
}
