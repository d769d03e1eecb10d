//! The list of turns and files.

use super::paint::Painter;
use super::theme::Role;
use crate::app::{App, Focus, Item, Load, TurnHead, TurnView};
use crate::content::Changes;
use crate::session::{ChangedFile, FileStatus, Origin, PresentStatus, TurnState};
use crate::text;
use ratatui::layout::Rect;
use ratatui::style::Style;
use std::sync::Arc;

pub(super) fn draw(app: &App, area: Rect, painter: &mut Painter<'_>) {
    if area.is_empty() {
        return;
    }
    let len = app.outline.len(app.turns.len());
    if len == 0 {
        let (message, role) = match app.info.warnings.first() {
            Some(damage) => (text::clean(&damage.message), Role::Bad),
            None if app.is_indexed => ("no turn yet".into(), Role::Dim),
            None => ("reading…".into(), Role::Dim),
        };
        painter.write(area.x, area.y, area.right(), &message, painter.style(role));
        return;
    }
    let top = app.outline.view.top;
    for (row, y) in (top..len).zip(area.top()..area.bottom()) {
        let is_chosen = row == app.outline.view.cursor;
        let chosen = match (is_chosen, app.focus) {
            (false, _) => Style::default(),
            (true, Focus::List) => painter.style(Role::Chosen),
            (true, Focus::File) => painter.style(Role::ChosenAway),
        };
        let line = Rect { y, height: 1, ..area };
        if is_chosen {
            painter.fill(line, chosen);
        }
        let mut row = Line { painter, area: line, chosen };
        row.item(app, app.outline.item(row_index(row.area, area, top)));
    }
}

fn row_index(line: Rect, area: Rect, top: usize) -> usize {
    top + usize::from(line.y - area.y)
}

/// One row of the list while it is drawn.
struct Line<'p, 'b> {
    painter: &'p mut Painter<'b>,
    area: Rect,
    chosen: Style,
}

impl Line<'_, '_> {
    fn style(&self, role: Role) -> Style {
        let style = self.painter.style(role);
        // The choice's background stays; with no colours its modifiers join.
        Style { bg: self.chosen.bg.or(style.bg), ..style }.add_modifier(self.chosen.add_modifier)
    }

    fn write(&mut self, x: u16, text: &str, role: Role) -> u16 {
        let style = self.style(role);
        self.painter.write(x, self.area.y, self.area.right(), text, style)
    }

    /// Writes parts at the right edge; gives the column where they begin.
    fn right(&mut self, parts: &[(String, Role)]) -> u16 {
        let cells: usize = parts.iter().map(|(part, _)| text::width(part) + 1).sum();
        let start = self.area.right().saturating_sub(cells as u16).max(self.area.x);
        let mut x = start;
        for (part, role) in parts {
            x = self.write(x, part, *role) + 1;
        }
        start
    }

    fn item(&mut self, app: &App, item: Item) {
        match item {
            Item::Turn(at) => {
                if let Some(head) = app.turns.get(at) {
                    let known = app.opened.get(&head.turn.turn).and_then(TurnView::known);
                    self.turn(&head, known, app.outline.open == Some(at));
                }
            }
            Item::Heading(word) => {
                self.write(self.area.x + 2, word, Role::Heading);
            }
            Item::Plain(word) => {
                self.write(self.area.x + 2, word, Role::Dim);
            }
            Item::Presented(at) => self.presented(app, at),
            Item::File(at) => self.file(app, at),
            Item::Total => self.total(app),
            Item::Note(at) => self.note(app, at),
        }
    }

    fn turn(&mut self, turn: &TurnHead, known: Option<&Arc<Changes>>, is_open: bool) {
        let head = &turn.turn;
        let marker = if is_open { "▾ " } else { "▸ " };
        let mut x = self.write(self.area.x, marker, Role::Dim);
        if head.turn > 0 {
            x = self.write(x, &format!("{} ", head.turn), Role::Dim);
        }
        let mut badges = Vec::new();
        let known = known.filter(|changes| !is_open && !changes.files.is_empty());
        if let Some(changes) = known {
            badges.push((files_word(changes.files.len()), Role::Dim));
        }
        let state = match head.state {
            TurnState::Completed => None,
            TurnState::Open => Some(("…", Role::Modified)),
            TurnState::Interrupted => Some(("interrupted", Role::Note)),
            TurnState::Failed => Some(("failed", Role::Bad)),
            TurnState::Blocked => Some(("blocked", Role::Bad)),
        };
        badges.extend(state.map(|(word, role)| (word.to_owned(), role)));
        if turn.rolled_back {
            badges.push(("rolled back".into(), Role::Dim));
        }
        if turn.inherited {
            badges.push(("inherited".into(), Role::Dim));
        }
        let cells = |parts: &[(String, Role)]| -> usize {
            parts.iter().map(|(part, _)| text::width(part) + 1).sum()
        };
        let width = usize::from(self.area.width);
        let mut ran = super::ran::badges(&head.commands);
        // What went well leaves room for the prompt first, then the rest.
        for (room, may_go) in [(width / 2, Some(Role::Good)), (width * 2 / 3, None)] {
            while cells(&badges) + cells(&ran) > room
                && let Some(at) = ran.iter().rposition(|(_, r)| may_go.is_none_or(|go| *r == go))
            {
                ran.remove(at);
            }
        }
        badges.splice(0..0, ran);
        let end = self.right(&badges);
        let prompt = text::first_line(&head.prompt);
        let prompt = if prompt.is_empty() { "(no prompt)".into() } else { prompt };
        let room = usize::from(end.saturating_sub(x + 1));
        let role = if is_open { Role::Turn } else { Role::Text };
        self.write(x, &text::fit(&prompt, room), role);
    }

    fn presented(&mut self, app: &App, at: usize) {
        let Some(turn) = app.open_turn() else { return };
        let Some(file) = turn.head.turn.presented.get(at) else { return };
        let (mark, role, word) = match file.status {
            PresentStatus::Present => ("◆ ", Role::Good, None),
            PresentStatus::Changed => ("◆ ", Role::Note, Some("changed since")),
            PresentStatus::Missing => ("◇ ", Role::Bad, Some("missing")),
            PresentStatus::Denied => ("◇ ", Role::Bad, Some("not readable")),
        };
        let x = self.write(self.area.x + 2, mark, role);
        let mut parts: Vec<_> = word.map(|word| (word.to_owned(), role)).into_iter().collect();
        if let (None, Some(bytes)) = (word, file.bytes) {
            parts.push((crate::app::size(bytes), Role::Dim));
        }
        let end = self.right(&parts);
        let room = usize::from(end.saturating_sub(x + 1));
        let path = text::fit_path(&text::clean(&file.display), room);
        let x = self.write(x, &path, Role::Text);
        if let Some(description) = &file.description {
            let room = usize::from(end.saturating_sub(x + 2));
            if room > 8 {
                self.write(x + 1, &text::fit(&text::first_line(description), room), Role::Dim);
            }
        }
    }

    fn file(&mut self, app: &App, at: usize) {
        let Some(turn) = app.open_turn() else { return };
        let Some(file) = turn.known().and_then(|c| c.files.get(at)).map(|change| &change.file)
        else {
            return;
        };
        let letter = file.status.letter();
        let x = self.write(self.area.x + 2, letter, status_role(file.status)) + 1;
        let mut parts = Vec::new();
        match turn.counts.get(at).copied().flatten() {
            Some(counts) if counts.binary => parts.push(("binary".into(), Role::Dim)),
            Some(counts) if counts.oversized => parts.push(("too large".into(), Role::Dim)),
            Some(counts) if counts.failed => parts.push(("unreadable".into(), Role::Bad)),
            Some(counts) => {
                if counts.coarse {
                    parts.push(("coarse".into(), Role::Note));
                }
                if counts.added > 0 {
                    parts.push((format!("+{}", counts.added), Role::Added));
                }
                if counts.deleted > 0 {
                    parts.push((format!("−{}", counts.deleted), Role::Deleted));
                }
                if counts.added == 0 && counts.deleted == 0 {
                    parts.push((empty_word(file).into(), Role::Dim));
                }
            }
            None => {}
        }
        let origin = match file.origin {
            Origin::Tool => None,
            Origin::Shell => Some("$"),
            Origin::Mixed => Some("±"),
            Origin::Outside => Some("?"),
        };
        parts.extend(origin.map(|sign| (sign.to_owned(), Role::Note)));
        let end = self.right(&parts);
        let room = usize::from(end.saturating_sub(x + 1));
        self.write(x, &text::fit_path(&text::clean(&file.display), room), Role::Text);
    }

    fn total(&mut self, app: &App) {
        let Some(turn) = app.open_turn() else { return };
        let Some(changes) = turn.known() else { return };
        let (added, deleted, done) = turn.totals();
        let files = files_word(changes.files.len());
        let mut x = self.write(self.area.x + 2, &files, Role::Dim);
        if done {
            x = self.write(x, " · ", Role::Dim);
            x = self.write(x, &format!("+{added}"), Role::Added);
            self.write(x + 1, &format!("−{deleted}"), Role::Deleted);
        } else {
            self.write(x, " · counting…", Role::Dim);
        }
    }

    fn note(&mut self, app: &App, at: usize) {
        let Some(turn) = app.open_turn() else { return };
        let note = match &turn.changes {
            Load::Failed(why) => Some(why.as_str()),
            _ => turn.known().and_then(|changes| changes.notes.get(at)).map(String::as_str),
        };
        let room = usize::from(self.area.width.saturating_sub(2));
        let note = text::fit(&text::clean(note.unwrap_or_default()), room);
        self.write(self.area.x + 2, &note, Role::Note);
    }
}

fn files_word(files: usize) -> String {
    format!("{files} {}", if files == 1 { "file" } else { "files" })
}

fn status_role(status: FileStatus) -> Role {
    match status {
        FileStatus::Added | FileStatus::Copied => Role::Added,
        FileStatus::Deleted => Role::Deleted,
        _ => Role::Modified,
    }
}

/// What a file without a changed line is listed for.
fn empty_word(file: &ChangedFile) -> &'static str {
    match file.status {
        FileStatus::Renamed => "renamed",
        FileStatus::Copied => "copied",
        FileStatus::ModeChanged => "mode",
        FileStatus::TypeChanged => "type",
        FileStatus::Added | FileStatus::Deleted => "empty",
        FileStatus::Modified => "newline",
    }
}
