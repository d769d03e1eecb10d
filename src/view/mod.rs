//! From the state to the screen, and nothing else: no file is read here, no state changed.

mod bars;
mod file;
mod help;
mod list;
mod messages;
mod overview;
mod paint;
mod picker;
mod ran;
mod theme;

pub use theme::{Depth, ROLES, Role, Theme};

use crate::app::{App, Overlay};
use crate::layout::MIN_SIZE;
use paint::Painter;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;

/// Draws the whole screen; gives where the terminal's cursor shall stand, if anywhere.
pub fn draw(app: &App, theme: &Theme, buffer: &mut Buffer) -> Option<Position> {
    let screen = buffer.area;
    let mut painter = Painter { buffer, theme };
    let size = (screen.width, screen.height);
    if size.0 < MIN_SIZE.0 || size.1 < MIN_SIZE.1 || size != app.size {
        let message = format!("{}×{} is too small", size.0, size.1);
        painter.write(0, 0, screen.width, &message, theme.style(Role::Text));
        return None;
    }
    let areas = app.areas();
    list::draw(app, areas.sidebar, &mut painter);
    bars::divider(app, areas.divider, &mut painter);
    bars::title(app, areas.title, &mut painter);
    bars::notes(app, areas.notes, &mut painter);
    file::draw(app, areas.text, &mut painter);
    bars::status(app, areas.status, &mut painter);
    if app.overlay == Overlay::Messages {
        messages::draw(app, &mut painter);
    }
    if let Overlay::Help(top) = app.overlay {
        help::draw(top, screen, &mut painter);
    }
    if let Overlay::Ran(ran) = &app.overlay {
        ran::draw(app, ran, &mut painter);
    }
    if let Overlay::Sessions(sessions) = &app.overlay {
        return Some(picker::draw(app, sessions, screen, &mut painter));
    }
    if let Overlay::Prompt(prompt) = &app.overlay {
        let column = crate::text::width(&prompt.text) + 1;
        let column = column.min(usize::from(screen.width.saturating_sub(1)));
        return Some(Position { x: column as u16, y: areas.status.y });
    }
    None
}
