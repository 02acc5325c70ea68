//! Properties of a screen in the form that the JavaScript half reads.

use serde::Serialize;

use haft_tool::Screen;

/// Input of `packages/pi-tui/theme.ts`, for a call and for a component.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScreenView {
    colors: &'static str,
    is_light: bool,
    shows_images: bool,
    hyperlinks: bool,
    cell: (u16, u16),
}

impl From<&Screen> for ScreenView {
    fn from(screen: &Screen) -> Self {
        ScreenView {
            colors: screen.colors.as_str(),
            is_light: screen.is_light,
            shows_images: screen.images.is_some(),
            hyperlinks: screen.hyperlinks,
            cell: screen.cell,
        }
    }
}
