//! What stands where: a comparison → rows (which old line beside which new one), and the screen's areas.
//!
//! Rows are planned as data once per comparison and layout; drawing looks at the visible ones only.

mod areas;
mod columns;
mod overlay;
mod plan;
mod search;
mod split;
mod unified;

pub use areas::{Areas, MIN_SIZE, Panes, areas};
pub use columns::{Columns, columns};
pub use overlay::overlay;
pub use plan::{Plan, Row, RowKind, plan};
pub use search::search_rows;

use crate::diff::Change;

/// A maker of rows for the lines of one change.
pub trait Layout: Sync {
    /// As settings and the status bar name it.
    fn name(&self) -> &'static str;

    /// Old lines at the left and new lines at the right, instead of one column.
    fn is_split(&self) -> bool;

    /// Appends the rows of one change: every line of both its ranges once, in order.
    fn rows(&self, change: &Change, out: &mut Vec<Row>);
}

/// Every layout.
pub const LAYOUTS: &[&dyn Layout] = &[&unified::Unified, &split::Split];

/// What the person asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LayoutChoice {
    /// By the width of the viewer.
    #[default]
    Auto,
    /// `LAYOUTS` by index.
    Fixed(usize),
}

/// From how many cells on a viewer shows two columns when nobody chose.
pub const SPLIT_FROM: u16 = 110;

impl LayoutChoice {
    /// The layout for a viewer of `width` cells.
    pub fn layout(self, width: u16) -> &'static dyn Layout {
        let index = match self {
            Self::Auto => usize::from(width >= SPLIT_FROM),
            Self::Fixed(index) => index,
        };
        LAYOUTS.get(index).copied().unwrap_or(&unified::Unified)
    }

    /// Auto, then each layout, then auto again.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Auto => Self::Fixed(0),
            Self::Fixed(index) if index + 1 < LAYOUTS.len() => Self::Fixed(index + 1),
            Self::Fixed(_) => Self::Auto,
        }
    }

    /// As the status bar shows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Fixed(index) => LAYOUTS.get(index).map_or("auto", |layout| layout.name()),
        }
    }
}
