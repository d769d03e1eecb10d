//! The commands of a turn as an overlay: the list, or what one of them printed.

use super::paint::Painter;
use super::theme::Role;
use crate::app::{App, Printed, Ran};
use crate::layout::overlay;
use crate::session::command::latest;
use crate::session::{CommandKind, CommandOutcome, RanCommand};
use crate::text;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// So much of a command line is looked at to draw it, in bytes.
const SHOWN: usize = 4096;

/// Marks of the latest test, build and linter run.
pub(super) fn badges(commands: &[RanCommand]) -> Vec<(String, Role)> {
    latest(commands)
        .map(|(kind, outcome)| (format!("{} {}", outcome.mark(), kind.word()), role(outcome)))
        .collect()
}

fn role(outcome: CommandOutcome) -> Role {
    match outcome {
        CommandOutcome::Passed => Role::Good,
        CommandOutcome::Failed => Role::Bad,
        CommandOutcome::Unknown => Role::Note,
    }
}

pub(super) fn draw(app: &App, ran: &Ran, painter: &mut Painter<'_>) {
    let area = overlay(app.size);
    let style = painter.style(Role::Status);
    painter.fill(area, style);
    let head = app.place_of(ran.turn).and_then(|at| app.turns.get(at));
    let commands = head.as_ref().map_or(&[][..], |head| &head.turn.commands);
    let mut panel = Panel { painter, area, style };
    match &ran.output {
        Some(printed) => panel.output(commands.get(ran.view.cursor), printed),
        None => panel.list(ran, commands),
    }
}

struct Panel<'p, 'b> {
    painter: &'p mut Painter<'b>,
    area: Rect,
    style: Style,
}

impl Panel<'_, '_> {
    fn style(&self, role: Role) -> Style {
        let style = Style { bg: self.style.bg, ..self.painter.style(role) };
        style.add_modifier(self.style.add_modifier)
    }

    fn title(&mut self, title: &str) {
        let title = text::fit(title, usize::from(self.area.width.saturating_sub(2)));
        let style = self.painter.style(Role::Key);
        self.painter.write(self.area.x + 1, self.area.y, self.area.right(), &title, style);
    }

    /// The rows below the title.
    fn rows(&self) -> std::ops::Range<u16> {
        self.area.top() + 1..self.area.bottom()
    }

    fn say(&mut self, what: &str, role: Role) {
        let style = self.style(role);
        let what = text::fit(&text::clean(what), usize::from(self.area.width.saturating_sub(2)));
        self.painter.write(self.area.x + 1, self.area.y + 1, self.area.right(), &what, style);
    }

    fn list(&mut self, ran: &Ran, commands: &[RanCommand]) {
        self.title(&format!("Commands of turn {} · Enter shows the output · q closes", ran.turn));
        if commands.is_empty() {
            self.say("reading…", Role::Dim);
        }
        let shown = commands.iter().enumerate().skip(ran.view.top);
        for ((at, command), y) in shown.zip(self.rows()) {
            if at == ran.view.cursor {
                let line = Rect { y, height: 1, ..self.area };
                self.style = self.painter.style(Role::Chosen);
                self.painter.fill(line, self.style);
            } else {
                self.style = self.painter.style(Role::Status);
            }
            self.row(command, y);
        }
    }

    fn row(&mut self, command: &RanCommand, y: u16) {
        let end = self.area.right().saturating_sub(1);
        let role = role(command.outcome);
        let x =
            self.painter.write(self.area.x + 1, y, end, command.outcome.mark(), self.style(role));
        let word = match command.kind {
            CommandKind::Other => "",
            kind => kind.word(),
        };
        self.painter.write(x + 1, y, end, word, self.style(role));
        let code = command.exit_code.map(|code| code.to_string()).unwrap_or_default();
        let x = self.painter.write(x + 7, y, end, &format!("{code:>4}"), self.style);
        let line = text::clean(text::beginning(&command.command, SHOWN));
        let line = text::fit(&line, usize::from(end.saturating_sub(x + 2)));
        self.painter.write(x + 2, y, end, &line, self.style);
    }

    fn output(&mut self, command: Option<&RanCommand>, printed: &Printed) {
        if let Some(command) = command {
            let code = command.exit_code.map(|code| format!("exit {code} · ")).unwrap_or_default();
            let line = text::clean(text::beginning(&command.command, SHOWN));
            self.title(&format!("{} {code}{line}", command.outcome.mark()));
        }
        let text = match &printed.text {
            None => return self.say("reading…", Role::Dim),
            Some(Err(why)) => return self.say(why, Role::Bad),
            Some(Ok(text)) if text.is_empty() => return self.say("it printed nothing", Role::Dim),
            Some(Ok(text)) => text,
        };
        let (x, cells) = (self.area.x + 1, self.area.width.saturating_sub(2));
        for (line, y) in (printed.top as u32..text.len()).zip(self.rows()) {
            let window = text::window(text.line(line), printed.left, usize::from(cells));
            self.painter.line(x, y, &window, self.style, &[]);
        }
    }
}
