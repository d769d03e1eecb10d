//! The screen's size → rectangles. `update` and `draw` both ask here, and so cannot disagree.

use ratatui::layout::Rect;

/// Below this many columns or rows only a message is shown.
pub const MIN_SIZE: (u16, u16) = (20, 5);

/// Narrower than this, one pane at a time.
const TWO_PANES_FROM: u16 = 60;

/// Which panes there shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Panes {
    /// The list is wanted.
    pub sidebar: bool,
    /// The list has the focus: it is the pane to keep where there is room for one.
    pub sidebar_focused: bool,
    /// Lines of notes above the text.
    pub notes: u16,
}

/// The rectangles of one screen. An empty rectangle is not drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Areas {
    /// The list of turns and files.
    pub sidebar: Rect,
    /// The line between the panes.
    pub divider: Rect,
    /// One line: what the viewer shows.
    pub title: Rect,
    /// What is to be said of the file.
    pub notes: Rect,
    /// The rows.
    pub text: Rect,
    /// One line at the bottom: the status bar, or the prompt.
    pub status: Rect,
}

/// Lays a screen of `width` × `height` cells out.
pub fn areas((width, height): (u16, u16), panes: Panes) -> Areas {
    if width < MIN_SIZE.0 || height < MIN_SIZE.1 {
        return Areas::default();
    }
    let body = height - 1;
    let two = panes.sidebar && width >= TWO_PANES_FROM;
    let sidebar = match (panes.sidebar, two) {
        (true, true) => (width / 3).clamp(26, 46),
        (true, false) if panes.sidebar_focused => width,
        _ => 0,
    };
    let divider = u16::from(two);
    let viewer = width - sidebar - divider;
    let x = sidebar + divider;
    let notes = panes.notes.min(body.saturating_sub(4) / 3);
    let status = Rect { x: 0, y: body, width, height: 1 };
    if viewer == 0 {
        let sidebar = Rect { x: 0, y: 0, width, height: body };
        return Areas { sidebar, status, ..Areas::default() };
    }
    Areas {
        sidebar: Rect { x: 0, y: 0, width: sidebar, height: if sidebar > 0 { body } else { 0 } },
        divider: Rect { x: sidebar, y: 0, width: divider, height: if two { body } else { 0 } },
        title: Rect { x, y: 0, width: viewer, height: 1 },
        notes: Rect { x, y: 1, width: viewer, height: notes },
        text: Rect { x, y: 1 + notes, width: viewer, height: body - 1 - notes },
        status,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_cover_the_screen_and_never_leave_it() {
        for width in 0..130 {
            for height in 0..30 {
                for bits in 0..8u16 {
                    let panes =
                        Panes { sidebar: bits & 1 > 0, sidebar_focused: bits & 2 > 0, notes: bits };
                    let a = areas((width, height), panes);
                    let all = [a.sidebar, a.divider, a.title, a.notes, a.text, a.status];
                    let cells: u32 = all.iter().map(|r| r.area()).sum();
                    let screen = u32::from(width) * u32::from(height);
                    assert!(all.iter().all(|r| r.right() <= width && r.bottom() <= height));
                    assert!(cells == 0 || cells == screen, "{width}x{height} {panes:?} {a:?}");
                }
            }
        }
    }
}
