//! The session picker as an overlay.

use super::paint::Painter;
use super::theme::Role;
use crate::app::{App, Picker, SessionRow, TurnCount, age};
use crate::text;
use ratatui::layout::{Position, Rect};

/// On a narrower screen the number of turns stands without its noun.
const NARROW: u16 = 80;

const HINT: &str = " Enter opens · Esc goes back ";

/// Draws it over the whole screen; gives where the typed text ends.
pub(super) fn draw(
    app: &App,
    picker: &Picker,
    screen: Rect,
    painter: &mut Painter<'_>,
) -> Position {
    let style = painter.style(Role::Status);
    painter.fill(screen, style);
    let end = screen.right();
    let x = painter.write(screen.x + 1, screen.y, end, "Session: ", painter.style(Role::Key));
    let typed = painter.write(x, screen.y, end, &text::clean(&picker.prompt.text), style);
    let bottom = screen.bottom().saturating_sub(1);
    painter.write(screen.x, bottom, end, HINT, painter.style(Role::Key));
    let rows = picker.rows.as_ref().map_or(0, Vec::len);
    let many = format!("{}/{rows} ", picker.matches.len());
    let at = end.saturating_sub(text::width(&many) as u16);
    painter.write(at, bottom, end, &many, style);
    let list = Rect { y: screen.y + 2, height: app.picker_height() as u16, ..screen };
    if picker.matches.is_empty() {
        let word = match (&picker.rows, rows) {
            (None, _) => "looking…",
            (Some(_), 0) => "no session on this machine",
            _ => "none matches",
        };
        painter.write(list.x + 1, list.y, end, word, painter.style(Role::Dim));
    }
    for (at, y) in (picker.view.top..picker.matches.len()).zip(list.top()..list.bottom()) {
        let Some(row) = picker.row(at) else { break };
        session(row, at == picker.view.cursor, Rect { y, height: 1, ..list }, painter);
    }
    Position { x: typed.min(end.saturating_sub(1)), y: screen.y }
}

fn session(row: &SessionRow, is_chosen: bool, area: Rect, painter: &mut Painter<'_>) {
    let style = painter.style(if is_chosen { Role::Chosen } else { Role::Status });
    painter.fill(area, style);
    let turns = match row.turns {
        TurnCount::Awaited => "…".to_owned(),
        TurnCount::Unreadable => "?".to_owned(),
        TurnCount::Known(turns) => turns.to_string(),
    };
    let noun = if area.width < NARROW { "" } else { " turns" };
    let head = format!("{:>4}  {:<8}  {turns:>4}{noun}  ", age(row.age), row.agent);
    let x = painter.write(area.x, area.y, area.right(), &head, style);
    let room = usize::from(area.right().saturating_sub(x + 1));
    let title = text::first_line(&row.title);
    let title = if title.is_empty() { text::clean(&row.id) } else { title };
    // The directory has the right half at most.
    let cwd = text::fit_path(&text::clean(&row.cwd), room / 2);
    let title = text::fit(&title, room.saturating_sub(text::width(&cwd) + 1));
    painter.write(x, area.y, area.right(), &title, style);
    let at = area.right().saturating_sub(text::width(&cwd) as u16 + 1);
    painter.write(at, area.y, area.right(), &cwd, style);
}
