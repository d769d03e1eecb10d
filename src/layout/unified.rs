//! One column: deleted lines above, added lines below.

use super::{Layout, Row, RowKind};
use crate::diff::Change;

pub(super) struct Unified;

impl Layout for Unified {
    fn name(&self) -> &'static str {
        "unified"
    }

    fn is_split(&self) -> bool {
        false
    }

    fn rows(&self, change: &Change, out: &mut Vec<Row>) {
        out.extend(change.old.clone().map(|old| Row::new(RowKind::Deleted, Some(old), None)));
        out.extend(change.new.clone().map(|new| Row::new(RowKind::Added, None, Some(new))));
    }
}
