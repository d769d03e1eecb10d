//! The title above the file, its notes, the line between the panes, and the status bar.

use super::paint::Painter;
use super::theme::Role;
use crate::app::{
    App, Base, COMMANDS, Focus, Live, Overlay, Scope, Subject, base_name, branch_words,
};
use crate::session::ChangesSource;
use crate::text;
use ratatui::layout::Rect;

pub(super) fn divider(app: &App, area: Rect, painter: &mut Painter<'_>) {
    let style = painter.style(if app.focus == Focus::File { Role::Key } else { Role::Divider });
    let style = style.bg(ratatui::style::Color::Reset);
    for y in area.top()..area.bottom() {
        painter.write(area.x, y, area.right(), "│", style);
    }
}

/// What is looked at, against what, and how well that is known.
pub(super) fn title(app: &App, area: Rect, painter: &mut Painter<'_>) {
    if area.is_empty() {
        return;
    }
    let style = painter.style(Role::Title);
    let dim = painter.style(Role::Dim);
    let (path, file) = match &app.viewer.subject {
        Some(Subject::Change(change) | Subject::Anyway(change)) => {
            (text::clean(&change.file.display), Some(&change.file))
        }
        Some(Subject::Present(path)) => (text::clean(&path.to_string_lossy()), None),
        None => {
            let turn = app.open_turn().map(|turn| turn.head.turn.turn).filter(|turn| *turn > 0);
            let title = turn.map(|turn| format!("turn {turn}")).unwrap_or_default();
            painter.write(area.x, area.y, area.right(), &title, style);
            let base = if app.base == Base::Turn { branch(app) } else { base(app) };
            let base = text::fit(&base, usize::from(area.width) / 2);
            let at = area.right().saturating_sub(text::width(&base) as u16);
            painter.write(at, area.y, area.right(), &base, dim);
            return;
        }
    };
    let base = base(app);
    let place = place(app);
    // The least important words are the first to go where it is narrow.
    let half = usize::from(area.width) / 2;
    let right = [format!("{base}{place}"), format!("{base}{place}").replace(" · change", " ·")]
        .into_iter()
        .find(|right| text::width(right) <= half)
        .unwrap_or(base);
    let right_cells = text::width(&right).min(half);
    let counts = counts(app);
    let room = usize::from(area.width).saturating_sub(right_cells + 1);
    let path_room = room.saturating_sub(counts.iter().map(|(c, _)| text::width(c) + 1).sum());
    let mut x = area.x;
    x = painter.write(x, area.y, area.right(), &text::fit_path(&path, path_room), style);
    if file.is_some() {
        for (count, role) in counts {
            x = painter.write(x + 1, area.y, area.right(), &count, painter.style(role));
        }
    }
    let right = text::fit(&right, right_cells);
    let at = area.right().saturating_sub(text::width(&right) as u16).max(x);
    painter.write(at, area.y, area.right(), &right, dim);
}

fn counts(app: &App) -> Vec<(String, Role)> {
    match app.viewer.comparison() {
        Some(comparison) => vec![
            (format!("+{}", comparison.added()), Role::Added),
            (format!("−{}", comparison.deleted()), Role::Deleted),
        ],
        None => Vec::new(),
    }
}

/// The branch that is shown, if it is not the live one.
fn branch(app: &App) -> String {
    app.info.branch.and_then(branch_words).unwrap_or_default()
}

/// Which branch that is, what the shown lines are compared with, and where both sides come from.
fn base(app: &App) -> String {
    let mut parts = vec![branch(app), base_of_turn(app)];
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

fn base_of_turn(app: &App) -> String {
    let Some(turn) = app.open_turn() else { return String::new() };
    if matches!(app.viewer.subject, Some(Subject::Present(_))) {
        return "presented, as it is now".into();
    }
    let name = base_name(app.base, turn.head.turn.turn);
    let Some(changes) = turn.known() else {
        return if app.base == Base::Turn { String::new() } else { name };
    };
    let source = match changes.source {
        _ if app.base.is_commit() && changes.snapshot.is_none() => "disk",
        ChangesSource::Recorded => "recorded",
        ChangesSource::Snapshot => "snapshot",
        ChangesSource::Replayed => "replayed",
        ChangesSource::Hunks => "log hunks",
    };
    match turn.head.turn.turn {
        0 => source.into(),
        _ => format!("{name} · {source}"),
    }
}

fn place(app: &App) -> String {
    let (at, of) = app.viewer.change_at_cursor();
    if of > 0 { format!(" · change {at}/{of}") } else { String::new() }
}

fn match_place(app: &App) -> Option<String> {
    let rows = app.viewer.search.rows.as_ref()?;
    let at = rows.partition_point(|row| *row as usize <= app.viewer.view.cursor);
    Some(format!("match {at}/{}", rows.len()))
}

pub(super) fn notes(app: &App, area: Rect, painter: &mut Painter<'_>) {
    let style = painter.style(Role::Note);
    for (y, note) in (area.top()..area.bottom()).zip(app.notes()) {
        let note = text::fit(&text::clean(&note), usize::from(area.width));
        painter.write(area.x, y, area.right(), &note, style);
    }
}

/// One line at the bottom: a prompt, a message, or hints; at the right how the log is followed.
pub(super) fn status(app: &App, area: Rect, painter: &mut Painter<'_>) {
    let style = painter.style(Role::Status);
    painter.fill(area, style);
    let (y, end) = (area.y, area.right());
    if let Overlay::Prompt(prompt) = &app.overlay {
        let x = painter.write(area.x, y, end, "/", painter.style(Role::Key));
        // Of a long one the end, where it is typed.
        let room = usize::from(end.saturating_sub(x + 1));
        painter.write(x, y, end, &text::fit_path(&text::clean(&prompt.text), room), style);
        return;
    }
    let cells = usize::from(area.width);
    let message = app.message.as_ref().map(|message| text::clean(message));
    let wanted = message.as_ref().map_or(0, |message| text::width(message) + 1);
    // How the log is followed gets what a message leaves, and half the line in any case.
    let right = text::fit(&live(app), cells.saturating_sub(wanted + 1).max(cells / 2));
    let right_at = end.saturating_sub(text::width(&right) as u16 + 1);
    painter.write(right_at.max(area.x), y, end, &right, style);
    let end = right_at.saturating_sub(u16::from(!right.is_empty()));
    if let Some(message) = message {
        let message = text::fit(&message, usize::from(end.saturating_sub(area.x)));
        painter.write(area.x, y, end, &message, style);
        return;
    }
    let mut x = area.x;
    for (keys, title) in fitting(hints(app.focus).collect(), usize::from(end)) {
        x = painter.write(x, y, end, &keys, painter.style(Role::Key));
        x = painter.write(x + 1, y, end, title, style) + 2;
    }
}

/// The hints that fit: the last two, help and quit, are the last to go.
fn fitting(mut hints: Vec<(String, &'static str)>, cells: usize) -> Vec<(String, &'static str)> {
    let needed = |hints: &[(String, &str)]| -> usize {
        hints.iter().map(|(keys, title)| text::width(keys) + text::width(title) + 3).sum()
    };
    while needed(&hints) > cells + 2 && !hints.is_empty() {
        hints.remove(hints.len().saturating_sub(3));
    }
    hints
}

/// The hinted commands of this focus: keys that do the same in two directions stand together.
fn hints(focus: Focus) -> impl Iterator<Item = (String, &'static str)> {
    let narrow = if focus == Focus::List { Scope::List } else { Scope::File };
    let holds = move |scope| scope == Scope::Everywhere || scope == narrow;
    COMMANDS.iter().filter(move |c| c.hinted && holds(c.scope)).map(|command| {
        let other = command.name.strip_prefix("next-").map(|noun| format!("previous-{noun}"));
        let other = other.and_then(|name| COMMANDS.iter().find(|c| c.name == name));
        let key = |c: &crate::app::Command| c.keys.first().copied().unwrap_or_default();
        let keys = other.map_or_else(String::new, |other| format!("{} ", key(other)));
        (keys + key(command), command.title)
    })
}

fn live(app: &App) -> String {
    let mut parts: Vec<String> = match_place(app).into_iter().collect();
    if let Some(recorder) = &app.recorder {
        parts.push(text::clean(recorder));
    }
    if app.viewer.is_waiting && app.viewer.shown.is_none() {
        parts.push("comparing…".into());
    }
    if app.viewer.comparison().is_some_and(|comparison| comparison.coarse) {
        parts.push("coarse".into());
    }
    if !app.info.warnings.is_empty() {
        let many = app.info.warnings.len();
        parts.push(format!("{many} warning{}", if many == 1 { "" } else { "s" }));
    }
    // The path has a third of the line.
    parts.extend(app.history_words(usize::from(app.size.0) / 3));
    if let Some(branch) = app.info.branch.filter(|branch| !branch.is_aside()) {
        parts.push(format!("{} branches: B", branch.total));
    }
    if app.newer.is_some() {
        parts.push("a newer session: S".into());
    }
    if let Some(turn) = app.news {
        parts.push(format!("turn {turn} is new: F"));
    }
    if !app.is_indexed && !app.turns.is_empty() {
        parts.push("reading…".into());
    }
    parts.push(
        match app.live {
            Live::Off => "",
            Live::Watching if app.choices.follow => "● live, following",
            Live::Watching => "● live",
            Live::Polling if app.choices.follow => "◌ polling, following",
            Live::Polling => "◌ polling",
            Live::Gone => "✗ log gone",
        }
        .into(),
    );
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}
