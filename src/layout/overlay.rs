//! Where a list that lies over the panes stands.

use ratatui::layout::Rect;

/// The rectangle of an overlay with a title line; the status bar stays free.
pub fn overlay((width, height): (u16, u16)) -> Rect {
    let x = if width >= 60 { 3 } else { 0 };
    let y = u16::from(height >= 16);
    let height = height.saturating_sub(1 + 2 * y);
    Rect { x, y, width: width.saturating_sub(2 * x), height }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_leaves_the_screen() {
        for width in 0..100 {
            for height in 0..40 {
                let area = overlay((width, height));
                assert!(area.right() <= width && area.bottom() <= height.saturating_sub(1));
            }
        }
    }
}
