//! The commands as an overlay.

use super::paint::Painter;
use super::theme::Role;
use crate::app::{COMMANDS, Command, Scope};
use crate::text;
use ratatui::layout::Rect;

pub(super) fn draw(top: usize, screen: Rect, painter: &mut Painter<'_>) {
    let lines: Vec<(String, &Command)> =
        COMMANDS.iter().map(|command| (command.keys.join(" "), command)).collect();
    let keys = lines.iter().map(|(keys, _)| text::width(keys)).max().unwrap_or(0);
    let helps = lines.iter().map(|(_, c)| text::width(c.help) + 12).max().unwrap_or(0);
    let width = ((keys + helps + 6) as u16).min(screen.width);
    let height = (lines.len() as u16 + 2).min(screen.height);
    let area =
        Rect { x: (screen.width - width) / 2, y: (screen.height - height) / 2, width, height };
    let style = painter.style(Role::Status);
    painter.fill(area, style);
    let title = " Keys · j k scroll · ? or q closes ";
    painter.write(area.x + 1, area.y, area.right(), title, painter.style(Role::Key));
    let room = usize::from(height.saturating_sub(2));
    let top = top.min(lines.len().saturating_sub(room));
    for ((chords, command), y) in lines.iter().skip(top).zip(area.y + 1..area.bottom() - 1) {
        let end = area.right().saturating_sub(1);
        painter.write(area.x + 2, y, end, chords, painter.style(Role::Key));
        let x = area.x + 4 + keys as u16;
        let x = painter.write(x, y, end, command.help, style);
        let place = match command.scope {
            Scope::Everywhere => "",
            Scope::List => " (list)",
            Scope::File => " (file)",
        };
        painter.write(x, y, end, place, style);
    }
}
