//! What was unreadable in the log, and what was told so far.

use super::paint::Painter;
use super::theme::Role;
use crate::app::App;
use crate::layout::overlay;
use crate::text;

pub(super) fn draw(app: &App, painter: &mut Painter<'_>) {
    let area = overlay(app.size);
    let style = painter.style(Role::Status);
    painter.fill(area, style);
    let cells = usize::from(area.width.saturating_sub(2)).max(1);
    let damages = app.info.warnings.iter().map(|damage| match (damage.line, damage.offset) {
        (Some(line), _) => format!("log, line {line}: {}", damage.message),
        (None, Some(offset)) => format!("log, byte {offset}: {}", damage.message),
        (None, None) => damage.message.clone(),
    });
    let all: Vec<String> = damages.chain(app.messages.iter().rev().cloned()).collect();
    let title = if all.is_empty() { "Nothing was told so far" } else { "Warnings and messages" };
    painter.write(area.x + 1, area.y, area.right(), title, painter.style(Role::Key));
    let mut y = area.y + 1;
    for message in all {
        let message = text::clean(text::beginning(&message, 4096));
        for row in text::word_wrapped(&message, cells, usize::from(area.height)) {
            if y >= area.bottom() {
                return;
            }
            painter.write(area.x + 1, y, area.right(), row, style);
            y += 1;
        }
    }
}
