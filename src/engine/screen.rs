//! A screen as the JavaScript half reads it, whatever is drawn for it.

use serde::Serialize;

use crate::tool::Screen;

/// What `packages/pi-tui/theme.ts` goes by, for a call and for a component.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScreenView {
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
