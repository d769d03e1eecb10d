//! What is shown where no file is: the open turn in words.

use super::paint::Painter;
use super::theme::Role;
use crate::app::{App, Base, Load};
use crate::text;
use ratatui::layout::Rect;

/// The prompt in full, then what is to be said of the turn.
pub(super) fn draw(app: &App, area: Rect, painter: &mut Painter<'_>) {
    let Some(turn) = app.open_turn() else { return };
    let cells = usize::from(area.width.saturating_sub(2)).max(1);
    let mut lines: Vec<(String, Role)> = Vec::new();
    for line in turn.head.turn.prompt.lines().take(usize::from(area.height)) {
        wrap(line, cells, Role::Text, &mut lines);
    }
    lines.push((String::new(), Role::Text));
    match &turn.changes {
        Load::Failed(why) => wrap(why, cells, Role::Bad, &mut lines),
        Load::Known(Some(changes)) => {
            for note in &changes.notes {
                wrap(note, cells, Role::Note, &mut lines);
            }
        }
        Load::Known(None) => {
            let words = match app.base {
                Base::Turn => "This turn changed nothing that is known.",
                _ => "Nothing is known to differ from this base.",
            };
            lines.push((words.into(), Role::Dim));
        }
        Load::Unasked | Load::Asked => {}
    }
    for damage in &app.info.warnings {
        let place = match (damage.line, damage.offset) {
            (Some(line), _) => format!("log, line {line}: "),
            (None, Some(offset)) => format!("log, byte {offset}: "),
            (None, None) => String::new(),
        };
        wrap(&format!("{place}{}", damage.message), cells, Role::Bad, &mut lines);
    }
    for (y, (line, role)) in (area.top()..area.bottom()).zip(lines) {
        painter.write(area.x + 1, y, area.right(), &line, painter.style(role));
    }
}

/// Adds a line's rows, as many as the screen may still show.
fn wrap(line: &str, cells: usize, role: Role, lines: &mut Vec<(String, Role)>) {
    const MOST: usize = 200;
    let line = text::clean(text::beginning(line, MOST * cells));
    let rows = text::word_wrapped(&line, cells, MOST.saturating_sub(lines.len()));
    lines.extend(rows.into_iter().map(|row| (row.to_owned(), role)));
}
